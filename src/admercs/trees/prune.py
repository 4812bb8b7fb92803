"""Trees that had stopped earlier, taken from larger ones.

Which split is best in a node depends neither on the depth limit nor on how much a split must remove: these only
decide whether it is made. So one large forest holds the forests of all stricter settings. And fine splits, which
only tell contexts apart, are undone where none of these is suspected.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest
from admercs.trees.judges import find_judges
from admercs.trees.targets import SCALE, fixed_point


def split_gains(
    forest: Forest, leaves: NDArray[np.int32], values: Callable[[int], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the sum of squares that each split removes; 0 for leaves.

    Parameters
    ----------
    forest : Forest
        Regression trees: every target is a number, none is missing.
    leaves : ndarray of int32, shape (M, N)
        The leaf of each training row in each tree.
    values : callable
        ``values(m)`` returns the training values of column m.

    Returns
    -------
    gains : ndarray of float64
        On targets scaled to [0, 1], to the last bit what decided about the split.
    """
    n_nodes = len(forest.feature)
    total = np.zeros(n_nodes)
    for m in range(forest.n_trees):
        raw = values(m)
        # Sums of 30-bit integers: exact.
        scaled = fixed_point(raw, float(raw.min()), float(raw.max()))
        total += np.bincount(leaves[m], weights=scaled, minlength=n_nodes)
    for node in range(n_nodes - 1, 0, -1):  # preorder: children come after their parent
        if forest.parent[node] >= 0:
            total[forest.parent[node]] += total[node]
    mean_part = (total / SCALE) ** 2 / forest.n
    split = forest.feature >= 0
    gains = np.zeros(n_nodes)
    both = mean_part[forest.left[split]] + mean_part[forest.right[split]]
    gains[split] = both - mean_part[split]
    return gains


def prune(
    forest: Forest, keep: NDArray[np.bool_], purest_scores: bool | None = None
) -> tuple[Forest, NDArray[np.int32]]:
    """Undo splits, and with them all that lies below.

    Parameters
    ----------
    forest : Forest
        The trees.
    keep : ndarray of bool
        Per node, whether its split stays; of no matter for leaves.
    purest_scores : bool, optional
        As in :class:`admercs.trees.growth.TreeSettings`. If it is not given, nodes are judged by whom they were.

    Returns
    -------
    forest : Forest
        The smaller trees.
    home : ndarray of int32
        For each node of the larger trees, the node of the smaller ones that holds its rows.
    """
    n_nodes = len(forest.feature)
    # Where the rows of a node end up, in old numbers; a node that stays is its own home.
    old_home = np.arange(n_nodes, dtype=np.int32)
    for node in np.flatnonzero(forest.parent >= 0):
        above = forest.parent[node]
        if old_home[above] != above or not keep[above]:
            old_home[node] = old_home[above]
    stays = old_home == np.arange(n_nodes)
    number = (np.cumsum(stays) - 1).astype(np.int32)
    splits = ((forest.feature >= 0) & keep)[stays]

    def renumbered(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(splits, number[numbers[stays]], -1).astype(np.int32)

    above = forest.parent[stays]
    parent = np.where(above < 0, -1, number[above]).astype(np.int32)
    feature = np.where(splits, forest.feature[stays], -1).astype(np.int32)
    n, impurity = forest.n[stays], forest.impurity[stays]
    scorer, wider = number[forest.scorer[stays]], forest.wider[stays]
    wider = np.where(wider < 0, -1, number[wider]).astype(np.int32)
    if purest_scores is not None:
        scorer, wider = find_judges(parent, feature, n, impurity, purest_scores, splits)
    smaller = Forest(
        root=np.append(number[forest.root[:-1]], len(parent)).astype(np.int64),
        feature=feature,
        threshold=np.where(splits, forest.threshold[stays], np.nan),
        lower=np.where(splits, forest.lower[stays], np.nan),
        upper=np.where(splits, forest.upper[stays], np.nan),
        bin=np.where(splits, forest.bin[stays], 0).astype(np.int32),
        subset=np.where(splits, forest.subset[stays], -1).astype(np.int32),
        missing_left=forest.missing_left[stays] & splits,
        left=renumbered(forest.left),
        right=renumbered(forest.right),
        parent=parent,
        n=n,
        impurity=impurity,
        scorer=scorer,
        wider=wider,
        subsets=forest.subsets,
        idle=forest.idle[stays],
    )
    return smaller, number[old_home]
