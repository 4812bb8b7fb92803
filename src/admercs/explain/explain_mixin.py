"""The methods of `ADMERCS` that explain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from admercs.explain.access import Model
from admercs.explain.model_findings import anomalous_contexts, describe_context, patterns
from admercs.explain.records import (
    Context,
    Explanations,
    FrameKind,
    Pattern,
    Relation,
    SuspiciousValue,
    as_frame,
    is_count,
    proposals,
)
from admercs.explain.relation_words import relations
from admercs.explain.scored_rows import ScoredTable, SummedTable, rank_rows, score_rows
from admercs.explain.suspicious_values import suspicious_values


class ExplainMixin:
    """Explanations, contexts and patterns of a fitted detector."""

    model_: Model
    offset_: float
    suspicious_line_: float

    if TYPE_CHECKING:

        def _threads(self) -> int: ...

    def explain(
        self,
        X: Any,
        *,
        top: int | None = 3,
        labels: Sequence[Any] | None = None,
        noun: str = "rows",
    ) -> Explanations:
        r"""Give the reasons for the score of each row.

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
            One `RowExplanation` per row, its reasons sorted by evidence. The evidence of all
            reasons of a row, the unlisted rest included, adds up to ``-score_samples``.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> reason = model.explain([["cat", "woof"]], noun="pets")[0].reasons[0]
        >>> print(reason.text.replace(", but", ",\nbut"))
        Pets with x0 = cat (n = 100) typically have x1 = meow (100%),
        but this pet has x1 = woof (none of 100). x0 does not fit either.
        """
        check_is_fitted(self)
        scored = self._scored(X, labels, keep_parts=True)
        rows = scored.rows(np.arange(len(scored.evidence)))
        return rows.explain(self.model_, top, noun, _frame_kind(X))

    def top(self, X: Any, n: int = 10, *, top: int | None = 3, noun: str = "rows") -> Explanations:
        """Explain the `n` most anomalous rows of a table, most anomalous first.

        The other parameters are those of `explain`.
        """
        check_is_fitted(self)
        if not is_count(n):
            raise ValueError(f"n must be a number of rows, 0 or more; it is {n!r}")
        labels = None
        if is_dask(X):
            from admercs.pipeline.dask_rows import top_rows

            X, labels = top_rows(self.model_, X, n)
        scored = self._ranked(X, labels)
        order = np.argsort(-scored.evidence, kind="stable")[:n]
        return scored.rows(order).explain(self.model_, top, noun, _frame_kind(X))

    def top_cells(self, X: Any, n: int = 10, *, noun: str = "rows") -> list[SuspiciousValue]:
        """Return the `n` oddest values of a table, with what was expected instead and why.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> pets = {"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}
        >>> pets["legs"] = [4] * 199 + [5]
        >>> found = ADMERCS().fit(pets).top_cells(pets, 1)[0]
        >>> found.label, found.column, found.value, found.expected
        (199, 'legs', 5, 4)
        """
        check_is_fitted(self)
        if not is_count(n):
            raise ValueError(f"n must be a number of values, 0 or more; it is {n!r}")
        labels = None
        if is_dask(X):
            from admercs.pipeline.dask_rows import top_rows

            X, labels = top_rows(self.model_, X, n, by_value=True)
        scored = self._ranked(X, labels)
        rows = scored.rows(np.argsort(-scored.strongest, kind="stable")[:n], texts=True)
        return suspicious_values(self.model_, rows, n, noun)

    def repair(self, X: Any, *, noun: str = "rows") -> Any:
        """Propose what wrong values of the flagged rows should have been; `X` stays as it is.

        Parameters
        ----------
        X : table
            The training table or new rows.
        noun : str, default="rows"
            What the rows are, in the plural.

        Returns
        -------
        proposals : DataFrame or dict of lists
            A pandas or polars frame, as the table is, a lazy one for a Dask table; else a dict of
            columns. One line per cell: ``label`` of the row, ``column``, ``value``, ``expected``,
            ``typical`` and ``slip`` in words, ``evidence`` of the row, ``evidence_removed`` by the
            repair of the row, and its ``text``. A repair is proposed if it removes more than half
            of what is odd about a row.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> pets = {"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}
        >>> pets["legs"] = [4] * 200
        >>> model = ADMERCS().fit(pets)
        >>> new = {"pet": ["cat", "dog"], "says": ["meow", "meow"], "legs": [4, 4]}
        >>> print(*model.repair(new)["text"])
        If says were woof instead of meow, nothing about this row would be odd.
        """
        check_is_fitted(self)
        if is_dask(X):
            from admercs.pipeline.dask_rows import lazy_lines

            return lazy_lines(self, X, _proposals_of_part, noun)
        columns = self._proposals(X, noun)
        return columns if (kind := _frame_kind(X)) is None else as_frame(columns, kind)

    def _proposals(self, X: Any, noun: str) -> dict[str, list[Any]]:
        scored = self._ranked(X, None)
        flagged = np.flatnonzero(scored.evidence > -self.offset_)
        return proposals(scored.rows(flagged).explain(self.model_, 0, noun))

    def _scored(
        self, X: Any, labels: Sequence[Any] | None, *, keep_parts: bool = False
    ) -> SummedTable:
        """Score a table whose rows are called by labels, by a pandas index, or by their numbers."""
        n_jobs, labels = self._threads(), _labels(X, labels)
        keep: Literal["columns", "parts"] = "parts" if keep_parts else "columns"
        scored = score_rows(self.model_, X, labels=labels, n_jobs=n_jobs, keep=keep)
        return scored.with_labels()

    def _ranked(self, X: Any, labels: Sequence[Any] | None) -> ScoredTable:
        """Score a table of which only the oddest rows are asked for."""
        scored = rank_rows(self.model_, X, labels=_labels(X, labels), n_jobs=self._threads())
        return scored.with_labels()

    def describe_context(self, leaf: int, *, noun: str = "rows") -> Context:
        """Describe any context, by the number in ``Reason.context`` or ``Context.leaf``.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> leaf = model.explain([["cat", "woof"]])[0].reasons[0].context
        >>> print(model.describe_context(leaf, noun="pets"))
        Pets with x0 = cat (n = 100) typically have x1 = meow (100%).
        """
        check_is_fitted(self)
        return describe_context(self.model_, leaf, noun=noun)

    def patterns(self, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
        r"""Return the strongest normal patterns of the table: what is typical where.

        Examples
        --------
        >>> from admercs import ADMERCS
        >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> for pattern in model.patterns(top=1, noun="pets"):
        ...     print(*pattern.text.split(". "), sep=".\n")
        Pets with x0 = dog (n = 100) typically have x1 = woof (100%).
        Conversely, x0 follows from x1.
        """
        check_is_fitted(self)
        return patterns(self.model_, top, noun=noun)

    @property
    def relations_(self) -> list[Relation]:
        """The relations between columns that nearly all training rows satisfy."""
        check_is_fitted(self)
        return relations(self.model_)

    @property
    def contexts_(self) -> list[Context]:
        """The anomalous contexts, most anomalous first."""
        check_is_fitted(self)
        return anomalous_contexts(self.model_)


def _labels(X: Any, labels: Sequence[Any] | None) -> Sequence[Any] | None:
    return list(X.index) if labels is None and hasattr(X, "iloc") else labels


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


def _proposals_of_part(part: Any, detector: Any, noun: str) -> Any:
    """Return the proposals for a partition of a Dask table."""
    if len(part):
        return detector.repair(part, noun=noun)
    columns = proposals(())
    numbers = dict.fromkeys(("evidence", "evidence_removed"), "f8")
    return as_frame(columns, "pandas").astype(dict.fromkeys(columns, object) | numbers)


def _frame_kind(X: Any) -> FrameKind | None:
    """Return which library the table is of, so that `to_frame` gives the same."""
    library = type(X).__module__.partition(".")[0]
    return "polars" if library == "polars" else "pandas" if library == "pandas" else None
