"""A table with its facets: for all that follows they are columns like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from admercs.arrays import Ints
from admercs.facets.facet_kinds import facet_name, make_facet
from admercs.facets.relations import RELATION
from admercs.table.columns import Facet
from admercs.table.frame import Frame
from admercs.table.prepared import Prepared
from admercs.table.reading_frame import TableReading
from admercs.table.schema import Schema
from admercs.table.summary import ColumnSummary, summarise_column
from admercs.table.values import RawColumn


class FacetFrame(Frame):
    """The columns of a table, and behind them its facets.

    `places` are the positions in the table of the columns that facets count their sources by; by
    default they are all columns in the order of the table. `names` are those of the facets, where
    they are known.
    """

    def __init__(
        self, frame: Frame, facets: Sequence[Facet], places: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self._frame, self._facets = frame, tuple(facets)
        self._places = tuple(range(frame.n_columns) if places is None else places)
        self._n_given = len(self._places)
        self.n_rows, self.n_columns = frame.n_rows, self._n_given + len(self._facets)
        given = [frame.names[place] for place in self._places]
        self.names = [*given, *(names or (facet_name(facet, given) for facet in self._facets))]
        self.named, self.has_names = frame.named, frame.has_names
        self._made: dict[int, RawColumn] = {}

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows; do not write into them."""
        stop = self.n_rows if stop is None else stop
        if position < self._n_given:
            return self._frame.column(self._places[position], start, stop)
        facet = self._facets[position - self._n_given]
        if facet.kind == RELATION:  # quickly made of the rows that are needed
            sources = [self.column(source, start, stop) for source in facet.sources]
            return make_facet(facet, sources, self.names[position])
        if position not in self._made:
            # What a facet has learned is prepared once, so all rows are made at the same time.
            sources = [self.column(source) for source in facet.sources]
            self._made[position] = make_facet(facet, sources, self.names[position])
        return self._made[position].rows(slice(start, stop))

    def some(self, position: int, rows: Ints) -> RawColumn:
        """Return some rows of a column, in ascending order."""
        facet = self._facets[position - self._n_given] if position >= self._n_given else None
        if facet is None or facet.kind != RELATION:
            return super().some(position, rows)
        sources = [self.some(source, rows) for source in facet.sources]
        return make_facet(facet, sources, self.names[position])

    def original(self, position: int) -> RawColumn:
        """Return a column as the table holds it; a facet as it is made."""
        if position < self._n_given:
            return self._frame.original(self._places[position])
        return self.column(position)

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        names = self.names[self._n_given :]
        return FacetFrame(self._frame.take(rows), self._facets, self._places, names)

    def texts(self, position: int) -> nw.Series[Any] | None:
        """Return a column of text in the hands of its own library; None for any other column."""
        if position >= self._n_given:
            return None
        return self._frame.texts(self._places[position])


def prepare(frame: Frame, schema: Schema) -> Prepared:
    """Match a table with the schema of a model, or raise a ValueError."""
    facets = [column.facet for column in schema.facets if column.facet is not None]
    names = [column.name for column in schema.facets]
    places = schema.check(frame)
    pairs = zip(places, schema.columns, strict=True)
    readings = {place: column.reading for place, column in pairs if column.reading is not None}
    read = TableReading(schema.rules, readings).frame(frame)
    return Prepared(FacetFrame(read, facets, places, names), schema)


def summarise_facets(frame: Frame, facets: Sequence[Facet]) -> tuple[ColumnSummary, ...]:
    """Summarise the facets of a table, or of a part of one."""
    made = FacetFrame(frame, facets)
    positions = range(frame.n_columns, made.n_columns)
    return tuple(summarise_column(made, position, False) for position in positions)
