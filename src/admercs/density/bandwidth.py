"""The width of the kernel: improved Sheather-Jones, and a robust rule where that fails.

The improved Sheather-Jones selector (ISJ) is section 5 of Botev, Grotowski and Kroese, "Kernel density
estimation via diffusion", Annals of Statistics 38 (2010). It looks for the t = h² (the range of the data
being 1) with t = ξ γ⁽ˡ⁾(t), where γ⁽ˡ⁾ estimates the roughness of the density by a chain of l plug-in steps,
all of them sums over the cosine transform of a histogram.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from admercs._compile import kernel
from admercs.density.counts import ValueCounts
from admercs.density.grids import CORE, Grids
from admercs.density.spread import Spread

N_COSINES = 1024
"""Bins of the histogram that is transformed; a core has at least as many cells."""

MIN_DISTINCT = 40
"""With fewer different values ISJ fails too often to be tried (about 50 values leave 40 different cells)."""

MIN_CELLS = 16
"""A kernel is at least so many cells wide; below, the cells themselves would show in the density."""

_STAGES = 7
_LARGEST_T = (
    0.05  # a kernel as wide as nearly half the central range: ISJ found no structure at all
)


def select_bandwidths(
    counts: ValueCounts, grids: Grids, spread: Spread, column_range: float
) -> NDArray[np.float64]:
    """Choose the bandwidth h of each slot from its counted cells.

    ISJ on the rows in the core; below ``MIN_DISTINCT`` different values, or where ISJ has no solution,
    the normal reference rule 0.9 · min(σ, IQR / 1.34) · n^(−1/5). Both see the core only, so an extreme value
    has no say. Never below ``floors``.

    Parameters
    ----------
    counts, grids, spread
        What is known about each slot's values.
    column_range : float
        The central range of the whole column.

    Returns
    -------
    array of slots
    """
    h = reference_rule(spread)
    try_isj = np.flatnonzero((spread.n_distinct >= MIN_DISTINCT) & (h > 0))
    if len(try_isj):
        histogram = np.zeros((len(try_isj), N_COSINES))
        _fill_histograms(counts.ptr, counts.cell, counts.weight, grids.size, try_isj, histogram)
        size = grids.size[try_isj]
        t = solve_isj(histogram, spread.n_core[try_isj], h[try_isj] / size)
        h[try_isj] = np.where(t > 0, np.sqrt(t) * size, h[try_isj])
    return np.maximum(h * grids.width, floors(grids, spread, column_range))


def reference_rule(spread: Spread) -> NDArray[np.float64]:
    """Normal reference rule in cells; 0 where all values are equal.

    Where more than half of the rows are tied the quartiles coincide and σ alone decides.
    """
    iqr = np.where(spread.iqr > 1.5, spread.iqr / 1.34, np.inf)
    scale = np.minimum(spread.sigma, iqr)
    return 0.9 * scale * np.maximum(spread.n_core, 1) ** -0.2


def floors(grids: Grids, spread: Spread, column_range: float) -> NDArray[np.float64]:
    """Return the smallest bandwidth allowed in each slot.

    Sixteen cells, at most 1/256 of the central range, is what the grid resolves and the tables hold.
    Where all values are equal there is no spread to go by: a thousandth of the whole column's central range
    then says how close another value must be to count as the same.
    """
    constant = spread.sigma < 0.5
    return np.where(constant, np.maximum(1e-3 * column_range, MIN_CELLS * grids.width),
                    MIN_CELLS * grids.width)  # fmt: skip


def solve_isj(
    histogram: NDArray[np.float64], n: NDArray[np.float64], guess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Solve the ISJ equation for a batch of histograms.

    Parameters
    ----------
    histogram : array of batch x bins
        Any positive multiple of the counts, bins of equal width.
    n : array of batch
        Number of rows.
    guess : array of batch
        A bandwidth to start from, as a fraction of the histogram's range.

    Returns
    -------
    array of batch
        t = h², the range being 1; 0 where there is no solution.
    """
    total = histogram.sum(axis=1, keepdims=True)
    cosines = dct(histogram / np.where(total > 0, total, 1.0), axis=1, norm=None)
    # The transform sums 2 p cos(...); squared cosine sums for frequencies 1, 2, ...
    power = (cosines[:, 1:] / 2) ** 2
    k2 = np.arange(1, histogram.shape[1], dtype=np.float64) ** 2
    weights = np.stack([2 * np.pi ** (2 * s) * k2**s for s in range(2, _STAGES + 1)])
    smallest = (MIN_CELLS / (4096 * CORE)) ** 2 / 4
    t = np.zeros(len(n))
    _solve(power, n, guess, weights, smallest, t)
    return t


