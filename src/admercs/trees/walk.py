"""Walking rows down the trees, from working values."""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, ShortInts
from admercs.trees.forest import Forest

# Rows walked together: few enough that a column of them stays in the cache.
CHUNK = 8192


def find_leaves(forest: Forest, block: Floats, out: ShortInts) -> None:
    """Write the leaf of each row of a block (columns x rows) in each tree."""
    rows, spare = np.empty((2, CHUNK), np.int32)
    end = np.empty(len(forest.feature), np.int64)
    for start in range(0, block.shape[1], CHUNK):
        walk_down(
            forest.root, forest.feature, forest.threshold, forest.subset, forest.missing_left,
            forest.right, forest.subsets, block, start, rows, spare, end, out,
        )  # fmt: skip


@kernel
def walk_down(  # type: ignore[no-untyped-def]
    root, feature, threshold, subset, missing_left, right, subsets, block, start, rows, spare,
    end, out,
):  # fmt: skip
    """Take the rows from `start` on, as many as `rows` has room for, down each tree.

    Each node parts its rows: no row needs to remember where it is. Nodes come in preorder, so the
    rows of a node begin where those of the last leaf ended. Which way a row goes cannot be
    predicted: it is written to both sides, and only one of them moves on.
    """
    one = np.uint64(1)  # unsigned: numba need not ask whether an index counts from the end
    n_rows = np.uint64(min(len(rows), block.shape[1] - start))
    for m in range(len(root) - 1):
        for k in range(n_rows):
            rows[k] = start + k
        end[root[m]] = n_rows
        begin = np.uint64(0)
        for node in range(np.uint64(root[m]), np.uint64(root[m + 1])):
            stop = np.uint64(end[node])
            if feature[node] < 0:
                for k in range(begin, stop):
                    out[m, np.uint64(rows[k])] = node
                begin = stop
                continue
            column, limit = block[feature[node]], threshold[node]
            missing, categories = np.uint64(missing_left[node]), subset[node]
            n_left, n_right = begin, np.uint64(0)
            for k in range(begin, stop):
                row = rows[k]
                value = column[np.uint64(row)]
                left = np.uint64(value <= limit)
                if np.isnan(value):
                    left = missing
                elif categories >= 0:
                    code = np.uint64(value)
                    left = (
                        subsets[categories, code >> np.uint64(6)] >> (code & np.uint64(63))
                    ) & one
                rows[n_left] = spare[n_right] = row
                n_left += left
                n_right += one - left
            for k in range(n_right):
                rows[n_left + k] = spare[k]
            end[node + one] = n_left  # the left child is the next node
            end[right[node]] = stop
