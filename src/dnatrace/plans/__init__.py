"""What to do in a world within budgets of tests, quarantine and privacy."""
