"""How impure a node is, and how much a split takes away.

All decreases are *totals over the node's rows* (rows times impurity), because they add up over a
tree: entropy in nats, Gini, or squared deviation of the target scaled to [0, 1].
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints
from admercs.trees.targets import SCALE_BITS

ENTROPY, GINI, VARIANCE = 0, 1, 2

# n log n for n = 0 … 65,535 is looked up; so many fit into the second-level cache.
_N = np.arange(1 << 16, dtype=np.float64)
XLOGX: Floats = _N * np.log(np.maximum(_N, 1.0))


@kernel
def xlogx(n, table):  # type: ignore[no-untyped-def]
    """Return n log n of a count."""
    if n < len(table):
        return table[np.uint64(n)]
    return n * log(n)


def purity(counts: Ints, criterion: int) -> float:
    """Return minus the total impurity of class counts, up to a constant of the node.

    Larger is purer; the best split has the largest sum over its two sides (see
    `splitting.weigh_split`).
    """
    per_class = counts.tolist()  # few numbers: a list is faster than an array
    n = sum(per_class)
    if criterion != ENTROPY:
        return sum(float(rows) * float(rows) for rows in per_class) / n
    if n < len(XLOGX):  # one look-up for all counts
        return float(sum(XLOGX[counts].tolist()) - XLOGX[n])
    return float(sum(xlogx(rows, XLOGX) for rows in per_class) - xlogx(n, XLOGX))


def impurity(totals: Ints, criterion: int) -> float:
    """Return a node's impurity per row."""
    n = int(totals[0]) if criterion == VARIANCE else sum(totals.tolist())
    if n == 0:
        return 0.0
    if criterion == VARIANCE:
        unit = float(1 << SCALE_BITS)
        _, first, high, low = totals.tolist()
        mean = first / unit / n
        return max(0.0, (high + low / unit) / unit / n - mean * mean)
    pure = purity(totals, criterion) / n
    return max(0.0, -pure if criterion == ENTROPY else 1.0 - pure)


def node_purity(totals: Ints, criterion: int) -> float:
    """Return the purity of an unsplit node, on the scale of the purities of splits."""
    if criterion != VARIANCE:
        return purity(totals, criterion)
    rows, first = totals[:2].tolist()
    scaled = first / float(1 << SCALE_BITS)
    return scaled * scaled / rows if rows else 0.0


class SplitPrice(NamedTuple):
    """What a split of one tree must gain to be made."""

    price: float | None  # of the information criterion; None: the paper's rule
    min_decrease: float
    n_rows: int
    n_classes: int
    nominal: bool

    def pays(self, decrease: float, n_candidates: int) -> bool:
        """Say whether a split removes enough impurity.

        The gain in nats must pay for the parameters of the split and for the choice among the
        candidates. The paper asks for a sum of squares on a [0, 1] target, and for nominal
        targets for a Gini decrease weighted by the node's share of rows.
        """
        if decrease <= 1e-9:
            return False
        if self.price is None:
            return (decrease / self.n_rows if self.nominal else decrease) >= self.min_decrease
        parameters = 0.5 * (self.n_classes - 1) * log(self.n_rows)
        return decrease > self.price * (parameters + log(max(n_candidates, 1)))


class TreeRules(NamedTuple):
    """When to split and when to stop, for one target."""

    criterion: int  # VARIANCE for a target of moments, else of classes
    n_classes: int
    ordered: bool
    missing_class: int
    max_depth: int
    min_leaf: int
    price: SplitPrice
    group_price: SplitPrice  # of a split that parts a leaf into groups
    n_rows: int

    @property
    def moments(self) -> bool:
        """Whether the target is a number whose moments are added up, instead of classes."""
        return self.criterion == VARIANCE
