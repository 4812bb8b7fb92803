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
    return n * np.log(n)


@kernel
def class_purity(rows, criterion, table):  # type: ignore[no-untyped-def]
    """Return what a class with that many rows adds to the purity of a node, see `of_all_classes`."""
    if criterion == ENTROPY:
        return xlogx(rows, table)
    return np.float64(rows) * np.float64(rows)


@kernel
def of_all_classes(total, n, criterion, table):  # type: ignore[no-untyped-def]
    """Return the purity of a node from the sum of `class_purity` over its classes."""
    return total - xlogx(n, table) if criterion == ENTROPY else total / n


@kernel
def purity(counts, n, criterion, table):  # type: ignore[no-untyped-def]
    """Return minus the total impurity of class counts, up to a constant of the node.

    Larger is purer; the best split has the largest sum over its two sides.
    """
    total = 0.0
    for c in range(len(counts)):
        total += class_purity(counts[c], criterion, table)
    return of_all_classes(total, n, criterion, table)


@kernel
def moment_purity(rows, total):  # type: ignore[no-untyped-def]
    """Return the part of the sum of squares that the mean explains, scaled to [0, 1] targets."""
    scaled = np.float64(total) / (np.int64(1) << SCALE_BITS)
    return scaled * scaled / rows


@kernel
def impurity(totals, criterion, table):  # type: ignore[no-untyped-def]
    """Return a node's impurity per row."""
    if criterion == VARIANCE:
        n = totals[0]
        if n == 0:
            return 0.0
        unit = np.float64(np.int64(1) << SCALE_BITS)
        squares = (np.float64(totals[2]) + np.float64(totals[3]) / unit) / unit
        mean = np.float64(totals[1]) / unit / n
        return max(0.0, squares / n - mean * mean)
    n = 0
    for c in range(len(totals)):
        n += totals[c]
    if n == 0:
        return 0.0
    if criterion == ENTROPY:
        return max(0.0, -purity(totals, n, criterion, table) / n)
    return max(0.0, 1.0 - purity(totals, n, criterion, table) / n)


def node_purity(totals: NDArray[np.int64], criterion: int, table: NDArray[np.float64]) -> float:
    """Return the purity of an unsplit node, on the scale of `purity` and `moment_purity`."""
    if criterion == VARIANCE:
        return float(moment_purity(totals[0], totals[1])) if totals[0] else 0.0
    return float(purity(totals, int(totals.sum()), criterion, table))


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
