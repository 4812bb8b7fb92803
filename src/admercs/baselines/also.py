"""ALSO: rows whose values cannot be predicted from each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval, StrOptions

from admercs.baselines.base import Baseline
from admercs.baselines.regression_forest import RegressionForest

__all__ = ["ALSO", "Deviations", "folds"]


class ALSO(Baseline):
    """Attribute-wise learning for scoring outliers (Paulheim and Meusel 2015), with trees.

    One tree per attribute predicts it from the others, for rows it has not seen (cross-validation).
    The deviations give both: an attribute weighs ``1 - min(1, r)``, with r the root relative
    squared error, so that what cannot be predicted does not count; and a row's score is the root of
    the weighted mean of its squared deviations, these in standard deviations of the attribute.

    Parameters
    ----------
    max_depth : int, default=10
        Depth limit of the trees.
    min_samples_leaf : float, default=0.02
        Least share of the rows in a leaf.
    min_impurity_decrease : float, default=0.001
        Least sum of squares that a split removes, with the attribute scaled to [0, 1].
    cv : int, default=5
        Number of parts in the cross-validation.
    unit : {"deviation", "range"}, default="deviation"
        What deviations are measured in: the standard deviation of the attribute, or its range,
        which is to take them as they are on attributes scaled to [0, 1].
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
        Scores of the training rows. Other rows are compared with the predictions of trees grown on
        the whole table.

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
        "unit": [StrOptions({"deviation", "range"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_depth: int = 10,
        min_samples_leaf: float = 0.02,
        min_impurity_decrease: float = 0.001,
        *,
        cv: int = 5,
        unit: str = "deviation",
        contamination: str | float = "auto",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.cv = cv
        self.unit = unit
        self.contamination = contamination
        self.random_state = random_state

    def _auto_offset(self) -> float:
        low, high = np.quantile(self.scores_, [0.25, 0.75])
        return float(low - 1.5 * (high - low))

    def _fit(self, X: np.ndarray) -> np.ndarray:
        predicted = np.empty_like(X)
        for train, test in folds(X, self.cv, self.random_state):
            predicted[test] = self._new_forest().fit(X[train]).predict(X[test])
        self._deviations = Deviations.of(X, predicted, self.unit)
        self.weights_ = self._deviations.weights
        self._forest = self._new_forest().fit(X)
        return -self._deviations.score(X - predicted)

    def _new_forest(self) -> RegressionForest:
        return RegressionForest(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease)

    def _score(self, X: np.ndarray) -> np.ndarray:
        return -self._deviations.score(X - self._forest.predict(X))


def folds(X: np.ndarray, cv: int, random_state: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to learn from and to predict, for each part of the cross-validation."""
    parts = KFold(min(cv, len(X)), shuffle=True, random_state=random_state)
    return parts.split(X)


@dataclass(frozen=True)
class Deviations:
    """How deviations from predictions become scores.

    Attributes
    ----------
    size : ndarray of shape (n_columns,)
        The unit of each attribute's deviations.
    weights : ndarray of shape (n_columns,)
        How well each attribute can be predicted, from 0 to 1.
    """

    size: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, predicted: np.ndarray, unit: str) -> Deviations:
        """Learn from a table and what was predicted for it."""
        span = np.ptp(X, axis=0)
        # Rounding makes the spread of a constant attribute tiny instead of nothing.
        constant = span == 0
        spread = np.where(constant, 1.0, X.std(axis=0))
        relative = np.sqrt(((X - predicted) ** 2).mean(axis=0)) / spread
        weights = np.where(constant, 0.0, 1 - np.minimum(1, relative))
        return cls(np.where(constant, 1.0, span) if unit == "range" else spread, weights)

    def score(self, deviations: np.ndarray) -> np.ndarray:
        """Score rows by their deviations; the higher, the more abnormal."""
        total = self.weights.sum()
        n_columns = len(self.weights)
        # Where nothing can be predicted, all attributes count alike.
        weights = self.weights / total if total > 0 else np.full(n_columns, 1 / n_columns)
        return np.asarray(np.sqrt((deviations / self.size) ** 2 @ weights))
