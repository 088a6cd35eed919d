"""Decide who is tested and who isolates, from released scores and results alone."""
