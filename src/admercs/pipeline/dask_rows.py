"""Dask tables: fitting, with every partition as a piece, and scoring, lazy and by partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from operator import getitem
from typing import Any, NamedTuple

import dask
import numpy as np
import pandas as pd
from dask.dataframe import DataFrame
from distributed import Future

from admercs.arrays import Array, Floats, Ints
from admercs.facets import prepare
from admercs.pipeline.cluster_run import ClusterRun, naming
from admercs.pipeline.local_cluster import some_client
from admercs.pipeline.model import Model
from admercs.pipeline.rows import Digest, Function, Kept, Numbers, Piece, Rows, Work
from admercs.pipeline.score import score_cells, score_evidence, score_strongest, score_values
from admercs.table.frame import read_frame
from admercs.table.prepared import Prepared
from admercs.table.quantiles import Cells, Request, count_cells, counted_quantiles, merge_cells
from admercs.table.reading_frame import TableReading
from admercs.table.readings import ReadingRules
from admercs.table.schema import Schema
from admercs.table.summary import (
    ColumnSummary,
    TableSummary,
    merge_columns,
    merge_summaries,
    summarise,
)

Finish = Callable[[Floats], Array]


class RowsOnDask(Rows):
    """The rows of a Dask table on a cluster."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._n_rows: list[int] = []
        self._schema: Schema | None = None
        self._how = TableReading()
        self.n_jobs = 1  # of the caller: the cluster's threads do the work

    def summary(self, nominal: Any, rules: ReadingRules | None = None) -> TableSummary:
        """Summarise the columns; the first pass over the table."""
        run = self._run
        self._how = TableReading(rules or ReadingRules())
        if run.n_parts == 0:
            raise ValueError("The table has no partitions, hence no rows to learn from.")
        parts = run.read("reading", summarise_part, nominal, rules, each=[range(run.n_parts)])
        signatures = run.result([run.submit(signature, part) for part in parts])
        check_partitions(signatures)
        self._n_rows = [part.n_rows for part in signatures]
        return self.merge(merge_summaries, parts)

    def read_as(self, how: TableReading) -> tuple[ColumnSummary, ...]:
        """Read texts in this way from now on; summarise the columns that this concerns."""
        self._how, needed = how, sorted(how.readings)
        parts = self._run.read("reading", columns_of_part, how.part(needed), columns=needed)
        merged: tuple[ColumnSummary, ...] = self.merge(merge_columns, parts)
        return merged

    def look_at(
        self, phase: str, function: Function, places: Sequence[int], *, shared: Any = ()
    ) -> Kept:
        """Call a function with some columns of every partition."""
        passed = [self.share(value) for value in (function, self._how.part(places), *shared)]
        return self._run.read(phase or "reading", look_at_columns, *passed, columns=list(places))

    def open(self, schema: Schema) -> None:
        """Use a schema from now on."""
        self._schema = schema

    def keep(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), uses_up: bool = False
    ) -> Kept:
        """Call a function with what is kept of every partition."""
        run, passed = self._run, [self.share(value) for value in shared]
        # A task may run again: what it is given must stay as it is.
        call = (on_copies, run.share(function)) if uses_up else (function,)
        futures = [run.submit(*call, *of_piece, *passed) for of_piece in zip(*kept, strict=True)]
        run.wait(phase, futures)
        return futures

    def read(
        self, phase: str, function: Function, *kept: Kept, shared: Any = (), columns: Numbers = None
    ) -> Kept:
        """Call a function with every partition of the table."""
        schema = self._schema
        if schema is None:
            raise RuntimeError("the table has not been opened with a schema yet")
        some = list(range(len(schema.used)) if columns is None else columns)
        if not some:
            return self.keep(phase, function, [None] * self._run.n_parts, *kept, shared=shared)
        call = self.share((function, schema, some))
        return self._run.read(
            phase or "reading", read_piece, *(self.share(value) for value in shared),
            each=[self._n_rows, [call] * self._run.n_parts, *kept],
            columns=schema.needed(some),
        )  # fmt: skip

    def pick(self, kept: Kept, k: int) -> Kept:
        """Return the k-th member of each result."""
        return [self._run.submit(getitem, future, k) for future in kept]

    def merge(
        self, function: Callable[[list[Any]], Any], kept: Kept, digest: Digest | None = None
    ) -> Any:
        """Merge the results of all partitions in a tree of tasks."""
        merged = self._run.reduce(function, kept)
        return self._run.result(merged if digest is None else self._run.submit(digest, merged))

    def gather(self, kept: Kept) -> list[Any]:
        """Bring the results of all partitions to the client."""
        results: list[Any] = self._run.result(kept)
        return results

    def first_rows(self) -> list[int]:
        """Return the number of the first row of each partition."""
        return np.cumsum([0, *self._n_rows[:-1]]).tolist()

    def spread(self, array: Floats) -> Kept:
        """Give each partition its part of an array."""
        return [self._run.share(part) for part in np.split(array, self.first_rows()[1:])]

    def share(self, value: Any) -> Any:
        """Give workers a value once instead of with every task."""
        return value if isinstance(value, Future) else self._run.share(value)

    def quantiles(self, kept: Kept, levels: Floats) -> Floats:
        """Return exact quantiles of the numbers of all partitions."""

        def count(requests: Mapping[int, Request]) -> Mapping[int, Cells]:
            counted = self.keep("", count_cells, kept, shared=(requests[0],))
            return {0: self.merge(merge_cells, counted)}

        return counted_quantiles(levels, sum(self._n_rows), count)

    def for_each(
        self,
        phase: str,
        work: Work,
        n_items: int,
        most: int | None = None,
        few: int = 0,  # noqa: ARG002 (all at once)
    ) -> list[Any]:
        """Work on batches of at most `most` items, one batch after the other."""
        step = max(1, n_items if most is None else most)
        results: list[Any] = []
        for start in range(0, n_items, step):
            results += work(list(range(start, min(n_items, start + step))))
            self._run.tell(phase, len(results), n_items)
        return results


