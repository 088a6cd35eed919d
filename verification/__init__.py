"""Long checks against references: `python -m verification.NAME`, each with a `--quick`."""
