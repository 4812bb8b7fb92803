"""Exact order statistics of values that lie in many pieces.

Three steps, each *a piece at a time → merge*: take a sample and choose *candidates* from it; count how
many values lie below and at each candidate, which tells exactly between which two candidates a rank
falls; collect the few values that lie there. The sample decides only how many those are, not the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.table.bins import encode

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_CANDIDATES = 1 << 15
"""Candidates per column: with 254 quantiles less than one per cent of the values is collected."""


class Sample(NamedTuple):
    """Some values out of a larger number."""

    values: Floats
    weight: Floats  # how many values each of them stands for


class Collected(NamedTuple):
    """Distinct values in ascending order, and how often each occurs."""

    value: Floats
    times: Ints


def take_sample(values: Floats, size: int) -> Sample:
    """Take evenly spaced values; NaN is left out.

    Examples
    --------
    >>> take_sample(np.arange(10.0), 4)
    Sample(values=array([0., 3., 6., 9.]), weight=array([2.5, 2.5, 2.5, 2.5]))
    """
    present = values[~np.isnan(values)]
    some = present[:: max(1, -(-len(present) // size))]
    return Sample(some, np.full(len(some), len(present) / max(1, len(some))))


def merge_samples(samples: Sequence[Sample], size: int) -> Sample:
    """Put samples together, in ascending order; too many values are thinned out by their weight."""
    values = np.concatenate([sample.values for sample in samples])
    weight = np.concatenate([sample.weight for sample in samples])
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    if len(values) <= size:
        return Sample(values, weight)
    upto = np.cumsum(weight)
    even = (np.arange(size) + 0.5) * (upto[-1] / size)
    return Sample(values[np.searchsorted(upto, even)], np.full(size, upto[-1] / size))


def sketch_values(values: Floats, n_pivots: int) -> tuple[Ints, Floats]:
    """Choose values out of many without sorting them all, and count how many each stands for.

    Returns
    -------
    chosen : ndarray of int64
        Where the chosen values are, in ascending order of the values.
    weight : ndarray of float64
        The values that equal each of them, and half of those between it and its neighbours.

    Examples
    --------
    >>> sketch_values(np.array([3.0, 1.0, 2.0, 1.0]), 2)
    (array([2, 0]), array([3., 1.]))
    """
    step = -(-len(values) // n_pivots)
    pivots, first = np.unique(values[::step], return_index=True)
    counts = np.bincount(find_cells(values, pivots), minlength=2 * len(pivots) + 2)[1:]
    gaps, weight = counts[0::2].astype(np.float64), counts[1::2].astype(np.float64)
    gaps[[0, -1]] *= 2  # beyond the outermost pivots there is no neighbour to share with
    return first * step, weight + (gaps[:-1] + gaps[1:]) / 2


def find_cells(values: Floats, candidates: Floats) -> NDArray[np.uint16]:
    """Return where values lie among candidates: 0 for NaN, else one more than the number of the cell.

    Cell 2j is the gap below candidate j, both ends excluded; cell 2j + 1 is the candidate itself.

    Examples
    --------
    >>> find_cells(np.array([1.0, 2.0, 3.0, 9.0, np.nan]), np.array([2.0, 4.0]))
    array([1, 2, 3, 5, 0], dtype=uint16)
    """
    ends = np.empty(2 * len(candidates))
    ends[0::2], ends[1::2] = np.nextafter(candidates, -np.inf), candidates
    return encode(values, ends, np.empty(len(values), np.uint16))


def cumulate_cells(counts: Ints) -> Ints:
    """Turn the number of values per cell into those of `count_candidates`."""
    upto = np.cumsum(counts)
    return np.stack([upto[0:-1:2], upto[1::2]])


def bracket(
    sample: Sample, ranks: Ints, slack: float, most_distinct: int = 0
) -> tuple[Floats, Ints]:
    """Guess between which values some ranks, and the next larger value of each, lie.

    Parameters
    ----------
    sample : Sample
        In ascending order.
    ranks : ndarray of int64
    slack : float
        How far off, in ranks, the sample may be.
    most_distinct : int
        If the sample has no more distinct values, all of them are candidates: most values of a column with
        many ties are then one of them, and not in any gap.

    Returns
    -------
    candidates : ndarray of float64
        The ends of the brackets among others.
    gaps : ndarray of int64
        The gaps between candidates (see `wanted_gaps`) that lie within brackets.
    """
    values, upto = sample.values, np.cumsum(sample.weight)
    low = np.searchsorted(upto, ranks - slack, side="right") - 1
    high = np.searchsorted(upto - sample.weight, ranks + slack + 1)
    # One value further: the next larger value may be as far away as that.
    high = np.searchsorted(values, np.append(values, np.inf)[high], side="right")
    inside = high < len(values)
    candidates, place = np.unique(values, return_inverse=True)
    if len(candidates) > most_distinct:
        # A value that many rows share is no value to be found between others.
        is_heavy = np.bincount(place, sample.weight) > upto[-1] / (4 * (len(ranks) + 1))
        ends = [values[low[low >= 0]], values[high[inside]], candidates[is_heavy]]
        candidates = np.unique(np.concatenate(ends))
    first = np.where(low >= 0, np.searchsorted(candidates, values[np.maximum(low, 0)]) + 1, 0)
    last = np.full(len(ranks), len(candidates))
    last[inside] = np.searchsorted(candidates, values[high[inside]])
    covered = np.zeros(len(candidates) + 2, np.int64)
    np.add.at(covered, first, 1)
    np.add.at(covered, last + 1, -1)
    gaps: Ints = np.flatnonzero(np.cumsum(covered) > 0)
    return candidates, gaps


def choose_candidates(sample: Sample, size: int = N_CANDIDATES) -> Floats:
    """Return the distinct values of a sample, evenly thinned out to about the given number."""
    ordered = np.unique(sample.values)
    return ordered[:: max(1, -(-len(ordered) // size))]


def count_candidates(ordered: Floats, candidates: Floats) -> Ints:
    """Count the values below each candidate, and up to it (two rows); pieces add up.

    Examples
    --------
    >>> count_candidates(np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 4.0]))
    array([[1, 3],
           [3, 3]])
    """
    counts = np.empty((2, len(candidates)), np.int64)
    counts[0] = np.searchsorted(ordered, candidates, side="left")
    counts[1] = np.searchsorted(ordered, candidates, side="right")
    return counts


def wanted_gaps(counts: Ints, ranks: Ints, n_values: int) -> Ints:
    """Return the gaps between candidates whose values have to be known.

    Gap j lies between the candidates j − 1 and j, both excluded. Wanted are the gaps in which a rank falls,
    and those right above a candidate that has a rank, where the next larger value may be.
    """
    below, upto = counts
    start = np.concatenate([[0], upto])  # first rank in each gap
    stop = np.concatenate([below, [n_values]])
    # A rank belongs to the last gap that starts at or before it, or to the candidate that ends it.
    gap = np.searchsorted(start, ranks, side="right") - 1
    at_candidate = ranks >= stop[gap]
    gap = np.unique(np.concatenate([gap[~at_candidate], gap[at_candidate] + 1]))
    gap = gap[gap < len(start)]
    wanted: Ints = gap[stop[gap] > start[gap]]
    return wanted


def gap_sizes(counts: Ints, gaps: Ints, n_values: int) -> Ints:
    """Return how many values lie in each of some gaps."""
    start = np.concatenate([[0], counts[1]])
    stop = np.concatenate([counts[0], [n_values]])
    sizes: Ints = stop[gaps] - start[gaps]
    return sizes


def values_in_gaps(ordered: Floats, candidates: Floats, gaps: Ints) -> Floats:
    """Return a piece's values that lie in some gaps, in ascending order."""
    lower = np.concatenate([[-np.inf], candidates])[gaps]
    upper = np.concatenate([candidates, [np.inf]])[gaps]
    start = np.searchsorted(ordered, lower, side="right")
    stop = np.searchsorted(ordered, upper, side="left")
    parts = [ordered[a:b] for a, b in zip(start, stop, strict=True)]
    return np.concatenate([np.zeros(0), *parts])


