"""Bin codes of all columns, which is all that the trees see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import (
    MAX_EXACT,
    SORTED,
    Binning,
    Bins,
    check_distinct,
    edge_search,
    edges_between,
    encode_column,
    find_edges,
    make_binning,
)
from admercs.table.prepared import Prepared
from admercs.table.quantiles import Cells, Request, count_requests, merge_requests, run_searches
from admercs.table.schema import Schema

Floats = NDArray[np.float64]
Edges = dict[int, Floats]


def encode_rows(rows: Rows, schema: Schema, n_rows: int, max_bins: Bins) -> tuple[Binning, Kept]:
    """Find the bins of every used column and encode all pieces."""

    def encode(batch: list[int]) -> list[tuple[Floats, Kept]]:
        if n_rows <= SORTED:
            # A short table is read once: its values stay with the pieces until they are encoded.
            values = rows.read("", values_of_piece, shared=(batch,), columns=batch)
            edges = _sorted_edges(rows.gather(values), schema, batch, max_bins)
            kept = rows.keep("", encode_values, values, shared=(schema, edges))
        else:
            edges = _searched_edges(rows, schema, n_rows, batch, max_bins)
            kept = rows.read("", encode_piece, shared=(schema, edges), columns=batch)
        return [(edges[m], rows.pick(kept, k)) for k, m in enumerate(batch)]

    found = rows.for_each("encoding", encode, len(schema.used))
    binning = make_binning(schema, [edges for edges, _ in found], max_bins)
    codes = rows.keep("", stack_codes, *(codes for _, codes in found), shared=(binning.dtype,))
    return binning, codes


def _sorted_edges(
    pieces: list[list[Floats]], schema: Schema, columns: list[int], max_bins: Bins
) -> Edges:
    """Sort the values of a short table."""
    edges = {m: np.empty(0) for m in columns}
    for k, m in enumerate(columns):
        if schema.used[m].role == "numeric":
            values = np.concatenate([piece[k] for piece in pieces])
            edges[m] = find_edges(values, max_bins)
    return edges


def _searched_edges(
    rows: Rows, schema: Schema, n_rows: int, columns: list[int], max_bins: Bins
) -> Edges:
    """Count the values of a long table in ever smaller cells."""
    edges = {m: np.empty(0) for m in columns}
    numeric = [m for m in columns if schema.used[m].role == "numeric"]
    if max_bins == "exact":
        parts = rows.read("", distinct_of_piece, shared=(numeric,), columns=numeric)
        for m, values in zip(numeric, rows.merge(merge_distinct, parts), strict=True):
            check_distinct(len(values), schema.used[m].name)
            edges[m] = edges_between(values[:-1], values[1:])
        return edges
    searches = {
        m: edge_search(n_rows - schema.used[m].n_missing, *schema.used[m].limits, max_bins)
        for m in numeric
    }
    run_searches(searches, partial(_count, rows))
    return edges | {m: edges_between(*search.gaps()) for m, search in searches.items()}


def _count(rows: Rows, requests: dict[int, Request]) -> Mapping[int, Cells]:
    parts = rows.read("", cells_of_piece, shared=(requests,), columns=list(requests))
    counted: Mapping[int, Cells] = rows.merge(merge_requests, parts)
    return counted


def values_of_piece(table: Prepared, columns: list[int]) -> list[Floats]:
    """Return the working values of some columns."""
    return [table.column(m) for m in columns]


def cells_of_piece(table: Prepared, requests: dict[int, Request]) -> Mapping[int, Cells]:
    """Count what is requested of some columns."""
    return count_requests(table.column, requests)


def distinct_of_piece(table: Prepared, columns: list[int]) -> list[Floats]:
    """Return the distinct values of some columns of a piece."""
    return merge_distinct([[table.column(m) for m in columns]])


def merge_distinct(pieces: Sequence[list[Floats]]) -> list[Floats]:
    """Return the distinct values of columns in several pieces, no more than say: too many."""
    merged = (np.unique(np.concatenate(values)) for values in zip(*pieces, strict=True))
    return [values[~np.isnan(values)][: MAX_EXACT + 1] for values in merged]


def encode_piece(table: Prepared, schema: Schema, edges: Edges) -> list[NDArray[Any]]:
    """Return the codes of some columns of a piece."""
    return encode_values((table.column(m) for m in edges), schema, edges)


def encode_values(values: Iterable[Floats], schema: Schema, edges: Edges) -> list[NDArray[Any]]:
    """Return the codes of the values of some columns."""
    codes = []
    for (m, own), column in zip(edges.items(), values, strict=True):
        out = np.empty(len(column), np.uint8 if len(own) < 254 else np.uint16)
        encode_column(column, schema.used[m], own, out)
        codes.append(out)
    return codes


def stack_codes(*codes_and_type: Any) -> NDArray[Any]:
    """Put the codes of all columns together."""
    *codes, dtype = codes_and_type
    return np.stack([each.astype(dtype, copy=False) for each in codes])
