"""The algorithms behind one interface: rows and parameter points in, scores out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["REGISTRY", "Algorithm", "Scored"]

Point = dict[str, Any]
_SEED = 0


class Scored(NamedTuple):
    """Scores (higher is more anomalous) of all rows for one parameter point, and their cost."""

    point: Point
    scores: np.ndarray
    seconds: float


class Algorithm(Protocol):
    """Scores a table for any number of parameter points, sharing work between them."""

    def __call__(self, X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
        """Yield the scores point by point, in any order, as soon as they are known."""


def _timed(point: Point, start: float, scores: np.ndarray, shared: float = 0.0) -> Scored:
    return Scored(point, np.asarray(scores), shared + time.perf_counter() - start)


def _hbos(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from pyod.models.hbos import HBOS

    # PyOD compiles on first use, which is no cost of this table.
    HBOS().fit(X[:10])
    for point in points:
        start = time.perf_counter()
        yield _timed(point, start, HBOS(**point).fit(X).decision_scores_)


def _iforest(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from sklearn.ensemble import IsolationForest

    for point in points:
        start = time.perf_counter()
        model = IsolationForest(random_state=_SEED, **point).fit(X)
        yield _timed(point, start, -model.score_samples(X))


def _knn(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from pyod.models.knn import KNN

    if len(points) == 1:
        start = time.perf_counter()
        k = _fitting(points[0], X)
        yield _timed(points[0], start, KNN(n_neighbors=k).fit(X).decision_scores_)
        return
    distance, _, shared = _neighbours(X, points)
    for point in points:
        start = time.perf_counter()
        yield _timed(point, start, distance[:, _fitting(point, X) - 1], shared)


def _lof(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from pyod.models.lof import LOF

    from admercs.baselines.neighbours import local_outlier_factor

    if len(points) == 1:
        start = time.perf_counter()
        k = _fitting(points[0], X)
        yield _timed(points[0], start, LOF(n_neighbors=k).fit(X).decision_scores_)
        return
    distance, index, shared = _neighbours(X, points)
    for point in points:
        start = time.perf_counter()
        k = _fitting(point, X)
        yield _timed(point, start, local_outlier_factor(distance[:, :k], index[:, :k])[0], shared)


def _fitting(point: Point, X: np.ndarray) -> int:
    """Return the number of neighbours, less where there are fewer other rows."""
    return min(int(point["n_neighbors"]), len(X) - 1)


def _neighbours(X: np.ndarray, points: Sequence[Point]) -> tuple[np.ndarray, np.ndarray, float]:
    """Find as many neighbours as any point asks for, and say how long a point's share took."""
    from sklearn.neighbors import NearestNeighbors

    start = time.perf_counter()
    k = max(_fitting(point, X) for point in points)
    distance, index = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    return distance, index, (time.perf_counter() - start) / len(points)


def _also(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from admercs.baselines import ALSO

    for point in points:
        start = time.perf_counter()
        yield _timed(point, start, -ALSO(random_state=_SEED, **point).fit(X).scores_)


def _hics(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from admercs.baselines.neighbours import local_outlier_factor, nearest
    from admercs.baselines.subspaces import find_subspaces

    # The search does not depend on the number of neighbours, nor do the neighbours' ranks.
    start = time.perf_counter()
    sizes = [_fitting(point, X) for point in points]
    subspaces = [list(s.columns) for s in find_subspaces(X, random_state=_SEED)] or [[0]]
    total = np.zeros((len(points), len(X)))
    for columns in subspaces:
        distance, index = nearest(X[:, columns], max(sizes))
        for i, k in enumerate(sizes):
            total[i] += local_outlier_factor(distance[:, :k], index[:, :k])[0]
    seconds = (time.perf_counter() - start) / len(points)
    for point, scores in zip(points, total, strict=True):
        yield Scored(point, scores, seconds)


def _admercs(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from admercs.experiments.grid import score_grid

    yield from score_grid(X, points)


def _admercs_defaults(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from admercs import ADMERCS

    for point in points:
        start = time.perf_counter()
        yield _timed(point, start, -ADMERCS(**point).fit(X).score_samples(X))


#: The algorithms by the names the paper gives them, and ours without tuning.
REGISTRY: dict[str, Algorithm] = {
    "AD-MERCS": _admercs,
    "ALSO": _also,
    "HBOS": _hbos,
    "HiCS": _hics,
    "iForest": _iforest,
    "kNN": _knn,
    "LOF": _lof,
    "ADMERCS()": _admercs_defaults,
}
