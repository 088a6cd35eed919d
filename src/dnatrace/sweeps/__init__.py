"""Many runs: grids of settings, worker processes, clusters, studies."""
