"""Borders between contexts: how sure it is on which side of a split a row lies.

A tree cuts where the training rows say, but a row just beyond the cut may well belong to the other side. So
around every threshold lies a border zone; a row inside it may also be judged by the context across, the more so
the nearer it is. A zone's rows on either side are counted in smallest leaves: no tree sees finer than those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.walk import next_node

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


@kernel
def look_across(forest, tree, block, rows, across, nearness):  # type: ignore[no-untyped-def]
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
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        best, other = 0.0, np.int64(-1)
        node = np.uint64(forest.root[tree])
        while forest.feature[node] >= 0:
            value = block[np.uint64(forest.feature[node]), i]
            chosen = next_node(forest, node, value)
            # Comparisons with a missing value or with a split by categories (NaN) are false.
            threshold = forest.threshold[node]
            near = 0.0
            if threshold < value < forest.upper[node]:
                near = (forest.upper[node] - value) / (forest.upper[node] - threshold)
            elif forest.lower[node] < value <= threshold:
                near = (value - forest.lower[node]) / (threshold - forest.lower[node])
            if near > best:
                left, right = np.int64(forest.left[node]), np.int64(forest.right[node])
                best, other = near, left + right - np.int64(chosen)
            node = chosen
        nearness[k] = best
        across[k] = -1
        if other >= 0:
            node = np.uint64(other)
            while forest.feature[node] >= 0:
                node = next_node(forest, node, block[np.uint64(forest.feature[node]), i])
            across[k] = node
