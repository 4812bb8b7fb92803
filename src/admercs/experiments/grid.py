"""AD-MERCS for many parameter points: trees and densities are shared where they can be.

Trees depend on two of the five parameters and densities on a third, so that the paper's grid of 384
points takes 16 forests and 32 sets of densities for each set. Four of the 16 are grown; the others are
these, stopped earlier.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from admercs.density.fitting import fit_likelihoods
from admercs.detector.fit import FitSettings, first_model
from admercs.detector.judge import Judge
from admercs.estimator import ADMERCS
from admercs.evidence.feedback import iterate
from admercs.experiments.algorithms import Point, Scored
from admercs.paper import PAPER_SETTINGS
from admercs.table import learn_schema, prepare, read_frame, summarise
from admercs.table.bins import bin_table
from admercs.trees.forest import Forest
from admercs.trees.growth import grow_forest
from admercs.trees.prune import prune, split_gains

__all__ = ["score_grid"]


def score_grid(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    """Score a table with AD-MERCS in the paper's settings, for any number of parameter points.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Numbers.
    points : sequence of dict
        Parameters of :class:`admercs.ADMERCS` beyond the paper's common ones.

    Yields
    ------
    scored : Scored
        The evidence against every row. The time of shared steps is divided among their points.

    Examples
    --------
    >>> from admercs.datasets import make_synth_c
    >>> from admercs.experiments.grid import score_grid
    >>> from admercs.experiments.published import SELECTED
    >>> data = make_synth_c(0)
    >>> scored = next(score_grid(data.X, [SELECTED["AD-MERCS", "Synth-C"]]))
    >>> bool(scored.scores[data.y].mean() > 5 * scored.scores[~data.y].mean())
    True
    """
    ordered = sorted(points, key=lambda point: (_leaf(point), _decrease(point), _rho(point)))
    for _, same_leaf in groupby(ordered, key=_leaf):
        grown = _Grown(X, share := list(same_leaf))
        for _, same_trees in groupby(share, key=_decrease):
            yield from grown.stopped_earlier(alike := list(same_trees)).score(alike)


def _leaf(point: Point) -> float:
    return float(point["min_samples_leaf"])


def _decrease(point: Point) -> float:
    return float(point["min_impurity_decrease"])


def _rho(point: Point) -> float:
    return float(point["rho"])


def _settings(point: Point) -> FitSettings:
    return ADMERCS(**{**PAPER_SETTINGS, **point})._fit_settings()


class _Grown:
    """The largest trees for all points that agree on the size of leaves."""

    def __init__(self, X: np.ndarray, points: Sequence[Point]) -> None:
        start = time.perf_counter()
        settings = _settings(points[0])
        frame = read_frame(X)
        self.schema = learn_schema(summarise(frame, "auto"), warn=False)
        self.table = prepare(frame, self.schema)
        self.binning, self.codes = bin_table(self.table, self.schema, settings.max_bins, 1)
        # The first point is the one whose splits need to remove least.
        self.forest, leaves = grow_forest(
            self.codes,
            self.binning.edges,
            self.binning.n_codes,
            self.schema.used,
            self.table.column,
            settings.trees,
        )
        self.leaves = leaves.of(slice(None))
        self.gains = split_gains(self.forest, self.leaves, self.table.column)
        self.seconds = (time.perf_counter() - start) / len(points)

    def stopped_earlier(self, points: Sequence[Point]) -> _Forest:
        """Return the trees of points that differ in other parameters only."""
        start = time.perf_counter()
        enough = self.gains >= _decrease(points[0])
        purest_scores = _settings(points[0]).trees.purest_scores
        forest, home = prune(self.forest, enough, purest_scores)
        seconds = self.seconds + (time.perf_counter() - start) / len(points)
        return _Forest(self, forest, home[self.leaves], seconds)


class _Forest:
    """The trees of some points, ready to be judged with."""

    def __init__(self, grown: _Grown, forest: Forest, leaves: np.ndarray, seconds: float) -> None:
        self.schema, self.table = grown.schema, grown.table
        self.binning, self.codes = grown.binning, grown.codes
        self.forest, self.leaves, self.seconds = forest, leaves, seconds

    def score(self, points: Sequence[Point]) -> Iterator[Scored]:
        """Yield the scores of all points."""
        for _, alike in groupby(points, key=_rho):
            share = list(alike)
            start = time.perf_counter()
            log_omega = self._likelihoods(_settings(share[0]))
            seconds = self.seconds + (time.perf_counter() - start) / len(share)
            for point in share:
                start = time.perf_counter()
                scores = self._evidence(log_omega, _settings(point))
                yield Scored(point, scores, seconds + time.perf_counter() - start)

    def _likelihoods(self, settings: FitSettings) -> np.ndarray:
        """Return how likely each row's value is in each tree's context: trees x rows."""
        likelihoods = fit_likelihoods(
            self.forest,
            self.codes,
            self.leaves,
            self.table.column,
            self.binning.edges,
            self.schema.used,
            settings.judging.density,
        )
        model = first_model(self.schema, self.forest, likelihoods, settings, self.table.n_rows)
        return Judge(model).look(self.table.block(0, self.table.n_rows)).log_omega

    def _evidence(self, log_omega: np.ndarray, settings: FitSettings) -> np.ndarray:
        """Let rows and contexts inform each other."""

        def likelihood(node: int, rows: Any) -> np.ndarray:
            return log_omega[self.forest.tree_of(node), rows]

        gamma = settings.judging.gamma_delta
        # A view's part in the evidence, -log(1 - gamma v), from log(1 - v).
        parts = -log_omega if gamma == 1 else -np.log1p(gamma * np.expm1(log_omega))
        return iterate(
            parts.sum(axis=0),
            self.leaves,
            self.forest,
            likelihood,
            weighing=settings.judging.weighing(self.table.n_rows),
            gamma_lambda=settings.judging.gamma_lambda,
            feedback=settings.judging.feedback,
            n_iter=settings.n_iter,
            tol=settings.tol,
        ).evidence
