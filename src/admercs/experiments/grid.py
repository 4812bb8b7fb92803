"""AD-MERCS for many parameter points: models are shared where they can be.

Trees depend on two of the five parameters and likelihoods on a third, so the paper's grid of 384
points takes 32 models for each set. The other two decide how likelihoods become scores: the paper's
rules for that are written out here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from admercs import ADMERCS, Method
from admercs.experiments.algorithms import Point, Scored
from admercs.inspect import leaves, likelihoods

__all__ = ["paper_method", "score_grid"]

_MOST_ROUNDS, _TOLERANCE = 20, 1e-6
# As in the detector: sums over rows are kept in these steps, and a context whose log λ is lower
# than the least changes no score.
_STEP, _LEAST_TERM, _LEAST_LOG_LAMBDA = 2.0**-24, -64.0, -37.0


def score_grid(X: np.ndarray, points: Sequence[Point]) -> Iterator[Scored]:
    """Score a table with AD-MERCS in the paper's settings, for any number of parameter points.

    The time of shared steps is divided among their points.

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
    for _, alike in groupby(sorted(points, key=_model_key), key=_model_key):
        share = list(alike)
        start = time.perf_counter()
        with warnings.catch_warnings():
            # That constant columns are set aside is no news in a benchmark.
            warnings.simplefilter("ignore", UserWarning)
            model = ADMERCS(method=paper_method(share[0]), n_iter=1).fit(X)
        leaf, log_omega = leaves(model, X), likelihoods(model, X)
        seconds = (time.perf_counter() - start) / len(share)
        for point in share:
            start = time.perf_counter()
            scores = _evidence(leaf, log_omega, point["gamma_delta"], point["gamma_lambda"])
            yield Scored(point, scores, seconds + time.perf_counter() - start)


def paper_method(point: Point) -> Method:
    """Return the paper's method with the values of a point of its grid."""
    return Method.paper("Campos").change(
        {
            "trees.min_samples_leaf": point["min_samples_leaf"],
            "trees.min_impurity_decrease": point["min_impurity_decrease"],
            "density.rho": point["rho"],
            "feedback.gamma_lambda": point["gamma_lambda"],
            "evidence.gamma_delta": point["gamma_delta"],
        }
    )


def _model_key(point: Point) -> tuple[float, ...]:
    return point["min_samples_leaf"], point["min_impurity_decrease"], point["rho"]


def _evidence(
    leaf: np.ndarray, log_omega: np.ndarray, gamma_delta: float, gamma_lambda: float
) -> np.ndarray:
    """Let rows and contexts inform each other; return the evidence against each row.

    A row's evidence is the sum over its views of -log(1 - γ_δ (1 - ω (1 - λ))). A context's λ is
    the product over its rows of 1 - γ_λ (1 - δ), with δ from the evidence beyond that of the
    typical row.
    """
    log_lambda = np.full(leaf.max() + 1, -np.inf)
    evidence = _sum_of_views(log_omega, gamma_delta)
    for _ in range(_MOST_ROUNDS - 1):
        excess = np.maximum(0.0, evidence - np.median(evidence))
        with np.errstate(divide="ignore"):
            terms = np.log1p(-gamma_lambda * np.exp(-excess))
        terms = np.rint(np.maximum(terms, _LEAST_TERM) / _STEP) * _STEP
        sums = np.bincount(leaf.ravel(), np.repeat(terms, leaf.shape[1]), len(log_lambda))
        last, log_lambda = log_lambda, np.minimum(sums, -_STEP)
        log_lambda[log_lambda < _LEAST_LOG_LAMBDA] = -np.inf
        log_not_lambda = np.log(-np.expm1(log_lambda))
        evidence = _sum_of_views(log_omega + log_not_lambda[leaf], gamma_delta)
        if np.abs(np.exp(log_lambda) - np.exp(last)).max() <= _TOLERANCE:
            break
    return evidence


def _sum_of_views(log_ordinary: np.ndarray, gamma: float) -> np.ndarray:
    """Return the evidence of rows from the log of how ordinary each view finds them."""
    views = -log_ordinary if gamma == 1 else -np.log1p(gamma * np.expm1(log_ordinary))
    return np.asarray(views.sum(axis=1))
