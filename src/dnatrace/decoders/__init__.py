"""Decoders that ship with the package, with their provenance."""
