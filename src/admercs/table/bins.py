"""Bin codes: each used column as small integers, which is all that the trees see."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.arrays import FEW_ROWS, Array, Bools, Floats, Ints, ShortInts
from admercs.table.columns import Column
from admercs.table.schema import Schema

Bins = int | Literal["exact"]

MAX_BINS = 254  # that fit into a byte beside the code 0 for missing
MAX_EXACT = 65_534  # that fit into two bytes
_CELLS = 1 << 14  # of the grid of long columns


class Binning(NamedTuple):
    """Where the bins of each used column end; code 0 is missing."""

    # Numeric: x <= edges[k] if and only if code <= k + 1. Nominal: none, codes are working values.
    edges: tuple[Floats, ...]
    n_codes: ShortInts
    is_nominal: Bools
    dtype: type[np.uint8] | type[np.uint16]  # of the codes


def edge_ranks(n_values: int, n_bins: int) -> Ints:
    """Return the ranks after which bins end; the first k bins hold ``ceil(k n / n_bins)``."""
    k = np.arange(1, n_bins, dtype=np.int64)
    ranks = -(-k * n_values // n_bins) - 1
    return np.unique(ranks[ranks >= 0])


def edges_between(low: Floats, high: Floats) -> Floats:
    """Return an edge for each pair of neighbouring values, ``low <= edge < high``."""
    # The sum of two large numbers may overflow; that of their halves cannot.
    middle = np.maximum(low * 0.5 + high * 0.5, low)
    return np.where(middle < high, middle, low) + 0.0


def find_edges(values: Floats, max_bins: Bins = MAX_BINS) -> Floats:
    """Return the edges of a short column: quantiles, or between all of few distinct values."""
    ordered = np.sort(values[~np.isnan(values)])
    ends = np.flatnonzero(ordered[1:] != ordered[:-1])
    if max_bins != "exact" and len(ends) >= max_bins:
        chosen = np.unique(np.searchsorted(ends, edge_ranks(len(ordered), max_bins)))
        ends = ends[chosen[chosen < len(ends)]]  # nothing is larger than the largest value
    return edges_between(ordered[ends], ordered[ends + 1])


def check_distinct(n_distinct: int, name: str) -> None:
    """Raise a ValueError if a column has too many distinct values for exact bins."""
    if n_distinct > MAX_EXACT:
        raise ValueError(
            f"Column {name!r} has more than {MAX_EXACT:,} distinct values, too many for exact "
            f"bins: use a number of bins, such as max_bins={MAX_BINS}."
        )


def make_binning(schema: Schema, edges: list[Floats], max_bins: Bins = MAX_BINS) -> Binning:
    """Put the edges of all used columns together; those of nominal columns are empty."""
    n_bins = MAX_EXACT if max_bins == "exact" else max_bins
    if not isinstance(n_bins, (int, np.integer)) or not 2 <= n_bins <= MAX_EXACT:
        raise ValueError(f"max_bins must be 'exact' or from 2 to {MAX_EXACT:,}, not {max_bins!r}.")
    is_nominal = np.array([column.role == "nominal" for column in schema.used], dtype=bool)
    # Nominal columns have no edges, and numeric ones no categories.
    pairs = zip(schema.used, edges, strict=True)
    n_codes = np.array([len(column.categories) + len(ends) + 2 for column, ends in pairs], np.int32)
    return Binning(tuple(edges), n_codes, is_nominal, np.uint8 if n_bins <= MAX_BINS else np.uint16)


def encode_column(values: Floats, column: Column, edges: Floats) -> Array:
    """Return the codes of a column's working values, be it numeric or nominal."""
    is_numeric = column.role == "numeric"
    return encode(values, edges) if is_numeric else np.nan_to_num(values, nan=0.0).astype(np.uint8)


def encode(values: Floats, edges: Floats) -> Array:
    """Return the code of each value: 0 for NaN, else 1 + the number of edges below it."""
    if len(values) <= FEW_ROWS:
        codes = np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))
        return codes.astype(np.uint8 if len(edges) < MAX_BINS else np.uint16)
    return make_grid(edges, _CELLS if len(values) > _CELLS else 64).encode(values)


class EdgeGrid(NamedTuple):
    """A grid of cells over the edges of a column, from which codes are found."""

    middle: float
    spread: float
    below_cell: NDArray[np.uint16]  # how many edges lie below each cell
    padded: Floats  # the edges, and infinities behind them
    longest: int  # the first step of a search within a cell
    n_edges: int

    def encode(self, values: Floats) -> Array:
        """Return the code of each value, as `encode` does."""
        values = read_only(np.ascontiguousarray(values, dtype=np.float64))
        codes = np.empty(len(values), np.uint8 if self.n_edges < MAX_BINS else np.uint16)
        _encode(values, *self[:-1], codes)
        return codes


def make_grid(edges: Floats, n_cells: int = 1 << 12) -> EdgeGrid:
    """Make a grid over the edges of a column."""
    quarters = edges[np.arange(1, 4) * len(edges) // 4] if len(edges) else np.zeros(3)
    middle, spread = float(quarters[1]), float(0.5 * quarters[2] - 0.5 * quarters[0])
    # The cells of the edges on a grid that is ever wider towards the ends of a column. A value at
    # distance d from the middle lies at d / (spread + d), mirrored below the middle: tails of any
    # length fit between -1 and 1. Every step is monotone, rounding included.
    with np.errstate(all="ignore"):
        away = edges - middle
        place = n_cells / 2 * (1.0 - spread / (np.abs(away) + spread))
    # Without any spread a value in the middle has no place (0 / 0); fmin passes it over.
    cells = np.fmin(np.copysign(place, away) + n_cells / 2, n_cells - 1).astype(np.int64)
    in_cell = np.bincount(cells, minlength=n_cells)
    below_cell = (np.cumsum(in_cell) - in_cell).astype(np.uint16)
    longest = 2 ** int(in_cell.max()).bit_length() // 2
    padded = np.append(edges, np.full(2 * longest, np.inf))
    return EdgeGrid(middle, spread, below_cell, padded, longest, len(edges))


@kernel
def _encode(  # type: ignore[no-untyped-def]
    values, middle, spread, below_cell, padded, first_step, codes
):
    # The grid tells most edges below a value and a search the rest. All searches take the same
    # steps, so no branch can be guessed wrong. The edges are padded with infinities for the longest
    # search. Unsigned indices: for signed ones numba asks each time whether they count from the
    # end.
    last, one = np.float64(len(below_cell) - 1), np.uint64(1)
    half = np.float64(len(below_cell)) / 2.0
    for i in range(np.uint64(len(values))):
        value = values[i]
        away = value - middle
        place = half * (1.0 - spread / (abs(away) + spread))
        place = half + (place if away >= 0.0 else -place)
        place = place if place < last else last  # NaN, too
        below = np.uint64(below_cell[np.uint64(place)])
        step = np.uint64(first_step)
        while step > 0:
            below += step * np.uint64(padded[below + step - one] < value)
            step >>= one
        codes[i] = (below + one) * np.uint64(not np.isnan(value))
