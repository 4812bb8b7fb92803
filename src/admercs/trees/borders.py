"""Borders between contexts: how sure it is on which side of a split a row lies.

A tree cuts where the training rows say, but a row just beyond the cut may well belong to the other side. So
around every threshold lies a border zone; a row inside it may also be judged by the context across, the more so
the nearer it is. A zone's rows on either side are counted in smallest leaves: no tree sees finer than those.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.forest import Forest

# Rows in a border zone on either side of a threshold, in units of the smallest leaf.
ZONE_LEAVES = 2


def border_zone(
    edges: NDArray[np.float64],
    code_counts: NDArray[np.int64],
    bins: NDArray[np.int32],
    zone_rows: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the border zones around some thresholds of one column begin and end.

    A zone is made of whole bins that hold fewer than `zone_rows` rows on either side, so a value that
    many rows share is never in doubt.

    Parameters
    ----------
    edges : ndarray of float64
        The bin edges of the column.
    code_counts : ndarray of int64
        Rows per code; code 0 is missing.
    bins : ndarray of int32
        The thresholds: codes up to this one go left; 0 means that only missing values do.
    zone_rows : int
        Rows that end a zone.

    Returns
    -------
    lower, upper : ndarray of float64
        The threshold itself where the next value is beyond doubt.

    Examples
    --------
    >>> import numpy as np
    >>> border_zone(np.arange(10) + 0.5, np.append(0, np.ones(11, int)), np.array([5]), 3)
    (array([2.5]), array([6.5]))
    """
    below = np.concatenate([[0], np.cumsum(code_counts[1:])])  # rows with at most this code
    # The first code whose bin ends outside the zone, on either side.
    last = np.searchsorted(below, below[bins] + zone_rows)
    first = np.searchsorted(below, below[bins] - zone_rows, side="right")
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    lower = bounds[np.clip(first, 1, np.maximum(bins, 1))]
    upper = bounds[np.clip(last - 1, bins, len(edges))]
    return lower, upper


def look_across(
    forest: Forest,
    tree: int,
    block: NDArray[np.float64],
    rows: NDArray[np.int64],
    across: NDArray[np.int32],
    nearness: NDArray[np.float64],
) -> None:
    """Find the leaf across the nearest border of each of some rows.

    Parameters
    ----------
    forest : Forest
    tree : int
    block : array of float64, columns x rows
        Working values.
    rows : array of int64
        The rows of the block to look at.
    across : array of int32, one per row asked for
        Receives the leaf across, or -1 for a row inside its context.
    nearness : array of float64, one per row asked for
        Receives 1 for a row on the border down to 0 at the end of the zone.
    """
    # Only the arrays it needs: each argument takes time to compile.
    _look_across(
        int(forest.root[tree]), forest.feature, forest.threshold, forest.lower, forest.upper,
        forest.subset, forest.missing_left, forest.left, forest.right, forest.subsets,
        block, rows, across, nearness,
    )  # fmt: skip


@kernel
def _look_across(  # type: ignore[no-untyped-def]
    root, feature, threshold, lower, upper, subset, missing_left, left, right, subsets,
    block, rows, across, nearness,
):  # fmt: skip
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for k in range(np.uint64(len(rows))):
        across[k] = -1
        row = np.uint64(rows[k])
        best = 0.0
        other = -1
        crossed = False
        node = np.uint64(root)
        while True:
            if feature[node] < 0:
                if crossed:
                    across[k] = node
                if crossed or other < 0:
                    break
                # And down again from the other child of the nearest border's split.
                node = np.uint64(other)
                crossed = True
                continue
            value = block[np.uint64(feature[node]), row]
            limit = threshold[node]
            goes_left = value <= limit
            if math.isnan(value):
                goes_left = missing_left[node]
            elif subset[node] >= 0:
                code = np.uint64(value)
                bits = subsets[subset[node], code >> np.uint64(6)] >> (code & np.uint64(63))
                goes_left = bits & np.uint64(1) != np.uint64(0)
            # Comparisons with a missing value or with a split by categories (NaN) are false.
            near = 0.0
            if limit < value < upper[node]:
                near = (upper[node] - value) / (upper[node] - limit)
            elif lower[node] < value <= limit:
                near = (value - lower[node]) / (limit - lower[node])
            if near > best and not crossed:
                best = near
                other = right[node] if goes_left else left[node]
            node = np.uint64(left[node] if goes_left else right[node])
        nearness[k] = best
