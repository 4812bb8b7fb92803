"""Short names for arrays, and arrays that hold many pieces of different sizes one after the other."""

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
    ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr


def owners(ptr: Ints) -> Ints:
    """Return for each element of consecutive pieces which piece it belongs to.

    >>> owners(np.array([0, 2, 2, 5]))
    array([0, 0, 2, 2, 2])
    """
    return np.arange(len(ptr) - 1).repeat(ptr[1:] - ptr[:-1])


def ranges(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return all numbers of several ranges, and which range each of them comes from.

    >>> ranges(np.array([5, 9, 2]), np.array([7, 8, 3]))
    (array([5, 6, 2]), array([0, 0, 2]))
    """
    ptr = pointers(np.maximum(end - begin, 0))
    owner = owners(ptr)
    return (begin - ptr[:-1])[owner] + np.arange(ptr[-1]), owner


def totals(piece: Ints, amount: Floats | Ints, n_pieces: int) -> Floats:
    """Add up the amounts of each piece, in the order given.

    >>> totals(np.array([0, 2, 2]), np.array([1.0, 2.0, 0.5]), 3)
    array([1. , 0. , 2.5])
    """
    # Without any amount numpy forgets that they are no whole numbers.
    return np.bincount(piece, amount, n_pieces).astype(np.float64, copy=False)


def highest(numbers: Floats, ptr: Ints) -> Floats:
    """Return the largest number of each piece; −inf for an empty one.

    >>> highest(np.array([1.0, 3.0, 2.0]), np.array([0, 2, 2, 3]))
    array([  3., -inf,   2.])
    """
    out = np.full(len(ptr) - 1, -np.inf)
    filled = np.flatnonzero(ptr[1:] > ptr[:-1])
    if len(filled):
        out[filled] = np.maximum.reduceat(numbers, ptr[filled])
    return out
