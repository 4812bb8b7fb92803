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


def best_range(counts: Ints, excess: Ints, n_categories: int, least: float) -> CodeRange | None:
    """Return the range of codes whose rows stand out most, if any do.

    `counts` and `excess` are the rows per code and their excess evidence in fixed point. What
    exceeds the `least` mean excess is added up; of numbers a range is searched, of categories a
    single one. Missing values belong to no range, nor do rare categories that share a code.
    """
    beyond = (excess - int(least * UNIT) * counts)[1:]
    if n_categories:
        first = last = int(beyond[:n_categories].argmax())
        best = int(beyond[first])
    else:
        total = np.cumsum(beyond)
        before = np.append(0, total[:-1])
        gain = total - np.minimum.accumulate(before)
        last = int(gain.argmax())
        first = last - int(before[last::-1].argmin())  # no code in front that no row has
        best = int(gain[last])
    if best <= 0:
        return None
    return CodeRange(first + 1, last + 1, int(counts[first + 1 : last + 2].sum()))
