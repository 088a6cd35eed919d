"""One run: its configuration, the run itself, what is measured, stored and promised."""
