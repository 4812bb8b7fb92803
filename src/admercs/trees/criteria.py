"""How impure a node is, and how much a split takes away.

All decreases are *totals over the node's rows* (rows times impurity), because they add up over a tree:
entropy in nats, Gini, or squared deviation of the target scaled to [0, 1].
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.targets import SCALE_BITS

ENTROPY, GINI, VARIANCE = 0, 1, 2
FRACTION, INFORMATION, PAPER = 0, 1, 2

# x * log(x) for whole numbers is looked up; 2 ** 16 of them fit into the second-level cache.
TABLE = 1 << 16


def xlogx_table() -> NDArray[np.float64]:
    """Return n log n for n = 0 … 65,535."""
    n = np.arange(TABLE, dtype=np.float64)
    return n * np.log(np.maximum(n, 1.0))


XLOGX = xlogx_table()


@kernel
def xlogx(n, table):  # type: ignore[no-untyped-def]
    """Return n log n of a count."""
    if n < len(table):
        return table[np.uint64(n)]
    return n * log(n)


def purity(counts: NDArray[np.int64], criterion: int, table: NDArray[np.float64]) -> float:
    """Return minus the total impurity of class counts, up to a constant of the node.

    Larger is purer; the best split has the largest sum over its two sides (see `splits.weigh_split`).
    """
    per_class = counts.tolist()  # few numbers: a list is faster than an array
    n = sum(per_class)
    if criterion != ENTROPY:
        return sum(float(rows) * float(rows) for rows in per_class) / n
    if n < len(table):  # one look-up for all counts
        return float(sum(table[counts].tolist()) - table[n])
    return float(sum(xlogx(rows, table) for rows in per_class) - xlogx(n, table))


def impurity(totals: NDArray[np.int64], criterion: int, table: NDArray[np.float64]) -> float:
    """Return a node's impurity per row."""
    n = int(totals[0]) if criterion == VARIANCE else sum(totals.tolist())
    if n == 0:
        return 0.0
    if criterion == VARIANCE:
        unit = float(1 << SCALE_BITS)
        _, first, high, low = totals.tolist()
        mean = first / unit / n
        return max(0.0, (high + low / unit) / unit / n - mean * mean)
    pure = purity(totals, criterion, table) / n
    return max(0.0, -pure if criterion == ENTROPY else 1.0 - pure)


def node_purity(totals: NDArray[np.int64], criterion: int, table: NDArray[np.float64]) -> float:
    """Return the purity of an unsplit node, on the scale of the purities of splits."""
    if criterion != VARIANCE:
        return purity(totals, criterion, table)
    rows, first = totals[:2].tolist()
    scaled = first / float(1 << SCALE_BITS)
    return scaled * scaled / rows if rows else 0.0


def earns_split(
    decrease: float,
    n_rows: int,
    root_impurity: float,
    rule: int,
    amount: float,
    n_classes: int,
    n_candidates: int,
    nominal: bool,
) -> bool:
    """Say whether a split takes enough impurity away to be kept.

    ``FRACTION``: of the root's impurity, so the result does not depend on units. ``INFORMATION``: the gain in nats
    must pay for the parameters and for the choice among the candidates. ``PAPER``: the sum of squares
    removed on a [0, 1] target, and for nominal targets the Gini decrease weighted by the node's share of rows.

    Examples
    --------
    >>> earns_split(30.0, 1000, 2.0, INFORMATION, 0.5, 8, 2000, False)
    True
    >>> earns_split(15.0, 1000, 2.0, INFORMATION, 0.5, 8, 2000, False)
    False
    """
    if decrease <= 1e-9:
        return False
    if rule == FRACTION:
        return decrease >= amount * root_impurity * n_rows
    if rule == INFORMATION:
        price = 0.5 * (n_classes - 1) * log(n_rows) + log(max(n_candidates, 1))
        return decrease > amount * price
    if nominal:
        return decrease / n_rows >= amount
    return decrease >= amount
