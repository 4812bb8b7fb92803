"""Saying how far a long fit has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def progress_printer(verbose: int | bool | Progress) -> Progress | None:
    """Return a function to be told ``(phase, done, total)``, or None when nobody wants to know.

    Examples
    --------
    >>> progress_printer(0) is None
    True
    """
    if callable(verbose):
        return verbose
    return _Printer() if verbose else None


class _Printer:
    """Prints one line per phase to standard error, and a running one on a terminal."""

    def __init__(self) -> None:
        self._phase = ""
        self._start = 0.0
        self._said = 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._start, self._said = phase, now, 0.0
        finished = done >= total
        if not finished and (now - self._said < 0.5 or not sys.stderr.isatty()):
            return
        self._said = now
        spent = now - self._start
        left = "" if finished else f", about {spent / done * (total - done):.0f} s left"
        end = "\n" if finished else "\r"
        print(f"admercs: {phase} {done}/{total} ({spent:.1f} s{left})   ", end=end, file=sys.stderr)
