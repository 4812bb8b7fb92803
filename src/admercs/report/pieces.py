"""A table judged piece by piece: all that a report and a list of scores need of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from admercs.detector.judge import BLOCK, Judge, run_blocks
from admercs.detector.model import Judgement, Model
from admercs.explanation import Explanations, explain_rows
from admercs.explanation.voice import Voice
from admercs.report.cells import cell_texts, place_of
from admercs.table.frame import Frame, read_frame
from admercs.table.prepared import Prepared, prepare

__all__ = ["JudgedRows", "Piece", "judge_piece"]


@dataclass(frozen=True)
class JudgedRows:
    """A few rows with everything that is known about them.

    Attributes
    ----------
    numbers : ndarray of int64
        Their numbers in the whole table.
    labels : list
        What they are called.
    values : ndarray of float64, one row per attribute
        Their working values.
    judgement : Judgement
        What the model says about them.
    texts : list of list of str or None
        Their values as text, one list per row with an entry per column of the table.
    """

    numbers: NDArray[np.int64]
    labels: list[Any]
    values: NDArray[np.float64]
    judgement: Judgement
    texts: list[list[str | None]]

    def explain(
        self,
        model: Model,
        top: int | None,
        noun: str = "rows",
        frame: Literal["pandas", "polars"] | None = None,
    ) -> Explanations:
        """Explain these rows; the parameters are those of `explain_rows`."""
        positions = [column.position for column in model.schema.used]

        def raw(attribute: int, row: int) -> str | None:
            return self.texts[row][positions[attribute]]

        return explain_rows(
            model, self.values, self.judgement, self.labels, top, noun=noun, raw=raw, frame=frame
        )

    def head(self, n: int) -> JudgedRows:
        """Return the first rows."""
        return JudgedRows.join([self], np.arange(min(n, len(self.labels))))

    @classmethod
    def join(cls, parts: Sequence[JudgedRows], order: NDArray[np.intp]) -> JudgedRows:
        """Put rows of several pieces together in a given order."""
        labels = [label for part in parts for label in part.labels]
        texts = [text for part in parts for text in part.texts]
        arrays = zip(*(part.judgement for part in parts), strict=True)
        return cls(
            numbers=np.concatenate([part.numbers for part in parts])[order],
            labels=[labels[k] for k in order],
            values=np.concatenate([part.values for part in parts], axis=1)[:, order],
            judgement=Judgement(*(np.concatenate(a, axis=-1)[..., order] for a in arrays)),
            texts=[texts[k] for k in order],
        )


@dataclass(frozen=True)
class Piece:
    """Some consecutive rows of a table, judged.

    Attributes
    ----------
    evidence, association : ndarray
        Per row: the evidence against it; whether most of that comes from anomalous contexts.
    column_evidence, missing : ndarray
        Per column of the table: the evidence it contributed, and its missing values.
    members : dict of int to ndarray of int64
        Anomalous context (leaf) → the rows of this piece in it.
    first : int
        The number of the first row.
    labels : sequence
        What the rows are called.
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

    def rows(self, chosen: NDArray[np.intp], voice: Voice | None = None) -> JudgedRows:
        """Return some rows of the piece with everything that is known about them."""
        values = np.stack(
            [self.table.column(m)[chosen] for m in range(len(self.model.schema.used))]
        )
        voice = voice or Voice(self.model)
        return JudgedRows(
            numbers=self.first + chosen.astype(np.int64),
            labels=[self.labels[int(k)] for k in chosen],
            values=values,
            judgement=Judge(self.model).judge(values),
            texts=cell_texts(voice, self.frame, values, chosen),
        )


def judge_piece(
    model: Model,
    X: Any,
    *,
    labels: Sequence[Any] | None = None,
    first: int = 0,
    n_jobs: int = 1,
) -> Piece:
    """Judge a table or a part of one.

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
    n_jobs : int, default=1
        Threads.
    """
    frame = read_frame(X)
    table = prepare(frame, model.schema)
    if labels is None:
        labels = range(first, first + table.n_rows)
    elif len(labels) != table.n_rows:
        raise ValueError(f"there are {len(labels)} labels for {table.n_rows} rows")
    tally = _Tally(model, table)
    run_blocks(tally.take, table.n_rows, n_jobs)
    return Piece(
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
    )


class _Tally:
    """Judges block after block, perhaps in several threads: each block has places of its own."""

    def __init__(self, model: Model, table: Prepared) -> None:
        self.model, self.table, self.judge = model, table, Judge(model)
        self.evidence = np.empty(table.n_rows)
        self.association = np.empty(table.n_rows, np.bool_)
        self._cells = np.zeros((1 + table.n_rows // BLOCK, len(model.schema.used)))
        self._tree_of = {leaf: model.forest.tree_of(leaf) for leaf in model.members}
        self._found: dict[tuple[int, int], NDArray[np.int64]] = {}

    def take(self, start: int, stop: int) -> None:
        """Judge the rows of one block."""
        judgement = self.judge.judge(self.table.block(start, stop))
        cells = judgement.cells()
        evidence = self.evidence[start:stop] = cells.sum(axis=0)
        self.association[start:stop] = judgement.association() > evidence / 2
        self._cells[start // BLOCK] = cells.sum(axis=1)
        for leaf, tree in self._tree_of.items():
            inside = np.flatnonzero(judgement.leaf[tree] == leaf)
            if len(inside):
                self._found[leaf, start] = start + inside

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
