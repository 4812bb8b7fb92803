"""Walking rows down the trees, from working values."""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel


@kernel
def next_node(forest, node, value):  # type: ignore[no-untyped-def]
    """Return the child of `node` that a row with this value belongs to."""
    if np.isnan(value):
        left = forest.missing_left[node]
    elif forest.subset[node] >= 0:
        code = np.int64(value)
        bits = forest.subsets[forest.subset[node], code >> 6]
        left = (bits >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)
    else:
        left = value <= forest.threshold[node]
    return forest.left[node] if left else forest.right[node]


@kernel
def find_leaves(forest, block, out):  # type: ignore[no-untyped-def]
    """Write the leaf of each row of a block (columns x rows) in each tree."""
    n_trees, n_rows = block.shape
    for m in range(n_trees):
        root = forest.root[m]
        for i in range(n_rows):
            node = root
            while forest.feature[node] >= 0:
                node = next_node(forest, node, block[forest.feature[node], i])
            out[m, i] = node