def collect(values: Floats) -> Collected:
    """Count how often each value occurs."""
    value, count = np.unique(values, return_counts=True)
    return Collected(value, count.astype(np.int64))


def merge_collected(pieces: Sequence[Collected]) -> Collected:
    """Put the collected values of pieces together."""
    value, place = np.unique(np.concatenate([piece.value for piece in pieces]), return_inverse=True)
    count = np.zeros(len(value), np.int64)
    np.add.at(count, place, np.concatenate([piece.times for piece in pieces]))
    return Collected(value, count)


class Ranked(NamedTuple):
    """Values with the ranks they hold: all that is known about the order of a column."""

    value: Floats  # ascending
    start: Ints  # first rank of each value
    stop: Ints  # one past its last rank

    def at(self, ranks: Ints) -> Floats:
        """Return the values at some ranks, counted from 0."""
        return self.value[self._place(ranks)]

    def following(self, ranks: Ints) -> tuple[Floats, Floats]:
        """Return the value at each rank and the next larger one, where there is a larger one."""
        place = self._place(ranks)
        place = place[place + 1 < len(self.value)]
        if np.any(self.start[place + 1] != self.stop[place]):
            raise AssertionError("the value after a rank was not collected")
        return self.value[place], self.value[place + 1]

    def _place(self, ranks: Ints) -> Ints:
        place = np.searchsorted(self.start, ranks, side="right") - 1
        if np.any(ranks >= self.stop[place]):
            raise AssertionError("a rank was not collected")
        return place


def rank_values(candidates: Floats, counts: Ints, collected: Collected) -> Ranked:
    """Join the candidates, whose ranks were counted, with the values collected between them."""
    upto = np.concatenate([[0], counts[1]])
    gap = np.searchsorted(candidates, collected.value)
    before = np.cumsum(collected.times) - collected.times
    first = np.searchsorted(gap, gap)  # the first collected value in the same gap
    start = upto[gap] + before - before[first] if len(gap) else np.zeros(0, np.int64)
    occurs = counts[1] > counts[0]
    value = np.concatenate([candidates[occurs], collected.value])
    order = np.argsort(value, kind="stable")
    return Ranked(
        value[order],
        np.concatenate([counts[0][occurs], start])[order],
        np.concatenate([counts[1][occurs], start + collected.times])[order],
    )


def quantile_ranks(levels: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """Return the two ranks that each quantile lies between, and how far from the first one."""
    position = np.asarray(levels, np.float64) * (n - 1)
    low = np.floor(position)
    high = np.minimum(low + 1, n - 1)
    return low.astype(np.int64), high.astype(np.int64), position - low


def interpolate(low: Floats, high: Floats, share: Floats) -> Floats:
    """Return the values between two neighbours: bit for bit what ``numpy.quantile`` makes of them.

    Examples
    --------
    >>> interpolate(np.array([1.0]), np.array([2.0]), np.array([0.25]))
    array([1.25])
    """
    step = high - low
    value = np.where(share >= 0.5, high - step * (1 - share), low + step * share)
    return np.where(step == 0, low, value)
