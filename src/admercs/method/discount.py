"""Context discount: what the whole table finds odd counts less where the context explains it.

A value in the thin end of its column is odd in the whole table, and may be just what is expected of
such a row. Its context explains it if it has seen enough rows, as far as it finds the value
ordinary and as far as nothing is odd about being in that context. The table's view then counts with
a share of the odds. Not with nothing: where one cause makes many columns odd, each explains the
others.
"""

from __future__ import annotations

import math

import numpy as np

from admercs._compile import kernel
from admercs.arrays import ShortInts
from admercs.method.settings import Discount
from admercs.method.views import BlockViews
from admercs.trees.forest import Forest

TOGETHER = 1 << 17  # cells that are looked at together: they stay in the cache


class DiscountStep:
    """Raises log ω in the whole table of values that their contexts explain."""

    def __init__(self, forest: Forest, own: ShortInts, settings: Discount, ordinary: float) -> None:
        enough = (forest.n[own] >= settings.min_rows) & (forest.parent[own] >= 0)
        leaves = np.flatnonzero(forest.is_leaf & enough)
        self._slot = np.full(len(own), -1, np.int32)
        self._slot[leaves] = np.arange(len(leaves))
        self._columns = condition_columns(forest, own[leaves])
        self._odds, self._ordinary = settings.odds, math.log(ordinary)

    def apply(self, views: BlockViews) -> None:
        """Raise ``views.marginal``, but not above what the tails say."""
        leaf, marginal = np.ascontiguousarray(views.leaf), views.marginal
        root, (n_columns, n_rows) = marginal.copy(), leaf.shape
        step = max(1, TOGETHER // max(1, n_rows))
        cells, known = np.empty(step * n_rows, np.int64), np.empty((2, step * n_rows))
        less = 1.0 - self._odds
        for start in range(0, n_columns, step):
            stop = min(start + step, n_columns)
            n = list_explained(
                leaf, views.log_omega, root, self._slot, self._columns, self._ordinary, start, stop,
                cells, *known,
            )  # fmt: skip
            own, explained = known[:, :n]
            odds = 1.0 - less * np.exp(explained)
            np.put(marginal, cells[:n], -np.log((1.0 - odds) + odds * np.exp(-own)))
        views.lower_far()


def condition_columns(forest: Forest, nodes: ShortInts) -> ShortInts:
    """Return the columns that the conditions of nodes are about, each once, the first repeated."""
    tests, none = [], forest.n_trees
    above = forest.parent[nodes]
    while (above >= 0).any():
        tests.append(np.where(above >= 0, forest.feature[above], none))
        above = np.where(above >= 0, forest.parent[above], -1)
    columns = np.sort(np.array(tests, np.int32).reshape(len(tests), len(nodes)).T, axis=1)
    again = columns[:, 1:] == columns[:, :-1]
    columns[:, 1:][again] = none
    columns = np.sort(columns, axis=1)
    columns = columns[:, : int((columns < none).sum(axis=1).max(initial=0))]
    return np.ascontiguousarray(np.where(columns == none, columns[:, :1], columns))


@kernel
def list_explained(  # type: ignore[no-untyped-def]
    leaf, log_omega, root, slot, columns, ordinary, start, stop, cells, own, explained
):
    """List the cells of some columns that the whole table finds odder than their contexts do.

    Write what the table says, and how far the contexts explain it; return how many there are.
    """
    n_rows, found = np.uint64(leaf.shape[1]), np.uint64(0)
    for m in range(np.uint64(start), np.uint64(stop)):
        first = found
        for i in range(n_rows):
            # Which cells these are cannot be predicted: each is written, and only some move on.
            cells[found] = i
            found += np.uint64((root[m, i] < log_omega[m, i]) & (slot[np.uint64(leaf[m, i])] >= 0))
        for k in range(first, found):
            row = np.uint64(cells[k])
            context = np.uint64(slot[np.uint64(leaf[m, row])])
            # It is as ordinary to be in the context as the oddest value is that led there.
            oddest = 0.0
            for c in range(np.uint64(columns.shape[1])):
                view = root[np.uint64(columns[context, c]), row]
                oddest = view if view < oddest else oddest
            cells[k], own[k] = m * n_rows + row, root[m, row]
            beyond = log_omega[m, row] - ordinary
            explained[k] = oddest + (beyond if beyond < 0.0 else 0.0)
    return np.int64(found)
