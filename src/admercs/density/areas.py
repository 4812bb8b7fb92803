"""From densities to log ω: thresholds τ(ρ), and the area below the height of a density.

As an area, ω(x) is the mean over the node's training rows i of min(1, κ(x) / κ(x_i)): the area
under the density cut off at the height κ(x). It averages the paper's min(1, κ / τ(ρ)) over all
thresholds, so no ρ has to be chosen, and in a column without structure (a uniform one) every value
is as likely as any other.
"""

from __future__ import annotations

import numpy as np

from admercs.arrays import Floats, Ints
from admercs.density.ragged import highest, owners, totals

N_HEIGHTS = 33  # areas at which the way back to the density is kept, for plots
_N_KNOTS = 512  # heights at which the area is computed; in between its logarithm is near linear
_TINY = 1e-9  # shares are compared with this much room, so that 1 − 0.9 of ten rows is one row
_BINS = 512  # of levels, to find the one where a quantile lies


def quantile_levels(ptr: Ints, level: Floats, mass: Floats, rho: float) -> Floats:
    """Return per slot the largest level that a fraction ``rho`` of its mass reaches."""
    n_slots = len(ptr) - 1
    slot = owners(ptr)
    share = 1 - rho + _TINY
    rank = (share if share < 1 else 1 - 1e-12) * totals(slot, mass, n_slots)
    # Find the bin of levels where the mass exceeds the rank; only its levels have to be sorted.
    low, high = -highest(-level, ptr), highest(level, ptr)
    scale = _BINS / np.where(high > low, high - low, np.inf)
    binned = ((level - low[slot]) * scale[slot]).astype(np.int64)
    by_bin = totals(slot * (_BINS + 1) + binned, mass, n_slots * (_BINS + 1))
    at_most = np.cumsum(by_bin.reshape(n_slots, _BINS + 1), axis=1)
    chosen = (at_most > rank[:, None]).argmax(axis=1)
    below = at_most[np.arange(n_slots), chosen] - by_bin[np.arange(n_slots) * (_BINS + 1) + chosen]
    inside = np.flatnonzero(binned == chosen[slot])
    order = inside[np.lexsort((level[inside], slot[inside]))]
    slot, level, mass = slot[order], level[order], mass[order]
    before = np.cumsum(mass) - mass
    first = np.searchsorted(slot, np.arange(n_slots))
    reached = np.flatnonzero(
        before - np.append(before, 0.0)[first][slot] + mass > (rank - below)[slot]
    )
    out = np.zeros(n_slots)
    out[slot[reached[::-1]]] = level[reached[::-1]]  # the first one of a slot stays
    return out


def log_areas(ptr: Ints, level: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the highest level of each slot, and log ω at equally spaced levels from 0 to there."""
    n_slots = len(ptr) - 1
    slot = owners(ptr)
    total = totals(slot, mass, n_slots)
    top = np.maximum(highest(level, ptr), 0.0)
    height = np.maximum(level, 0.0)
    # Mass per stretch between two knots, and the same mass over its density.
    stretch = (height / np.where(top > 0, top, 1.0)[slot] * _N_KNOTS).astype(np.int64)
    key = slot * (_N_KNOTS + 1) + np.minimum(stretch, _N_KNOTS)
    shape = n_slots, _N_KNOTS + 1
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
    area = below + np.exp(top[:, None] * np.arange(_N_KNOTS + 1) / _N_KNOTS) * above
    knots[known] = np.minimum(0.0, np.log(area[known] / total[known, None]))
    knots[:, -1] = 0.0
    return top, knots


def to_area(slot: Ints, log_density: Floats, top: Floats, knots: Floats) -> Floats:
    """Return log ω for log densities relative to the floor; below the floor both fall alike."""
    top = top[slot]
    place = np.clip(log_density / np.where(top > 0, top, 1.0), 0.0, 1.0) * _N_KNOTS
    b = np.minimum(place.astype(np.int64), _N_KNOTS - 1)
    part = place - b
    between = (1 - part) * knots[slot, b] + part * knots[slot, b + 1]
    log_area = np.where(log_density <= 0.0, knots[slot, 0] + log_density, between)
    return np.where((top == 0.0) | (log_density >= top), 0.0, log_area)


def heights_of_areas(top: Floats, knots: Floats) -> Floats:
    """Return per slot the levels where log ω is 0/32 … 32/32 of the floor's, highest first."""
    levels = np.linspace(0, 1, _N_KNOTS + 1) * top[:, None]
    areas = np.linspace(0, 1, N_HEIGHTS) * knots[:, :1]
    slots = zip(areas, knots, levels, strict=True)
    found = [np.interp(area, knot, level) for area, knot, level in slots]
    return np.array(found).reshape(len(top), N_HEIGHTS)


def value_frequencies(counts: Ints, n_grouped: int = 0) -> Floats:
    """Return κ of each value in each slot: its share of the rows with a value, at least one row.

    The last column may stand for ``n_grouped`` rare values, each of which gets an equal part.
    """
    rows = counts.astype(np.float64)
    if n_grouped > 1:
        rows[:, -1] /= n_grouped
    n = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.maximum(rows, 1.0) / n


def frequency_thresholds(kappa: Floats, counts: Ints, rho: float) -> Floats:
    """Return log τ(ρ) per slot: the κ that at least a fraction ``rho`` of the rows reaches."""
    n_slots, n_values = counts.shape
    ptr = np.arange(n_slots + 1, dtype=np.int64) * n_values
    return quantile_levels(ptr, np.log(kappa).ravel(), counts.astype(np.float64).ravel(), rho)


def frequency_areas(kappa: Floats, counts: Ints, unseen: Floats) -> tuple[Floats, Floats]:
    """Return log ω of each value (slots x values), and of one with the share ``unseen``."""
    n = np.maximum(counts.sum(axis=1), 1)

    def area(height: Floats) -> Floats:
        return np.log((counts * np.minimum(1.0, height[:, None] / kappa)).sum(axis=1) / n)

    with np.errstate(divide="ignore"):
        values = np.stack([area(kappa[:, v]) for v in range(kappa.shape[1])], axis=1)
        rest = area(unseen)
    # A slot without any row with a value has no distribution to compare with.
    empty = counts.sum(axis=1) == 0
    return np.where(empty[:, None], 0.0, values), np.where(empty, 0.0, rest)


def log_presence(n: Ints, n_missing: Ints, *, area: bool, rho: float) -> tuple[Floats, Floats]:
    """Return log ω of having a value and of having none: a distribution over two values."""
    counts = np.stack((n - n_missing, n_missing), axis=1)
    kappa = value_frequencies(counts)
    if area:
        log_omega, _ = frequency_areas(kappa, counts, 1.0 / np.maximum(n, 1))
    else:
        log_tau = frequency_thresholds(kappa, counts, rho)
        log_omega = np.minimum(0.0, np.log(kappa) - log_tau[:, None])
    return log_omega[:, 0], log_omega[:, 1]
