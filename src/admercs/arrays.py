"""The types of arrays, under one name each."""

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
