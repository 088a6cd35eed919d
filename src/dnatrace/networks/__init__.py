"""Networks as they run in production: what a method may read a trained model with."""
