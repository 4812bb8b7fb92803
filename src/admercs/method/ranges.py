"""Range contexts: a range of a leaf's own target.

No condition of a leaf names its tree's target, so a group of rows that only two columns together
set apart may be a leaf of no tree. Of a leaf that is no candidate as a whole, the range of target
codes with the most excess evidence is a candidate, if its rows stand out on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Array, Bools, Floats, Ints
from admercs.method.feedback import UNIT


class CodeRange(NamedTuple):
    """A range of target codes within a leaf; of categories just one."""

    first: int
    last: int
    n_rows: int

    def holds(self, code: Array) -> Bools:
        """Say which codes of the target are in the range."""
        inside: Bools = (code >= self.first) & (code <= self.last)
        return inside

    def bounds(self, edges: Floats, nominal: bool) -> tuple[float, float]:
        """Return the range in working values: above the first number, at most the second."""
        if nominal:
            return self.first - 1.0, float(self.last)
        low = -np.inf if self.first == 1 else float(edges[self.first - 2])
        # The end stays finite: a missing value belongs to no range.
        high = np.finfo(np.float64).max if self.last > len(edges) else float(edges[self.last - 1])
        return low, high


def best_ranges(
    counts: Ints, excess: Ints, n_categories: Ints, least: float
) -> list[CodeRange | None]:
    """Return for some leaves the range of codes whose rows stand out most, if any do.

    `counts` and `excess` (leaves x codes) are the rows per code and their excess evidence in fixed
    point. What exceeds the `least` mean excess is added up; of numbers (no categories) a range is
    searched, of categories a single one. Missing values belong to no range, nor do rare categories
    that share a code.
    """
    beyond = (excess - int(least * UNIT) * counts)[:, 1:]
    total, place, leaf = (
        np.cumsum(beyond, axis=1),
        np.arange(beyond.shape[1]),
        np.arange(len(counts)),
    )
    before = total - beyond
    smallest = np.minimum.accumulate(before, axis=1)
    last = (total - smallest).argmax(axis=1)
    # No code in front that no row has: the last of equal beginnings.
    begins = (before == smallest[leaf, last][:, None]) & (place <= last[:, None])
    first = begins.shape[1] - 1 - begins[:, ::-1].argmax(axis=1)
    is_category = place < n_categories[:, None]
    single = np.where(is_category, beyond, np.iinfo(np.int64).min).argmax(axis=1)
    first, last = (np.where(n_categories > 0, single, each) for each in (first, last))
    up_to = np.cumsum(counts, axis=1)
    n_rows = up_to[leaf, last + 1] - up_to[leaf, first]
    best = np.where(n_categories > 0, beyond[leaf, first], total[leaf, last] - before[leaf, first])
    found = zip((first + 1).tolist(), (last + 1).tolist(), n_rows.tolist(), strict=True)
    return [CodeRange(*each) if pays else None for each, pays in zip(found, best > 0, strict=True)]
