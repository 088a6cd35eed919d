"""Networks as they run in production: how methods use trained models."""
