"""Who meets whom, and who gets infected: one protocol, several simulators behind it."""
