"""HiCS: local outliers in subspaces whose attributes depend on each other."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from admercs.baselines.base import Baseline
from admercs.baselines.outlier_factor import Neighbourhood, local_outlier_factor, nearest
from admercs.baselines.subspaces import find_subspaces

__all__ = ["HiCS"]


class HiCS(Baseline):
    """High contrast subspaces (Keller, Müller and Böhm 2012), after ELKI's implementation.

    Subspaces in which random slices of some attributes change the distribution of another one are
    searched level by level; a row's score is its mean local outlier factor over them. (ELKI reports
    the sum, which orders the rows alike.)

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours of the local outlier factor; fewer where there are fewer other rows.
    n_tests : int, default=50
        Random slices per subspace.
    alpha : float, default=0.1
        Share of the rows in a slice.
    max_subspaces : int, default=100
        Subspaces kept at each level of the search.
    prefix_is_same : bool, default=True
        Do as ELKI does, whose list of results takes two sets of columns for the same one where the
        larger begins with the smaller, and then keeps the smaller or drops both.
    contamination : "auto" or float, default="auto"
        Share of the training rows to call outliers; "auto" draws the line at a factor of 1.5.
    random_state : int, RandomState instance or None, default=None
        Decides the slices.

    Attributes
    ----------
    subspaces_ : list of Subspace
        The subspaces and their contrast; with a single attribute there is none to find and the
        row is scored in that attribute.
    scores_ : ndarray of shape (n_rows,)
        Scores of the training rows, each without itself among its neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines import HiCS
    >>> from admercs.datasets import make_synth_cs
    >>> data = make_synth_cs(10)
    >>> worst = HiCS(random_state=0).fit(data.X).scores_.argsort()[:10]
    >>> int(data.y[worst].sum())
    10
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_tests": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "max_subspaces": [Interval(Integral, 1, None, closed="left")],
        "prefix_is_same": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        n_tests: int = 50,
        alpha: float = 0.1,
        max_subspaces: int = 100,
        prefix_is_same: bool = True,
        contamination: str | float = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_tests = n_tests
        self.alpha = alpha
        self.max_subspaces = max_subspaces
        self.prefix_is_same = prefix_is_same
        self.contamination = contamination
        self.random_state = random_state

    def _auto_offset(self) -> float:
        return -1.5

    def _fit(self, X: np.ndarray) -> np.ndarray:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.subspaces_ = find_subspaces(
            X,
            n_tests=self.n_tests,
            alpha=self.alpha,
            max_subspaces=self.max_subspaces,
            prefix_is_same=self.prefix_is_same,
            random_state=seed,
        )
        self._k = min(self.n_neighbors, len(X) - 1)
        self._neighbourhoods: list[Neighbourhood] = []
        total = np.zeros(len(X))
        for columns in self._columns():
            factor, neighbourhood = local_outlier_factor(*nearest(X[:, columns], self._k))
            self._neighbourhoods.append(neighbourhood)
            total += factor
        return -total / len(self._neighbourhoods)

    def _columns(self) -> list[list[int]]:
        return [list(subspace.columns) for subspace in self.subspaces_] or [[0]]

    def _score(self, X: np.ndarray) -> np.ndarray:
        total = np.zeros(len(X))
        for columns, known in zip(self._columns(), self._neighbourhoods, strict=True):
            # A list of ranks keeps two dimensions where there is one neighbour only.
            distance, index = cKDTree(self._rows[:, columns]).query(
                X[:, columns], k=list(range(1, self._k + 1))
            )
            factor, _ = local_outlier_factor(np.asarray(distance), np.asarray(index), known)
            total += factor
        return -total / len(self._neighbourhoods)
