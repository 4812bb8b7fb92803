"""What a tree is asked to predict: the target column in a form that can be counted exactly.

Two forms. A *class* target is a small integer per row: a nominal value, one of few distinct
numbers, or the quantile bin of a number. A *moment* target is a number scaled to [0, 1] and written
as a fixed-point integer, so that sums over rows are exact in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Floats, Ints, ShortInts
from admercs.method.settings import Trees

# Fixed point: 30 bits keep 2 ** 33 rows within an int64 sum.
SCALE_BITS = 30


class ClassMap(NamedTuple):
    """How the codes of a target column become classes."""

    class_of_code: NDArray[np.unsignedinteger] | None  # as small as can be; None for moments
    n_classes: int
    missing_class: int  # -1 when no training value is missing
    ordered: bool  # classes are intervals of a number, not names


def map_classes(code_counts: Ints, nominal: bool, discrete: bool, settings: Trees) -> ClassMap:
    """Group the codes of a target column into classes, given how often each code occurs.

    `nominal`: codes are categories. `discrete`: each of few distinct numbers has a code of its own.
    """
    counts = code_counts[1:]
    if nominal:
        by_code = np.minimum(np.arange(len(counts)), settings.max_classes - 2)
    elif discrete or len(counts) <= settings.target_bins:
        by_code = np.arange(len(counts))
    else:
        # Parts of about equally many rows. The middle of a code's rows decides, so that a code
        # heavier than a part stays in one part.
        middle = 2 * np.cumsum(counts) - counts
        by_code = middle * settings.target_bins // (2 * max(int(counts.sum()), 1))
    # Codes that never occur would only add empty classes.
    present = np.unique(by_code[counts > 0])
    by_code = np.searchsorted(present, by_code).clip(0, max(len(present) - 1, 0))
    n_classes = len(present)
    has_missing = bool(code_counts[0])
    class_of_code = np.concatenate([[n_classes if has_missing else 0], by_code])
    return ClassMap(
        class_of_code.astype(np.uint8 if n_classes < 256 else np.uint16),
        n_classes + has_missing,
        n_classes if has_missing else -1,
        not nominal,
    )


def fixed_point(values: Floats, low: float, high: float) -> ShortInts:
    """Scale values from [low, high] to integers in [0, 2 ** 30]; missing becomes -1."""
    width = high - low
    missing = np.isnan(values)
    if not width > 0:
        return np.where(missing, -1, 0).astype(np.int32)
    if not np.isfinite(width):  # the range itself overflows; halving both ends keeps the ratio
        values, low, width = values / 2, low / 2, high / 2 - low / 2
    scaled = np.rint((values - low) / width * (1 << SCALE_BITS))
    return np.where(missing, -1, scaled).astype(np.int32)
