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


class DiscountStep:
    """Raises log ω in the whole table of values that their contexts explain."""

    def __init__(self, forest: Forest, own: ShortInts, settings: Discount) -> None:
        enough = (forest.n[own] >= settings.min_rows) & (forest.parent[own] >= 0)
        leaves = np.flatnonzero(forest.is_leaf & enough)
        self._slot = np.full(len(own), -1, np.int32)
        self._slot[leaves] = np.arange(len(leaves))
        self._columns = condition_columns(forest, own[leaves])
        self._settings = settings

    def apply(self, views: BlockViews) -> None:
        """Raise ``views.marginal``, but not above what the tails say."""
        explain(
            np.ascontiguousarray(views.leaf), views.log_omega, views.marginal.copy(),
            self._slot, self._columns, 1.0 - self._settings.odds,
            math.log(self._settings.ordinary), views.marginal,
        )  # fmt: skip
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
def explain(  # type: ignore[no-untyped-def]
    leaf, log_omega, root, slot, columns, less, ordinary, raised
):
    """Write the log ω that is left of the whole table's view where the context explains a value."""
    n_columns, n_rows = leaf.shape
    for m in range(np.uint64(n_columns)):
        for i in range(np.uint64(n_rows)):
            own = root[m, i]
            context = slot[np.uint64(leaf[m, i])]
            if context < 0 or own >= log_omega[m, i]:
                continue
            # It is as ordinary to be in the context as the oddest value is that led there.
            oddest = 0.0
            for k in range(np.uint64(columns.shape[1])):
                oddest = min(oddest, root[np.uint64(columns[np.uint64(context), k]), i])
            odds = 1.0 - less * math.exp(oddest + min(0.0, log_omega[m, i] - ordinary))
            raised[m, i] = -math.log((1.0 - odds) + odds * math.exp(-own))
