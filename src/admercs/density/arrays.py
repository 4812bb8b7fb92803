"""Short names for the arrays that go in and out of compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def pointers(sizes: Ints) -> Ints:
    """Return where each of several consecutive pieces begins, and where the last one ends.

    >>> pointers(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
