"""The neural augmentation: samples of simulated runs, networks, certificates, their evaluation."""
