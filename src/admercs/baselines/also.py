"""ALSO: rows whose values cannot be predicted from each other."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from admercs.baselines.base import Baseline
from admercs.baselines.forest import RegressionForest

__all__ = ["ALSO"]


class ALSO(Baseline):
    """Attribute-wise learning for scoring outliers (Paulheim and Meusel 2015), with regression trees.

    One tree per attribute predicts it from the others. A row's score is the root of the weighted mean
    of its squared residuals, in standard deviations of the attribute. An attribute weighs
    ``1 - min(1, r)``, with r the cross-validated root relative squared error of its tree: what
    cannot be predicted does not count.

    Parameters
    ----------
    max_depth : int, default=10
        Depth limit of the trees.
    min_samples_leaf : float, default=0.02
        Least share of the rows in a leaf.
    min_impurity_decrease : float, default=0.001
        Least sum of squares that a split removes, with the attribute scaled to [0, 1].
    cv : int, default=3
        Number of parts in the cross-validation of the weights.
    contamination : "auto" or float, default="auto"
        Share of the training rows to call outliers; "auto" draws the line where a box plot of the
        training scores does: one and a half times the box below it.
    random_state : int, RandomState instance or None, default=None
        Decides the parts of the cross-validation.

    Attributes
    ----------
    weights_ : ndarray of shape (n_columns,)
        Weight of each attribute.
    scores_ : ndarray of shape (n_rows,)
        Scores of the training rows.
    offset_ : float
        Rows that score lower are outliers.
    n_features_in_ : int
        Number of attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines import ALSO
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(300)
    >>> X = np.column_stack([x, x, rng.random(300)])
    >>> X[17, 1] = 1 - X[17, 1]
    >>> model = ALSO(random_state=0).fit(X)
    >>> int(model.scores_.argmin())
    17
    >>> model.weights_.round(1)
    array([1., 1., 0.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "max_depth": [Interval(Integral, 1, 64, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, 0.5, closed="right")],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_depth: int = 10,
        min_samples_leaf: float = 0.02,
        min_impurity_decrease: float = 0.001,
        *,
        cv: int = 3,
        contamination: str | float = "auto",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.cv = cv
        self.contamination = contamination
        self.random_state = random_state

    def _auto_offset(self) -> float:
        low, high = np.quantile(self.scores_, [0.25, 0.75])
        return float(low - 1.5 * (high - low))

    def _fit(self, X: np.ndarray) -> np.ndarray:
        spread = X.std(axis=0)
        # Rounding makes the spread of a constant attribute tiny instead of nothing.
        self._constant = np.ptp(X, axis=0) == 0
        self._spread = np.where(self._constant, 1.0, spread)
        self.weights_ = self._cross_validate(X)
        self._forest = self._new_forest().fit(X)
        return self._score(X)

    def _new_forest(self) -> RegressionForest:
        return RegressionForest(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease)

    def _cross_validate(self, X: np.ndarray) -> np.ndarray:
        """Weigh each attribute by how well trees predict it in rows they have not seen."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        parts = KFold(min(self.cv, len(X)), shuffle=True, random_state=seed)
        error, baseline = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for train, test in parts.split(X):
            predicted = self._new_forest().fit(X[train]).predict(X[test])
            error += ((X[test] - predicted) ** 2).sum(axis=0)
            baseline += ((X[test] - X[train].mean(axis=0)) ** 2).sum(axis=0)
        relative = np.sqrt(error / np.where(self._constant, 1.0, baseline))
        return np.where(self._constant, 0.0, 1 - np.minimum(1, relative))

    def _score(self, X: np.ndarray) -> np.ndarray:
        residuals = (X - self._forest.predict(X)) / self._spread
        total = self.weights_.sum()
        # Where nothing can be predicted, all attributes count alike.
        weights = self.weights_ / total if total > 0 else np.full(X.shape[1], 1 / X.shape[1])
        return -np.sqrt(residuals**2 @ weights)
