"""The command line: from a file to a list of anomalous rows with reasons."""

from __future__ import annotations

from admercs.cli.entry import main

__all__ = ["main"]
