"""What the counted cells of a node say about centre and spread of its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.density.counts import FAR, ONE, ValueCounts
from admercs.density.grids import Grids, lay_grids, tail_share, widen


class Spread(NamedTuple):
    """Per slot, all lengths in cells of its grid."""

    n: NDArray[np.float64]  # rows with a value
    n_core: NDArray[np.float64]  # those in the core
    low: NDArray[np.float64]  # quantiles that leave out `tail_share` of the rows
    high: NDArray[np.float64]
    iqr: NDArray[np.float64]  # of the rows in the core
    sigma: NDArray[np.float64]  # of the rows in the core
    n_distinct: NDArray[np.float64]  # about how many different values there are in the core


def measure(counts: ValueCounts, grids: Grids) -> Spread:
    """Measure the spread of each slot's values; extreme values touch only their own rank."""
    out = np.zeros((7, len(counts.ptr) - 1))
    n = np.add.reduceat(np.append(counts.weight, 0), counts.ptr[:-1]) / ONE
    n = np.where(np.diff(counts.ptr) > 0, n, 0.0)
    _measure(counts.ptr, counts.cell, counts.weight, grids.size, tail_share(n), out)
    return Spread(*out)


def regrid(spread: Spread, grids: Grids) -> tuple[Grids, NDArray[np.int64]]:
    """Find the slots whose grid does not fit their values, and place better grids for them.

    Codes are too coarse to see a narrow cluster inside one bin. Such values crowd into few cells of
    the grid; they are counted once more on a grid of their own.

    Returns
    -------
    tuple of Grids and array
        The new grids, and the slots they are for (often none).
    """
    cells = grids.size / 2
    share = tail_share(spread.n)
    central, middle = widen(spread.low, spread.high, share, share)
    wrong = (spread.n > 1) & ((central < cells / 8) | (central > 2 * cells))
    slots = np.flatnonzero(wrong)
    # Two cells is all that a single value can occupy.
    width, left = grids.width[slots], grids.left[slots]
    central = np.maximum(central[slots], 2.0) * width
    n = np.rint(spread.n[slots]).astype(np.int64)
    return lay_grids(left + middle[slots] * width, central, n), slots


@kernel
def _measure(ptr, cell, weight, size, tail, out):  # type: ignore[no-untyped-def]
    for slot in range(len(ptr) - 1):
        begin, end = ptr[slot], ptr[slot + 1]
        total = 0
        core = 0
        core_begin, core_end = end, end
        first = 0.0
        for p in range(begin, end):
            total += weight[p]
            if 0 <= cell[p] < size[slot]:
                core_begin = min(core_begin, p)
                core_end = p + 1
                core += weight[p]
                first += float(cell[p]) * float(weight[p])
        out[0, slot], out[1, slot] = total / ONE, core / ONE
        if total == 0:
            continue
        out[2, slot] = _quantile(cell, weight, begin, end, tail[slot] * total)
        out[3, slot] = _quantile(cell, weight, begin, end, (1 - tail[slot]) * total)
        if core == 0:
            continue
        out[4, slot] = _quantile(cell, weight, core_begin, core_end, 0.75 * core) - _quantile(
            cell, weight, core_begin, core_end, 0.25 * core
        )
        mean = first / core
        second = 0.0
        runs = 0
        run = 0
        for p in range(core_begin, core_end):
            second += (float(cell[p]) - mean) ** 2 * float(weight[p])
            run = run + 1 if p > core_begin and cell[p] == cell[p - 1] + 1 else 1
            # One value occupies one or two neighbouring cells.
            runs += run % 2
        # Sharing a row between two cells adds a sixth of a squared cell to the variance on average.
        out[5, slot] = np.sqrt(max(0.0, second / core - 1 / 6))
        out[6, slot] = runs


@kernel
def _quantile(cell, weight, begin, end, rank):  # type: ignore[no-untyped-def]
    """Position where the cumulated weight reaches ``rank``, each cell's weight spread over the cell."""
    cumulative = 0.0
    for p in range(begin, end):
        w = float(weight[p])
        if cumulative + w >= rank:
            inside = (rank - cumulative) / w - 0.5 if w > 0 else 0.0
            return float(min(max(cell[p], -FAR), FAR)) + inside
        cumulative += w
    return float(cell[end - 1])
