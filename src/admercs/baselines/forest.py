"""Regression trees, one per column, from the engine that also grows the detector's trees."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from admercs.table.columns import Column
from admercs.trees.forest import Forest
from admercs.trees.growth import TreeSettings, grow_forest
from admercs.trees.nodes import depths
from admercs.trees.prune import prune, split_gains
from admercs.trees.walk import find_leaves

__all__ = ["RegressionForest", "encode"]

#: Values of a column are told apart exactly up to this number, beyond it in quantile bins.
MOST_BINS = 254


def encode(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put the values of a column into bins.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Finite numbers.

    Returns
    -------
    codes : ndarray of uint8
        Bin of each value, from 1.
    edges : ndarray of float
        Upper ends of all bins but the last.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines.forest import encode
    >>> codes, edges = encode(np.array([3.0, 1.0, 2.0, 1.0]))
    >>> codes, edges
    (array([3, 1, 2, 1], dtype=uint8), array([1.5, 2.5]))
    """
    distinct = np.unique(values)
    if distinct.size > MOST_BINS:
        ranks = np.linspace(0, 1, MOST_BINS + 1)[1:-1]
        lower = np.unique(np.quantile(values, ranks, method="lower"))
        upper = distinct[np.searchsorted(distinct, lower, side="right").clip(max=distinct.size - 1)]
        edges = np.unique((lower + upper) / 2)
    else:
        edges = (distinct[:-1] + distinct[1:]) / 2
    return (np.searchsorted(edges, values, side="left") + 1).astype(np.uint8), edges


class RegressionForest:
    """One regression tree per column, predicting it from the others.

    Parameters
    ----------
    max_depth : int
        Depth limit.
    min_samples_leaf : float
        Least share of the rows in a leaf.
    min_impurity_decrease : float
        Least sum of squares a split must remove, with the column scaled to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines.forest import RegressionForest
    >>> x = np.repeat([0.0, 1.0], 20)
    >>> forest = RegressionForest(4, 0.1, 0.001).fit(np.column_stack([x, 5 * x]))
    >>> forest.predict(np.array([[0.0, 5.0]]))
    array([[1., 0.]])
    """

    def __init__(
        self, max_depth: int, min_samples_leaf: float, min_impurity_decrease: float
    ) -> None:
        self.settings = TreeSettings(
            "paper", max_depth, float(min_samples_leaf), float(min_impurity_decrease)
        )

    def fit(self, X: np.ndarray) -> RegressionForest:
        """Grow the trees."""
        codes, edges = zip(*(encode(values) for values in X.T), strict=True)
        n_codes = np.array([edge.size + 2 for edge in edges], dtype=np.int32)
        columns = [Column(f"x{i}", i, "numeric", "number") for i in range(X.shape[1])]
        forest, leaves = grow_forest(
            np.array(codes), edges, n_codes, columns, lambda m: X[:, m], self.settings
        )
        return self._learn(forest, leaves.of(slice(None)), X)

    def _learn(self, forest: Forest, leaves: np.ndarray, X: np.ndarray) -> RegressionForest:
        """Predict the mean of a leaf; rows of one leaf belong to one column."""
        self.forest, self._leaves, self._rows = forest, leaves, X
        size = len(forest.feature)
        total = np.bincount(leaves.ravel(), weights=X.T.ravel(), minlength=size)
        count = np.bincount(leaves.ravel(), minlength=size)
        self.means = total / np.maximum(count, 1)
        return self

    @cached_property
    def _splits(self) -> tuple[np.ndarray, np.ndarray]:
        """What each split removes, and how deep it lies."""
        gains = split_gains(self.forest, self._leaves, lambda m: self._rows[:, m])
        return gains, depths(self.forest.parent)

    def stopped_earlier(self, max_depth: int, min_impurity_decrease: float) -> RegressionForest:
        """Return the trees that stricter settings would have grown."""
        gains, depth = self._splits
        keep = (gains >= min_impurity_decrease) & (depth < max_depth)
        forest, home = prune(self.forest, keep)
        leaf = float(self.settings.min_samples_leaf)
        smaller = RegressionForest(max_depth, leaf, min_impurity_decrease)
        return smaller._learn(forest, home[self._leaves], self._rows)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict every value of every row from the row's other values."""
        block = np.ascontiguousarray(X.T)
        leaves = np.empty(block.shape, np.int32)
        find_leaves(self.forest, block, leaves)
        return np.asarray(self.means[leaves].T)
