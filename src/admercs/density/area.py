"""ω as an area: how much of a node's distribution lies below the height of a value's density.

ω(x) is the mean over the node's training rows i of min(1, κ(x) / κ(x_i)): the area under the density cut off at
the height κ(x). It averages the paper's min(1, κ / τ(ρ)) over all thresholds, so no ρ has to be chosen, and a
column without structure (a uniform one) says nothing about anybody.
"""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints

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
    top, knots = np.zeros(n_slots), np.zeros((n_slots, N_KNOTS + 1))
    _fill_knots(ptr, level, mass, top, knots)
    return top, knots


@kernel
def _fill_knots(ptr: Ints, level: Floats, mass: Floats, top: Floats, knots: Floats) -> None:
    at_most = np.zeros(N_KNOTS + 2)  # mass per stretch between two knots …
    inverse = np.zeros(N_KNOTS + 2)  # … and the same mass over its density
    for slot in range(len(ptr) - 1):
        total, highest = 0.0, 0.0
        for p in range(ptr[slot], ptr[slot + 1]):
            total += mass[p]
            highest = max(highest, level[p])
        top[slot] = highest
        if total == 0.0 or highest == 0.0:
            continue  # one height only: every value is as likely as any other
        for b in range(N_KNOTS + 2):
            at_most[b] = 0.0
            inverse[b] = 0.0
        for p in range(ptr[slot], ptr[slot + 1]):
            height = max(0.0, level[p])
            stretch = min(N_KNOTS, int(height / highest * N_KNOTS))
            at_most[stretch] += mass[p]
            inverse[stretch] += mass[p] * np.exp(-height)
        above = 0.0
        for b in range(N_KNOTS + 1):
            above += inverse[b]
        below = 0.0
        for b in range(N_KNOTS + 1):
            area = (below + np.exp(highest * b / N_KNOTS) * above) / total
            knots[slot, b] = min(0.0, np.log(area))
            below += at_most[b]
            above -= inverse[b]
        knots[slot, N_KNOTS] = 0.0


@kernel
def to_area(slot_of: Ints, log_density: Floats, top: Floats, knots: Floats, out: Floats) -> None:
    """Write log ω for log densities relative to the floor; below the floor it falls with the density."""
    for p in range(len(log_density)):
        slot = slot_of[p]
        height = log_density[p]
        if top[slot] == 0.0:
            out[p] = 0.0
        elif height <= 0.0:
            out[p] = knots[slot, 0] + height
        elif height >= top[slot]:
            out[p] = 0.0
        else:
            place = height / top[slot] * N_KNOTS
            b = min(int(place), N_KNOTS - 1)
            part = place - b
            out[p] = (1 - part) * knots[slot, b] + part * knots[slot, b + 1]


def heights_of_areas(top: Floats, knots: Floats) -> Floats:
    """Return per slot the levels at which log ω is 0/32, 1/32 … 32/32 of the floor's, highest first."""
    levels = np.linspace(0, 1, N_KNOTS + 1)
    share = np.linspace(0, 1, N_HEIGHTS)
    out = np.empty((len(top), N_HEIGHTS))
    for slot in range(len(top)):
        out[slot] = np.interp(share * knots[slot, 0], knots[slot], levels * top[slot])
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
