"""What the counted cells of a node say about centre and spread of its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
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
    n_slots = len(counts.ptr) - 1
    n, n_core, sigma, n_distinct, gap = np.zeros((5, n_slots))
    core = np.empty((2, n_slots), dtype=np.int64)
    _measure(*counts, grids.size, core, n, n_core, sigma, n_distinct, gap)
    low, high, lower_quartile, upper_quartile = np.zeros((4, n_slots))
    first, stop = counts.ptr[:-1], counts.ptr[1:]
    _quantiles(counts.cell, counts.weight, first, stop, n, tail_share(n), low, high)
    quarter = np.full(n_slots, 0.25)
    _quantiles(
        counts.cell,
        counts.weight,
        core[0],
        core[1],
        n_core,
        quarter,
        lower_quartile,
        upper_quartile,
    )
    return Spread(n, n_core, low, high, lower_quartile, upper_quartile, sigma, n_distinct, gap)


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
def _measure(
    ptr: Ints, cell: Ints, weight: Ints, size: Ints,
    core: Ints, n: Floats, n_core: Floats, sigma: Floats, n_distinct: Floats,
    gap: Floats,
) -> None:  # fmt: skip
    for slot in range(len(ptr) - 1):
        begin, end = ptr[slot], ptr[slot + 1]
        total = 0.0
        for p in range(begin, end):
            total += weight[p]
        while begin < end and cell[begin] < 0:
            begin += 1
        while begin < end and cell[end - 1] >= size[slot]:
            end -= 1
        inside, first, second = 0.0, 0.0, 0.0
        run, runs = 0, 0
        for p in range(begin, end):
            # From the middle of the core the squares stay small, and so do rounding errors.
            position = np.float64(cell[p] - size[slot] // 2)
            inside += weight[p]
            first += position * weight[p]
            second += position * position * weight[p]
            run = run + 1 if p > begin and cell[p] == cell[p - 1] + 1 else 1
            runs += run % 2  # one value occupies one or two neighbouring cells
        core[0, slot], core[1, slot] = begin, end
        n[slot], n_core[slot], n_distinct[slot] = total / ONE, inside / ONE, runs
        if runs > 1:
            gap[slot] = (cell[end - 1] - cell[begin]) / (runs - 1)
        if inside > 0:
            # Sharing a row between two cells adds a sixth of a squared cell to the variance.
            variance = second / inside - (first / inside) ** 2 - 1 / 6
            sigma[slot] = np.sqrt(variance) if variance > 0 else 0.0


@kernel
def _quantiles(
    cell: Ints, weight: Ints, begin: Ints, end: Ints, n: Floats, share: Floats,
    low: Floats, high: Floats,
) -> None:  # fmt: skip
    """Find where a share of the rows is below, and above; a cell's rows fill the cell evenly."""
    for slot in range(len(n)):
        cumulative = 0.0
        low_rank, high_rank = share[slot] * n[slot] * ONE, (1 - share[slot]) * n[slot] * ONE
        for p in range(begin[slot], end[slot]):
            after = cumulative + weight[p]
            if cumulative < low_rank <= after:
                low[slot] = cell[p] - 0.5 + (low_rank - cumulative) / weight[p]
            if cumulative < high_rank <= after:
                high[slot] = cell[p] - 0.5 + (high_rank - cumulative) / weight[p]
            cumulative = after
