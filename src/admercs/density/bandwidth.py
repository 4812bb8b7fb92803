"""Centre and spread of the values in each slot, the bandwidth that follows from them, the kernel.

The improved Sheather-Jones selector (ISJ) is section 5 of Botev, Grotowski and Kroese, "Kernel
density estimation via diffusion", Annals of Statistics 38 (2010). It looks for the t = h² (the
range of the data being 1) with t = ξ γ⁽ˡ⁾(t), where γ⁽ˡ⁾ estimates the roughness of the density by
a chain of l plug-in steps, all of them sums over the cosine transform of a histogram.

With heavy tails the kernel is (1 − s) N(h) + s C, where C stands for a Cauchy kernel of scale w h.
A Cauchy variable is a normal one divided by the absolute value g of another, so C is written as a
sum of Gaussians of the widths w h / g = 2h, 4h, 8h, … 1024h, each weighted by the density of that
g. Up to 1000h this is within one percent of Cauchy for the default width; further out it ends
sooner.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.fft import dct

from admercs._compile import kernel
from admercs.arrays import Floats, Ints
from admercs.density.counts import FAR, ONE, ValueCounts
from admercs.density.grids import CORE, Grids, lay_grids, tail_share, widen
from admercs.density.ragged import owners, pointers, totals
from admercs.method.settings import Density

RATIO = 4  # widths of Gaussians grow by this factor from one level of a kernel to the next
_N_TAILS = 5  # levels of wide Gaussians, two widths each
MIN_CELLS = 16  # a kernel is at least so many cells wide, or the cells would show in the density
_N_COSINES = 768  # bins of the transformed histogram; a core has as many cells, or a multiple
_STAGES = 7
_LARGEST_T = 0.05  # nearly half the central range: ISJ found no structure at all


class Shape(NamedTuple):
    """A sum of Gaussians in levels; level j holds the widths ``RATIO ** j * width[j] * h``."""

    width: Floats  # levels x 2
    height: Floats  # levels x 2: of each Gaussian at 0, relative to that of N(h)

    @property
    def peak(self) -> float:
        """Height of the whole kernel at 0, relative to that of N(h)."""
        return float(self.height.sum())


def kernel_shape(settings: Density) -> Shape:
    """Return the Gaussians that the kernel is the sum of."""
    if settings.heavy_share == 0:
        return Shape(np.ones((1, 2)), np.array([[1.0, 0.0]]))
    wide = np.array([0.5, 1.0]) * float(RATIO) ** np.arange(1, _N_TAILS + 1)[:, None]
    g = settings.heavy_width / wide
    weight = g * np.exp(-0.5 * g * g)  # density of log g, up to a factor
    first = np.array([[1 - settings.heavy_share, 0.0]])
    weight = np.concatenate((first, settings.heavy_share * weight / weight.sum()))
    width = np.array([[1.0, 1.0]] + [[0.5, 1.0]] * _N_TAILS)
    return Shape(width, weight / (width * RATIO ** np.arange(len(width))[:, None]))


class Spread(NamedTuple):
    """Per slot, all lengths in cells of its grid."""

    n: Floats  # rows with a value
    n_core: Floats  # those in the core
    low: Floats  # quantiles that leave out `tail_share` of the rows
    high: Floats
    lower_quartile: Floats  # of the rows in the core
    upper_quartile: Floats
    sigma: Floats  # of the rows in the core
    n_distinct: Floats  # about how many different values there are in the core
    gap: Floats  # mean distance from one of them to the next


def measure(counts: ValueCounts, grids: Grids) -> Spread:
    """Measure the spread of each slot's values; extreme values count by rank only."""
    ptr, cell, weight = counts
    begin, whole, inside, first, second, n_distinct, span = np.empty((7, len(ptr) - 1), np.int64)
    _add_up(ptr, cell, weight, grids.size, begin, whole, inside, first, second, n_distinct, span)
    n, n_core = whole / ONE, inside / ONE
    # Sharing a row between two cells adds a sixth of a squared cell to the variance.
    inside = np.maximum(inside, 1)
    mean = first / inside
    variance = second / inside - mean**2 - 1 / 6
    gap = np.where(n_distinct > 1, span / np.maximum(n_distinct - 1, 1), 0.0)
    cumulative = pointers(weight)
    low, high = _quantiles(counts, cumulative, ptr[:-1], n, tail_share(n))
    quarter = np.full(len(n), 0.25)
    lower_quartile, upper_quartile = _quantiles(counts, cumulative, begin, n_core, quarter)
    return Spread(
        n, n_core, low, high, lower_quartile, upper_quartile,
        np.sqrt(np.maximum(variance, 0.0)), n_distinct.astype(np.float64), gap,
    )  # fmt: skip


