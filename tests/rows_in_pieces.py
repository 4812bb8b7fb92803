"""Rows of a table cut into pieces, in one process: what fitting sees of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np

from admercs.arrays import Floats
from admercs.facets import FacetFrame, prepare
from admercs.pipeline.rows import Kept
from admercs.table import merge_summaries, read_frame, summarise
from admercs.table.prepared import Prepared
from admercs.table.reading_frame import TableReading
from admercs.table.readings import ReadingRules
from admercs.table.schema import Schema
from admercs.table.summary import ColumnSummary, TableSummary, merge_columns


class RowsInPieces:
    """A table, a numpy array or a data frame, that is cut at some rows (see ``rows.Rows``)."""

    n_jobs = 1

    def __init__(self, table: Any, cuts: Sequence[int]) -> None:
        self._ends = [0, *cuts, len(table)]
        cut = table.iloc if hasattr(table, "iloc") else table
        self._frames = [read_frame(cut[a:b], allow_empty=True) for a, b in pairwise(self._ends)]
        self.tables: list[Prepared] = []

    def summary(self, nominal: Any, rules: Any = None) -> TableSummary:
        self._how = TableReading(rules or ReadingRules())
        frames = enumerate(map(self._how.frame, self._frames))
        return merge_summaries(summarise(frame, nominal, k, rules) for k, frame in frames)

    def read_as(self, how: TableReading) -> tuple[ColumnSummary, ...]:
        self._how = how
        return merge_columns(how.summarise(frame) for frame in self._frames)

    def look_at(
        self,
        phase: str,
        function: Callable[..., Any],
        places: Sequence[int],
        *,
        shared: Sequence[Any] = (),
    ) -> Kept:
        frames = map(self._how.frame, self._frames)
        return [function(FacetFrame(frame, (), places), *shared) for frame in frames]

    def open(self, schema: Schema) -> None:
        self.tables = [prepare(frame, schema) for frame in self._frames]

    arrange = open

    def keep(
        self,
        phase: str,
        function: Callable[..., Any],
        *kept: Kept,
        shared: Sequence[Any] = (),
        uses_up: bool = False,
    ) -> Kept:
        pieces = zip(*kept, strict=True)
        # A function that changes what is kept without saying so would be found out.
        return [function(*(own if uses_up else deepcopy(own)), *shared) for own in pieces]

    def read(
        self,
        phase: str,
        function: Callable[..., Any],
        *kept: Kept,
        shared: Sequence[Any] = (),
        columns: Sequence[int] | None = None,
    ) -> Kept:
        return [function(*own, *shared) for own in zip(self.tables, *kept, strict=True)]

    def pick(self, kept: Kept, k: int) -> Kept:
        return [result[k] for result in kept]

    def merge(
        self,
        function: Callable[[list[Any]], Any],
        kept: Kept,
        digest: Callable[[Any], Any] | None = None,
    ) -> Any:
        while len(kept) > 2:  # in a tree, as a cluster does
            kept = [function(kept[k : k + 2]) for k in range(0, len(kept), 2)]
        merged = function(kept)
        return merged if digest is None else digest(merged)

    def gather(self, kept: Kept) -> list[Any]:
        return kept

    def first_rows(self) -> list[int]:
        return self._ends[:-1]

    def spread(self, array: Floats) -> Kept:
        return np.split(array, self._ends[1:-1])

    def share(self, value: Any) -> Any:
        return value

    def quantiles(self, kept: Kept, levels: Floats) -> Floats:
        return np.quantile(np.concatenate(kept), levels)

    def for_each(
        self,
        phase: str,
        work: Callable[[list[int]], list[Any]],
        n_items: int,
        most: int | None = None,
        few: int = 0,
    ) -> list[Any]:
        return work(list(range(n_items)))
