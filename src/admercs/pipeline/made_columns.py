"""Which columns are made of the table's columns, decided from what its pieces tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from admercs.facets import choose_facets, find_determined, summarise_facets
from admercs.facets.relation_sample import (
    NumberSample,
    count_satisfied,
    merge_number_samples,
    sample_numbers,
)
from admercs.facets.relation_search import find_relations
from admercs.facets.relations import RELATED, relation_facet
from admercs.method.settings import Method, Relations
from admercs.pipeline.rows import Rows
from admercs.table.columns import Facet
from admercs.table.summary import ColumnSummary, TableSummary, merge_columns


def make_columns(
    rows: Rows, summary: TableSummary, method: Method, smallest_leaf: int
) -> list[tuple[Facet, ColumnSummary]]:
    """Return the facets of a table and what its rows tell about them."""
    facets = [*choose_facets(summary, method.columns, method.facets)]
    facets += find_determined(rows, summary, method.facets, smallest_leaf)
    if method.relations is not None:
        facets += relation_facets(rows, summary, method.relations)
    if not facets:
        return []
    sources = sorted({source for facet in facets for source in facet.sources})
    numbered = [replace(f, sources=tuple(map(sources.index, f.sources))) for f in facets]
    parts = rows.look_at("reading", summarise_facets, sources, shared=(numbered,))
    return list(zip(facets, rows.merge(merge_columns, parts), strict=True))


def relation_facets(rows: Rows, summary: TableSummary, settings: Relations) -> list[Facet]:
    """Find the relations between the numeric and date columns of a table."""
    places = [
        j
        for j, column in enumerate(summary.columns)
        if column.role == "numeric" and column.kind in RELATED and column.low != column.high
    ]
    if len(places) < 2 or summary.n_rows < settings.min_rows:
        return []
    parts = rows.look_at("relations", sample_numbers, places, shared=(settings.rows,))
    sample: NumberSample = rows.merge(merge_number_samples, parts)
    is_date = np.array([bool(summary.columns[j].unit) for j in places])
    found = find_relations(sample.values, is_date, settings)
    if not found:
        return []
    parts = rows.look_at("relations", count_satisfied, places, shared=(found,))
    counts = rows.merge(np.add.reduce, parts).tolist()
    return [
        relation_facet(formula._replace(sources=tuple(places[s] for s in formula.sources)), *count)
        for formula, count in zip(found, counts, strict=True)
        if count[1] >= _least_share(formula.form, formula.exact, settings) * count[0] > 0
    ]


def _least_share(form: str, exact: bool, settings: Relations) -> float:
    """Return the share of all rows that have to satisfy a relation of the sample."""
    if form == "order":
        return settings.order_share
    return settings.exact_share if exact else 2 * settings.central - 1
