"""Regression trees, one per column, grown by the detector in the paper's settings."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from admercs import ADMERCS, Method
from admercs.inspect import Node, leaves, tree_nodes

__all__ = ["RegressionForest"]


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
    >>> from admercs.baselines.regression_forest import RegressionForest
    >>> x = np.repeat([0.0, 1.0], 20)
    >>> forest = RegressionForest(4, 0.1, 0.001).fit(np.column_stack([x, 5 * x]))
    >>> forest.predict(np.array([[0.0, 5.0]]))
    array([[1., 0.]])
    """

    def __init__(
        self, max_depth: int, min_samples_leaf: float, min_impurity_decrease: float
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = float(min_samples_leaf)
        self.min_impurity_decrease = float(min_impurity_decrease)

    def fit(self, X: np.ndarray) -> Self:
        """Grow the trees; a column without them is predicted by its mean."""
        self._mean = X.mean(axis=0)
        self._columns = np.flatnonzero(np.ptp(X, axis=0) > 0)
        if self._columns.size:
            rows = X[:, self._columns]
            method = Method.paper("Campos").change(
                {
                    "trees.max_depth": self.max_depth,
                    "trees.min_samples_leaf": self.min_samples_leaf,
                    "trees.min_impurity_decrease": self.min_impurity_decrease,
                    "trees.max_bins": 254,
                }
            )
            self._model = ADMERCS(method=method, n_iter=1).fit(rows)
            self._learn(tree_nodes(self._model), leaves(self._model, rows), rows)
        return self

    def _learn(self, nodes: list[Node], leaf: np.ndarray, X: np.ndarray) -> None:
        """Find how deep each node lies and what its split removes, then what leaves predict."""
        self._leaf, self._rows = leaf, X
        count, total = self._sums(np.arange(len(nodes)))
        for node in reversed(nodes):
            if node.parent is not None:
                count[node.parent] += count[node.number]
                total[node.parent] += total[node.number]
        means = total / count
        self._parent = [node.parent for node in nodes]
        self._depth, self._gain = [0] * len(nodes), np.zeros(len(nodes))
        # Columns of an array are called x0, x1, ...
        span = {f"x{m}": width for m, width in enumerate(np.ptp(X, axis=0))}
        for node in nodes:
            if node.parent is not None:
                self._depth[node.number] = self._depth[node.parent] + 1
            if node.children:
                pair = list(node.children)
                apart = np.ptp(means[pair]) / span[node.target]
                self._gain[node.number] = apart**2 * count[pair].prod() / count[node.number]
        self._stop_at(np.arange(len(nodes)))

    def _sums(self, home: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return number and sum of the training values of each node, where leaves have moved."""
        found = home[self._leaf].ravel()
        count = np.bincount(found, minlength=len(home))
        return count, np.bincount(found, weights=self._rows.ravel(), minlength=len(home))

    def _stop_at(self, home: np.ndarray) -> None:
        """Predict the mean of the node in which each leaf is now."""
        count, total = self._sums(home)
        self._prediction = (total / np.maximum(count, 1))[home]

    def stopped_earlier(self, max_depth: int, min_impurity_decrease: float) -> Self:
        """Return the trees that stricter settings would have grown.

        Which split is best in a node does not depend on these settings, only whether it is made.
        """
        smaller = copy(self)
        if self._columns.size:
            home = np.arange(len(self._parent))
            for number, parent in enumerate(self._parent):
                if parent is None:
                    continue
                stops = self._gain[parent] < min_impurity_decrease
                if stops or self._depth[parent] >= max_depth or home[parent] != parent:
                    home[number] = home[parent]
            smaller._stop_at(home)
        return smaller

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict every value of every row from the row's other values."""
        predicted = np.tile(self._mean, (len(X), 1))
        if self._columns.size:
            found = leaves(self._model, X[:, self._columns])
            predicted[:, self._columns] = self._prediction[found]
        return predicted
