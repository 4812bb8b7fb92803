"""How far the work has come: a bar per phase on a terminal, nothing in a file."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]


class Progress:
    """Shows the phases of the work on standard error.

    Called with ``(phase, done, total)``; a total of 0 means that it is not known. Without a
    terminal, or when told to be quiet, it says nothing.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing.

    Attributes
    ----------
    shown : bool
        Whether anybody sees it.

    Examples
    --------
    >>> with Progress(quiet=True) as progress:
    ...     progress("trees", 3, 10)
    """

    def __init__(self, quiet: bool = False) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._current = ""

    def __enter__(self) -> Self:
        if self.shown:
            self._bars = _bars()
            if self._bars is not None:
                self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the bars away, so that the results have the terminal to themselves."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Say how far a phase has come."""
        if self._bars is None:
            return
        if phase != self._current:
            self._finish(self._current)
            self._current = phase
        if phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task(phase, total=total or None)
        self._bars.update(self._tasks[phase], completed=done, total=total or None)

    def _finish(self, phase: str) -> None:
        """Fill the bar of a phase of unknown length once it is over."""
        task = self._tasks.get(phase)
        if task is not None:
            done = max(1, int(self._bars.tasks[task].completed))
            self._bars.update(task, completed=done, total=done)


def _bars() -> Any:
    """Make the bars; without rich the work goes on silently."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        return None
    return Bars(
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=8,
    )
