"""What finding relations reads of a table: a sample of rows, and how many rows satisfy each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints, Keys
from admercs.facets.relations import Formula, plain_numbers
from admercs.table.frame import Frame
from admercs.table.row_keys import distinct_rows, key_rows

BLOCK = 8192  # rows that are looked at together: their numbers stay in the cache


class NumberSample(NamedTuple):
    """Distinct rows with the smallest keys, see `row_keys`."""

    most: int  # so many rows at most
    keys: Keys  # rows x 2, ascending
    values: Floats  # columns x rows


def sample_numbers(frame: Frame, n: int) -> NumberSample:
    """Return the `n` distinct rows with the smallest keys of their numbers and dates."""
    parts = [NumberSample(n, np.empty((0, 2), np.uint64), np.empty((frame.n_columns, 0)))]
    for start in range(0, frame.n_rows, BLOCK):
        values = _numbers(frame, start, min(start + BLOCK, frame.n_rows))
        keys = np.empty((values.shape[1], 2), np.uint64)
        key_rows(values, keys)
        if len(parts[0].keys) == n:
            below = keys[:, 0] <= parts[0].keys[-1, 0]
            keys, values = keys[below], values[:, below]
        parts.append(NumberSample(n, keys, values))
        if sum(len(part.keys) for part in parts[1:]) > n:
            parts = [merge_number_samples(parts)]
    return merge_number_samples(parts)


def merge_number_samples(parts: Sequence[NumberSample]) -> NumberSample:
    """Return the sample of several parts of a table."""
    keys, n = np.concatenate([part.keys for part in parts]), parts[0].most
    values = np.concatenate([part.values for part in parts], axis=1)
    rows, _ = distinct_rows(keys, np.ones(len(keys), np.int64), n)
    return NumberSample(n, keys[rows], np.ascontiguousarray(values[:, rows]))


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
