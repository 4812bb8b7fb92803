"""The width of the kernel: improved Sheather-Jones, and a robust rule where that fails.

The improved Sheather-Jones selector (ISJ) is section 5 of Botev, Grotowski and Kroese, "Kernel
density estimation via diffusion", Annals of Statistics 38 (2010). It looks for the t = h² (the
range of the data being 1) with t = ξ γ⁽ˡ⁾(t), where γ⁽ˡ⁾ estimates the roughness of the density by
a chain of l plug-in steps, all of them sums over the cosine transform of a histogram.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.fft import dct

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
from admercs.density.counts import ValueCounts
from admercs.density.grids import CORE, Grids
from admercs.density.spread import Spread

N_COSINES = 768
"""Bins of the histogram that is transformed; a core has at least as many cells, or a multiple."""

MIN_DISTINCT = 40
"""With fewer different values ISJ fails too often; some 50 values fill 40 different cells."""

MIN_CELLS = 16
"""A kernel is at least so many cells wide; else the cells themselves would show in the density."""

_STAGES = 7
_LARGEST_T = (
    0.05  # a kernel as wide as nearly half the central range: ISJ found no structure at all
)


def select_bandwidths(
    counts: ValueCounts, grids: Grids, spread: Spread, column_range: float
) -> Floats:
    """Choose the bandwidth h of each slot from its counted cells.

    ISJ on the rows in the core; below ``MIN_DISTINCT`` different values, or where ISJ has no
    solution, the normal reference rule 0.9 · min(σ, IQR / 1.34) · n^(−1/5). Both see the core only,
    so an extreme value has no say. Never below ``floors``.

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
        histogram = _histograms(counts, grids.size, try_isj)
        size = grids.size[try_isj]
        t = solve_isj(histogram, spread.n_core[try_isj], h[try_isj] / size)
        h[try_isj] = np.where(t > 0, np.sqrt(t) * size, h[try_isj])
    return np.maximum(h * grids.width, floors(grids, spread, column_range))


def reference_rule(spread: Spread) -> Floats:
    """Apply the normal reference rule, in cells; 0 where all values are equal.

    Where more than half of the rows are tied the quartiles coincide and σ alone decides.
    """
    iqr = spread.upper_quartile - spread.lower_quartile
    scale = np.minimum(spread.sigma, np.where(iqr > 1.5, iqr / 1.34, np.inf))
    return 0.9 * scale * np.maximum(spread.n_core, 1) ** -0.2


def floors(grids: Grids, spread: Spread, column_range: float) -> Floats:
    """Return the smallest bandwidth allowed in each slot.

    Sixteen cells (1/256 of the central range, more for few rows) is what the grid resolves and the
    tables hold. Where all values are equal there is no spread to go by: a thousandth of the whole
    column's central range then says how close another value must be to count as the same.

    Whole numbers and rounded values lie on a comb. Half of the gap between its teeth makes a smooth
    density of it that still keeps neighbouring values apart; any less would call everything between
    two teeth untypical. A few values far apart are no comb.
    """
    is_comb = (spread.n_core >= 3 * spread.n_distinct) & (spread.gap <= spread.sigma / 2)
    cells = np.maximum(MIN_CELLS, np.where(is_comb, spread.gap / 2, 0.0))
    is_constant = spread.sigma < 0.5
    return np.maximum(cells * grids.width, np.where(is_constant, 1e-3 * column_range, 0.0))


def solve_isj(histogram: Floats, n: Floats, guess: Floats) -> Floats:
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
    weights = _frequency_weights(histogram.shape[1])
    smallest = (MIN_CELLS / (4096 * CORE)) ** 2 / 4
    t = np.zeros(len(n))
    _solve(power, n, guess, weights, smallest, t)
    return t


