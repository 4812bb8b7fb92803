"""Scores a table, or a part of one, and keeps what explanations and reports need of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import BLOCK, Model, ModelAccess, ScoreParts, run_blocks, scorer
from admercs.explain.collection import Explanations, FrameKind
from admercs.explain.model_words import ModelWords
from admercs.explain.raw_text import place_of, raw_texts
from admercs.explain.rendering import label_text
from admercs.explain.row_explainer import RowExplainer
from admercs.table.frame import Frame, read_frame
from admercs.table.prepared import Prepared, prepare

__all__ = ["ScoredRows", "ScoredTable", "TrainingNames", "score_rows"]


@dataclass(frozen=True)
class TrainingNames:
    """What training rows are called: as in the table, if that turns out to be the training table."""

    labels: dict[int, Any] | None  # of the rows that the model keeps; None: another table
    n_kept: int
    count_from: int

    def __call__(self, row: int) -> str:
        """Name a training row, given by its number from 0."""
        if self.labels is not None and len(self.labels) == self.n_kept:
            return label_text(self.labels[row])
        return f"training row {row + self.count_from}"

    def merged(self, other: TrainingNames) -> TrainingNames:
        """Add the names from another piece of the table."""
        known = self.labels is not None and other.labels is not None
        return replace(self, labels={**self.labels, **other.labels} if known else None)  # type: ignore[dict-item]


@dataclass(frozen=True)
class ScoredRows:
    """A few rows with everything that is known about them.

    Attributes
    ----------
    numbers : ndarray of int64
        Their numbers in the whole table.
    labels : list
        What they are called.
    values : ndarray of float64, one row per attribute
        Their working values.
    parts : ScoreParts
        What scoring them returned.
    unknown : list of dict
        Per row: the text of the categories that the model does not know, by attribute.
    texts : list of list of str or None
        Per row, if asked for: the values of all columns as text.
    names : TrainingNames
        What the training rows are called.
    """

    numbers: NDArray[np.int64]
    labels: list[Any]
    values: NDArray[np.float64]
    parts: ScoreParts
    unknown: list[dict[int, str | None]]
    texts: list[list[str | None]]
    names: TrainingNames

    def explain(
        self, model: Model, top: int | None, noun: str = "rows", frame: FrameKind | None = None
    ) -> Explanations:
        """Explain these rows, with at most ``top`` reasons each; None for all."""

        def raw(attribute: int, row: int) -> str | None:
            return self.unknown[row].get(attribute)

        explainer = RowExplainer(ModelWords(model, noun), self.values, self.parts, raw, self.names)
        rows = (explainer.explain(k, label, top) for k, label in enumerate(self.labels))
        return Explanations(tuple(rows), frame)

    def head(self, n: int) -> ScoredRows:
        """Return the first rows."""
        return ScoredRows.join([self], np.arange(min(n, len(self.labels))))

    @classmethod
    def join(cls, parts: Sequence[ScoredRows], order: NDArray[np.intp]) -> ScoredRows:
        """Put rows of several pieces together in a given order."""
        labels, unknown, texts = (
            [each for part in parts for each in getattr(part, name)]
            for name in ("labels", "unknown", "texts")
        )
        return cls(
            numbers=np.concatenate([part.numbers for part in parts])[order],
            labels=[labels[k] for k in order],
            values=np.concatenate([part.values for part in parts], axis=1)[:, order],
            parts=_some(_together([part.parts for part in parts]), order),
            unknown=[unknown[k] for k in order],
            texts=[texts[k] for k in order],
            names=parts[0].names,
        )


@dataclass(frozen=True)
class ScoredTable:
    """Consecutive rows of a table, scored.

    Attributes
    ----------
    evidence, association : ndarray
        Per row: the evidence against it; whether most of it comes from contexts and similar rows.
    column_evidence, missing : ndarray
        Per column of the table: the evidence it contributed, and its missing values.
    members : dict of int to ndarray of int64
        Anomalous context (leaf) → the rows of this table in it.
    first : int
        The number of the first row.
    labels : sequence
        What the rows are called.
    names : TrainingNames
        What the training rows are called.
    parts : ScoreParts or None
        The parts of all scores, if they were kept.
    """

    model: Model
    frame: Frame
    table: Prepared
    evidence: NDArray[np.float64]
    association: NDArray[np.bool_]
    column_evidence: NDArray[np.float64]
    missing: NDArray[np.int64]
    members: dict[int, NDArray[np.int64]]
    first: int
    labels: Sequence[Any]
    names: TrainingNames
    parts: ScoreParts | None

    def rows(self, chosen: NDArray[np.intp], *, texts: bool = False) -> ScoredRows:
        """Return some rows with everything that is known about them.

        ``texts`` asks for the values of all columns as text.
        """
        used = self.model.schema.used
        values = np.stack([self.table.column(m)[chosen] for m in range(len(used))])
        unknown: list[dict[int, str | None]] = [{} for _ in chosen]
        for m, column in enumerate(used):
            if column.role == "nominal":
                strange = np.flatnonzero(values[m] > len(column.categories))
                for k, text in zip(strange, self._texts(m, chosen[strange]), strict=True):
                    unknown[k][m] = text
        columns = [
            self._column_texts(c.position, chosen) for c in self.model.schema.columns if texts
        ]
        return ScoredRows(
            numbers=self.first + chosen.astype(np.int64),
            labels=[self.labels[int(k)] for k in chosen],
            values=values,
            parts=self._score(values) if self.parts is None else _some(self.parts, chosen),
            unknown=unknown,
            texts=[list(row) for row in zip(*columns, strict=True)] or [[] for _ in chosen],
            names=self.names,
        )

    def _score(self, values: NDArray[np.float64]) -> ScoreParts:
        """Score rows once more, in blocks: the parts of all rows were not kept."""
        score = scorer(self.model)
        starts = range(0, max(1, values.shape[1]), BLOCK)
        blocks = [np.ascontiguousarray(values[:, start : start + BLOCK]) for start in starts]
        return _together([score(block) for block in blocks])

    def _texts(self, attribute: int, chosen: NDArray[np.intp]) -> list[str | None]:
        if not len(chosen):
            return []
        return self._column_texts(self.model.schema.used[attribute].position, chosen)

    def _column_texts(self, position: int, chosen: NDArray[np.intp]) -> list[str | None]:
        schema = self.model.schema
        place = place_of(schema.columns[position], schema, self.frame)
        return raw_texts(self.frame.column(place), chosen)


def score_rows(
    model: Model,
    X: Any,
    *,
    labels: Sequence[Any] | None = None,
    first: int = 0,
    count_from: int = 0,
    n_jobs: int = 1,
    keep_parts: bool = False,
) -> ScoredTable:
    """Score a table or a part of one, in blocks and threads.

    Parameters
    ----------
    model : Model
        The fitted model.
    X : table
        Rows with the model's columns.
    labels : sequence, optional
        What the rows are called; by default their numbers.
    first : int, default=0
        The number of the first row, to go on counting from an earlier piece.
    count_from : int, default=0
        The number of the first row of a table.
    n_jobs : int, default=1
        Threads.
    keep_parts : bool, default=False
        Whether to keep the parts of all scores, so that all rows can be explained.
    """
    frame = read_frame(X)
    table = prepare(frame, model.schema)
    if labels is None:
        labels = range(first, first + table.n_rows)
    elif len(labels) != table.n_rows:
        raise ValueError(f"there are {len(labels)} labels for {table.n_rows} rows")
    access, place = ModelAccess(model), first - count_from
    kept = access.kept_rows(table, place)
    names = None if kept is None else {row: labels[row - place] for row in kept}
    tally = _Tally(model, table, keep_parts)
    run_blocks(tally.score, table.n_rows, n_jobs)
    return ScoredTable(
        model=model,
        frame=frame,
        table=table,
        evidence=tally.evidence,
        association=tally.association,
        column_evidence=tally.column_evidence(),
        missing=_count_missing(model, frame, table),
        members=tally.members(),
        first=first,
        labels=labels,
        names=TrainingNames(names, access.n_kept, count_from),
        parts=_together([tally.parts[start] for start in sorted(tally.parts)])
        if keep_parts
        else None,
    )


def _together(blocks: Sequence[ScoreParts]) -> ScoreParts:
    """Join the parts of blocks of rows."""
    if len(blocks) == 1:
        return blocks[0]
    arrays: Any = zip(*blocks, strict=True)
    return ScoreParts(*(np.concatenate(each, axis=-1) for each in arrays))


def _some(parts: ScoreParts, chosen: NDArray[np.intp]) -> ScoreParts:
    """Return the parts of some rows."""
    arrays: Any = parts
    return ScoreParts(*(array[..., chosen] for array in arrays))


class _Tally:
    """Scores block after block, perhaps in several threads: each block has places of its own."""

    def __init__(self, model: Model, table: Prepared, keep_parts: bool) -> None:
        self.model, self.table = model, table
        self.evidence = np.empty(table.n_rows)
        self.association = np.empty(table.n_rows, np.bool_)
        self.parts: dict[int, ScoreParts] = {}
        self._score, self._keep = scorer(model), keep_parts
        self._cells = np.zeros((1 + table.n_rows // BLOCK, len(model.schema.used)))
        access = ModelAccess(model)
        self._tree_of = {leaf: access.attribute_of(leaf) for leaf in access.members}
        self._found: dict[tuple[int, int], NDArray[np.int64]] = {}

    def score(self, start: int, stop: int) -> None:
        """Score the rows of one block."""
        parts = self._score(self.table.block(start, stop))
        cells = parts.cells()
        evidence = self.evidence[start:stop] = cells.sum(axis=0)
        self.association[start:stop] = parts.association() > evidence / 2
        self._cells[start // BLOCK] = cells.sum(axis=1)
        for leaf, tree in self._tree_of.items():
            inside = np.flatnonzero(parts.leaf[tree] == leaf)
            if len(inside):
                self._found[leaf, start] = start + inside
        if self._keep:
            self.parts[start] = parts

    def column_evidence(self) -> NDArray[np.float64]:
        """Return the evidence per column of the table; unused columns have none."""
        out = np.zeros(len(self.model.schema.columns))
        out[[column.position for column in self.model.schema.used]] = self._cells.sum(axis=0)
        return out

    def members(self) -> dict[int, NDArray[np.int64]]:
        """Return the rows of each anomalous context, in the order of the table."""
        rows: dict[int, list[NDArray[np.int64]]] = {}
        for (leaf, _), found in sorted(self._found.items()):
            rows.setdefault(leaf, []).append(found)
        return {leaf: np.concatenate(parts) for leaf, parts in rows.items()}


def _count_missing(model: Model, frame: Frame, table: Prepared) -> NDArray[np.int64]:
    """Count the missing values of every column of the table, used or not."""
    attributes = {column.position: m for m, column in enumerate(model.schema.used)}
    missing = np.zeros(len(model.schema.columns), np.int64)
    for column in model.schema.columns:
        at = column.position
        if at in attributes:
            missing[at] = np.isnan(table.column(attributes[at])).sum()
        else:
            place = place_of(column, model.schema, frame)
            missing[at] = frame.column(place).is_missing().sum()
    return missing