def read_piece(
    part: pd.DataFrame, n_rows: int, call: tuple[Function, Schema, Sequence[int]], *args: Any
) -> Any:
    """Open a partition and call a function with it; a call names the columns that were read."""
    if len(part) != n_rows:
        raise ValueError(
            f"The partition had {n_rows:,} rows when it was read first and has {len(part):,} now: "
            "a table must not change while it is read."
        )
    function, schema, columns = call
    table = open_part(part, schema.part(columns))
    return function(Piece(table, columns), *args)


def open_part(part: pd.DataFrame, schema: Schema) -> Prepared:
    """Return the working values of a partition."""
    return prepare(read_frame(part, allow_empty=True), schema)


def summarise_part(
    part: pd.DataFrame, number: int, nominal: Any, rules: ReadingRules | None
) -> TableSummary:
    """Summarise a partition."""
    frame = TableReading(rules or ReadingRules()).frame(read_frame(part, allow_empty=True))
    return summarise(frame, nominal, number, rules)


def columns_of_part(part: pd.DataFrame, how: TableReading) -> tuple[ColumnSummary, ...]:
    """Summarise the columns of a partition whose texts are read."""
    return how.summarise(read_frame(part, allow_empty=True))


def look_at_columns(part: pd.DataFrame, function: Function, how: TableReading, *shared: Any) -> Any:
    """Call a function with the columns of a partition that were read."""
    return function(how.frame(read_frame(part, allow_empty=True)), *shared)


def signature(part: TableSummary) -> TableSummary:
    """Return what must agree between partitions: names and types, without any counts."""
    return replace(part, columns=tuple(replace(column, counts={}) for column in part.columns))


def check_partitions(parts: Sequence[TableSummary]) -> None:
    """Raise a ValueError that names the first partition that differs from most, and its column."""

    def shape(part: TableSummary) -> tuple[Any, ...]:
        return tuple((column.name, column.kind, column.unit) for column in part.columns)

    full = [part for part in parts if part.n_rows] or list(parts)
    usual = Counter(map(shape, full)).most_common(1)[0][0]
    pattern = next(part for part in full if shape(part) == usual)
    for part in parts:
        merge_summaries([pattern, part])


