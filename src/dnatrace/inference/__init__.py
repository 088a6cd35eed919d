"""From messages to exposures, from exposures and own tests to beliefs: no noise, no randomness."""
