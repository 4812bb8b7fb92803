"""What the whole table finds odd, a context may explain.

A value in the thin end of its column is odd in the whole table, and may be just what is to be expected of such a
row. Its context says so if it has seen enough rows, as far as it finds the value ordinary, and as far as there is
nothing odd about being in that context. Then the table's word counts with less of the odds. Not with nothing: where
one cause makes many columns odd, each of them is explained by the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.forest import Forest

# Of the odds of the whole table's word, where a context explains a value completely.
EXPLAINED_ODDS = 1 / 3
# In a context of fewer rows than this a value may look ordinary by chance.
LEAST_ROWS = 50
# A value at least this likely (ω = ½) is as ordinary as any.
ORDINARY = math.log(0.5)


class Excuses(NamedTuple):
    """Which contexts may excuse their rows."""

    slot: NDArray[
        np.int32
    ]  # per node: of a leaf whose context may excuse, its row in `columns`; -1 of others
    columns: NDArray[np.int32]  # the columns of the context's conditions, the first one repeated


def find_excuses(forest: Forest) -> Excuses:
    """Return the contexts that may excuse their rows."""
    # Of a leaf that holds narrow contexts the parts are judged by the whole.
    context = forest.scorer
    may = (forest.feature < 0) & (forest.n[context] >= LEAST_ROWS) & (forest.parent[context] >= 0)
    leaves = np.flatnonzero(may)
    slot = np.full(len(context), -1, np.int32)
    slot[leaves] = np.arange(len(leaves))
    return Excuses(slot, _condition_columns(forest, context[leaves]))


def _condition_columns(forest: Forest, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the columns that the conditions of nodes are about, each once, the first one repeated."""
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


def heard(
    leaf: NDArray[np.int32],
    log_omega: NDArray[np.float64],
    log_omega_root: NDArray[np.float64],
    excuses: Excuses,
) -> NDArray[np.float64]:
    """Return the log ω that a leaf would need to say as much as is heard of the whole table's word.

    `leaf`, `log_omega` and `log_omega_root` (columns x rows) are the leaf of each row in each tree, and how likely
    its value is there and in the whole table.
    """
    word = log_omega_root.copy()
    _excuse(
        np.ascontiguousarray(leaf), log_omega, log_omega_root, *excuses, 1.0 - EXPLAINED_ODDS, word
    )
    return word


@kernel
def _excuse(leaf, log_omega, root, slot, columns, less, word):  # type: ignore[no-untyped-def]
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
            odds = 1.0 - less * math.exp(oddest + min(0.0, log_omega[m, i] - ORDINARY))
            word[m, i] = -math.log((1.0 - odds) + odds * math.exp(-own))
