"""τ(ρ): the density that all but the least likely rows of a node reach."""

from __future__ import annotations

import numpy as np

from admercs.density.arrays import Floats, Ints, highest, owners, totals

_TINY = 1e-9  # shares are compared with this much room, so that 1 − 0.9 of ten rows is one row
_BINS = 512


def quantile_levels(ptr: Ints, level: Floats, mass: Floats, rho: float) -> Floats:
    """Return per slot the largest level that at least a fraction ``rho`` of its mass reaches.

    In other words the smallest level such that more than 1 − ρ of the mass lies at or below it;
    0 for a slot without mass.

    Examples
    --------
    >>> level, mass = np.array([3.0, 1.0, 2.0]), np.array([6.0, 1.0, 3.0])
    >>> quantile_levels(np.array([0, 3]), level, mass, 0.9)
    array([2.])
    """
    n_slots = len(ptr) - 1
    slot = owners(ptr)
    share = 1 - rho + _TINY
    rank = (share if share < 1 else 1 - 1e-12) * totals(slot, mass, n_slots)
    # Find the bin of levels where the mass exceeds the rank; only what is in there has to be sorted.
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
