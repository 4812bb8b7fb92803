"""`Report`: a summary that can be shown, written and opened."""

from __future__ import annotations

import copy
import os
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admercs.atomic import atomic_write
from admercs.report.html_page import frame_html, render_html


class Report:
    """What was found in a table, ready to be passed on; in a notebook it shows itself.

    ``summary`` is the dict behind the report, as :meth:`to_dict` returns it.
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
        with atomic_write(path) as stream:
            stream.write(self.html().encode())

    def open(self) -> Path:
        """Write the page to a temporary file, show it in the web browser and return its path."""
        path = Path(tempfile.mkdtemp(prefix="admercs-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path
