"""The command line: from a file to a list of anomalous rows with reasons."""

from admercs.cli.entry import main

__all__ = ["main"]