@lru_cache(maxsize=2)
def _frequency_weights(n_bins: int) -> Floats:
    """Return the weight of each frequency 1, 2, … in the roughness of orders 2 … l."""
    k2 = np.arange(1, n_bins, dtype=np.float64) ** 2
    return np.stack([2 * np.pi ** (2 * s) * k2**s for s in range(2, _STAGES + 1)])


def _histograms(counts: ValueCounts, size: Ints, slots: Ints) -> Floats:
    """Return the rows of some slots' cores in ``N_COSINES`` bins."""
    histogram = np.zeros((len(slots), N_COSINES))
    _fill_bins(counts.ptr, counts.cell, counts.weight, slots, size // N_COSINES, histogram)
    return histogram


@kernel
def _fill_bins(
    ptr: Ints, cell: Ints, weight: Ints, slots: Ints, per_bin: Ints, histogram: Floats
) -> None:
    """Add the weights of the cells in the cores up in bins of ``per_bin`` cells."""
    for row in range(len(slots)):
        slot = slots[row]
        place, end = 0, per_bin[slot]
        for p in range(ptr[slot], ptr[slot + 1]):
            # Cells ascend; a division would take longer than a step or two.
            while cell[p] >= end and place < histogram.shape[1]:
                place += 1
                end += per_bin[slot]
            if cell[p] >= 0 and place < histogram.shape[1]:
                histogram[row, place] += weight[p]


@kernel
def _solve(
    power: Floats, n: Floats, guess: Floats, weights: Floats, smallest: float, out: Floats
) -> None:
    """Find the largest root of t − ξγ(t) below a generous start, for each row of ``power``.

    The largest, because a comb of tied values has further roots at the scale of its teeth. From
    the start t falls by factors of four until the sign changes; then the bracket is narrowed by
    false position (the Illinois variant) on log t.
    """
    for row in range(len(n)):
        t = 4 * guess[row] ** 2
        high, at_high, low, at_low = 0.0, -1.0, 0.0, 1.0
        side = 0
        for _ in range(100):
            # ξ γ⁽ˡ⁾(t): from the roughness of order l down to that of order 2.
            plugged_in = -1.0
            odd = 1.0 * 3 * 5 * 7 * 9 * 11  # 1 · 3 · 5 · … · (2s − 1) for s = l − 1
            time = t
            for s in range(_STAGES, 1, -1):
                # Sum of weight[k] · power[k] · exp(−k² π² time), each exponential from the one before.
                decay = math.exp(-math.pi * math.pi * time)
                shrink = decay * decay
                ratio = shrink * decay
                roughness = 0.0
                for k in range(min(int(math.sqrt(100 / time) / math.pi) + 2, power.shape[1])):
                    roughness += weights[s - 2, k] * power[row, k] * decay
                    decay *= ratio
                    ratio *= shrink
                if not roughness > 0:
                    break
                if s == 2:
                    plugged_in = (2 * n[row] * math.sqrt(math.pi) * roughness) ** -0.4
                k0 = odd / math.sqrt(2 * math.pi)
                odd /= 2 * s - 3
                factor = 2 * (1 + 0.5 ** (s - 0.5)) / 3
                time = (factor * k0 / (n[row] * roughness)) ** (2 / (1 + 2 * s))
            if plugged_in < 0:
                t = 0.0
                break
            excess = t - plugged_in
            if abs(excess) <= 1e-12 * t:
                break
            if excess > 0:
                high, at_high = math.log(t), excess
                if side == 1:
                    at_low *= 0.5
                side = 1
            else:
                low, at_low = math.log(t), excess
                if side == -1:
                    at_high *= 0.5
                side = -1
            if at_low > 0:
                if t < smallest:
                    break
                t /= 4
                side = 0
            elif at_high < 0:
                if t > _LARGEST_T:
                    t = 0.0
                    break
                t *= 4
                side = 0
            elif abs(high - low) < 1e-9:
                break
            else:
                t = math.exp((low * at_high - high * at_low) / (at_high - at_low))
        out[row] = t
