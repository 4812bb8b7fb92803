"""Bin codes: each used column as small integers, which is all that the trees see."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from admercs.arrays import Array, Bools, Floats, Ints, ShortInts
from admercs.table.columns import Column
from admercs.table.encoding import MAX_BINS, encode
from admercs.table.quantiles import RankSearch
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
    """
    k = np.arange(1, n_bins, dtype=np.int64)
    ranks = -(-k * n_values // n_bins) - 1
    return np.unique(ranks[ranks >= 0])


def edges_between(low: Floats, high: Floats) -> Floats:
    """Return an edge for each pair of neighbouring values, ``low <= edge < high``.

    Halves are added up, since the sum of two large numbers may overflow; where no number lies
    between the two the edge is the lower one.
    """
    middle = np.maximum(low * 0.5 + high * 0.5, low)
    return np.where(middle < high, middle, low) + 0.0


def find_edges(values: Floats, max_bins: Bins = MAX_BINS) -> Floats:
    """Return the ascending edges of a column's bins: quantiles, or between all distinct values.

    With at most ``max_bins`` distinct values (and always for ``"exact"``) each gets a bin of its
    own. Values are sorted; for a long column see ``edge_search``.
    """
    ordered = np.sort(values[~np.isnan(values)])
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    if max_bins != "exact" and len(ends) >= max_bins:
        chosen = np.unique(np.searchsorted(ends, edge_ranks(len(ordered), max_bins)))
        ends = ends[chosen[chosen < len(ends)]]  # nothing is larger than the largest value
    return edges_between(ordered[ends], ordered[ends + 1])


def edge_search(n_values: int, low: float, high: float, max_bins: int) -> RankSearch:
    """Return the search for the edges of a column: they lie in its gaps.

    Between a long column's edges and its exact quantiles are at most .1% of the values, and at most
    a quarter of a bin.
    """
    tolerance = n_values // max(1000, 4 * max_bins) if n_values > SORTED else 0
    ranks = edge_ranks(n_values, max_bins)
    return RankSearch(ranks, n_values, tolerance, low, high, max_bins)


def check_distinct(n_distinct: int, name: str) -> None:
    """Raise a ValueError if a column has too many distinct values for exact bins."""
    if n_distinct > MAX_EXACT:
        raise ValueError(
            f"Column {name!r} has more than {MAX_EXACT:,} distinct values, too many for exact "
            f"bins: use a number of bins, such as max_bins={MAX_BINS}."
        )


def make_binning(schema: Schema, edges: list[Floats], max_bins: Bins = MAX_BINS) -> Binning:
    """Put the edges of all used columns together; those of nominal columns are empty."""
    is_nominal = np.array([column.role == "nominal" for column in schema.used], dtype=bool)
    # Nominal columns have no edges, and numeric ones no categories.
    pairs = zip(schema.used, edges, strict=True)
    n_codes = [len(column.categories) + len(ends) + 2 for column, ends in pairs]
    return Binning(tuple(edges), np.array(n_codes, np.int32), is_nominal, _is_wide(max_bins))


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
