"""One tree of the forest, to look at."""

from __future__ import annotations

from collections.abc import Sequence

from admercs.table.columns import Column
from admercs.trees.forest import Forest


class Tree:
    """The tree that predicts one column from the others.

    Where a narrow context has been found, a leaf is split once more, by the column itself.

    Attributes
    ----------
    target : str
        The column it predicts.
    n_leaves : int
        Its contexts.
    depth : int
        The most conditions on a path.
    """

    def __init__(self, forest: Forest, columns: Sequence[Column], number: int) -> None:
        self._forest = forest
        self._columns = columns
        self.number = number
        self.target = columns[number].name

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self._forest.leaves(self.number))

    @property
    def depth(self) -> int:
        """Length of the longest path."""
        return max(len(self._forest.path(leaf)) for leaf in self._forest.leaves(self.number)) - 1

    @property
    def attributes(self) -> list[str]:
        """The columns it splits on, in the order of the table."""
        forest = self._forest
        start, stop = forest.root[self.number], forest.root[self.number + 1]
        used = {int(f) for f in forest.feature[start:stop] if f >= 0}
        return [self._columns[f].name for f in sorted(used)]

    def __repr__(self) -> str:
        return f"<Tree for {self.target!r}: {self.n_leaves} leaves, depth {self.depth}>"
