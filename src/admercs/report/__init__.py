"""The report: what was found in a table, as a dict and as one self-contained HTML page."""

from __future__ import annotations

from admercs.report.digest import Digest
from admercs.report.pieces import Piece, judge_piece
from admercs.report.render import render_html
from admercs.report.report import Report, make_report
from admercs.report.summary import summary_of, threshold_meaning

__all__ = [
    "Digest",
    "Piece",
    "Report",
    "judge_piece",
    "make_report",
    "render_html",
    "summary_of",
    "threshold_meaning",
]
