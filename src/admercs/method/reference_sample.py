"""A sample of rows that hardly changes when rows are added to a table.

It depends on the values of the rows only, not on their order, that of columns, or bins. The first
key of each row decides whether it is taken, see `row_keys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs.arrays import Ints, Keys
from admercs.table.row_keys import distinct_rows


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
