"""Codes of values: the number of edges below each."""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel, read_only
from admercs.arrays import Array, Floats

MAX_BINS = 254
"""Bins of values that fit into a byte beside the code 0 for missing."""

_CELLS = 1 << 14  # of the grid, for long columns


@kernel
def _encode(  # type: ignore[no-untyped-def]
    values, middle, spread, below_cell, padded, first_step, codes
):
    # A grid (see `_grid_cells`) tells most edges below a value and a search the rest. All searches
    # take the same steps, so no branch can be guessed wrong. The edges are padded with infinities
    # for the longest search. Unsigned indices: for signed ones numba asks each time whether they
    # count from the end.
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


def _grid_cells(values: Floats, middle: float, spread: float, n_cells: int) -> Floats:
    """Return the cells of values on a grid that is ever wider towards the ends of a column.

    A value at distance d from the middle lies at d / (spread + d), mirrored below the middle: tails
    of any length fit between -1 and 1. Every step of the computation is monotone, rounding
    included: the cell never decreases with the value.
    """
    with np.errstate(all="ignore"):
        away = values - middle
        place = n_cells / 2 * (1.0 - spread / (np.abs(away) + spread))
    # Without any spread a value in the middle has no place (0 / 0); fmin passes it over.
    return np.fmin(np.copysign(place, away) + n_cells / 2, n_cells - 1)


def encode(values: Floats, edges: Floats, out: Array | None = None) -> Array:
    """Return the code of each value: 0 for NaN, else 1 + the number of edges below it.

    The codes are written to ``out`` if it is given.
    """
    if out is None:
        out = np.empty(len(values), np.uint8 if len(edges) < MAX_BINS else np.uint16)
    n_cells = _CELLS if len(values) > _CELLS else 64
    quarters = edges[np.arange(1, 4) * len(edges) // 4] if len(edges) else np.zeros(3)
    middle, spread = float(quarters[1]), float(0.5 * quarters[2] - 0.5 * quarters[0])
    cells = _grid_cells(edges, middle, spread, n_cells).astype(np.int64)
    in_cell = np.bincount(cells, minlength=n_cells)
    below_cell = (np.cumsum(in_cell) - in_cell).astype(np.uint16)
    longest = 2 ** int(in_cell.max()).bit_length() // 2
    padded = np.append(edges, np.full(2 * longest, np.inf))
    values = read_only(np.ascontiguousarray(values, dtype=np.float64))
    _encode(values, middle, spread, below_cell, padded, longest, out)
    return out
