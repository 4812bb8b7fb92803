"""Keys of rows: two numbers that depend on the values of a row only.

The first is a sum over the values: it looks random, and does not depend on the order of the
columns. The second is a hash that tells rows apart whose sums are equal.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints, Keys


def key_rows(columns: Iterable[Floats], keys: Keys) -> None:
    """Write the keys (rows x 2) of some rows, given their columns."""
    keys[:] = 0
    for column in columns:
        add_keys(column, column.view(np.uint64), keys)


def distinct_rows(keys: Keys, times: Ints, most: int) -> tuple[Ints, Ints]:
    """Return one row for each of the smallest keys, and how often each occurs.

    `times` is how often each row does.
    """
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys, before = keys[order], np.cumsum(np.append(0, times[order]))
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    often = np.diff(before[np.append(first, len(keys))])
    return order[first[:most]], often[:most]


@kernel
def add_keys(column, bits, keys):  # type: ignore[no-untyped-def]
    """Add the values of one column, also given as bits, to the keys of the rows (splitmix64)."""
    for i in range(np.uint64(len(column))):
        x = bits[i]
        if column[i] == 0.0:
            x = np.uint64(0)  # minus zero is zero …
        if column[i] != column[i]:
            x = np.uint64(0x400921FB54442D18)  # … and what is missing is missing
        told = keys[i, 1] * np.uint64(3) + x
        for k in range(2):
            x += np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x ^= x >> np.uint64(31)
            if k == 0:
                keys[i, 0] += x
                x = told
        keys[i, 1] = x