def regrid(spread: Spread, grids: Grids) -> Grids | None:
    """Return better grids for slots whose grid does not fit; None where all of them do."""
    # Codes are too coarse to see a narrow cluster inside one bin: its values crowd into few cells.
    cells = grids.size / CORE
    share = tail_share(spread.n)
    central, middle = widen(spread.low, spread.high, share, share)
    wrong = (spread.n > 1) & ((central < cells / 8) | (central > 2 * cells))
    if not wrong.any():
        return None
    with np.errstate(over="ignore"):
        central = np.maximum(central, 2.0) * grids.width  # a single value can occupy two cells
        centre = np.clip(grids.left + middle * grids.width, -1e308, 1e308)
    better = lay_grids(centre, central, np.rint(spread.n).astype(np.int64))
    left, width = (
        np.where(wrong, new, old) for new, old in zip(better[:2], grids[:2], strict=True)
    )
    return Grids(left, width, pointers(np.where(wrong, better.size, grids.size)))


@kernel
def _add_up(
    ptr: Ints, cell: Ints, weight: Ints, size: Ints,
    begin: Ints, whole: Ints, inside: Ints, first: Ints, second: Ints, n_distinct: Ints, span: Ints,
) -> None:  # fmt: skip
    """Write where the core begins, its weights and moments, its number of values and their span."""
    for slot in range(len(size)):
        # From the middle of the core the squares stay small.
        middle = size[slot] // 2
        start, total, core, moment, square = ptr[slot], 0, 0, 0, 0
        found, length, lowest, last = 0, 0, 0, 0
        for p in range(np.uint64(ptr[slot]), np.uint64(ptr[slot + 1])):
            here, rows = cell[p], weight[p]
            total += rows
            if here < 0:
                start += 1
            elif here < size[slot]:
                core += rows
                moment += (here - middle) * rows
                square += (here - middle) * (here - middle) * rows
                if length == 0:
                    lowest = here
                elif here != last + 1:  # one value occupies one or two neighbouring cells
                    found += (length + 1) >> 1
                    length = 0
                length += 1
                last = here
        begin[slot], whole[slot], inside[slot] = start, total, core
        first[slot], second[slot] = moment, square
        n_distinct[slot], span[slot] = found + ((length + 1) >> 1), last - lowest


def _quantiles(
    counts: ValueCounts, cumulative: Ints, begin: Ints, n: Floats, share: Floats
) -> tuple[Floats, Floats]:
    """Find where a share of the rows is below, and above; a cell's rows fill the cell evenly."""
    low, high = np.zeros((2, len(n)))
    some = np.flatnonzero(n > 0)
    before = cumulative[begin[some]]
    for out, part in ((low, share), (high, 1 - share)):
        rank = (part * n)[some] * ONE
        # Weights are whole numbers: the rank is reached where the next whole number is.
        p = np.searchsorted(cumulative, before + np.ceil(rank).astype(np.int64)) - 1
        within = (rank - (cumulative[p] - before)) / counts.weight[p]
        out[some] = counts.cell[p] - 0.5 + within
    return low, high


