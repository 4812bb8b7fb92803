"""What the baselines have in common: from scores to decisions, the scikit-learn way."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["Baseline"]


class Baseline(OutlierMixin, BaseEstimator):
    """An outlier detector that scores numeric rows; a subclass says how.

    A subclass returns the scores of the training rows (higher is more normal) from ``_fit`` and
    scores new rows in ``_score``. A row that occurs in the training table always gets its training
    score.

    Attributes
    ----------
    scores_ : ndarray of shape (n_rows,)
        Scores of the training rows.
    offset_ : float
        Rows that score lower are outliers.
    n_features_in_ : int
        Number of attributes.
    """

    contamination: str | float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from numeric rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Numbers, at least two rows, none missing.
        y : ignored
            Present for scikit-learn's sake.

        Returns
        -------
        self : object
        """
        del y
        self._validate_params()
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self._rows = np.ascontiguousarray(rows)
        self.scores_ = self._fit(self._rows)
        self.offset_ = self._offset()
        return self

    def _offset(self) -> float:
        if isinstance(self.contamination, str):
            return self._auto_offset()
        return float(np.percentile(self.scores_, 100.0 * self.contamination))

    def score_samples(self, X: Any) -> np.ndarray:
        """Score rows; the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        seen = self._seen(rows)
        scores = self.scores_[seen]
        if (seen < 0).any():
            scores[seen < 0] = self._score(rows[seen < 0])
        return scores

    def _seen(self, X: np.ndarray) -> np.ndarray:
        """Return the training row equal to each row, -1 where there is none."""
        # Adding zero turns -0.0, which has other bytes, into 0.0.
        places = {row.tobytes(): i for i, row in enumerate(self._rows + 0.0)}
        return np.array([places.get(row.tobytes(), -1) for row in X + 0.0], dtype=np.int64)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score minus ``offset_``; negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for outliers and 1 for inliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    @abstractmethod
    def _auto_offset(self) -> float:
        """Return the threshold on the score where the contamination is unknown."""

    @abstractmethod
    def _fit(self, X: np.ndarray) -> np.ndarray:
        """Learn and return the scores of the training rows."""

    @abstractmethod
    def _score(self, X: np.ndarray) -> np.ndarray:
        """Score validated rows that are not in the training table."""
