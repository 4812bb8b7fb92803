"""Bin codes: each used column as small integers, which is all that the trees see."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from admercs.arrays import Array, Bools, Floats, Ints, ShortInts
from admercs.table.columns import Column
from admercs.table.encoding import MAX_BINS as MAX_BINS  # noqa: PLC0414
from admercs.table.encoding import encode as encode  # noqa: PLC0414
from admercs.table.prepared import Prepared
from admercs.table.quantiles import RankSearch, count_requests, run_searches
from admercs.table.schema import Schema

MAX_EXACT = 65_534
"""Distinct values that fit into two bytes beside the code 0 for missing."""

Bins = int | Literal["exact"]

SORTED = 1 << 14
"""Up to so many values edges are exact; sorting them is fast then."""


class Binning(NamedTuple):
    """Where the bins of each used column end.

    Code 0 is missing. Of a numeric column, ``x <= edges[k]`` if and only if ``code <= k + 1``. The
    codes of a nominal column are its working values.
    """

    edges: tuple[Floats, ...]
    n_codes: ShortInts
    is_nominal: Bools
    wide: bool

    @property
    def dtype(self) -> type[np.uint8] | type[np.uint16]:
        """The type of the codes."""
        return np.uint16 if self.wide else np.uint8


def edge_ranks(n_values: int, n_bins: int) -> Ints:
    """Return the ranks (from 0) of the values after which a bin ends.

    Bin ``k`` is to end after the ``ceil(k n / n_bins)`` smallest values: an edge lies between the
    value of that rank and the next larger one.

    Examples
    --------
    >>> edge_ranks(10, 4)
    array([2, 4, 7])
    """
    k = np.arange(1, n_bins, dtype=np.int64)
    ranks = -(-k * n_values // n_bins) - 1
    return np.unique(ranks[ranks >= 0])


def edges_between(low: Floats, high: Floats) -> Floats:
    """Return an edge for each pair of neighbouring values, ``low <= edge < high``.

    Halves are added up, since the sum of two large numbers may overflow; where no number lies
    between the two the edge is the lower one.

    Examples
    --------
    >>> edges_between(np.array([1.0, -1e308]), np.array([2.0, 1e308]))
    array([1.5, 0. ])
    """
    middle = np.maximum(low * 0.5 + high * 0.5, low)
    return np.where(middle < high, middle, low) + 0.0


def find_edges(values: Floats, max_bins: Bins = MAX_BINS, name: str = "") -> Floats:
    """Return the ascending edges of a column's bins: quantiles, or between all distinct values.

    With at most ``max_bins`` distinct values (and always for ``"exact"``) each gets a bin of its
    own. ``"exact"`` with more than 65,534 distinct values raises a ValueError.

    Examples
    --------
    >>> find_edges(np.array([1.0, 4.0, np.nan, 2.0, 2.0]))
    array([1.5, 3. ])
    >>> find_edges(np.arange(100.0), max_bins=4)
    array([24.5, 49.5, 74.5])
    """
    missing = np.isnan(values)
    present = values[~missing] if missing.any() else values
    if len(present) > SORTED and max_bins != "exact":
        low, high = float(present.min()), float(present.max())
        search = edge_search(len(present), low, high, max_bins)
        run_searches({0: search}, partial(count_requests, lambda _: present))
        return edges_between(*search.gaps())
    ordered = np.sort(present)
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    if max_bins == "exact":
        check_distinct(min(1, len(ordered)) + len(ends), name)
    elif len(ends) >= max_bins:
        chosen = np.unique(np.searchsorted(ends, edge_ranks(len(ordered), max_bins)))
        ends = ends[chosen[chosen < len(ends)]]  # nothing is larger than the largest value
    return edges_between(ordered[ends], ordered[ends + 1])


def edge_search(n_values: int, low: float, high: float, max_bins: Bins) -> RankSearch:
    """Return the search for the edges of a column: they lie in its gaps.

    Between a long column's edges and its exact quantiles are at most .1% of the values, and at most
    a quarter of a bin.
    """
    if max_bins == "exact":
        return RankSearch(np.empty(0, np.int64), n_values, 0, low, high, MAX_EXACT)
    tolerance = n_values // max(1000, 4 * max_bins) if n_values > SORTED else 0
    ranks = edge_ranks(n_values, max_bins)
    return RankSearch(ranks, n_values, tolerance, low, high, max_bins)


def check_distinct(n_distinct: int, name: str) -> None:
    """Raise a ValueError if a column has too many distinct values for exact bins."""
    if n_distinct > MAX_EXACT:
        raise ValueError(
            f"Column {name!r} has {n_distinct:,} distinct values, and exact bins go up to "
            f"{MAX_EXACT:,}: use a number of bins, such as max_bins={MAX_BINS}."
        )


def edges_at(low: Floats, high: Floats) -> Floats:
    """Return the edges for the values at the :func:`edge_ranks` and the next larger value of each.

    Examples
    --------
    >>> edges_at(np.array([1.0, 1.0, 3.0]), np.array([2.0, 2.0, 5.0]))
    array([1.5, 4. ])
    """
    first = np.ones(len(low), dtype=bool)
    first[1:] = low[1:] != low[:-1]
    return edges_between(low[first], high[first])


def bin_table(
    prepared: Prepared, schema: Schema, max_bins: Bins = MAX_BINS, n_jobs: int | None = None
) -> tuple[Binning, Array]:
    """Find the bins of every used column and encode the table, reading each column once.

    Codes take one byte up to 254 bins and two beyond, and for ``"exact"``. ``codes[m]`` are those
    of used column m. The result is the same for any number of threads.

    Examples
    --------
    >>> from admercs.table import learn_schema, prepare, read_frame, summarise
    >>> table = read_frame([[1.5, "red"], [2.5, "blue"], [None, "red"]])
    >>> schema = learn_schema(summarise(table))
    >>> binning, codes = bin_table(prepare(table, schema), schema)
    >>> codes
    array([[1, 2, 0],
           [1, 2, 1]], dtype=uint8)
    >>> binning.edges[0], binning.n_codes
    (array([2.]), array([3, 4], dtype=int32))
    """
    code_type = np.uint16 if _is_wide(max_bins) else np.uint8
    codes = np.empty((prepared.n_columns, prepared.n_rows), code_type)

    def bin_column(m: int) -> Floats:
        column = schema.used[m]
        values = prepared.column(m)
        edges = np.empty(0)
        if column.role == "numeric":
            edges = find_edges(values, max_bins, column.name)
        encode_column(values, column, edges, codes[m])
        return edges

    edges = _in_threads(bin_column, prepared.n_columns, n_jobs)
    return make_binning(schema, edges, max_bins), codes


def make_binning(schema: Schema, edges: list[Floats], max_bins: Bins = MAX_BINS) -> Binning:
    """Put the edges of all used columns together; those of nominal columns are empty."""
    is_nominal = np.array([column.role == "nominal" for column in schema.used], dtype=bool)
    # Nominal columns have no edges, and numeric ones no categories.
    pairs = zip(schema.used, edges, strict=True)
    n_codes = [len(column.categories) + len(ends) + 2 for column, ends in pairs]
    return Binning(tuple(edges), np.array(n_codes, np.int32), is_nominal, _is_wide(max_bins))


def encode_table(
    prepared: Prepared, schema: Schema, binning: Binning, n_jobs: int | None = None
) -> Array:
    """Encode a table, or a part of one, with bins that are known already."""
    codes = np.empty((prepared.n_columns, prepared.n_rows), binning.dtype)

    def encode_one(m: int) -> None:
        encode_column(prepared.column(m), schema.used[m], binning.edges[m], codes[m])

    _in_threads(encode_one, prepared.n_columns, n_jobs)
    return codes


def encode_column(values: Floats, column: Column, edges: Floats, out: Array) -> None:
    """Write the codes of a column's working values, be it numeric or nominal."""
    if column.role == "numeric":
        encode(values, edges, out)
    else:
        out[:] = np.nan_to_num(values, nan=0.0)


def _is_wide(max_bins: Bins) -> bool:
    """Return whether codes take two bytes."""
    if max_bins == "exact":
        return True
    if not isinstance(max_bins, (int, np.integer)) or not 2 <= max_bins <= MAX_EXACT:
        raise ValueError(f"max_bins must be 'exact' or from 2 to {MAX_EXACT:,}, not {max_bins!r}.")
    return max_bins > MAX_BINS


def _in_threads(function: Any, n_items: int, n_jobs: int | None) -> list[Any]:
    n_threads = min(effective_n_jobs(n_jobs), n_items)
    if n_threads == 1:
        return [function(m) for m in range(n_items)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, range(n_items)))
