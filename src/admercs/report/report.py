"""`Report`: what was found in a table, as a dict and as one HTML file that needs nothing else.

Rendering never computes: the page's script only lays out numbers and sentences that are there.
"""

from __future__ import annotations

import base64
import copy
import functools
import hashlib
import html
import json
import os
import re
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from admercs.atomic import atomic_write
from admercs.explain.explain_mixin import ExplainMixin
from admercs.report.digest import Digest
from admercs.report.report_summary import summary_of, threshold_meaning

# Inside <script> the parser looks for "</script" and "<!--", older JavaScript stops at two
# line separators that JSON allows. As \u escapes they are the same JSON and harmless.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


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
        page, style, script = _template()
        data = json.dumps(self._summary, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        fields = {
            "title": html.escape(f"Anomalies in {self._summary['name']}"),
            "generator": html.escape(str(self._summary["generator"])),
            "style": style,
            "style_hash": _hash(style),
            "script": script,
            "script_hash": _hash(script),
            "data": data.translate(_ESCAPES),
        }
        # One pass: what is filled in is never searched for further placeholders.
        page = re.sub(r"@@(\w+)@@", lambda match: fields[match[1]], page)
        # A lone surrogate (bytes that were no UTF-8) cannot be written to a file.
        return page.encode("utf-8", "replace").decode("utf-8")

    def _repr_html_(self) -> str:
        # In a frame the page cannot touch its surroundings.
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" sandbox="allow-scripts allow-downloads" '
            'title="Anomaly report" style="width:100%;height:720px;border:1px solid #8884;'
            'border-radius:8px"></iframe>'
        )

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


@functools.cache
def _template() -> tuple[str, str, str]:
    """Return the page, its style and its script: numbered files, joined in a scope of their own."""
    folder = resources.files("admercs.report") / "template"
    parts = {entry.name: entry.read_text(encoding="utf-8").strip() for entry in folder.iterdir()}
    body = "\n".join(parts[name] for name in sorted(parts) if name.endswith(".js"))
    return parts["page.html"], parts["report.css"], f'(() => {{\n"use strict";\n{body}\n}})();'


def _hash(text: str) -> str:
    """Return what a content security policy needs to know one allowed script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class ReportMixin(ExplainMixin):
    """Explanations and reports of a fitted detector."""

    contamination: Any

    def report(
        self,
        X: Any,
        *,
        labels: Sequence[Any] | None = None,
        name: str = "table",
        rows: int = 500,
        top: int = 5,
        noun: str = "rows",
    ) -> Report:
        """Score a table and make a page about it to hand on.

        Parameters
        ----------
        X : table
            The training table or new rows.
        labels : sequence, optional
            What the rows are called; by default a pandas table's index, or the rows' numbers.
        name : str, default="table"
            What the table is called.
        rows : int, default=500
            The most rows listed.
        top : int, default=5
            The most reasons per row.
        noun : str, default="rows"
            What the rows are, in the plural.

        Returns
        -------
        report : Report
            With ``write_html(path)``, ``to_dict()``, ``open()``; a notebook shows it as a page.
        """
        check_is_fitted(self)
        if rows < 1:
            raise ValueError(f"rows must be at least 1; it is {rows!r}")
        digest = Digest(self.model_, -self.offset_, self.suspicious_line_, rows=rows)
        digest.add(self._scored(X, labels))
        meaning = threshold_meaning(self.contamination)
        return Report(summary_of(digest, name=name, meaning=meaning, top=top, noun=noun))
