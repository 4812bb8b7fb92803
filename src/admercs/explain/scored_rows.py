"""Scores a table, or a part of one, and keeps what explanations and reports need of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Bools, Floats, Ints
from admercs.explain.access import BLOCK, Model, ModelAccess, ScoreParts, run_blocks, scorer
from admercs.explain.collection import Explanations, FrameKind
from admercs.explain.model_words import ModelWords
from admercs.explain.raw_text import raw_texts
from admercs.explain.rendering import label_text
from admercs.explain.row_explainer import RowExplainer
from admercs.table.frame import Frame, read_frame
from admercs.table.prepared import Prepared, prepare
from admercs.table.values import RawColumn


@dataclass(frozen=True)
class TrainingNames:
    """Names training rows: "row 7", if the table that is scored is the training table."""

    known: bool  # whether it is, as far as the rows can tell
    count_from: int
    labels: Sequence[Any] | None = None  # instead of the numbers

    def __call__(self, row: int) -> str:
        """Name a training row, given by its number from 0."""
        if self.labels is not None:
            return label_text(self.labels[row])
        return f"{'row' if self.known else 'training row'} {row + self.count_from}"


@dataclass(frozen=True)
class ScoredRows:
    """A few rows with everything that is known about them."""

    numbers: Ints  # in the whole table
    labels: list[Any]
    values: Floats  # working values, attributes x rows
    parts: ScoreParts
    unknown: list[dict[int, str | None]]  # categories the model does not know, by attribute
    texts: list[list[str | None]]  # the original values of all columns, if asked for
    names: TrainingNames

    def explain(
        self, model: Model, top: int | None, noun: str = "rows", frame: FrameKind | None = None
    ) -> Explanations:
        """Explain these rows, with at most ``top`` reasons each; None for all."""
        words = ModelWords(model, noun)
        explainer = RowExplainer(words, self.values, self.parts, self.unknown, self.names)
        rows = (explainer.explain(k, label, top) for k, label in enumerate(self.labels))
        return Explanations(tuple(rows), frame)

    def head(self, n: int) -> ScoredRows:
        """Return the first rows."""
        return ScoredRows.join([self], np.arange(min(n, len(self.labels))))

    @classmethod
    def join(cls, pieces: Sequence[ScoredRows], order: NDArray[np.intp]) -> ScoredRows:
        """Put rows of several pieces together in a given order."""

        def lists(name: str) -> list[Any]:
            together = [each for piece in pieces for each in getattr(piece, name)]
            return [together[k] for k in order]

        return cls(
            numbers=np.concatenate([piece.numbers for piece in pieces])[order],
            labels=lists("labels"),
            values=np.concatenate([piece.values for piece in pieces], axis=1)[:, order],
            parts=_some(_together([piece.parts for piece in pieces]), order),
            unknown=lists("unknown"),
            texts=lists("texts"),
            names=pieces[0].names,
        )


@dataclass(frozen=True)
class ScoredTable:
    """Consecutive rows of a table, scored."""

    model: Model
    frame: Frame
    table: Prepared
    first: int  # the number of the first row
    labels: Sequence[Any]
    names: TrainingNames
    evidence: Floats  # per row
    association: Bools  # per row: whether most evidence is from contexts and neighbours
    column_evidence: Floats  # per column of the table
    members: dict[int, Ints]  # anomalous context (leaf) -> its rows here
    parts: ScoreParts | None  # of all rows, if they were kept

    @property
    def missing(self) -> Ints:
        """The number of missing values of every column of the table, used or not."""
        schema = self.model.schema
        used = {column.position: m for m, column in enumerate(schema.used)}
        missing = (
            np.isnan(self.table.column(used[k])) if k in used else self._raw(k).is_missing()
            for k in range(len(schema.columns))
        )
        return np.array([each.sum() for each in missing], np.int64)

    def rows(self, chosen: NDArray[np.intp], *, texts: bool = False) -> ScoredRows:
        """Return some rows, on request with the values of all columns as text."""
        schema = self.model.schema
        values = np.stack([self.table.column(m)[chosen] for m in range(len(schema.used))])
        unknown: list[dict[int, str | None]] = [{} for _ in chosen]
        for m, column in enumerate(schema.used):
            if column.role == "nominal":
                strange = np.flatnonzero(values[m] > len(column.categories))
                if len(strange):
                    written = raw_texts(self._raw(column.position), chosen[strange])
                    for k, text in zip(strange, written, strict=True):
                        unknown[k][m] = text
        columns = [raw_texts(self._raw(k), chosen) for k in range(len(schema.columns)) if texts]
        return ScoredRows(
            numbers=self.first + chosen.astype(np.int64),
            labels=[self.labels[int(k)] for k in chosen],
            values=values,
            parts=self._score(values) if self.parts is None else _some(self.parts, chosen),
            unknown=unknown,
            texts=[list(row) for row in zip(*columns, strict=True)] or [[] for _ in chosen],
            names=self.names,
        )

    def with_labels(self) -> ScoredTable:
        """Let training rows be named by the labels of this table, if it is the training table."""
        whole = self.names.known and self.table.n_rows == self.model.n_rows
        return replace(self, names=replace(self.names, labels=self.labels)) if whole else self

    def _score(self, values: Floats) -> ScoreParts:
        """Score rows once more, in blocks: the parts of all rows were not kept."""
        score = scorer(self.model)
        starts = range(0, max(1, values.shape[1]), BLOCK)
        blocks = [np.ascontiguousarray(values[:, start : start + BLOCK]) for start in starts]
        return _together([score(block) for block in blocks])

    def _raw(self, position: int) -> RawColumn:
        """Return a column as the table holds it; its columns may be in another order."""
        schema = self.model.schema
        by_name = schema.named and self.frame.named
        name = schema.columns[position].name
        return self.frame.column(self.frame.names.index(name) if by_name else position)


class _Block(NamedTuple):
    """What is kept of a block of rows."""

    evidence: Floats  # per row
    association: Bools  # per row
    columns: Floats  # evidence per attribute
    members: list[Ints]  # per anomalous context
    parts: ScoreParts | None


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

    ``first`` is the number of the first row, for counting on from an earlier piece, and
    ``count_from`` that of the whole table's first row. With ``keep_parts``, the parts of all scores
    are kept, so that all rows can be explained without scoring them again.
    """
    frame = read_frame(X)
    table = prepare(frame, model.schema)
    if labels is None:
        labels = range(first, first + table.n_rows)
    elif len(labels) != table.n_rows:
        raise ValueError(f"there are {len(labels)} labels for {table.n_rows} rows")
    access = ModelAccess(model)
    done = _score_blocks(access, table, n_jobs, keep_parts)
    used = [column.position for column in model.schema.used]
    column_evidence = np.zeros(len(model.schema.columns))
    column_evidence[used] = sum(block.columns for block in done)
    members = map(np.concatenate, zip(*(block.members for block in done), strict=True))
    parts = [block.parts for block in done if block.parts is not None]
    return ScoredTable(
        model=model,
        frame=frame,
        table=table,
        first=first,
        labels=labels,
        names=TrainingNames(access.is_training_data(table, first - count_from), count_from),
        evidence=np.concatenate([block.evidence for block in done]),
        association=np.concatenate([block.association for block in done]),
        column_evidence=column_evidence,
        members={k: rows for k, rows in zip(access.members, members, strict=True) if len(rows)},
        parts=_together(parts) if keep_parts else None,
    )


