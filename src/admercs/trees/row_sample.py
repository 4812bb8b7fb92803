"""A sample of rows that depends on their content only, not on their order or place.

It holds the distinct rows with the smallest hashes of their codes, and how often each occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Codes, Ints, Keys


class RowSample(NamedTuple):
    """Distinct rows with the smallest hashes."""

    hash: Keys  # ascending
    codes: Codes  # columns x rows
    times: Ints  # how often each occurs in the table
    most: int  # so many at most

    def draw(self) -> Ints:
        """Return about as many rows, each about as often as it occurs; all if they are no more.

        Of rows that occur once these are the first ones.
        """
        return draw(self.times, self.most)


def draw(times: Ints, n: int) -> Ints:
    """Return about n rows, see `RowSample.draw`, given how often each row occurs."""
    total, place = int(times.sum()), np.arange(len(times))
    if total <= n:
        return np.repeat(place, times)
    # Parts of a row are rounded up or down by chance: rows come in the order of their hashes.
    chance = 1.0 - (place + 0.5) / len(place)
    return np.repeat(place, np.floor(times * (n / total) + chance).astype(np.int64))


def sample_rows(codes: Codes, most: int) -> RowSample:
    """Return the distinct rows of a piece with the smallest hashes of their codes."""
    hashes, n = hash_rows(codes), most
    if len(hashes) > 8 * n:
        # Hashes are spread evenly: nearly always enough distinct ones are below this limit.
        some = np.flatnonzero(hashes < np.uint64(4 * n / len(hashes) * 2.0**64))
        if len(np.unique(hashes[some])) >= n:
            return _smallest(hashes[some], codes[:, some], np.ones(len(some), np.int64), n)
    return _smallest(hashes, codes, np.ones(len(hashes), np.int64), n)


def hash_rows(codes: Codes) -> Keys:
    """Return a number for each row that depends on its codes only."""
    hashes = np.zeros(codes.shape[1], np.uint64)
    for column in codes:
        hash_codes(column, hashes)
    return hashes


def merge_samples(parts: Sequence[RowSample]) -> RowSample:
    """Return the sample of several pieces."""
    hashes = np.concatenate([part.hash for part in parts])
    times = np.concatenate([part.times for part in parts])
    codes = np.concatenate([part.codes for part in parts], axis=1)
    return _smallest(hashes, codes, times, parts[0].most)


def _smallest(hashes: Keys, codes: Codes, times: Ints, n: int) -> RowSample:
    # A row among the first of all is among the first of each piece that has it: counts are whole.
    kept, first, row = np.unique(hashes, return_index=True, return_inverse=True)
    total = np.bincount(row, times, len(kept)).astype(np.int64)
    some: Any = np.ascontiguousarray(codes[:, first[:n]])
    return RowSample(kept[:n], some, total[:n], n)


@kernel
def hash_codes(column, hashes):  # type: ignore[no-untyped-def]
    """Add the codes of one column to the hashes of the rows (splitmix64)."""
    for i in range(np.uint64(len(column))):
        x = hashes[i] * np.uint64(3) + np.uint64(column[i]) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = x ^ (x >> np.uint64(31))
