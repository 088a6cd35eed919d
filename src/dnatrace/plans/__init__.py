"""What to do in a world with so many tests, so much quarantine and so much privacy to spend."""
