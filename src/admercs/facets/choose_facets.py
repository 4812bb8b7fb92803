"""Which facets the columns of a table have."""

from __future__ import annotations

from admercs.method.settings import Columns, Facets
from admercs.table.columns import Facet
from admercs.table.schema import is_identifier
from admercs.table.summary import ColumnSummary, TableSummary

Made = tuple[Facet, ...]


def choose_facets(summary: TableSummary, columns: Columns, settings: Facets | None) -> Made:
    """Return the facets of all columns, in the order of the columns."""
    if settings is None:
        return ()
    return tuple(
        Facet(kind, (position,))
        for position, column in enumerate(summary.columns)
        for kind in _kinds(column, columns)
    )


def _kinds(column: ColumnSummary, columns: Columns) -> tuple[str, ...]:
    if column.n_unread:
        return ("kind",)
    is_long = column.kind == "text" and column.n_present and is_identifier(column, columns)
    return ("shape", "length") if is_long else ()
