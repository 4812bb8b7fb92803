"""Correlations of two quantities of the rows of a table, by exact sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from admercs.arrays import Floats, Ints

UNIT = float(1 << 12)  # quantities are added up in fixed point: sums are exact in any order
TOGETHER = 1 << 17  # numbers that are worked on together: they stay in the cache


def moments(own: Floats, other: Floats, middle: float) -> list[int]:
    """Return n, Σx, Σy, Σx², Σy² and Σxy of excess and neighbour evidence, in fixed point."""
    sums = [0] * 6
    for start in range(0, len(own), TOGETHER):
        some = slice(start, start + TOGETHER)
        x, y = (
            np.minimum(np.rint(UNIT * each), 2.0**31 - 1).astype(np.int64)
            for each in (np.maximum(0.0, own[some] - middle), other[some])
        )
        these = [len(x), *(_exact_sum(each) for each in (x, y, x * x, y * y, x * y))]
        sums = add_moments([sums, these])
    return sums


def _exact_sum(numbers: Ints) -> int:
    """Return the sum of numbers below 2 ** 62, however many."""
    high, low = numbers >> 31, numbers & (2**31 - 1)
    return (int(high.sum()) << 31) + int(low.sum())


def add_moments(parts: Sequence[list[int]]) -> list[int]:
    """Add up the moments of several pieces."""
    return [sum(each) for each in zip(*parts, strict=True)]


def correlation(sums: Sequence[int]) -> float:
    """Return the correlation of two quantities, 0 where it is negative."""
    n, x, y, xx, yy, xy = sums
    scale = math.sqrt(n * xx - x * x) * math.sqrt(n * yy - y * y)
    return max(0.0, (n * xy - x * y) / scale) if scale > 0 else 0.0
