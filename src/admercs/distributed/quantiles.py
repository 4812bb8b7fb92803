"""Exact quantiles of numbers that lie on many workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.distributed.run import Run
from admercs.distributed.selection import (
    Collected,
    Sample,
    choose_candidates,
    collect,
    count_candidates,
    interpolate,
    merge_collected,
    merge_samples,
    quantile_ranks,
    rank_values,
    take_sample,
    values_in_gaps,
    wanted_gaps,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CANDIDATES = 1 << 13


class Quantiles:
    """Quantiles of float64 arrays on workers, bit for bit those of ``numpy.quantile``.

    Parameters
    ----------
    run : Run
    arrays : sequence of future
        The numbers; none is missing.
    candidates : future, optional
        Those of an earlier look at similar numbers, which saves taking a sample.
    """

    def __init__(
        self, run: Run, arrays: Sequence[Future], candidates: Future | None = None
    ) -> None:
        self._run = run
        self._ordered = [run.submit(in_order, array) for array in arrays]
        if candidates is None:
            size = max(64, 4 * CANDIDATES // len(arrays))
            samples = [run.submit(take_sample, array, size) for array in arrays]
            candidates = run.submit(candidates_from, run.reduce(merge_some, samples))
        self.candidates = candidates

    @cached_property
    def _counts(self) -> Ints:
        parts = [self._run.submit(count_array, array, self.candidates) for array in self._ordered]
        counts: Ints = self._run.result(self._run.reduce(add_counts, parts))
        return counts

    @property
    def _n(self) -> int:
        return int(self._counts[0, -1])

    def __call__(self, levels: Sequence[float] | Floats) -> Floats:
        """Return the quantiles at some levels."""
        low, high, share = quantile_ranks(np.asarray(levels, np.float64), self._n)
        values = self._at(np.concatenate([low, high]))
        return interpolate(values[: len(low)], values[len(low) :], share)

    def inverted(self, level: float) -> float:
        """Return the least value that at least a share of the values does not exceed.

        Bit for bit that of ``numpy.quantile`` with ``method="inverted_cdf"``.
        """
        position = self._n * level - 1
        rank = max(0, int(np.ceil(position)))
        return float(self._at(np.array([rank]))[0])

    def _at(self, ranks: Ints) -> Floats:
        counts = self._counts[:, :-1]
        gaps = wanted_gaps(counts, ranks, self._n)
        parts = [
            self._run.submit(collect_array, array, self.candidates, gaps) for array in self._ordered
        ]
        collected, candidates = self._run.result(
            [self._run.reduce(merge_collected, parts), self.candidates]
        )
        return rank_values(candidates, counts, collected).at(ranks)


def in_order(values: Floats) -> Floats:
    """Return the values in ascending order."""
    return np.sort(values)


def merge_some(samples: list[Sample]) -> Sample:
    """Merge samples."""
    return merge_samples(samples, 4 * CANDIDATES)


def candidates_from(sample: Sample) -> Floats:
    """Choose candidates."""
    return choose_candidates(sample, CANDIDATES)


def count_array(ordered: Floats, candidates: Floats) -> Ints:
    """Count values below and up to each candidate; the last column is their number."""
    counts = count_candidates(ordered, candidates)
    return np.concatenate([counts, np.full((2, 1), len(ordered))], axis=1)


def add_counts(parts: list[Ints]) -> Ints:
    """Add up counts."""
    total: Ints = np.sum(parts, axis=0)
    return total


def collect_array(ordered: Floats, candidates: Floats, gaps: Ints) -> Collected:
    """Collect the values in some gaps."""
    return collect(values_in_gaps(ordered, candidates, gaps))
