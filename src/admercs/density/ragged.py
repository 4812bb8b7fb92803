"""Arrays that hold pieces of different sizes one after the other."""

from __future__ import annotations

import numpy as np

from admercs.arrays import Floats, Ints


def pointers(sizes: Ints) -> Ints:
    """Return where each of several consecutive pieces begins, and where the last one ends."""
    ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr


def owners(ptr: Ints) -> Ints:
    """Return for each element of consecutive pieces which piece it belongs to."""
    return np.arange(len(ptr) - 1).repeat(ptr[1:] - ptr[:-1])


def ranges(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all numbers of several ranges, and which range each of them comes from."""
    ptr = pointers(np.maximum(end - begin, 0))
    owner = owners(ptr)
    return (begin - ptr[:-1])[owner] + np.arange(ptr[-1]), owner


def totals(piece: Ints, amount: Floats | Ints, n_pieces: int) -> Floats:
    """Add up the amounts of each piece, in the order given."""
    # bincount of no amounts at all returns integers.
    return np.bincount(piece, amount, n_pieces).astype(np.float64, copy=False)
