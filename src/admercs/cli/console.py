"""What the terminal shows: plain text, with a little colour where there is a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from functools import partialmethod
from typing import Any, TextIO

from admercs.cli.errors import listed


class Style:
    """Colours for a stream, or none if it is not a terminal or the user does not want any."""

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = sys.stdout if stream is None else stream
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self.on = stream.isatty() and not plain
        # A file has no width: lines in it are only broken where a person would read them.
        self.width = min(110, shutil.get_terminal_size((100, 24)).columns) if self.on else 100

    def _wrapped(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    bold = partialmethod(_wrapped, "1")
    dim = partialmethod(_wrapped, "2")
    accent = partialmethod(_wrapped, "1;31")  # for what is anomalous


def clean(text: str) -> str:
    """Take control characters out of text from a table: a terminal would obey them."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def note(text: str, quiet: bool = False) -> None:
    """Say something worth knowing on standard error."""
    if not quiet:
        print(f"admercs: {clean(text)}", file=sys.stderr)


def counted(number: int, what: str) -> str:
    """Count things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def filled(text: str, width: int, first: str, rest: str) -> list[str]:
    """Break a text into lines; ``first`` and ``rest`` start the first line and the others."""
    return textwrap.wrap(
        clean(text), width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [first]


def row_lines(row: Any, style: Style) -> list[str]:
    """Return a row's explanation as lines."""
    from admercs.explain.rendering import association_text, label_text, rank_text, score_text

    label, score = clean(label_text(row.label)), f"score {score_text(row.score)}"
    head = f"{style.bold(label)}   {style.accent(score)}   evidence {row.evidence:.1f}"
    if row.evidence <= 0:
        return [f"{style.bold(label)}   {score}   nothing unusual"]
    rank = ", ".join(filter(None, (rank_text(row.percentile), association_text(row))))
    room = style.width - len(f"{label}   {score}   evidence {row.evidence:.1f}   ")
    lines = [f"{head}   {style.dim(rank)}"] if len(rank) <= room else [head, f"     {rank}"]
    for place, reason in enumerate(row.reasons, 1):
        text = f"{reason.text} ({reason.share:.0%} of the evidence)"
        lines += filled(text, style.width, f"  {place}. ", "     ")
    if row.n_rest:
        rest = counted(row.n_rest, "weaker reason")
        lines.append(style.dim(f"     and {rest} ({row.rest / row.evidence:.0%})"))
    return lines


def columns_text(
    columns: Sequence[Any], missing: Iterable[int], n_rows: int, style: Style
) -> list[str]:
    """Return what became of each column, a line per column; many of one kind are taken together."""
    from admercs.explain.column_words import percent

    lines = []

    def add(what: str, text: str) -> None:
        lines.extend(filled(text, style.width, f"  {what:<10} ", " " * 13))

    for role in ("numeric", "nominal"):
        names = [column.name for column in columns if column.role == role]
        if names:
            add(role, listed(names, 30))
    aside = [column for column in columns if column.role == "set aside"]
    for column in aside[:20]:
        add("set aside", f"{column.name}: {column.reason}")
    if len(aside) > 20:
        lines.append(f"             and {len(aside) - 20:,} more")
    absent = [(n / n_rows, column.name) for column, n in zip(columns, missing, strict=True) if n]
    if absent:
        worst = sorted(absent, reverse=True)
        add("missing", listed([f"{name} {percent(share)}" for share, name in worst], 6))
    return lines
