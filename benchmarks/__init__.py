"""Speed and memory, as ratios against a stated baseline of the same run. Not tests."""
