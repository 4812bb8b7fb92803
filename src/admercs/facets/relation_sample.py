"""What finding relations reads of a table: a sample of rows, and how many rows satisfy each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints, Keys, scramble
from admercs.facets.relations import Formula, plain_numbers
from admercs.table.frame import Frame

BLOCK = 8192  # rows that are looked at together: their numbers stay in the cache


class NumberSample(NamedTuple):
    """Distinct rows with the smallest hashes."""

    most: int  # so many rows at most
    hash: Keys  # ascending
    values: Floats  # columns x rows


def sample_numbers(frame: Frame, n: int) -> NumberSample:
    """Return the `n` distinct rows with the smallest hashes of their numbers and dates."""
    sample = NumberSample(n, np.empty(0, np.uint64), np.empty((frame.n_columns, 0)))
    for start in range(0, frame.n_rows, BLOCK):
        values = _numbers(frame, start, min(start + BLOCK, frame.n_rows))
        # The sum does not depend on the order of the columns.
        hashes = np.zeros(values.shape[1], np.uint64)
        for column in values:
            hashes += scramble((np.nan_to_num(column, nan=np.pi) + 0.0).view(np.uint64))
        if len(sample.hash) == n:
            below = hashes < sample.hash[-1]
            hashes, values = hashes[below], values[:, below]
        sample = merge_number_samples([sample, NumberSample(n, hashes, values)])
    return sample


def merge_number_samples(parts: Sequence[NumberSample]) -> NumberSample:
    """Return the sample of several parts of a table."""
    hashes, first = np.unique(np.concatenate([part.hash for part in parts]), return_index=True)
    values = np.concatenate([part.values for part in parts], axis=1)
    n = parts[0].most
    return NumberSample(n, hashes[:n], np.ascontiguousarray(values[:, first[:n]]))


def count_satisfied(frame: Frame, formulas: Sequence[Formula]) -> Ints:
    """Return for each relation how many rows could satisfy it, and how many do."""
    counts = np.zeros((len(formulas), 2), np.int64)
    for start in range(0, frame.n_rows, BLOCK):
        values = _numbers(frame, start, min(start + BLOCK, frame.n_rows))
        for k, formula in enumerate(formulas):
            residual = formula.residual([values[source] for source in formula.sources])
            counts[k] += np.isfinite(residual).sum(), formula.holds(residual).sum()
    return counts


def _numbers(frame: Frame, start: int, stop: int) -> Floats:
    columns = (frame.column(j, start, stop) for j in range(frame.n_columns))
    return np.array([plain_numbers(raw) for raw in columns]).reshape(frame.n_columns, stop - start)
