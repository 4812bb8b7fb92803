"""Runs the samples of a Markdown page and compares what they print with what the page shows.

A sample is a block of ``python`` or ``console``. What it prints is in the block without a language
that follows it, or, for a console, behind its ``$`` lines. Differences in white space do not
count, so a page may break long lines, and "..." stands for anything.

``python -m tests.samples PAGE [FOLDER]`` runs the samples in a folder and writes their output into
the page.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SAMPLE = re.compile(
    r"^```(?P<language>python|console)\n(?P<source>.*?)^```\n(?:\n```\n(?P<output>.*?)^```\n)?",
    re.S | re.M,
)
_WIDTH = 100


@dataclass(frozen=True)
class Sample:
    """A block of code of a page, and what it prints according to the page."""

    place: str
    source: str
    shown: str | None  # None: the page does not show it
    printed: str

    def check(self) -> None:
        """Compare what the sample prints with what the page shows."""
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        if self.shown is not None:
            # How long something took is another time each time.
            shown, printed = (
                re.sub(r"\b\d+\.\d s\b", "? s", t) for t in (self.shown, self.printed)
            )
            same = doctest.OutputChecker().check_output(shown, printed, flags)
            assert same, f"{self.place} prints\n{self.printed}\nbut the page shows\n{self.shown}"


def run_samples(page: Path, folder: Path) -> Iterator[Sample]:
    """Run the samples of a page in a folder, one after the other."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": page.stem}
    with contextlib.chdir(folder):
        for match in _SAMPLE.finditer(text):
            place = f"{page.name}, line {text.count(chr(10), 0, match.start()) + 1}"
            source = match["source"]
            if match["language"] == "python":
                code = compile(source, place, "exec")
                printed = _printed(lambda code=code: exec(code, names))
                yield Sample(place, source, match["output"], printed)
            else:
                yield from _run_console(place, source)


def _run_console(place: str, source: str) -> Iterator[Sample]:
    for part in re.split(r"^\$ ", source, flags=re.M)[1:]:
        found = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.S)
        command, shown = found.groups() if found else (part, "")
        yield Sample(place, command, shown or None, _printed(lambda c=command: _run(c)))


def _run(command: str) -> None:
    from admercs.cli import main

    program, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
    assert program == "admercs", command
    assert main(arguments) == 0, command


def _printed(run: Callable[[], object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        run()
    return stream.getvalue()


def wrapped(text: str) -> str:
    """Break long lines; what follows a number in a list is indented like its text."""
    lines = []
    for line in text.rstrip().splitlines():
        indent = re.match(r" *(\d+\. +)?", line).end() * " "
        lines += textwrap.wrap(
            line.rstrip(), _WIDTH, subsequent_indent=indent, break_on_hyphens=False,
            break_long_words=False, drop_whitespace=True,
        ) or [""]  # fmt: skip
    return "\n".join(lines) + "\n"


def rewrite(page: Path, folder: Path) -> None:
    """Write what the samples print into the page."""
    text = page.read_text(encoding="utf-8")
    for sample in run_samples(page, folder):
        if sample.shown is not None and sample.shown.strip():
            before = text.index(sample.source)
            after = text.index(sample.shown, before + len(sample.source))
            end = after + len(sample.shown)
            text = text[:after] + wrapped(sample.printed) + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite(Path(sys.argv[1]).resolve(), Path(sys.argv[2] if len(sys.argv) > 2 else os.curdir))
