"""What a tree is asked to predict: the target column in a form that can be counted exactly.

Two forms. A *class* target is a small integer per row: a nominal value, one of few distinct numbers, or the
quantile bin of a number. A *moment* target is a number scaled to [0, 1] and written as a fixed-point
integer, so that sums over rows are exact in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Fixed point: 30 bits keep 2 ** 33 rows within an int64 sum.
SCALE_BITS = 30
SCALE = 1 << SCALE_BITS
# A nominal target with more values than this is split on its most frequent ones and the rest as one.
MAX_CLASSES = 32
# Quantile bins of a numeric target for the distribution criterion.
TARGET_BINS = 8


class ClassMap(NamedTuple):
    """How the codes of a target column become classes."""

    class_of_code: NDArray[np.unsignedinteger]  # as small as can be
    n_classes: int
    missing_class: int  # -1 when no training value is missing
    ordered: bool  # classes are intervals of a number, not names


def map_classes(code_counts: NDArray[np.int64], nominal: bool, discrete: bool) -> ClassMap:
    """Group the codes of a target column into classes, from their counts alone.

    Parameters
    ----------
    code_counts : ndarray of int64
        How often each code occurs in the table; code 0 is missing.
    nominal : bool
        The codes are categories.
    discrete : bool
        A numeric column with few distinct values, each of which has a code of its own.

    Examples
    --------
    >>> import numpy as np
    >>> map_classes(np.array([0, 5, 5, 5, 5]), nominal=False, discrete=True)
    ClassMap(class_of_code=array([0, 0, 1, 2, 3], dtype=uint8), n_classes=4, missing_class=-1, ordered=True)
    """
    counts = code_counts[1:]
    if nominal:
        by_code = np.minimum(np.arange(len(counts)), MAX_CLASSES - 2)
    elif discrete or len(counts) <= TARGET_BINS:
        by_code = np.arange(len(counts))
    else:
        by_code = _equal_parts(counts, TARGET_BINS)
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


def _equal_parts(counts: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Cut consecutive codes into parts that hold about the same number of rows."""
    # The middle of a code's rows decides, so that a code heavier than a part stays in one part.
    middle = 2 * np.cumsum(counts) - counts
    part: NDArray[np.int64] = middle * n_parts // (2 * max(int(counts.sum()), 1))
    return part


def fixed_point(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int32]:
    """Scale values from [low, high] to integers in [0, 2 ** 30]; missing becomes -1.

    Examples
    --------
    >>> import numpy as np
    >>> fixed_point(np.array([1.0, 2.0, np.nan, 3.0]), 1.0, 3.0)
    array([         0,  536870912,         -1, 1073741824], dtype=int32)
    """
    width = high - low
    missing = np.isnan(values)
    if not width > 0:
        return np.where(missing, -1, 0).astype(np.int32)
    if not np.isfinite(width):  # the range itself overflows; halving both ends keeps the ratio
        values, low, width = values / 2, low / 2, high / 2 - low / 2
    scaled = np.rint((values - low) / width * SCALE)
    return np.where(missing, -1, scaled).astype(np.int32)
