"""``admercs reproduce``: the paper's experiments, which bring their own options along."""

from __future__ import annotations

import argparse

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from admercs.experiments import command

    command.run(options)
