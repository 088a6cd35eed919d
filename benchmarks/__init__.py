"""Measure speed and memory, as ratios to a stated baseline of the same run. Not tests."""
