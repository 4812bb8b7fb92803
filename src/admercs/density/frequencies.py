"""Distributions over a few values: nominal and discrete targets, and missing or not."""

from __future__ import annotations

import numpy as np

from admercs.density.area import frequency_areas
from admercs.density.arrays import Floats, Ints
from admercs.density.thresholds import quantile_levels


def value_frequencies(counts: Ints, n_grouped: int = 0) -> Floats:
    """Return κ of each value in each slot: its share of the rows that have a value.

    A value that does not occur counts as if it had occurred once. The last column may stand for
    ``n_grouped`` rare values together; each of them gets an equal part, but no less than one row.

    Parameters
    ----------
    counts : array of slots x values
    n_grouped : int
        How many values share the last column.

    Examples
    --------
    >>> value_frequencies(np.array([[6, 2, 0]]))
    array([[0.75 , 0.25 , 0.125]])
    >>> value_frequencies(np.array([[4, 0, 6]]), n_grouped=3)
    array([[0.4, 0.1, 0.2]])
    """
    rows = counts.astype(np.float64)
    if n_grouped > 1:
        rows[:, -1] /= n_grouped
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.maximum(rows, 1.0) / n


def log_threshold(kappa: Floats, counts: Ints, rho: float) -> Floats:
    """Return log τ(ρ) per slot: the κ that at least a fraction ``rho`` of the rows reaches."""
    n_slots, n_values = counts.shape
    ptr = np.arange(n_slots + 1, dtype=np.int64) * n_values
    return quantile_levels(ptr, np.log(kappa).ravel(), counts.astype(np.float64).ravel(), rho)


def log_presence(n: Ints, n_missing: Ints, rho: float) -> tuple[Floats, Floats]:
    """Return log ω of having a value and of having none, which is a distribution over two values.

    >>> present, missing = log_presence(np.array([100, 100]), np.array([0, 1]), 0.9)
    >>> present, np.exp(missing).round(4)
    (array([0., 0.]), array([0.01  , 0.0101]))
    """
    counts = np.stack((n - n_missing, n_missing), axis=1)
    kappa = value_frequencies(counts)
    log_omega = np.minimum(0.0, np.log(kappa) - log_threshold(kappa, counts, rho)[:, None])
    return log_omega[:, 0], log_omega[:, 1]


def presence_areas(n: Ints, n_missing: Ints) -> tuple[Floats, Floats]:
    """Return log ω of having a value and of having none, as areas.

    >>> present, missing = presence_areas(np.array([100, 100]), np.array([0, 40]))
    >>> np.exp(present).round(4), np.exp(missing).round(4)
    (array([1., 1.]), array([0.01, 0.8 ]))
    """
    counts = np.stack((n - n_missing, n_missing), axis=1)
    log_omega, _ = frequency_areas(value_frequencies(counts), counts, 1.0 / np.maximum(n, 1))
    return log_omega[:, 0], log_omega[:, 1]
