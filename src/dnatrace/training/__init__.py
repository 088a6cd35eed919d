"""From simulated runs to datasets, trained networks, decoders and their evaluation."""
