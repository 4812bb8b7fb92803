"""Bin codes of all columns, which is all that the trees see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from admercs.arrays import Array, Floats
from admercs.pipeline.rows import Kept, Rows
from admercs.table import bins, quantiles
from admercs.table.bins import Binning, Bins
from admercs.table.columns import Column
from admercs.table.prepared import Prepared
from admercs.table.quantiles import Cells, Request
from admercs.table.schema import Schema

Edges = dict[int, Floats]


def encode_rows(rows: Rows, schema: Schema, n_rows: int, max_bins: Bins) -> tuple[Binning, Kept]:
    """Find the bins of every used column and encode all pieces."""

    def encode(batch: list[int]) -> list[tuple[Floats, Kept]]:
        if n_rows <= quantiles.SORTED:
            # A short table is read once: its values stay with the pieces until they are encoded.
            values = rows.read("", values_of_piece, shared=(batch,), columns=batch)
            columns = zip(batch, zip(*rows.gather(values), strict=True), strict=True)
            edges = {m: _sorted_edges(schema.used[m], parts, max_bins) for m, parts in columns}
            kept = rows.keep("", encode_values, values, shared=(schema, edges))
        else:
            edges = _searched_edges(rows, schema, n_rows, batch, max_bins)
            kept = rows.read("", encode_piece, shared=(schema, edges), columns=batch)
        return [(edges[m], rows.pick(kept, k)) for k, m in enumerate(batch)]

    found = rows.for_each("encoding", encode, len(schema.used))
    binning = bins.make_binning(schema, [edges for edges, _ in found], max_bins)
    codes = rows.keep("", stack_codes, *(codes for _, codes in found), shared=(binning.dtype,))
    return binning, codes


def _sorted_edges(column: Column, parts: Sequence[Floats], max_bins: Bins) -> Floats:
    """Sort the values of a column of a short table."""
    if column.role != "numeric":
        return np.empty(0)
    return bins.find_edges(np.concatenate(parts), max_bins)


def _searched_edges(
    rows: Rows, schema: Schema, n_rows: int, columns: list[int], max_bins: Bins
) -> Edges:
    """Count the values of a long table in ever smaller cells."""
    edges = {m: np.empty(0) for m in columns}
    numeric = {m: schema.used[m] for m in columns if schema.used[m].role == "numeric"}
    if max_bins == "exact":
        some = list(numeric)
        parts = rows.read("", distinct_of_piece, shared=(some,), columns=some)
        for m, values in zip(numeric, rows.merge(merge_distinct, parts), strict=True):
            bins.check_distinct(len(values), numeric[m].name)
            edges[m] = bins.edges_between(values[:-1], values[1:])
        return edges

    def count(requests: dict[int, Request]) -> Any:
        parts = rows.read("", cells_of_piece, shared=(requests,), columns=list(requests))
        return rows.merge(quantiles.merge_requests, parts)

    searches = {
        m: quantiles.edge_search(n_rows - column.n_missing, column.limits, max_bins)
        for m, column in numeric.items()
    }
    quantiles.run_searches(searches, count)
    return edges | {m: bins.edges_between(*search.gaps()) for m, search in searches.items()}


def values_of_piece(table: Prepared, columns: list[int]) -> list[Floats]:
    """Return the working values of some columns."""
    return [table.column(m) for m in columns]


def cells_of_piece(table: Prepared, requests: dict[int, Request]) -> Mapping[int, Cells]:
    """Count what is requested of some columns."""
    return quantiles.count_requests(table.column, requests)


def distinct_of_piece(table: Prepared, columns: list[int]) -> list[Floats]:
    """Return the distinct values of some columns of a piece."""
    return merge_distinct([values_of_piece(table, columns)])


def merge_distinct(pieces: Sequence[list[Floats]]) -> list[Floats]:
    """Return the distinct values of columns in several pieces, no more than say: too many."""
    merged = (np.unique(np.concatenate(values)) for values in zip(*pieces, strict=True))
    return [values[~np.isnan(values)][: bins.MAX_EXACT + 1] for values in merged]


def encode_piece(table: Prepared, schema: Schema, edges: Edges) -> list[Array]:
    """Return the codes of some columns of a piece."""
    return encode_values((table.column(m) for m in edges), schema, edges)


def encode_values(values: Iterable[Floats], schema: Schema, edges: Edges) -> list[Array]:
    """Return the codes of the values of some columns."""
    pairs = zip(edges.items(), values, strict=True)
    return [bins.encode_column(column, schema.used[m], own) for (m, own), column in pairs]


def stack_codes(*codes_and_type: Any) -> Array:
    """Put the codes of all columns together."""
    *codes, dtype = codes_and_type
    return np.stack([each.astype(dtype, copy=False) for each in codes])
