"""A sample of rows that depends on their content only, not on their order or place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Codes, Keys

SAMPLE_ROWS = 10_000
"""Distinct rows of a sample."""


class RowSample(NamedTuple):
    """Distinct rows with the smallest hashes."""

    hash: Keys  # ascending
    codes: Codes  # columns x rows


def sample_rows(codes: Codes) -> RowSample:
    """Return the distinct rows of a piece with the smallest hashes of their codes."""
    hashes = np.zeros(codes.shape[1], np.uint64)
    for column in codes:
        hash_codes(column, hashes)
    n = SAMPLE_ROWS
    if len(hashes) > 8 * n:
        # Hashes are spread evenly: nearly always enough distinct ones are below this limit.
        some = np.flatnonzero(hashes < np.uint64(4 * n / len(hashes) * 2.0**64))
        if len(np.unique(hashes[some])) >= n:
            return _smallest(hashes[some], codes[:, some])
    return _smallest(hashes, codes)


def merge_samples(parts: Sequence[RowSample]) -> RowSample:
    """Return the sample of several pieces."""
    hashes = np.concatenate([part.hash for part in parts])
    return _smallest(hashes, np.concatenate([part.codes for part in parts], axis=1))


def _smallest(hashes: Keys, codes: Codes) -> RowSample:
    kept, first = np.unique(hashes, return_index=True)
    some: Any = np.ascontiguousarray(codes[:, first[:SAMPLE_ROWS]])
    return RowSample(kept[:SAMPLE_ROWS], some)


@kernel
def hash_codes(column, hashes):  # type: ignore[no-untyped-def]
    """Add the codes of one column to the hashes of the rows (splitmix64)."""
    for i in range(np.uint64(len(column))):
        x = hashes[i] * np.uint64(3) + np.uint64(column[i]) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = x ^ (x >> np.uint64(31))
