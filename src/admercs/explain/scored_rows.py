"""Scores a table, or a part of one, and keeps what explanations and reports need of each row."""

from __future__ import annotations

import datetime as dt
import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Bools, Floats, Ints
from admercs.explain.access import Model, ModelAccess, association
from admercs.explain.column_words import EPOCH, TICKS
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Explanations, FrameKind, label_text
from admercs.explain.row_explainer import RowExplainer
from admercs.explain.stated_words import StatedCell, stated_value
from admercs.facets import prepare
from admercs.facets.determined_columns import texts_of
from admercs.facets.text_shape import TEXT_PARTS
from admercs.pipeline.repair_search import RepairSearch
from admercs.pipeline.score import BLOCK, Parts, Scorer, join_parts, run_blocks, score_strongest
from admercs.table.columns import Column
from admercs.table.frame import read_frame
from admercs.table.prepared import Prepared
from admercs.table.values import RawColumn, in_zone

Chosen = NDArray[np.intp]  # numbers of some rows
Names = Callable[[int], str]  # what training rows are called, by their numbers from 0


@contextmanager
def without_collection() -> Iterator[None]:
    """Do not look for cycles of objects while many are made that are in none: it takes long."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


@dataclass(frozen=True)
class ScoredRows:
    """A few rows with everything that is known about them."""

    numbers: Ints  # in the whole table
    labels: list[Any]
    values: Floats  # working values, attributes x rows
    parts: Parts
    unknown: list[dict[int, str | None]]  # categories the model does not know, by attribute
    texts: list[list[str | None]]  # the original values of all columns, if asked for
    stated: list[dict[int, StatedCell]]  # cells that facets are about, by attribute
    names: Names

    def explain(
        self, model: Model, top: int | None, noun: str = "rows", frame: FrameKind | None = None
    ) -> Explanations:
        """Explain these rows, with at most ``top`` reasons each; None for all."""
        search = RepairSearch(model)
        repaired = search.search(self.values, self.parts, self._stated_values(model))
        explainer = RowExplainer(ModelWords(model, noun), self, repaired, search.usual, top)
        with without_collection():
            rows = tuple([explainer.explain(k, label) for k, label in enumerate(self.labels)])
        return Explanations(rows, frame)

    def _stated_values(self, model: Model) -> Floats:
        """Return what facets state that cells should be, as working values; NaN where they don't.

        Of several facets that state something about a cell the surest counts.
        """
        used = model.schema.used
        attributes = {column.position: m for m, column in enumerate(used)}
        should, likelihood = np.full(self.values.shape, np.nan), np.zeros(self.values.shape)
        for m, column in enumerate(used):
            target = attributes.get(column.sources[0]) if column.facet else None
            if target is None or column.facet is None or not column.facet.is_stated:
                continue
            sure = np.flatnonzero(self.values[m] < likelihood[target])
            for row in sure.tolist():
                value = stated_value(column.facet, self.stated[row][m])
                if value is None:
                    continue
                working = _working_value(used[target], value)
                # What the column does not know cannot be tried, and nothing else is expected.
                is_known = not np.isnan(working)
                should[target, row] = working if is_known else self.values[target, row]
                likelihood[target, row] = self.values[m, row]
        return should

    def head(self, n: int) -> ScoredRows:
        """Return the first rows."""
        return ScoredRows.join([self], np.arange(min(n, len(self.labels))))

    @classmethod
    def join(cls, pieces: Sequence[ScoredRows], order: Chosen) -> ScoredRows:
        """Put rows of several pieces together in a given order."""

        def lists(name: str) -> list[Any]:
            together = [each for piece in pieces for each in getattr(piece, name)]
            return [together[k] for k in order]

        return cls(
            numbers=np.concatenate([piece.numbers for piece in pieces])[order],
            labels=lists("labels"),
            values=np.concatenate([piece.values for piece in pieces], axis=1)[:, order],
            parts=_some(join_parts([piece.parts for piece in pieces]), order),
            unknown=lists("unknown"),
            texts=lists("texts"),
            stated=lists("stated"),
            names=pieces[0].names,
        )


@dataclass(frozen=True)
class ScoredTable:
    """Consecutive rows of a table, scored."""

    model: Model
    table: Prepared
    first: int  # the number of the first row
    labels: Sequence[Any]
    is_training: bool  # whether these are training rows, as far as the rows can tell
    names: Names
    evidence: Floats  # per row
    strongest: Floats  # per row: the evidence of its oddest value alone
    parts: Parts | None  # of all rows, if they were kept

    @property
    def missing(self) -> Ints:
        """The number of missing values of every column of the table, used or not."""
        schema = self.model.schema
        used = {column.position: m for m, column in enumerate(schema.used)}
        missing = (
            np.isnan(self.table.column(used[k])) if k in used else self.table.raw(k).is_missing()
            for k in range(len(schema.columns))
        )
        return np.array([each.sum() for each in missing], np.int64)

    def rows(self, chosen: Chosen, *, texts: bool = False) -> ScoredRows:
        """Return some rows, on request with the values of all columns as text."""
        schema = self.model.schema
        values = np.stack([self.table.column(m)[chosen] for m in range(len(schema.used))])
        unknown: list[dict[int, str | None]] = [{} for _ in chosen]
        for m, column in enumerate(schema.used):
            is_new = values[m] > (len(column.categories) if column.role == "nominal" else np.inf)
            if is_new.any():
                written = raw_texts(self.table.raw(column.position), chosen[is_new])
                for k, text in zip(np.flatnonzero(is_new), written, strict=True):
                    unknown[k][m] = text
        for m, column in enumerate(schema.used):
            source = schema.columns[column.sources[0]]
            unread = self.table.raw(source.position).unread if source.reading else None
            for k in [] if unread is None else np.flatnonzero(unread[chosen]):
                (unknown[k][m],) = raw_texts(
                    self.table.original(source.position), chosen[k : k + 1]
                )
        columns = [
            raw_texts(self.table.original(k), chosen) for k in range(len(schema.columns)) if texts
        ]
        return ScoredRows(
            numbers=self.first + chosen.astype(np.int64),
            labels=[self.labels[int(k)] for k in chosen],
            values=values,
            parts=self._score(values) if self.parts is None else _some(self.parts, chosen),
            unknown=unknown,
            texts=[list(row) for row in zip(*columns, strict=True)] or [[] for _ in chosen],
            stated=self._stated(chosen),
            names=self.names,
        )

    def _stated(self, chosen: Chosen) -> list[dict[int, StatedCell]]:
        """Return the cells of some rows that facets state something about, or are parts of."""
        found: list[dict[int, StatedCell]] = [{} for _ in chosen]
        for m, column in enumerate(self.model.schema.used):
            facet = column.facet
            if facet is None or not (facet.is_stated or facet.kind in TEXT_PARTS):
                continue
            sources = column.sources if len(chosen) else ()
            texts = [texts_of(self.table.raw(j).rows(chosen)) for j in sources]
            for cells, row in zip(found, zip(*texts, strict=True), strict=False):
                cells[m] = StatedCell(row, self.is_training)
        return found

    def with_labels(self) -> Self:
        """Let training rows be named by the labels of this table, if it is the training table."""
        if not self.is_training or self.table.n_rows != self.model.n_rows:
            return self
        return replace(self, names=lambda row: label_text(self.labels[row]))

    def _score(self, values: Floats) -> Parts:
        """Score rows once more, in blocks: the parts of all rows were not kept."""
        score = self.model.once(Scorer).score
        starts = range(0, max(1, values.shape[1]), BLOCK)
        blocks = (np.ascontiguousarray(values[:, start : start + BLOCK]) for start in starts)
        return join_parts([score(block) for block in blocks])


@dataclass(frozen=True)
class SummedTable(ScoredTable):
    """Consecutive rows of a table, scored, and what is told of them together."""

    association: Bools  # per row: whether most evidence is from contexts and neighbours
    column_evidence: Floats  # per column of the table
    members: dict[int, Ints]  # anomalous context (leaf) -> its rows here


def rank_rows(
    model: Model, X: Any, *, labels: Sequence[Any] | None = None, n_jobs: int = 1
) -> ScoredTable:
    """Score a table of which only the oddest rows are asked for."""
    known = _described(model, X, labels, 0, 0)
    evidence, strongest, _ = score_strongest(model, known["table"], n_jobs)
    return ScoredTable(**known, evidence=evidence, strongest=strongest, parts=None)


def _described(
    model: Model, X: Any, labels: Sequence[Any] | None, first: int, count_from: int
) -> dict[str, Any]:
    """Return what a scored table is called and made of."""
    table = prepare(read_frame(X), model.schema)
    if labels is None:
        labels = range(first, first + table.n_rows)
    elif len(labels) != table.n_rows:
        raise ValueError(f"there are {len(labels)} labels for {table.n_rows} rows")
    is_training = ModelAccess(model).is_training_data(table, first - count_from)
    row_word = "row" if is_training else "training row"
    return {
        "model": model, "table": table, "first": first, "labels": labels,
        "is_training": is_training, "names": lambda row: f"{row_word} {row + count_from}",
    }  # fmt: skip


def score_rows(
    model: Model,
    X: Any,
    *,
    labels: Sequence[Any] | None = None,
    first: int = 0,
    count_from: int = 0,
    n_jobs: int = 1,
    keep: Literal["rows", "columns", "parts"] = "columns",
) -> SummedTable:
    """Score a table or a part of one, in blocks and threads.

    ``first`` is the number of the first row, for counting on from an earlier piece, and
    ``count_from`` that of the whole table's first row. ``keep`` says what is kept beside sums over
    rows: the evidence of columns, to which what is said of whole rows is credited, or also the
    parts of all scores, so that all rows can be explained without scoring them again.
    """
    known = _described(model, X, labels, first, count_from)
    table, access, score = known["table"], ModelAccess(model), model.once(Scorer).score
    blocks: dict[int, tuple[Any, ...]] = {}

    def score_block(start: int, stop: int) -> None:
        parts = score(table.block(start, stop), cells=keep != "rows")
        cells, evidence = parts.cells(), parts.evidence()
        leaves, targets = access.leaves(parts), access.targets
        here = [np.flatnonzero(leaves[targets[k]] == k) + start for k in access.members]
        kept = parts if keep == "parts" else None
        rows = evidence, parts.pattern.max(axis=0), association(parts) > evidence / 2
        blocks[start] = *rows, cells.sum(axis=1), here, kept

    run_blocks(score_block, table.n_rows, n_jobs, table.n_columns)
    in_order = (blocks[start] for start in sorted(blocks))
    evidence, strongest, associated, by_attribute, members, parts = zip(*in_order, strict=True)
    column_evidence = np.zeros(len(model.schema.columns))
    np.add.at(column_evidence, model.credited, sum(by_attribute))
    rows_of = zip(access.members, map(np.concatenate, zip(*members, strict=True)), strict=True)
    return SummedTable(
        **known,
        evidence=np.concatenate(evidence),
        strongest=np.concatenate(strongest),
        parts=join_parts(list(parts)) if keep == "parts" else None,
        association=np.concatenate(associated),
        column_evidence=column_evidence,
        members={leaf: rows for leaf, rows in rows_of if len(rows)},
    )


def _some(parts: Parts, chosen: Chosen) -> Parts:
    arrays: Any = (None if array is None else array[..., chosen] for array in parts)
    return Parts(*arrays)


def _working_value(column: Column, text: str) -> float:
    """Return the working value that facets know by a text; NaN for one that the column has not."""
    if column.role == "nominal":
        return float(column.code_of.get(text, np.nan))
    try:
        if column.display == "time":
            text = f"1970-01-01 {text}"
        if not column.unit:
            return float(text) - column.origin
        moment = np.array(text.removesuffix("Z").replace(" ", "T"), f"M8[{column.unit}]")
        return float(moment.astype(np.int64) - column.origin)
    except ValueError:  # a length of time
        return np.nan


def raw_texts(column: RawColumn, chosen: Chosen) -> list[str | None]:
    """Return some values of a column as text, exactly as the table holds them; None if missing."""
    missing = column.is_missing()[chosen].tolist()
    values: list[Any] = missing if column.kind == "empty" else list(column.values[chosen])
    return [
        None if absent else _raw_text(value, column)
        for value, absent in zip(values, missing, strict=True)
    ]


def _raw_text(value: Any, column: RawColumn) -> str:
    if column.kind in ("date", "datetime"):
        return _moment_text(value, column)
    if column.kind == "time":
        return str((EPOCH + _span(value, column.unit)).time())
    if column.kind == "duration":
        try:
            return str(_span(value, column.unit))
        except OverflowError:
            return f"{value} {column.unit}"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return text.removesuffix(".0") if isinstance(value, float | np.floating) else text


def _span(value: Any, unit: str) -> dt.timedelta:
    """Return a time since the epoch; OverflowError if it is longer than Python can say."""
    return dt.timedelta(microseconds=int(value) * 10**6 // TICKS[unit])


def _moment_text(value: Any, column: RawColumn) -> str:
    """Write a date, with its time of day unless that is midnight."""
    if column.time_zone:
        with suppress(OverflowError):
            return str(in_zone(EPOCH + _span(value, column.unit), column.time_zone))
    day, _, time = str(value.view(f"M8[{column.unit}]")).partition("T")
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return f"{day} {time}" if time.strip("0:") else day
