"""Walking rows down the trees, from working values."""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel


@kernel
def next_node(forest, node, value):  # type: ignore[no-untyped-def]
    """Return the child of a split that a row with this value goes to.

    Which way a row goes cannot be predicted, so the next node is computed rather than branched to.
    """
    goes_left = value <= forest.threshold[node]
    if np.isnan(value):
        goes_left = forest.missing_left[node]
    elif forest.subset[node] >= 0:
        code = np.int64(value)
        bits = forest.subsets[forest.subset[node], code >> 6]
        goes_left = (bits >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)
    left, right = np.int64(forest.left[node]), np.int64(forest.right[node])
    return np.uint64(right + (left - right) * np.int64(goes_left))


@kernel
def find_leaves(forest, block, out):  # type: ignore[no-untyped-def]
    """Write the leaf of each row of a block (columns x rows) in each tree."""
    n_trees, n_rows = block.shape
    for m in range(n_trees):
        root = forest.root[m]
        for i in range(n_rows):
            node = np.uint64(root)  # unsigned: numba need not ask whether it counts from the end
            feature = forest.feature[node]
            while feature >= 0:
                node = next_node(forest, node, block[np.uint64(feature), np.uint64(i)])
                feature = forest.feature[node]
            out[m, i] = node
