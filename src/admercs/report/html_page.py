"""The dict behind a report, drawn as one HTML file that needs nothing else.

Rendering never computes: the page's script only lays out numbers and sentences that are there.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

# Inside <script> the parser looks for "</script" and "<!--", older JavaScript stops at two
# line separators that JSON allows. As \u escapes they are the same JSON and harmless.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def as_json(summary: Mapping[str, Any]) -> str:
    r"""Return the summary as JSON that is safe inside a ``<script>`` element."""
    # A lone surrogate (bytes that were no UTF-8) cannot be written to a file; show a replacement.
    text = json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode("utf-8")


def render_html(summary: Mapping[str, Any]) -> str:
    """Return the report page for a summary (see :func:`admercs.report.summarise`)."""
    style, script = _part("report.css"), _script()
    fields = {
        "title": html.escape(f"Anomalies in {summary['name']}"),
        "generator": html.escape(str(summary["generator"])),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
        "data": as_json(summary),
    }
    # One pass: what is filled in is never searched for further placeholders.
    page = re.sub(r"@@(\w+)@@", lambda match: fields[match[1]], _part("page.html"))
    return page.encode("utf-8", "replace").decode("utf-8")


def frame_html(page: str, height: int = 720) -> str:
    """Return the page wrapped for a notebook, where it must not touch its surroundings."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'title="Anomaly report" style="width:100%;height:{height}px;border:1px solid #8884;'
        'border-radius:8px"></iframe>'
    )


@functools.cache
def _part(name: str) -> str:
    folder = resources.files("admercs.report") / "template"
    return (folder / name).read_text(encoding="utf-8").strip()


@functools.cache
def _script() -> str:
    """Join the scripts, which are numbered in their order, in a scope of their own."""
    folder = resources.files("admercs.report") / "template"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".js"))
    body = "\n".join(_part(name) for name in names)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _hash(text: str) -> str:
    """Return what a content security policy needs to know one allowed script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
