"""Where the cells lie on which the values of a node are counted.

A grid follows the bulk of the node's values: its *central range* is what holds 98% of a normal
sample with the same inner quantiles. Cells continue on both sides without end, but only the
*core*, the central range and half as much again, is a dense array. An extreme value falls into a
far cell and moves no other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from admercs.arrays import Floats, Ints
from admercs.density.ragged import pointers

CORE = 1.5  # width of the core in central ranges
_TAIL = 0.01  # the central range leaves out this share of the rows on each side ...
_TAIL_ROWS = 2.5  # ... and at least two rows, so that a small leaf may hold two extreme values
_MAX_TAIL = 0.25  # but never more than the quartiles do


class Grids(NamedTuple):
    """One grid per slot: cell i is the point ``left + i * width``, cells 0 … size − 1 the core."""

    left: Floats
    width: Floats
    ptr: Ints  # slots + 1: the core of slot s has cells ptr[s]:ptr[s + 1]

    @property
    def size(self) -> Ints:
        """Number of cells of each core."""
        return np.diff(self.ptr)

    @property
    def central(self) -> Floats:
        """Width of each central range."""
        return self.width * self.size / CORE


def code_shift(n_bins: int) -> int:
    """Return how many bits of a code to drop: the grid needs quantiles of 512 codes at most."""
    return max(0, (n_bins - 1).bit_length() - 9)


def place_grids(counts: Ints, edges: Floats, limits: tuple[float, float], shift: int = 0) -> Grids:
    """Place a grid for each slot from counted codes (slots x codes, joined by ``shift`` bits)."""
    present = counts[:, 1:]
    lower, upper = _code_bounds(edges, limits, shift)
    n = present.sum(axis=1)
    below, below_share = _quantile_at_edge(present, lower, upper)
    # The upper quantile is the lower one of the mirrored column.
    above, above_share = _quantile_at_edge(present[:, ::-1], -upper[::-1], -lower[::-1])
    central, centre = widen(below, -above, below_share, above_share)
    column = limits[1] - limits[0]
    scale = column if 0 < column < np.inf else max(abs(limits[0]), abs(limits[1]), 1.0)
    # A node whose codes have no width (all rows tied, or no row at all) gets a fine grid, too.
    central = np.where((central > 0) & (n > 0), central, scale * 2.0**-10)
    return lay_grids(np.where(n > 0, centre, 0.0), central, n)


def lay_grids(centre: Floats, central: Floats, n: Ints) -> Grids:
    """Lay a grid of 512 to 4096 cells over each central range, fewer where there are few rows."""
    # A bandwidth is at least 16 cells: of 4096 that is 1/256 of the central range. Below 512 rows
    # such a narrow kernel has no use. Ranges at the ends of what a float64 holds are cut so that a
    # cell and its inverse are finite.
    central = np.clip(central, 1e-304, 1e304)
    bits = np.ceil(np.log2(np.maximum(8 * n, 1))).astype(np.int64)
    cells = np.int64(1) << np.clip(bits, 9, 12)
    # Numbers that are closer than the next float cannot be told apart: nor need cells be.
    central = np.maximum(central, cells * np.spacing(abs(centre)))
    return Grids(centre - central * (CORE / 2), central / cells, pointers(cells * 3 // 2))


def tail_share(n: Ints | Floats) -> Floats:
    """Return the share of rows that the central range leaves out on each side."""
    return np.clip(_TAIL_ROWS / np.maximum(n, 1), _TAIL, _MAX_TAIL)


def widen(
    low: Floats, high: Floats, low_share: Floats, high_share: Floats
) -> tuple[Floats, Floats]:
    """Widen a range between two quantiles to 98% of a normal sample; return width and centre."""
    z = -ndtri(_TAIL)
    factor = 2 * z / -(ndtri(low_share) + ndtri(high_share))
    with np.errstate(over="ignore"):
        return (high - low) * factor, low / 2 + high / 2


def _code_bounds(edges: Floats, limits: tuple[float, float], shift: int) -> tuple[Floats, Floats]:
    """Return the lower and upper end of each (joined) code."""
    # The outermost codes end at the limits, but no further out than four times the range of all
    # edges: extreme values in there must not decide the others' grid.
    inner = edges[(1 << shift) - 1 :: 1 << shift]
    if len(inner) == 0:
        return np.array([limits[0]]), np.array([limits[1]])
    with np.errstate(over="ignore"):
        reach = 4.0 * (edges[-1] - edges[0])
        reach = reach if reach > 0 else np.inf
        low = max(limits[0], inner[0] - reach)
        high = min(limits[1], inner[-1] + reach)
    lower = np.concatenate(([min(low, inner[0])], inner))
    upper = np.concatenate((inner, [max(high, inner[-1])]))
    return lower, upper


def _quantile_at_edge(counts: Ints, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return a low quantile of each slot, and the share of rows below it."""
    # The first edge with at least the tail's share of rows below it, where the share is exact; if
    # more than a quarter of the rows are below it (heavy ties, few codes), a place within its code.
    n = np.maximum(counts.sum(axis=1), 1)
    tail = tail_share(n)
    cumulative = np.cumsum(counts, axis=1)
    code = (cumulative >= (tail * n)[:, None]).argmax(axis=1)
    rows = np.arange(len(counts))
    share = cumulative[rows, code] / n
    in_code = np.maximum(counts[rows, code], 1)
    within = (tail * n - (cumulative[rows, code] - in_code)) / in_code
    guess = lower[code] + np.clip(within, 0, 1) * (upper[code] - lower[code])
    at_edge = share <= _MAX_TAIL
    return np.where(at_edge, upper[code], guess), np.where(at_edge, share, tail)
