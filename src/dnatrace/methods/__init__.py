"""One file per tracing method: window and public facts in, released scores out."""
