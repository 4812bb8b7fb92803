"""What the counted cells of a node say about centre and spread of its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints, pointers
from admercs.density.counts import ONE, ValueCounts
from admercs.density.grids import CORE, Grids, lay_grids, tail_share, widen


class Spread(NamedTuple):
    """Per slot, all lengths in cells of its grid."""

    n: Floats  # rows with a value
    n_core: Floats  # those in the core
    low: Floats  # quantiles that leave out `tail_share` of the rows
    high: Floats
    lower_quartile: Floats  # of the rows in the core
    upper_quartile: Floats
    sigma: Floats  # of the rows in the core
    n_distinct: Floats  # about how many different values there are in the core
    gap: Floats  # mean distance from one of them to the next


def measure(counts: ValueCounts, grids: Grids) -> Spread:
    """Measure the spread of each slot's values; extreme values touch only their own rank."""
    ptr, cell, weight = counts
    begin, whole, inside, first, second, n_distinct, span = np.empty((7, len(ptr) - 1), np.int64)
    _add_up(ptr, cell, weight, grids.size, begin, whole, inside, first, second, n_distinct, span)
    n, n_core = whole / ONE, inside / ONE
    # Sharing a row between two cells adds a sixth of a squared cell to the variance.
    inside = np.maximum(inside, 1)
    mean = first / inside
    variance = second / inside - mean**2 - 1 / 6
    gap = np.where(n_distinct > 1, span / np.maximum(n_distinct - 1, 1), 0.0)
    cumulative = pointers(weight)
    low, high = _quantiles(counts, cumulative, ptr[:-1], n, tail_share(n))
    quarter = np.full(len(n), 0.25)
    lower_quartile, upper_quartile = _quantiles(counts, cumulative, begin, n_core, quarter)
    return Spread(
        n, n_core, low, high, lower_quartile, upper_quartile,
        np.sqrt(np.maximum(variance, 0.0)), n_distinct.astype(np.float64), gap,
    )  # fmt: skip


def regrid(spread: Spread, grids: Grids) -> tuple[Grids, Ints]:
    """Find the slots whose grid does not fit their values, and place better grids for them.

    Codes are too coarse to see a narrow cluster inside one bin. Such values crowd into few cells of
    the grid; they are counted once more on a grid of their own.

    Returns
    -------
    tuple of Grids and array
        The new grids, and the slots they are for (often none).
    """
    cells = grids.size / CORE
    share = tail_share(spread.n)
    central, middle = widen(spread.low, spread.high, share, share)
    wrong = (spread.n > 1) & ((central < cells / 8) | (central > 2 * cells))
    slots = np.flatnonzero(wrong)
    # Two cells is all that a single value can occupy.
    width, left = grids.width[slots], grids.left[slots]
    with np.errstate(over="ignore"):
        central = np.maximum(central[slots], 2.0) * width
        centre = np.clip(left + middle[slots] * width, -1e308, 1e308)
    return lay_grids(centre, central, np.rint(spread.n[slots]).astype(np.int64)), slots


@kernel
def _add_up(
    ptr: Ints, cell: Ints, weight: Ints, size: Ints,
    begin: Ints, whole: Ints, inside: Ints, first: Ints, second: Ints, n_distinct: Ints, span: Ints,
) -> None:  # fmt: skip
    """Write what the cells of each slot add up to.

    Where the core begins, the weight of the whole slot and inside of its core, the core's first and second moments,
    how many different values it holds, and the distance from the first to the last of them. One value occupies one
    or two neighbouring cells.
    """
    for slot in range(len(size)):
        # From the middle of the core the squares stay small.
        middle = size[slot] // 2
        start, total, core, moment, square = ptr[slot], 0, 0, 0, 0
        found, length, lowest, last = 0, 0, 0, 0
        for p in range(np.uint64(ptr[slot]), np.uint64(ptr[slot + 1])):
            here, rows = cell[p], weight[p]
            total += rows
            if here < 0:
                start += 1
            elif here < size[slot]:
                core += rows
                moment += (here - middle) * rows
                square += (here - middle) * (here - middle) * rows
                if length == 0:
                    lowest = here
                elif here != last + 1:
                    found += (length + 1) >> 1
                    length = 0
                length += 1
                last = here
        begin[slot], whole[slot], inside[slot] = start, total, core
        first[slot], second[slot] = moment, square
        n_distinct[slot], span[slot] = found + ((length + 1) >> 1), last - lowest


def _quantiles(
    counts: ValueCounts, cumulative: Ints, begin: Ints, n: Floats, share: Floats
) -> tuple[Floats, Floats]:
    """Find where a share of the rows is below, and above; a cell's rows fill the cell evenly.

    ``cumulative`` is the weight of all cells before each one, ``begin`` each slot's first cell.
    """
    low, high = np.zeros((2, len(n)))
    some = np.flatnonzero(n > 0)
    before = cumulative[begin[some]]
    for out, part in ((low, share), (high, 1 - share)):
        rank = (part * n)[some] * ONE
        # Weights are whole numbers: the rank is reached where the next whole number is.
        p = np.searchsorted(cumulative, before + np.ceil(rank).astype(np.int64)) - 1
        within = (rank - (cumulative[p] - before)) / counts.weight[p]
        out[some] = counts.cell[p] - 0.5 + within
    return low, high
