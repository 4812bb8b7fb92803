"""Saying on standard error how far the work has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[str, int, int], None]


def progress_printer(verbose: int | bool | Progress) -> Progress | None:
    """Return a function to call with ``(phase, done, total)``, or None if nothing is printed."""
    if callable(verbose):
        return verbose
    return ProgressPrinter() if verbose else None


class ProgressPrinter:
    """Prints a running line on a terminal, and a line for each finished phase.

    Without `keep`, nothing is left of the lines on a terminal, and nothing is printed elsewhere.
    """

    def __init__(self, keep: bool = True, quiet: bool = False) -> None:
        self._keep = keep
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shown = not quiet and (keep or self._terminal)
        self._phase, self._start, self._printed = "", 0.0, 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Say how far a phase has come; a total of 0 means that it is not known."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._start, self._printed = phase, now, 0.0
        finished = done >= total > 0
        waits = not self._terminal or now - self._printed < 0.5
        if not self.shown or (waits and not finished):
            return
        self._printed, spent = now, now - self._start
        left = f", about {spent / done * (total - done):.0f} s left" if 0 < done < total else ""
        count = f"{done}/{total}" if total else f"{done}"
        end = "\n" if finished and self._keep else "\r"
        erase = "\x1b[K" if self._terminal else ""
        print(f"admercs: {phase} {count} ({spent:.1f} s{left}){erase}", end=end, file=sys.stderr)

    def close(self) -> None:
        """Erase the running line, so that the results have the terminal to themselves."""
        if self.shown and not self._keep:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
