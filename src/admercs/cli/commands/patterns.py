"""``admercs patterns``: what is normal in a table."""

from __future__ import annotations

import argparse
import json
import textwrap

from admercs.cli.console import Style, clean
from admercs.cli.work import load_model

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from admercs.explanation import patterns

    model = load_model(options.model)
    found = patterns(model.model_, options.top, noun=options.noun)
    if options.json:
        print(json.dumps([pattern.to_dict() for pattern in found], ensure_ascii=False, indent=2))
        return
    if options.quiet:
        return
    if not found:
        print("No column depends noticeably on the others.")
    style = Style()
    for rank, pattern in enumerate(found, 1):
        first = f"{rank:>3}. "
        print(
            textwrap.fill(
                clean(pattern.text), style.width, initial_indent=first, subsequent_indent="     "
            )
        )
