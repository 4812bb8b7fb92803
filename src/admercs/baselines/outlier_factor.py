"""Local outlier factors from nearest neighbours, for many neighbourhood sizes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from admercs._compile import kernel

__all__ = ["Neighbourhood", "local_outlier_factor", "nearest"]

#: Keeps densities finite where rows coincide.
_TINY = 1e-10


@dataclass(frozen=True)
class Neighbourhood:
    """Density of the training rows, all that is needed to score other rows.

    Attributes
    ----------
    reach : ndarray of shape (n_rows,)
        Distance to the k-th neighbour.
    density : ndarray of shape (n_rows,)
        Local reachability density.
    """

    reach: np.ndarray
    density: np.ndarray


@kernel
def _drop_self(distance, index):  # type: ignore[no-untyped-def]
    """Remove each row from its own neighbours; where copies crowd it out, the last goes."""
    n, k = distance.shape
    for i in range(n):
        where = k - 1
        for j in range(k):
            if index[i, j] == i:
                where = j
                break
        for j in range(where, k - 1):
            distance[i, j] = distance[i, j + 1]
            index[i, j] = index[i, j + 1]


@kernel
def _factors(distance, index, reach, density, own_density, out):  # type: ignore[no-untyped-def]
    """Compute densities of rows and compare them with their neighbours'."""
    n, k = distance.shape
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += max(distance[i, j], reach[index[i, j]])
        own_density[i] = 1.0 / (total / k + _TINY)
    if density.size == 0:
        density = own_density
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += density[index[i, j]]
        out[i] = total / (k * own_density[i])


def nearest(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the k nearest other rows of every row.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines.outlier_factor import nearest
    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1)[1].ravel()
    array([1, 0, 1])
    """
    distance, index = cKDTree(X).query(X, k=k + 1)
    distance, index = np.ascontiguousarray(distance), np.ascontiguousarray(index)
    _drop_self(distance, index)
    return distance[:, :k], index[:, :k]


def local_outlier_factor(
    distance: np.ndarray, index: np.ndarray, known: Neighbourhood | None = None
) -> tuple[np.ndarray, Neighbourhood]:
    """Compute local outlier factors from neighbours among the training rows.

    Without known densities the rows are the training rows themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines.outlier_factor import local_outlier_factor, nearest
    >>> X = np.append(np.arange(10.0), 30.0)[:, None]
    >>> local_outlier_factor(*nearest(X, 2))[0].round(1)[-3:]
    array([ 1.2,  1.2, 14.3])
    """
    distance, index = np.ascontiguousarray(distance), np.ascontiguousarray(index)
    reach = distance[:, -1].copy() if known is None else known.reach
    density = np.empty(0) if known is None else known.density
    own, factor = np.empty(len(distance)), np.empty(len(distance))
    _factors(distance, index, reach, density, own, factor)
    return factor, Neighbourhood(reach, own) if known is None else known
