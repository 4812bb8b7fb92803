"""The method of `ADMERCS` that makes a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from admercs.explain.explain_mixin import ExplainMixin
from admercs.report.digest import Digest
from admercs.report.report import Report
from admercs.report.report_summary import summary_of, threshold_meaning


class ReportMixin(ExplainMixin):
    """Explanations and reports of a fitted detector."""

    offset_: float
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
        digest = Digest(self.model_, -self.offset_, rows)
        digest.add(self._scored(X, labels))
        meaning = threshold_meaning(self.contamination)
        return Report(summary_of(digest, name=name, meaning=meaning, top=top, noun=noun))
