"""Make `python -m dnatrace` the command line."""

from dnatrace.cli import main

main()
