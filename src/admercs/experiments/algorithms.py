"""The algorithms behind one interface: rows and parameter points in, scores out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["REGISTRY", "Algorithm", "Scored"]

Point = dict[str, Any]
_SEED = 0
#: As in the implementation by one of the paper's authors: five folds, deviations as they are on
#: attributes scaled to [0, 1].
_ALSO_FOLDS, _ALSO_UNIT = 5, "range"


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

    def samples(point: Point) -> float:
        return float(point["max_samples"])

    ordered = sorted(points, key=lambda point: (samples(point), point["n_estimators"]))
    for _, alike in groupby(ordered, key=samples):
        # A warm start adds trees to those of the last point: the same ones that a new forest grows.
        model = IsolationForest(random_state=_SEED, warm_start=True)
        fitting = 0.0
        for point in alike:
            start = time.perf_counter()
            model.set_params(**point).fit(X)
            fitting += time.perf_counter() - start
            start = time.perf_counter()
            yield _timed(point, start, -model.score_samples(X), fitting)


def _knn(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from pyod.models.knn import KNN

    return _with_neighbours(X, points, KNN, lambda distance, _: distance[:, -1])


def _lof(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from pyod.models.lof import LOF

    from admercs.baselines.outlier_factor import local_outlier_factor

    return _with_neighbours(X, points, LOF, lambda *found: local_outlier_factor(*found)[0])


def _with_neighbours(
    X: np.ndarray,
    points: Sequence[Point],
    model: Any,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[Scored]:
    """Score one point with a model of PyOD, several from neighbours that are found once."""
    if len(points) == 1:
        start = time.perf_counter()
        fitted = model(n_neighbors=_fitting(points[0], X)).fit(X)
        yield _timed(points[0], start, fitted.decision_scores_)
        return
    distance, index, shared = _neighbours(X, points)
    for point in points:
        start = time.perf_counter()
        k = _fitting(point, X)
        yield _timed(point, start, score(distance[:, :k], index[:, :k]), shared)


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
    from admercs.baselines.also import Deviations, folds
    from admercs.baselines.regression_forest import RegressionForest

    def leaf(point: Point) -> float:
        return float(point["min_samples_leaf"])

    for size, share in groupby(sorted(points, key=leaf), key=leaf):
        start = time.perf_counter()
        alike = list(share)
        depth = max(point["max_depth"] for point in alike)
        least = min(point["min_impurity_decrease"] for point in alike)
        predicted = [np.empty_like(X) for _ in alike]
        for train, test in folds(X, _ALSO_FOLDS, _SEED):
            # The trees of all other points are these, stopped earlier.
            forest = RegressionForest(depth, size, least).fit(X[train])
            for point, values in zip(alike, predicted, strict=True):
                limits = point["max_depth"], point["min_impurity_decrease"]
                values[test] = forest.stopped_earlier(*limits).predict(X[test])
        shared = (time.perf_counter() - start) / len(alike)
        for point, values in zip(alike, predicted, strict=True):
            start = time.perf_counter()
            learned = Deviations.of(X, values, _ALSO_UNIT)
            yield _timed(point, start, learned.score(X - values), shared)


def _hics(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    from admercs.baselines.outlier_factor import local_outlier_factor, nearest
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
        with warnings.catch_warnings():
            # That constant columns are set aside is no news in a benchmark.
            warnings.simplefilter("ignore", UserWarning)
            scores = -ADMERCS(**point).fit(X).score_samples(X)
        yield _timed(point, start, scores)


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
