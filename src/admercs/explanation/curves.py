"""Densities as curves, read back from the tables of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import Likelihoods
from admercs.density.lookup import to_log_density

__all__ = ["density", "log_density", "visible_density"]

NEGLIGIBLE = 0.02  # of a curve's height: a line's width; tails are long


def log_density(
    likelihoods: Likelihoods, slot: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the grid points of a slot, all segments in a row, and the log density there."""
    segments = _segments(likelihoods, slot)
    if not segments:
        return np.empty(0), np.empty(0)
    x, heights, _, _ = zip(*segments, strict=True)
    return np.concatenate(x), np.concatenate(heights)


def density(likelihoods: Likelihoods, slot: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve to draw: it falls to zero where no segment follows."""
    segments = _segments(likelihoods, slot)
    points, values = [np.empty(0)], [np.empty(0)]
    for i, (x, heights, step, goes_on) in enumerate(segments):
        before = [] if i > 0 and segments[i - 1][3] else [x[0] - step]
        after = [] if goes_on else [x[-1] + step]
        points.append(np.concatenate((before, x, after)))
        values.append(np.concatenate((0 * np.array(before), np.exp(heights), 0 * np.array(after))))
    return np.concatenate(points), np.concatenate(values)


def visible_density(
    likelihoods: Likelihoods, slot: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a curve as it is drawn: over the stretch where it can be seen, its peak at 1."""
    x, heights = density(likelihoods, slot)
    heights = heights / max(float(heights.max(initial=0.0)), 1e-300)
    seen = np.flatnonzero(heights > NEGLIGIBLE)
    if not len(seen):
        return np.empty(0), np.empty(0)
    stretch = slice(max(0, seen[0] - 1), seen[-1] + 2)
    return x[stretch], heights[stretch]


def _segments(
    likelihoods: Likelihoods, slot: int
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], float, bool]]:
    """Return per segment its points, their log density, their spacing, and whether it goes on."""
    found = []
    reached = -np.inf
    end = likelihoods.segment_ptr[slot + 1]
    for segment in range(likelihoods.segment_ptr[slot], end):
        start, stop = likelihoods.table_ptr[segment : segment + 2]
        step, first = likelihoods.step[segment], likelihoods.segment_start[segment]
        x = first + step * np.arange(stop - start)
        # Where segments overlap the later one holds.
        until = likelihoods.segment_from[segment + 1] if segment + 1 < end else np.inf
        holds = (x < until) & ((x >= likelihoods.segment_from[segment]) | (x > reached))
        reached = first + step * (stop - start - 1.5)
        heights = likelihoods.table[start:stop][holds].astype(np.float64)
        if holds.any():
            log_heights = to_log_density(likelihoods, slot, heights)
            found.append((x[holds], log_heights, float(step), bool(until <= reached)))
    return found
