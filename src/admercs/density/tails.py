"""How unlikely a lone value is that lies far outside of all others.

A value seen once is as likely as 1 / n, whether it lies next to the others or ten times further out. What is to be
expected out there is told by the tail on its side, continued as a generalised Pareto tail through three quantiles
(Pickands 1975): beyond the last of them, q, the chance of a value further out than x is
0.01 (1 + ξ (x − q) / σ)^(−1/ξ). In a column with a heavy tail ξ is large and its largest values are no
surprise; an age of 455 years among people of up to 94 is one.
"""

from __future__ import annotations

import math

import numpy as np

from admercs.density.arrays import Floats, Ints
from admercs.density.counts import ONE, ValueCounts
from admercs.density.grids import Grids

N_PARTS = 6
"""A tail is the place, scale and shape of each side, below and above; a scale of 0 tells nothing."""

_RATIO = 5.0
_SHARES = 0.25, 0.05, 0.01  # rows beyond each of the quantiles: every time a fifth
# Quantiles are not certain, and of many columns one is the strangest: only what would not be expected among
# n √n rows is less likely than seen once. At most it is as unlikely as seen once in n² rows.
_BENEFIT = 0.5
_ENOUGH = 10  # fewer rows beyond the last quantile tell nothing about what comes after
_LEAST = 2.0


def no_tail() -> Floats:
    """Return the tail of a column that has none: its values are few, or names."""
    return np.zeros(N_PARTS)


def measure_tail(counted: ValueCounts, grids: Grids) -> Floats:
    """Measure both tails of a column, the values of whose rows were counted on the first grid."""
    first = slice(0, int(counted.ptr[1]))
    value, weight = grids.left[0] + counted.cell[first] * grids.width[0], counted.weight[first]
    if weight.sum() * _SHARES[-1] < _ENOUGH * ONE:
        return no_tail()
    above = _pareto(*_quantiles(value, weight))
    below = _pareto(*_quantiles(-value[::-1], weight[::-1]))
    return np.array([-below[0], *below[1:], *above])


def _quantiles(value: Floats, weight: Ints) -> list[float]:
    """Return the values beyond which the shares of rows lie."""
    below = np.cumsum(weight)
    return [float(value[np.searchsorted(below, (1 - share) * below[-1])]) for share in _SHARES]


def _pareto(near: float, middle: float, far: float) -> tuple[float, float, float]:
    """Return place, scale and shape of the tail through three quantiles; never lighter than exponential.

    >>> _pareto(1.0, 2.0, 3.0)
    (3.0, 0.621..., 0.0)
    >>> _pareto(1.0, 5.0, 25.0)
    (25.0, 25.0, 1.0)
    """
    first, second = middle - near, far - middle
    if not (0 < first < math.inf and 0 < second < math.inf):
        return 0.0, 0.0, 0.0
    shape = math.log(second / first) / math.log(_RATIO)
    if shape < 1e-6:
        return far, second / math.log(_RATIO), 0.0
    return far, shape * second / -math.expm1(-shape * math.log(_RATIO)), shape


def fall_far(tail: Floats, n: int, floor: float, x: Floats, entry: Floats) -> Ints:
    """Lower the entries (log ω) of values that are alone and further out than the tail reaches.

    Parameters
    ----------
    tail : array
        From `measure_tail`.
    n : int
        Training rows with a value.
    floor : float
        The entry of a value with no other near it.
    x : array
        Working values; NaN is missing.
    entry : array
        How likely they are; changed in place.

    Returns
    -------
    array
        The places of the values that are in a tail.

    Examples
    --------
    >>> entry = np.log([0.001, 0.001, 0.001])
    >>> fall_far(np.array([10.0, 8, 0, 90, 8, 0]), 1000, -6.9, np.array([90.0, 150, 455]), entry)
    array([1, 2])
    >>> entry.round(1)
    array([ -6.9,  -8.7, -13.8])
    """
    if n < 2 or max(tail[1], tail[4]) == 0.0:
        return np.empty(0, np.int64)
    once = -math.log(n)
    # As dense as two rows in one place is not alone.
    odd = np.flatnonzero(entry < floor + math.log(2))
    rows = []
    for values, (place, scale, shape) in ((-x[odd], (-tail[0], *tail[1:3])), (x[odd], tail[3:])):
        if scale == 0.0:
            continue
        far = values > place
        found = odd[far]
        expected = _log_chance(values[far] - place, scale, shape)
        expected = np.maximum(expected - _BENEFIT * once, _LEAST * once)
        alone = np.minimum(1.0, (floor + math.log(2) - entry[found]) / math.log(2))
        entry[found] += alone * np.minimum(0.0, expected - entry[found])
        rows.append(found)
    return np.concatenate(rows)


def _log_chance(beyond: Floats, scale: float, shape: float) -> Floats:
    """Return the logarithm of the chance of a value this far beyond the last quantile, or further."""
    with np.errstate(over="ignore"):
        z = beyond / scale
        return math.log(_SHARES[-1]) - (np.log1p(shape * z) / shape if shape > 0 else z)
