"""Long checks against references: `python -m verification.NAME`; `--quick` for a small run."""
