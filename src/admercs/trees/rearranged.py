"""The trees as they are in the end: without fine splits that nobody needs, with leaves for narrow contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest, Leaves
from admercs.trees.narrow import Narrowed, Span, narrow
from admercs.trees.prune import prune


class Rearranged(NamedTuple):
    """A forest whose leaves are others than they were, and where rows and nodes are found in it."""

    home: NDArray[np.int32]  # per node there was: who holds its rows after fine splits are undone
    was: NDArray[np.int64]  # per node after that: its number before
    root: NDArray[np.int64]  # after that, see `Forest`
    narrowed: Narrowed

    @property
    def forest(self) -> Forest:
        """The trees."""
        return self.narrowed.forest

    @property
    def number(self) -> NDArray[np.int32]:
        """The number of the nodes `was` in the end."""
        return self.narrowed.number

    def relocate(self, leaves: Leaves, codes: Any) -> Leaves:
        """Return the leaves of rows; `codes` are those of their targets, trees x rows."""
        changed = np.flatnonzero(np.diff(self.root) != np.diff(leaves.root))
        number = leaves.number.copy() if len(changed) else leaves.number
        for tree in changed:
            mine = self.home[leaves.root[tree] : leaves.root[tree + 1]] - self.root[tree]
            number[tree] = mine.astype(number.dtype)[number[tree]]
        moved = Leaves(number, self.root)
        return self.narrowed.relocate(moved, codes) if self.narrowed.spans else moved


def rearrange(
    forest: Forest,
    keep: NDArray[np.bool_],
    spans: Sequence[Span],
    edges: Sequence[NDArray[np.float64]],
    is_nominal: NDArray[np.bool_],
) -> Rearranged:
    """Undo splits, and split leaves by ranges of their targets.

    `keep` says which splits stay, `spans` are ranges within nodes that are leaves then; for the rest see `narrow`.
    """
    smaller, home = prune(forest, keep)
    was = np.unique(home, return_index=True)[1]  # a node comes before those below it
    there = [span._replace(leaf=int(home[span.leaf])) for span in spans]
    narrowed = narrow(smaller, there, edges, is_nominal)
    return Rearranged(home, was, smaller.root, narrowed)
