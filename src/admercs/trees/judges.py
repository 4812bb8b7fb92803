"""Which nodes on its path judge the rows of a leaf, besides the root.

The paper lets the purest one judge. We let the leaf judge, and where it is but a small part of a wider context that
context too: a split may have put anomalies into a leaf of their own kind, where nothing is odd about them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A leaf with a smaller share of a context's rows than this has to answer to that context.
SMALL_SHARE = 0.15

Nodes = NDArray[np.int32]


def find_judges(
    parent: Nodes,
    feature: Nodes,
    n: NDArray[np.int64],
    impurity: NDArray[np.float64],
    purest: bool,
    earned: NDArray[np.bool_],
) -> tuple[Nodes, Nodes]:
    """Return the fields ``scorer`` and ``wider`` of a forest.

    `purest` asks for the paper's judges; `earned` says which splits earned their full price. The halves of others
    judge nobody: all that lies below is judged by the node as a whole.
    """
    if purest:
        return find_scorers(parent, impurity), np.full(len(parent), -1, np.int32)
    scorer = np.arange(len(parent), dtype=np.int32)
    for node in range(len(parent)):  # preorder: a parent comes before its children
        above = parent[node]
        if above >= 0 and not earned[above]:
            scorer[node] = scorer[above]
    wider = find_wider(parent, np.where(earned, feature, -1), n)
    return scorer, wider[scorer]


def find_scorers(parent: Nodes, impurity: NDArray[np.float64]) -> Nodes:
    """Return for each node the purest node on its path; of equally pure ones the lowest.

    Examples
    --------
    >>> import numpy as np
    >>> find_scorers(np.array([-1, 0, 0]), np.array([0.5, 0.1, 0.7]))
    array([0, 1, 0], dtype=int32)
    """
    scorer = np.arange(len(parent), dtype=np.int32)
    for node in range(len(parent)):  # preorder: a parent comes before its children
        above = parent[node]
        if above >= 0 and impurity[scorer[above]] < impurity[node]:
            scorer[node] = scorer[above]
    return scorer


def find_wider(parent: Nodes, feature: Nodes, n: NDArray[np.int64]) -> Nodes:
    """Return for each leaf the nearest context above it of which it is but a small part, or -1.

    The root is not among them: the whole table judges every row anyway.

    Examples
    --------
    >>> import numpy as np
    >>> find_wider(np.array([-1, 0, 1, 1, 0]), np.array([2, 3, -1, -1, -1]), np.array([100, 60, 5, 55, 40]))
    array([-1, -1,  1, -1, -1], dtype=int32)
    """
    wider = np.full(len(parent), -1, np.int32)
    for leaf in np.flatnonzero(feature < 0):
        above = parent[leaf]
        while above >= 0 and n[leaf] >= SMALL_SHARE * n[above]:
            above = parent[above]
        if above >= 0 and parent[above] >= 0:
            wider[leaf] = above
    return wider
