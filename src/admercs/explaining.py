"""The methods of `ADMERCS` that say why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from admercs.detector.model import Model
from admercs.explanation import (
    Context,
    Explanations,
    Pattern,
    anomalous_contexts,
    describe_context,
    patterns,
)
from admercs.explanation.plain import is_count
from admercs.report import Report, judge_piece, make_report


class ExplainsRows:
    """Explanations, patterns and reports of a fitted detector."""

    model_: Model
    offset_: float
    contamination: Any

    if TYPE_CHECKING:

        def _threads(self) -> int: ...

        def _fitted(self, name: str) -> Model: ...

    def explain(
        self,
        X: Any,
        *,
        top: int | None = 3,
        labels: Sequence[Any] | None = None,
        noun: str = "rows",
    ) -> Explanations:
        """Give the reasons for the score of each row, in words.

        Parameters
        ----------
        X : table
            The rows to explain, training rows or new ones.
        top : int or None, default=3
            The most reasons per row; None for all.
        labels : sequence, optional
            What the rows are called; by default a pandas table's index, or the rows' numbers.
        noun : str, default="rows"
            What the rows are, in the plural: "cars" makes "Cars with …".

        Returns
        -------
        explanations : Explanations
            One `RowExplanation` per row, its reasons sorted by evidence (what is odd about the rows most
            like it comes last). The evidence of all reasons of a row, the unlisted rest included, adds up to
            ``-score_samples``.
        """
        check_is_fitted(self)
        piece = judge_piece(self.model_, X, labels=_row_labels(X, labels), n_jobs=self._threads())
        return piece.rows(np.arange(len(piece.evidence))).explain(
            self.model_, top, noun, _frame_kind(X)
        )

    def top(self, X: Any, n: int = 10, *, top: int | None = 3, noun: str = "rows") -> Explanations:
        """Explain the `n` most anomalous rows of a table, most anomalous first.

        The other parameters are those of `explain`.
        """
        check_is_fitted(self)
        if not is_count(n):
            raise ValueError(f"n must be a number of rows, 0 or more; it is {n!r}")
        labels = _row_labels(X, None)
        if is_dask(X):
            from admercs.distributed.scoring import top_rows

            X, labels = top_rows(self.model_, X, n)
        piece = judge_piece(self.model_, X, labels=labels, n_jobs=self._threads())
        order = np.argsort(-piece.evidence, kind="stable")[:n]
        return piece.rows(order).explain(self.model_, top, noun, _frame_kind(X))

    def describe_context(self, leaf: int, *, noun: str = "rows") -> Context:
        """Describe any context, by the number in ``Reason.context`` or ``Context.leaf``."""
        check_is_fitted(self)
        return describe_context(self.model_, leaf, noun=noun)

    def patterns(self, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
        """Return the strongest normal patterns of the table: what is typical where."""
        check_is_fitted(self)
        return patterns(self.model_, top, noun=noun)

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
        """Judge a table and make a page about it to hand on.

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
        return make_report(
            self.model_, X, threshold=-self.offset_, contamination=self.contamination,
            labels=labels, name=name, rows=rows, top=top, noun=noun, n_jobs=self._threads(),
        )  # fmt: skip

    @property
    def contexts_(self) -> list[Context]:
        """The anomalous contexts, most anomalous first."""
        return anomalous_contexts(self._fitted("contexts_"))


def is_dask(X: Any) -> bool:
    """Say whether a table is a Dask table, without importing Dask."""
    if not type(X).__module__.startswith("dask."):
        return False
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return True
    raise TypeError(
        f"X is a Dask {type(X).__name__}, but a Dask DataFrame is needed: "
        "turn a collection of Dask into one with dask.dataframe.from_dask_array or to_dataframe()."
    )


def _row_labels(X: Any, labels: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return what the rows are called: a pandas table names its rows itself."""
    if labels is None and hasattr(X, "iloc"):
        return list(X.index)
    return labels


def _frame_kind(X: Any) -> Literal["pandas", "polars"] | None:
    """Return which library the table is of, so that `to_frame` gives the same."""
    library = type(X).__module__.partition(".")[0]
    return "polars" if library == "polars" else "pandas" if library == "pandas" else None
