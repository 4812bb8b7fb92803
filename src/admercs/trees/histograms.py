"""Counting a node's rows per input code: the only thing a split search needs to see.

A histogram is a flat array of integers: for input column f and code c, the `width` statistics of the rows
with that code start at ``(offsets[f] + c) * width``. Class targets keep one count per class, moment targets
the number of rows and the sum of their fixed-point values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.targets import SCALE_BITS

CLASSES, MOMENTS = 0, 1
MOMENT_WIDTH = 2  # rows, sum
N_MOMENTS = 4  # rows, sum, sum of squares in two halves


@kernel
def total_up(values, form, totals):  # type: ignore[no-untyped-def]
    """Add a node's target up: rows per class, or count, sum and exact sum of squares."""
    if form == CLASSES:
        for i in range(len(values)):
            totals[np.uint64(values[i])] += 1
        return
    mask = (np.int64(1) << SCALE_BITS) - 1
    for i in range(len(values)):
        value = np.int64(values[i])
        if value >= 0:
            square = value * value
            totals[0] += 1
            totals[1] += value
            totals[2] += square >> SCALE_BITS
            totals[3] += square & mask


@kernel
def add_rows(  # type: ignore[no-untyped-def]
    codes, rows, values, form, width, offsets, skip, whole, hist
):
    """Count rows of a node per code of each input column except the target's own (`skip`).

    They are added to what `hist` counts already. `whole` says that the node holds all rows in order, so that
    no row numbers need to be looked up.
    """
    n, step = np.uint64(len(rows)), np.uint64(width)
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for f in range(codes.shape[0]):
        if f == skip:
            continue
        column = codes[f]
        base = np.uint64(offsets[f]) * step
        if form == CLASSES and whole:
            for i in range(n):
                hist[base + np.uint64(column[i]) * step + np.uint64(values[i])] += 1
        elif form == CLASSES:
            for i in range(n):
                code = np.uint64(column[np.uint64(rows[i])])
                hist[base + code * step + np.uint64(values[i])] += 1
        else:
            for i in range(n):
                value = values[i]
                if value >= 0:
                    cell = base + np.uint64(column[np.uint64(rows[i])]) * step
                    hist[cell] += 1
                    hist[cell + np.uint64(1)] += value


def code_offsets(n_codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where each column's codes start in a histogram."""
    offsets: NDArray[np.int64] = np.concatenate([[0], np.cumsum(n_codes, dtype=np.int64)])
    return offsets


def histogram_type(form: int, n_rows: int) -> type[np.int32] | type[np.int64]:
    """Return the type of a histogram: counts of up to 2 ** 31 rows fit into half the memory."""
    return np.int32 if form == CLASSES and n_rows < 2**31 else np.int64
