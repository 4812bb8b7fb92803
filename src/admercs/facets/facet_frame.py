"""A table with its facets: for all that follows they are columns like any other."""

from __future__ import annotations

from collections.abc import Sequence

from admercs.arrays import Ints
from admercs.facets.determination import coded_values
from admercs.facets.facet_kinds import FACETS, facet_name, make_facet
from admercs.facets.relations import RELATION, residual_column
from admercs.facets.text_shape import has_many_shapes
from admercs.table.columns import Facet
from admercs.table.frame import Frame
from admercs.table.prepared import Prepared
from admercs.table.reading_frame import TableReading
from admercs.table.schema import Schema
from admercs.table.summary import NOMINAL_CAP, ColumnSummary, summarise_column
from admercs.table.text_cells import TextCells
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
        self._made: dict[int, RawColumn | TextCells] = {}
        self._coded: dict[int, TextCells] = {}

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows; do not write into them."""
        stop = self.n_rows if stop is None else stop
        if position < self._n_given:
            return self._frame.column(self._places[position], start, stop)
        facet = self._facets[position - self._n_given]
        if facet.kind == RELATION:  # quickly made of the rows that are needed
            sources = [self.column(source, start, stop) for source in facet.sources]
            return residual_column(self.names[position], *sources, *facet.settings)
        made = self._make(position)
        if isinstance(made, TextCells):
            made = made.column(self.names[position])
        return made.rows(slice(start, stop))

    def _make(self, position: int) -> RawColumn | TextCells:
        if position not in self._made:
            # What a facet has learned is prepared once, so all rows are made at the same time.
            facet = self._facets[position - self._n_given]
            given = [
                self._codes(source) if FACETS[facet.kind].of_codes else self._cells(source)
                for source in facet.sources
            ]
            self._made[position] = make_facet(facet, given, self.names[position])
        return self._made[position]

    def _cells(self, source: int) -> RawColumn | TextCells:
        texts = self.texts(source)
        return self.column(source) if texts is None else texts

    def _codes(self, source: int) -> TextCells:
        """Return a column as the texts of its values, of which many facets are made."""
        if source not in self._coded:
            self._coded[source] = coded_values(self._cells(source))
        return self._coded[source]

    def some(self, position: int, rows: Ints) -> RawColumn:
        """Return some rows of a column, in ascending order."""
        facet = self._facets[position - self._n_given] if position >= self._n_given else None
        if facet is None or facet.kind != RELATION:
            return super().some(position, rows)
        sources = [self.some(source, rows) for source in facet.sources]
        return residual_column(self.names[position], *sources, *facet.settings)

    def original(self, position: int) -> RawColumn:
        """Return a column as the table holds it; a facet as it is made."""
        if position < self._n_given:
            return self._frame.original(self._places[position])
        return self.column(position)

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        names = self.names[self._n_given :]
        return FacetFrame(self._frame.take(rows), self._facets, self._places, names)

    def texts(self, position: int) -> TextCells | None:
        """Return the cells of a column of texts; None for any other column."""
        if position < self._n_given:
            return self._frame.texts(self._places[position])
        made = self._make(position) if FACETS[self._kind(position)].made == "text" else None
        return made if isinstance(made, TextCells) else None

    def _kind(self, position: int) -> str:
        return self._facets[position - self._n_given].kind


def prepare(frame: Frame, schema: Schema) -> Prepared:
    """Match a table with the schema of a model, or raise a ValueError."""
    facets = [column.facet for column in schema.facets if column.facet is not None]
    names = [column.name for column in schema.facets]
    places = schema.check(frame)
    for place, kind in zip(places, schema.kinds, strict=False):
        if kind == "mixed":
            frame.read_as_mixed(place)
    pairs = zip(places, schema.columns, strict=True)
    readings = {place: column.reading for place, column in pairs if column.reading is not None}
    read = TableReading(schema.rules, readings).frame(frame)
    return Prepared(FacetFrame(read, facets, places, names), schema)


def summarise_facets(frame: Frame, facets: Sequence[Facet]) -> tuple[ColumnSummary, ...]:
    """Summarise the facets of a table, or of a part of one."""
    made, found = FacetFrame(frame, facets), []
    for position, facet in enumerate(facets, frame.n_columns):
        texts = frame.texts(facet.sources[0]) if facet.kind == "shape" else None
        if texts is not None and has_many_shapes(texts, NOMINAL_CAP):
            n, name = int(texts.n.sum()), made.names[position]
            sizes = {"n_present": n, "n_missing": frame.n_rows - n}
            found.append(ColumnSummary(name, "text", "nominal", counts=None, **sizes))
        else:
            found.append(summarise_column(made, position, False))
    return tuple(found)