def on_copies(function: Function, *args: Any) -> Any:
    """Call a function that changes its arguments with copies of them."""
    return function(*deepcopy(args))


def lazy_scores(model: Model, table: DataFrame, finish: Finish, name: str) -> Any:
    """Return a lazy series of what `finish` makes of evidence, partitioned like the table."""
    return _lazy(model, table, score_evidence, partial(_series, finish, name), np.zeros(0))


def lazy_cells(model: Model, table: DataFrame, line: float | None = None) -> Any:
    """Return the evidence per cell as a lazy table, partitioned and indexed like the table.

    With a ``line``, return whether the evidence of each value is above it.
    """
    names = model.schema.names
    empty = np.zeros((0, len(names)))
    if line is None:
        return _lazy(model, table, score_cells, partial(pd.DataFrame, columns=names), empty)
    make = partial(_flags, line, names)
    return _lazy(model, table, score_values, make, empty)


def _flags(line: float, names: list[str], evidence: Floats, index: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(evidence > line, columns=names, index=index)


def lazy_lines(detector: Any, table: DataFrame, find: Function, *args: Any) -> Any:
    """Return the lines of a frame that a function finds in each partition, as a lazy table."""
    shared = dask.delayed(detector, pure=False, traverse=False)
    # What the columns hold is seen in a frame without rows.
    meta = find(table._meta.iloc[:0], detector, *args)
    return table.map_partitions(find, shared, *args, meta=meta)


def _series(finish: Finish, name: str, evidence: Floats, index: pd.Index) -> pd.Series:
    return pd.Series(finish(evidence), index=index, name=name)


def _lazy(model: Model, table: DataFrame, score: Function, make: Function, empty: Floats) -> Any:
    shared = dask.delayed(model, pure=False, traverse=False)
    meta = make(empty, index=table._meta.index[:0])
    return table.map_partitions(score_part, shared, score, make, meta=meta)


def score_part(
    part: pd.DataFrame, model: Model, score: Function, make: Function, partition_info: Any
) -> Any:
    """Score a partition; Dask tells which one it is."""
    with naming(partition_info["number"]):
        scores = score(model, open_part(part, model.schema))
    return make(scores, index=part.index)


class TopRows(NamedTuple):
    """The most anomalous rows of a part of the table, most anomalous first."""

    rows: pd.DataFrame
    evidence: Floats
    number: Ints  # row numbers, counted from the start of the part
    n_rows: int  # rows of the part


def top_rows(
    model: Model, table: DataFrame, n: int, *, by_value: bool = False
) -> tuple[pd.DataFrame, list[Any]]:
    """Return the `n` most anomalous rows of a Dask table, or those with the oddest values.

    Also return what to call them.

    Every worker keeps the best of its partitions only, and only `n` rows come to the client. Rows
    are called by the table's index; where that is nothing but a number that starts anew in each
    partition, by their number in the whole table.
    """
    with some_client() as client, ClusterRun(client, table) as run:
        parts = run.read("scoring", top_of_part, run.share(model), n, by_value)
        top: TopRows = run.result(run.reduce(merge_top, parts, n))
    index = table._meta.index
    if index.name is None and not table.known_divisions and index.dtype.kind in "iu":
        return top.rows, top.number.tolist()
    return top.rows, list(top.rows.index)


def top_of_part(part: pd.DataFrame, model: Model, n: int, by_value: bool) -> TopRows:
    """Return the most anomalous rows of a partition, or those with the oddest values."""
    evidence = score_strongest(model, open_part(part, model.schema))[int(by_value)]
    order = np.argsort(-evidence, kind="stable")[:n]
    return TopRows(part.iloc[order], evidence[order], order.astype(np.int64), len(part))


def merge_top(parts: list[TopRows], n: int) -> TopRows:
    """Return the most anomalous rows of several parts that follow each other."""
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    evidence = np.concatenate([part.evidence for part in parts])
    numbers = [part.number + start for part, start in zip(parts, first, strict=False)]
    number = np.concatenate(numbers)
    order = np.lexsort((number, -evidence))[:n]
    rows = pd.concat([part.rows for part in parts])
    return TopRows(rows.iloc[order], evidence[order], number[order], int(first[-1]))
