"""Densities as curves, read back from the tables of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import Likelihoods
from admercs.density.typical import to_log_density

__all__ = ["density", "log_density"]


def log_density(
    likelihoods: Likelihoods, slot: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the grid points of a slot, all segments in a row, and the log density there."""
    points, heights = [], []
    for segment in range(likelihoods.segment_ptr[slot], likelihoods.segment_ptr[slot + 1]):
        start, stop = likelihoods.table_ptr[segment : segment + 2]
        points.append(
            likelihoods.segment_start[segment] + likelihoods.step[slot] * np.arange(stop - start)
        )
        table = likelihoods.table[start:stop].astype(np.float64)
        heights.append(to_log_density(likelihoods, slot, table))
    if not points:
        return np.empty(0), np.empty(0)
    return np.concatenate(points), np.concatenate(heights)


def density(likelihoods: Likelihoods, slot: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve to draw: it falls to zero between the segments."""
    x, heights = log_density(likelihoods, slot)
    if not len(x):
        return x, heights
    gaps = np.flatnonzero(np.diff(x) > 1.5 * likelihoods.step[slot])
    inner = np.concatenate([x[gaps] + likelihoods.step[slot], x[gaps + 1] - likelihoods.step[slot]])
    ends = np.array([x[0] - likelihoods.step[slot], x[-1] + likelihoods.step[slot]])
    points = np.concatenate([x, inner, ends])
    values = np.concatenate([np.exp(heights), np.zeros(len(inner) + 2)])
    order = np.argsort(points, kind="stable")
    return points[order], values[order]
