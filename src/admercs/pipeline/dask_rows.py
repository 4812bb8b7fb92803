"""The rows of a Dask table: every partition is a piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from distributed import Future
from numpy.typing import NDArray

from admercs.pipeline.cluster_run import ClusterRun
from admercs.pipeline.rows import Function, Kept, Rows, Several, Work
from admercs.table.frame import read_frame
from admercs.table.prepared import Prepared, prepare
from admercs.table.quantiles import Cells, Request, count_cells, linear_quantiles, merge_cells
from admercs.table.schema import Schema
from admercs.table.summary import TableSummary, merge_summaries, summarise

Floats = NDArray[np.float64]


class RowsOnDask(Rows):
    """The rows of a Dask table on a cluster."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._n_rows: list[int] = []
        self._schema: Schema | None = None
        self.n_jobs = 1  # of the caller: the cluster's threads do the work

    def summary(self, nominal: Any) -> TableSummary:
        """Summarise the columns; the first pass over the table."""
        run = self._run
        if run.n_parts == 0:
            raise ValueError("The table has no partitions, hence no rows to learn from.")
        parts = run.read("reading", summarise_part, nominal, each=[range(run.n_parts)])
        signatures = run.result(run.reduce(join_lists, [run.submit(signature, p) for p in parts]))
        check_partitions(signatures)
        self._n_rows = [part.n_rows for part in signatures]
        merged: TableSummary = run.result(run.reduce(merge_summaries, parts))
        return merged

    def open(self, schema: Schema) -> None:
        """Use a schema from now on."""
        self._schema = schema

    def _keep(
        self, phase: str, function: Function, kept: Several, shared: Sequence[Any], uses_up: bool
    ) -> Kept:
        run = self._run
        passed = [self.share(value) for value in shared]
        # A task may run again: what it is given must stay as it is.
        call = (on_copies, run.share(function)) if uses_up else (function,)
        futures = [run.submit(*call, *of_piece, *passed) for of_piece in zip(*kept, strict=True)]
        run.wait(phase, futures)
        return futures

    def _read(
        self, phase: str, function: Function, kept: Several, shared: Sequence[Any], columns: Any
    ) -> Kept:
        schema = self._schema
        if schema is None:
            raise RuntimeError("the table has not been opened with a schema yet")
        some = list(range(len(schema.used)) if columns is None else columns)
        call = self.share((function, schema, some))
        passed = [self.share(value) for value in shared]
        return self._run.read(
            phase or "reading", read_piece, *passed,
            each=[self._n_rows, [call] * self._run.n_parts, *kept],
            columns=[schema.used[m].position for m in some],
        )  # fmt: skip

    def pick(self, kept: Kept, k: int) -> Kept:
        """Return the k-th member of each result."""
        return [self._run.submit(member_of, future, k) for future in kept]

    def merge(self, function: Callable[[list[Any]], Any], kept: Kept) -> Any:
        """Merge the results of all partitions in a tree of tasks."""
        return self._run.result(self._run.reduce(function, kept))

    def gather(self, kept: Kept) -> list[Any]:
        """Bring the results of all partitions to the client."""
        results: list[Any] = self._run.result(list(kept))
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

        return linear_quantiles(levels, sum(self._n_rows), count)

    def for_each(self, phase: str, work: Work, n_items: int, most: int | None = None) -> list[Any]:
        """Work on batches of at most `most` items, one batch after the other."""
        step = n_items if most is None else max(1, most)
        results: list[Any] = []
        for start in range(0, n_items, max(1, step)):
            results += work(list(range(start, min(n_items, start + step))))
            self._run.tell(phase, len(results), n_items)
        return results


class SomeColumns(Prepared):
    """A partition of which only some columns are read; they keep their numbers."""

    def __init__(self, table: Prepared, columns: Sequence[int]) -> None:
        self.n_rows, self.n_columns = table.n_rows, table.n_columns
        self._opened, self._place = table, {m: k for k, m in enumerate(columns)}

    def column(self, m: int) -> Floats:
        """Return the working values of used column ``m``."""
        return self._opened.column(self._place[m])

    def block(self, start: int, stop: int) -> Floats:
        """Return the working values of the rows ``start:stop``."""
        return self._opened.block(start, stop)

    def some(self, rows: NDArray[np.int64]) -> Floats:
        """Return the working values of some rows."""
        return self._opened.some(rows)


def read_piece(
    part: pd.DataFrame,
    n_rows: int,
    call: tuple[Callable[..., Any], Schema, Sequence[int]],
    *args: Any,
) -> Any:
    """Open a partition and call a function with it; a call names the columns that were read."""
    if len(part) != n_rows:
        raise ValueError(
            f"The partition had {n_rows:,} rows when it was read first and has {len(part):,} now: "
            "a table must not change while it is read."
        )
    function, schema, columns = call
    return function(open_part(part, schema, columns), *args)


def open_part(part: pd.DataFrame, schema: Schema, columns: Sequence[int] | None = None) -> Prepared:
    """Return the working values of a partition that holds some or all columns of the table."""
    frame = read_frame(part, allow_empty=True)
    if columns is None:
        return prepare(frame, schema)
    used = [schema.used[m] for m in columns]
    kinds = tuple(schema.kinds[column.position] for column in used)
    renumbered = tuple(replace(column, position=k) for k, column in enumerate(used))
    table = prepare(frame, replace(schema, columns=renumbered, kinds=kinds))
    return SomeColumns(table, columns)


def summarise_part(part: pd.DataFrame, number: int, nominal: Any) -> TableSummary:
    """Summarise a partition."""
    return summarise(read_frame(part, allow_empty=True), nominal, partition=number)


def signature(part: TableSummary) -> list[TableSummary]:
    """Return what must agree between partitions: names and types, without any counts."""
    columns = tuple(replace(column, counts={}) for column in part.columns)
    return [replace(part, columns=columns)]


def join_lists(parts: Sequence[list[Any]]) -> list[Any]:
    """Put lists one after the other."""
    return [item for part in parts for item in part]


def check_partitions(parts: Sequence[TableSummary]) -> None:
    """Raise a ValueError that names the first partition that differs from most, and its column."""

    def shape(part: TableSummary) -> tuple[Any, ...]:
        return tuple((column.name, column.kind, column.unit) for column in part.columns)

    full = [part for part in parts if part.n_rows] or list(parts)
    usual = Counter(map(shape, full)).most_common(1)[0][0]
    pattern = next(part for part in full if shape(part) == usual)
    for part in parts:
        merge_summaries([pattern, part])


def member_of(result: Sequence[Any], k: int) -> Any:
    """Return one member of a result."""
    return result[k]


def on_copies(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that changes its arguments with copies of them."""
    return function(*deepcopy(args))
