"""Keys of rows: two numbers that depend on the values of a row only, not on its place or on bins.

The first is a sum over the values: it looks random, and does not depend on the order of the
columns. The second is a hash that tells rows apart whose sums are equal. The rows with the smallest
keys are a sample that hardly changes when rows are added to a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints, Keys


def key_rows(columns: Iterable[Floats], keys: Keys) -> None:
    """Write the keys (rows x 2) of some rows, given their columns."""
    sums, hashes = np.zeros((2, len(keys)), np.uint64)
    for column in columns:
        add_keys(column, column.view(np.uint64), sums, hashes)
    keys[:, 0], keys[:, 1] = sums, hashes


def distinct_rows(keys: Keys, times: Ints, most: int) -> tuple[Ints, Ints]:
    """Return one row for each of the smallest keys, and how often each occurs.

    `times` is how often each row does.
    """
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys, before = keys[order], np.cumsum(np.append(0, times[order]))
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    often = np.diff(before[np.append(first, len(keys))])
    return order[first[:most]], often[:most]


class ReferenceSample(NamedTuple):
    """The distinct rows with the smallest keys."""

    keys: Keys  # rows x 2, ascending
    times: Ints  # how often each occurs in the table
    most: int  # so many at most


def sample_keys(keys: Keys, most: int) -> ReferenceSample:
    """Return the sample of a piece, given the keys of its rows."""
    if len(keys) > 8 * most:
        # Keys are spread evenly: nearly always enough distinct ones are below this limit.
        some = keys[keys[:, 0] < np.uint64(4 * most / len(keys) * 2.0**64)]
        if len(np.unique(some[:, 0])) >= most:
            keys = some
    return merge_keys([ReferenceSample(keys, np.ones(len(keys), np.int64), most)])


def merge_keys(parts: Sequence[ReferenceSample]) -> ReferenceSample:
    """Return the sample of several pieces."""
    keys, times = (np.concatenate([part[k] for part in parts]) for k in range(2))
    # A row among the first of all is among the first of each piece that has it: counts are whole.
    rows, times = distinct_rows(keys, times, parts[0].most)
    return ReferenceSample(np.ascontiguousarray(keys[rows]), times, parts[0].most)


def find_keys(keys: Keys, wanted: Keys) -> tuple[Ints, Ints]:
    """Return which rows have a wanted pair of keys, and which pair."""
    some = np.flatnonzero(keys[:, 0] <= wanted[:, 0].max(initial=0))
    # The second key tells rows apart.
    order = np.argsort(wanted[:, 1])
    known, own = wanted[order, 1], keys[some, 1]
    place = np.minimum(np.searchsorted(known, own), len(known) - 1)
    found = np.flatnonzero(known[place] == own)
    return some[found], order[place[found]]


@kernel
def add_keys(column, bits, sums, hashes):  # type: ignore[no-untyped-def]
    """Add the values of one column, also given as bits, to the keys of the rows (splitmix64)."""
    # The two keys lie apart, so that vector instructions take several rows at a time.
    for i in range(np.uint64(len(column))):
        x = bits[i]
        if column[i] == 0.0:
            x = np.uint64(0)  # minus zero is zero …
        if column[i] != column[i]:
            x = np.uint64(0x400921FB54442D18)  # … and what is missing is missing
        told = hashes[i] * np.uint64(3) + x
        for k in range(2):
            x += np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x ^= x >> np.uint64(31)
            if k == 0:
                sums[i] += x
                x = told
        hashes[i] = x
