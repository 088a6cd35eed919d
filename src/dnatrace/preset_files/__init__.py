"""Named configurations, each with its reason."""
