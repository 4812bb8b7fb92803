"""What the path to a node demands of each attribute, with repeated splits merged."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest

__all__ = ["Paths", "Range"]

_ANY_CODE = (1 << 256) - 1


class Range(NamedTuple):
    """The values of one attribute that lead to a node."""

    low: float = -math.inf  # numeric: low < x <= high
    high: float = math.inf
    codes: int = _ANY_CODE  # nominal: bit c is set when category code c is allowed
    missing: bool = True  # whether a missing value is allowed

    def contains(self, x: float, *, nominal: bool) -> bool:
        """Tell whether a working value is allowed."""
        if math.isnan(x):
            return self.missing
        return self.allows(int(x)) if nominal else self.low < x <= self.high

    def contains_all(self, x: NDArray[np.float64], *, nominal: bool) -> NDArray[np.bool_]:
        """Tell which working values of a column are allowed."""
        if nominal:
            codes = np.unique(x[~np.isnan(x)])
            inside = np.isin(x, [code for code in codes if self.allows(int(code))])
        else:
            inside = (x > self.low) & (x <= self.high)
        return np.asarray(np.where(np.isnan(x), self.missing, inside), dtype=np.bool_)

    def allows(self, code: int) -> bool:
        """Tell whether a category code is allowed."""
        return bool(self.codes >> code & 1)


class Paths:
    """The ranges of all nodes, worked out on demand and kept.

    Parameters
    ----------
    forest : Forest
        The trees.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._ranges: dict[int, dict[int, Range]] = {}
        self._attributes: dict[int, int] = {}

    def ranges(self, node: int) -> dict[int, Range]:
        """Return what holds for each attribute that the path tests, in the order of the tests.

        Tests that change nothing are left out: they allow the same training rows without them.
        """
        known = self._ranges.get(node)
        if known is None:
            known = {}
            idle = int(self._forest.idle[node])
            for k, (parent, child) in enumerate(pairwise(self._forest.path(node))):
                if not idle >> k & 1:
                    known = self._narrowed(known, parent, child)
            self._ranges[node] = known
        return known

    def attributes(self, node: int) -> int:
        """Return the set of attributes in these ranges, as bits of an integer."""
        known = self._attributes.get(node)
        if known is None:
            known = sum(1 << attribute for attribute in self.ranges(node))
            self._attributes[node] = known
        return known

    def _narrowed(self, ranges: dict[int, Range], parent: int, child: int) -> dict[int, Range]:
        """Add the test at ``parent`` that leads to ``child``."""
        forest = self._forest
        attribute = int(forest.feature[parent])
        before = ranges.get(attribute, Range())
        goes_left = int(forest.left[parent]) == child
        missing = before.missing and bool(forest.missing_left[parent]) == goes_left
        if forest.subset[parent] >= 0:
            words = forest.subsets[forest.subset[parent]]
            left = sum(int(word) << 64 * k for k, word in enumerate(words))
            codes = before.codes & (left if goes_left else ~left)
            after = before._replace(codes=codes, missing=missing)
        elif goes_left:
            high = min(before.high, float(forest.threshold[parent]))
            after = before._replace(high=high, missing=missing)
        else:
            low = max(before.low, float(forest.threshold[parent]))
            after = before._replace(low=low, missing=missing)
        return {**ranges, attribute: after}
