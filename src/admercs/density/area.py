"""ω as an area: how much of a node's distribution lies below the height of a value's density.

ω(x) is the mean over the node's training rows i of min(1, κ(x) / κ(x_i)): the area under the density cut off at
the height κ(x). It averages the paper's min(1, κ / τ(ρ)) over all thresholds, so no ρ has to be chosen, and a
column without structure (a uniform one) says nothing about anybody.
"""

from __future__ import annotations

import numpy as np

from admercs.density.arrays import Floats, Ints, highest, owners, totals

N_KNOTS = 512
"""Heights at which the area is computed; between them its logarithm is as good as straight."""

N_HEIGHTS = 33
"""Areas at which the way back to the density is kept, for plots."""


def log_areas(ptr: Ints, level: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the highest level of each slot, and log ω at equally spaced levels from 0 to there.

    Parameters
    ----------
    ptr : array of slots + 1
    level, mass : arrays
        How much mass of a slot has which log density, relative to the floor; below the floor counts as 0.

    Examples
    --------
    >>> level, mass = np.array([0.0, np.log(3)]), np.array([1.0, 3.0])
    >>> top, knots = log_areas(np.array([0, 2]), level, mass)
    >>> np.exp(top), np.exp(knots[0, [0, -1]])
    (array([3.]), array([0.5, 1. ]))
    """
    n_slots = len(ptr) - 1
    slot = owners(ptr)
    total = totals(slot, mass, n_slots)
    top = np.maximum(highest(level, ptr), 0.0)
    height = np.maximum(level, 0.0)
    # Mass per stretch between two knots, and the same mass over its density.
    stretch = (height / np.where(top > 0, top, 1.0)[slot] * N_KNOTS).astype(np.int64)
    key = slot * (N_KNOTS + 1) + np.minimum(stretch, N_KNOTS)
    shape = n_slots, N_KNOTS + 1
    at_most = totals(key, mass, shape[0] * shape[1]).reshape(shape)
    inverse = totals(key, mass * np.exp(-height), shape[0] * shape[1]).reshape(shape)
    below, above = np.zeros(shape), np.empty(shape)
    np.cumsum(at_most[:, :-1], axis=1, out=below[:, 1:])
    above[:, 0] = np.cumsum(inverse, axis=1)[:, -1]
    above[:, 1:] = inverse[:, :-1]
    above = np.subtract.accumulate(above, axis=1)
    # With one height only, every value is as likely as any other.
    known = (total > 0) & (top > 0)
    knots = np.zeros(shape)
    area = below + np.exp(top[:, None] * np.arange(N_KNOTS + 1) / N_KNOTS) * above
    knots[known] = np.minimum(0.0, np.log(area[known] / total[known, None]))
    knots[:, -1] = 0.0
    return top, knots


def to_area(slot: Ints, log_density: Floats, top: Floats, knots: Floats) -> Floats:
    """Return log ω for log densities relative to the floor; below the floor it falls with the density."""
    top = top[slot]
    place = np.clip(log_density / np.where(top > 0, top, 1.0), 0.0, 1.0) * N_KNOTS
    b = np.minimum(place.astype(np.int64), N_KNOTS - 1)
    part = place - b
    between = (1 - part) * knots[slot, b] + part * knots[slot, b + 1]
    log_area = np.where(log_density <= 0.0, knots[slot, 0] + log_density, between)
    return np.where((top == 0.0) | (log_density >= top), 0.0, log_area)


def heights_of_areas(top: Floats, knots: Floats) -> Floats:
    """Return per slot the levels at which log ω is 0/32, 1/32 … 32/32 of the floor's, highest first."""
    levels = np.linspace(0, 1, N_KNOTS + 1) * top[:, None]
    areas = np.linspace(0, 1, N_HEIGHTS) * knots[:, :1]
    out = np.empty((len(top), N_HEIGHTS))
    for slot in range(len(top)):
        out[slot] = np.interp(areas[slot], knots[slot], levels[slot])
    return out


def frequency_areas(kappa: Floats, counts: Ints, unseen: Floats) -> tuple[Floats, Floats]:
    """Return log ω of each value of slots over a few values, and of a value never seen there.

    Parameters
    ----------
    kappa, counts : arrays of slots x values
        The share of each value, and its rows.
    unseen : array of slots
        The share a value never seen counts with.

    Examples
    --------
    >>> kappa, counts = np.array([[0.75, 0.25]]), np.array([[75, 25]])
    >>> values, unseen = frequency_areas(kappa, counts, np.array([0.01]))
    >>> np.exp(values).round(3), np.exp(unseen).round(3)
    (array([[1. , 0.5]]), array([0.02]))
    """
    n = np.maximum(counts.sum(axis=1), 1)

    def area(height: Floats) -> Floats:
        return np.log((counts * np.minimum(1.0, height[:, None] / kappa)).sum(axis=1) / n)

    with np.errstate(divide="ignore"):
        values = np.stack([area(kappa[:, v]) for v in range(kappa.shape[1])], axis=1)
        rest = area(unseen)
    # A slot without any row with a value has no distribution to compare with.
    empty = counts.sum(axis=1) == 0
    return np.where(empty[:, None], 0.0, values), np.where(empty, 0.0, rest)
