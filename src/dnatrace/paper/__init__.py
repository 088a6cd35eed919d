"""The paper's results, run again and judged."""