def select_bandwidths(
    counts: ValueCounts, grids: Grids, spread: Spread, column_range: Floats, min_distinct: int
) -> Floats:
    """Choose the bandwidth h of each slot from its counted cells.

    ISJ; below ``min_distinct`` different values, or where ISJ has no solution, the normal reference
    rule. Both see the core only, so an extreme value has no influence.
    """
    # 0.9 · min(σ, IQR / 1.34) · n^(−1/5), 0 where all values are equal. Where more than half of the
    # rows are tied the quartiles coincide and σ alone decides.
    iqr = spread.upper_quartile - spread.lower_quartile
    scale = np.minimum(spread.sigma, np.where(iqr > 1.5, iqr / 1.34, np.inf))
    h = 0.9 * scale * np.maximum(spread.n_core, 1) ** -0.2
    try_isj = np.flatnonzero((spread.n_distinct >= min_distinct) & (h > 0))
    if len(try_isj):
        # A core has 768 times a power of two cells.
        size, row = grids.size, np.full(len(h), -1)
        row[try_isj] = np.arange(len(try_isj))
        slot = owners(counts.ptr)
        inside = (counts.cell >= 0) & (counts.cell < size[slot]) & (row[slot] >= 0)
        slot, cell, weight = slot[inside], counts.cell[inside], counts.weight[inside]
        bits = np.frexp(size // _N_COSINES)[1] - 1
        place = row[slot] * _N_COSINES + (cell >> bits[slot])
        histogram = totals(place, weight, len(try_isj) * _N_COSINES).reshape(-1, _N_COSINES)
        size = size[try_isj]
        t = _solve_isj(histogram, spread.n_core[try_isj], h[try_isj] / size)
        h[try_isj] = np.where(t > 0, np.sqrt(t) * size, h[try_isj])
    return np.maximum(h * grids.width, _floors(grids, spread, column_range))


def _floors(grids: Grids, spread: Spread, column_range: Floats) -> Floats:
    """Return the smallest bandwidth allowed; ``column_range`` is that of the slot's column."""
    # Sixteen cells is what the grid resolves. Whole numbers and rounded values lie on a comb: half
    # of the gap between its teeth makes a smooth density that still keeps neighbours apart. Where
    # all values are equal, a thousandth of the column's range is how close others must be to be the
    # same; no kernel is wider than what is counted in cells.
    is_comb = (spread.n_core >= 3 * spread.n_distinct) & (spread.gap <= spread.sigma / 2)
    cells = np.maximum(MIN_CELLS, np.where(is_comb, spread.gap / 2, 0.0))
    is_constant = spread.sigma < 0.5
    with np.errstate(over="ignore"):
        same = np.minimum(1e-3 * column_range, FAR * grids.width)
    return np.maximum(cells * grids.width, np.where(is_constant, same, 0.0))


def _solve_isj(histogram: Floats, n: Floats, guess: Floats) -> Floats:
    """Solve the ISJ equation of each histogram: t = h² relative to its range; 0 for none."""
    total = histogram.sum(axis=1, keepdims=True)
    cosines = dct(histogram / np.where(total > 0, total, 1.0), axis=1, norm=None)
    # The transform sums 2 p cos(...); squared cosine sums for frequencies 1, 2, ...
    power = (cosines[:, 1:] / 2) ** 2
    # The weight of each frequency in the roughness of orders 2 … l.
    k2 = np.arange(1, histogram.shape[1], dtype=np.float64) ** 2
    weights = np.stack([2 * np.pi ** (2 * s) * k2**s for s in range(2, _STAGES + 1)])
    smallest = (MIN_CELLS / (4096 * CORE)) ** 2 / 4
    t = np.zeros(len(n))
    _solve(power, n, guess, weights, smallest, t)
    return t


@kernel
def _solve(
    power: Floats, n: Floats, guess: Floats, weights: Floats, smallest: float, out: Floats
) -> None:
    """Find the largest root of t − ξγ(t) below a generous start, for each row of ``power``.

    The largest, because a comb of tied values has further roots at the scale of its teeth. From the
    start t falls by factors of four until the sign changes; then false position (Illinois) on log
    t.
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
                # Sum of weight · power · exp(−k² π² time), each exponential from the one before.
                decay = math.exp(-math.pi * math.pi * time)
                shrink = decay * decay
                ratio = shrink * decay
                roughness = 0.0
                most = math.sqrt(100 / time) / math.pi + 2
                for k in range(np.int64(most) if most < power.shape[1] else power.shape[1]):
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
