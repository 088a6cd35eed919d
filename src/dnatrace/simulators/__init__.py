"""Who meets whom, and who gets infected: one protocol, several worlds behind it."""