def _score_blocks(
    access: ModelAccess, table: Prepared, n_jobs: int, keep_parts: bool
) -> list[_Block]:
    """Score block after block, in threads; return what is kept in the order of the table."""
    score, blocks = scorer(access.model), dict[int, _Block]()
    targets = {leaf: access.attribute_of(leaf) for leaf in access.members}

    def score_block(start: int, stop: int) -> None:
        parts = score(table.block(start, stop))
        cells = parts.cells()
        evidence = cells.sum(axis=0)
        association = parts.association() > evidence / 2
        members = [start + np.flatnonzero(parts.leaf[m] == leaf) for leaf, m in targets.items()]
        kept = parts if keep_parts else None
        blocks[start] = _Block(evidence, association, cells.sum(axis=1), members, kept)

    run_blocks(score_block, table.n_rows, n_jobs)
    return [blocks[start] for start in sorted(blocks)]


def _together(blocks: Sequence[ScoreParts]) -> ScoreParts:
    """Join the parts of blocks of rows."""
    arrays: Any = zip(*blocks, strict=True)
    return ScoreParts(*(np.concatenate(each, axis=-1) for each in arrays))


def _some(parts: ScoreParts, chosen: NDArray[np.intp]) -> ScoreParts:
    """Return the parts of some rows."""
    arrays: Any = parts
    return ScoreParts(*(array[..., chosen] for array in arrays))
