"""The types of arrays, under one name each, and what all packages do with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]
Bools = NDArray[np.bool_]
Keys = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint8] | NDArray[np.uint16]

FEW_ROWS = 64  # take less time than the calls that are made for each column


def scramble(numbers: Keys) -> Keys:
    """Turn numbers into others that look random: the last steps of the generator splitmix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