@kernel
def _fill_histograms(ptr, cell, weight, size, slots, histogram):  # type: ignore[no-untyped-def]
    for row in range(len(slots)):
        slot = slots[row]
        factor = histogram.shape[1] / size[slot]
        for p in range(ptr[slot], ptr[slot + 1]):
            if 0 <= cell[p] < size[slot]:
                histogram[row, int(cell[p] * factor)] += weight[p]


@kernel
def _solve(power, n, guess, weights, smallest, out):  # type: ignore[no-untyped-def]
    """Largest root of t − ξγ(t) at or below a generous start, for each row of ``power``.

    The largest, because a comb of tied values has further roots at the scale of its teeth. Squares of
    bandwidths are halved twice until the sign changes, then the root is bracketed by false position.
    """
    for row in range(len(n)):
        high = max(4 * guess[row] ** 2, 16 * smallest)
        at_high = high - _plug_in(power[row], n[row], weights, high)
        while at_high <= 0 and high < _LARGEST_T:
            high *= 4
            at_high = high - _plug_in(power[row], n[row], weights, high)
        if not at_high > 0:
            continue
        low, at_low = high, at_high
        while at_low > 0 and low > smallest:
            high, at_high = low, at_low
            low /= 4
            at_low = low - _plug_in(power[row], n[row], weights, low)
        if not at_low <= 0:
            out[row] = low
            continue
        out[row] = _false_position(power[row], n[row], weights, low, high, at_low, at_high)


@kernel
def _false_position(power, n, weights, low, high, at_low, at_high):  # type: ignore[no-untyped-def]
    """Illinois variant of false position on log t, to a relative 1e-9."""
    low, high = np.log(low), np.log(high)
    side = 0
    for _ in range(60):
        if high - low < 1e-9:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        t = np.exp(middle)
        at_middle = t - _plug_in(power, n, weights, t)
        if abs(at_middle) <= 1e-12 * t:
            return t
        if at_middle > 0:
            high, at_high = middle, at_middle
            if side == 1:
                at_low /= 2
            side = 1
        else:
            low, at_low = middle, at_middle
            if side == -1:
                at_high /= 2
            side = -1
    return np.exp((low + high) / 2)


@kernel
def _plug_in(power, n, weights, t):  # type: ignore[no-untyped-def]
    """Return ξ γ⁽ˡ⁾(t): from the roughness of order l down to that of order 2."""
    roughness = _roughness(power, weights[len(weights) - 1], t)
    odd = 1.0  # 1 · 3 · 5 · … · (2s − 1) for s = l − 1
    for s in range(1, _STAGES):
        odd *= 2 * s - 1
    for s in range(_STAGES - 1, 1, -1):
        if not roughness > 0:
            return np.nan
        k0 = odd / np.sqrt(2 * np.pi)
        const = (1 + 0.5 ** (s + 0.5)) / 3
        time = (2 * const * k0 / (n * roughness)) ** (2 / (3 + 2 * s))
        roughness = _roughness(power, weights[s - 2], time)
        odd /= 2 * s - 1
    if not roughness > 0:
        return np.nan
    return (2 * n * np.sqrt(np.pi) * roughness) ** -0.4


@kernel
def _roughness(power, weight, t):  # type: ignore[no-untyped-def]
    """Sum of weight[k] · power[k] · exp(−k² π² t), each exponential from the one before."""
    c = np.pi * np.pi * t
    e = np.exp(-c)
    ratio = e * e * e
    shrink = e * e
    last = min(len(power), int(np.sqrt(100 / c)) + 2)
    total = 0.0
    for k in range(last):
        total += weight[k] * power[k] * e
        e *= ratio
        ratio *= shrink
    return total
