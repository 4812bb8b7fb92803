"""The groups of rows into which fine splits part a leaf (see `growth`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest

Ints = NDArray[np.int64]


class Groups(NamedTuple):
    """The leaves of a forest, and the groups of rows into which fine splits part them."""

    forest: Forest
    whole: NDArray[
        np.int32
    ]  # per node below a fine split: the leaf it was before; of others themselves

    @classmethod
    def of(cls, forest: Forest, fine: bool) -> Groups:
        """Find the groups of a forest."""
        itself = np.arange(len(forest.feature), dtype=np.int32)
        return cls(forest, forest.scorer if fine else itself)

    @property
    def coarse(self) -> NDArray[np.bool_]:
        """The splits that are no fine ones."""
        coarse = self.forest.feature >= 0
        coarse[self.forest.parent[self._apart()]] = False
        return coarse

    @property
    def leaves(self) -> NDArray[np.bool_]:
        """The leaves as they are without fine splits."""
        leaves = np.zeros(len(self.whole), np.bool_)
        leaves[self.whole[self.forest.feature < 0]] = True
        return leaves

    def sum_up(self, parts: Ints) -> Ints:
        """Add up what is known per group, per leaf."""
        sums = np.zeros_like(parts)
        np.add.at(sums, self.whole, parts)
        return sums

    def inside(self, leaves: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the groups inside of some leaves."""
        apart = np.zeros(len(self.whole), np.bool_)
        apart[self._apart()] = True
        return apart & (self.forest.feature < 0) & leaves[self.whole]

    def on_the_way(self, groups: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the fine splits that set some groups apart."""
        way = np.zeros(len(self.whole), np.bool_)
        for group in np.flatnonzero(groups):
            path = self.forest.path(group)
            way[path[path.index(self.whole[group]) : -1]] = True
        return way

    def _apart(self) -> Ints:
        return np.flatnonzero(self.whole != np.arange(len(self.whole)))
