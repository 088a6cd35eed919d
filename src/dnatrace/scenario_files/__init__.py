"""Named scenarios: what the world is like and what is done against the disease, with sources."""
