"""`Report`: a summary that can be shown, written and opened."""

from __future__ import annotations

import copy
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from admercs.detector.model import Model
from admercs.report.digest import Digest
from admercs.report.pieces import judge_piece
from admercs.report.render import frame_html, render_html
from admercs.report.summary import summary_of, threshold_meaning

__all__ = ["Report", "make_report"]


class Report:
    """What was found in a table, ready to be passed on.

    In a notebook a report shows itself.

    Parameters
    ----------
    summary : mapping
        The dict behind the report, as :meth:`to_dict` returns it.
    """

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self._summary = dict(summary)

    def __repr__(self) -> str:
        s = self._summary
        return f"<Report on {s['name']}: {s['n_flagged']:,} of {s['n_rows']:,} rows flagged>"

    def to_dict(self) -> dict[str, Any]:
        """Return all that the page shows as a JSON-ready dict."""
        return copy.deepcopy(self._summary)

    def html(self) -> str:
        """Return the page: one self-contained HTML document."""
        return render_html(self._summary)

    def _repr_html_(self) -> str:
        return frame_html(self.html())

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file; an existing one is replaced when the new one is complete."""
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(self.html())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def open(self) -> Path:
        """Write the page to a temporary file, show it in the web browser and return its path."""
        path = Path(tempfile.mkdtemp(prefix="admercs-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path


def make_report(
    model: Model,
    X: Any,
    *,
    threshold: float,
    contamination: str | float | dict[str, float] = "auto",
    labels: Sequence[Any] | None = None,
    name: str = "table",
    rows: int = 500,
    top: int = 5,
    noun: str = "rows",
    n_jobs: int = 1,
) -> Report:
    """Judge a table and report on it.

    Parameters
    ----------
    model : Model
        The fitted model.
    X : table
        Rows with the model's columns: those it was fitted to, or new ones.
    threshold : float
        The evidence from which a row is flagged.
    contamination : "auto", float or dict, default="auto"
        Where that threshold comes from, for the words about it.
    labels : sequence, optional
        What the rows are called; by default a pandas table's index, or the rows' numbers.
    name : str, default="table"
        What the table is called.
    rows : int, default=500
        The most rows listed: the flagged ones, or the 50 most anomalous if fewer are flagged.
    top : int, default=5
        The most reasons given per row.
    noun : str, default="rows"
        What the rows are called, in the plural.
    n_jobs : int, default=1
        Threads.
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1; it is {rows!r}")
    if labels is None and hasattr(X, "iloc"):
        labels = list(X.index)
    digest = Digest(model, threshold, rows)
    digest.add(judge_piece(model, X, labels=labels, n_jobs=n_jobs))
    meaning = threshold_meaning(contamination)
    return Report(summary_of(digest, name=name, meaning=meaning, top=top, noun=noun))
