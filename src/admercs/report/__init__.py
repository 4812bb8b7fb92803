"""The report: what was found in a table, as a dict and as one self-contained HTML page."""

from __future__ import annotations

from admercs.report.digest import Digest
from admercs.report.report import Report
from admercs.report.report_summary import summary_of, threshold_meaning

__all__ = ["Digest", "Report", "summary_of", "threshold_meaning"]
