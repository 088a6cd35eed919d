"""What makes pages from code: outputs, figures, notebooks, references."""
