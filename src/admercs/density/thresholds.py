"""τ(ρ): the density that all but the least likely rows of a node reach."""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints

_TINY = 1e-9  # shares are compared with this much room, so that 1 − 0.9 of ten rows is one row


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
    out = np.zeros(len(ptr) - 1)
    _select(ptr, level.copy(), mass.copy(), float(rho), out)
    return out


@kernel
def _select(ptr: Ints, level: Floats, mass: Floats, rho: float, out: Floats) -> None:
    """Weighted quickselect; both arrays are reordered within each slot."""
    for slot in range(len(ptr) - 1):
        low, high = ptr[slot], ptr[slot + 1] - 1
        total = 0.0
        for p in range(low, high + 1):
            total += mass[p]
        if total == 0:
            continue
        share = 1 - rho + _TINY
        rank = share * total if share < 1 else (1 - 1e-12) * total
        while low < high:
            pivot = level[(low + high) // 2]
            i, j = low, high
            below = 0.0  # mass of all that ends up left of i
            while i <= j:
                while level[i] < pivot:
                    below += mass[i]
                    i += 1
                while level[j] > pivot:
                    j -= 1
                if i <= j:
                    swap = level[i]
                    level[i] = level[j]
                    level[j] = swap
                    swap = mass[i]
                    mass[i] = mass[j]
                    mass[j] = swap
                    below += mass[i]
                    i += 1
                    j -= 1
            # Now low … j is at most the pivot, i … high at least; one element may lie between.
            between = mass[j + 1] if i - j == 2 else 0.0
            if below - between > rank:
                high = j
            elif below > rank:
                low = j + 1
                high = j + 1
            elif i > high:  # only rounding leads here: the largest level
                out[slot] = pivot
                low = high + 1
            else:
                rank -= below
                low = i
        if low == high:
            out[slot] = level[low]
