"""What a tree predicts, how impure a node is, and what a split must take away.

A *class* target is a small integer per row: a nominal value, one of few distinct numbers, or the
quantile bin of a number. A *moment* target is a number scaled to [0, 1] and written as a
fixed-point integer, so that sums over rows are exact in any order.

All decreases are *totals over the node's rows* (rows times impurity), because they add up over a
tree: entropy in nats, Gini, or squared deviation of the target scaled to [0, 1].
"""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.arrays import Floats, Ints, ShortInts
from admercs.method.settings import Trees
from admercs.table.columns import Column

ENTROPY, GINI, VARIANCE = 0, 1, 2
# Fixed point: 30 bits keep 2 ** 33 rows within an int64 sum.
SCALE_BITS = 30

# n log n for n = 0 … 65,535 is looked up; so many fit into the second-level cache.
_N = np.arange(1 << 16, dtype=np.float64)
XLOGX: Floats = _N * np.log(np.maximum(_N, 1.0))
_XLOGX: list[float] = XLOGX.tolist()


class TreeTarget(NamedTuple):
    """A column as its tree predicts it: when to split and when to stop."""

    column: int
    settings: Trees
    criterion: int  # VARIANCE for a target of moments, else of classes
    class_of_code: NDArray[np.unsignedinteger] | None  # None for a target of moments
    n_classes: int
    ordered: bool  # classes are intervals of a number, not names
    missing_class: int  # -1 when no training value is missing
    min_leaf: int
    group_price: float | None  # of a split that parts a leaf into groups
    n_rows: int
    low: float  # the smallest and the largest value
    high: float
    class_totals: Ints  # how many rows each class has; none for a target of moments

    @property
    def moments(self) -> bool:
        """Whether the target is a number whose moments are added up, instead of classes."""
        return self.criterion == VARIANCE

    @property
    def width(self) -> int:
        """How many numbers a code has in a histogram: a count per class, or rows and their sum."""
        return 2 if self.moments else self.n_classes

    def pays(self, decrease: float, n_candidates: int, price: float | None) -> bool:
        """Say whether a split removes enough impurity.

        The gain in nats must pay for the parameters of the split and for the choice among the
        candidates. The paper asks for a sum of squares on a [0, 1] target, and for nominal
        targets for a Gini decrease weighted by the node's share of rows.
        """
        if decrease <= 1e-9:
            return False
        if price is None:
            decrease = decrease / self.n_rows if self.criterion == GINI else decrease
            return decrease >= self.settings.min_impurity_decrease
        parameters = 0.5 * (self.n_classes - 1) * log(self.n_rows)
        return decrease > price * (parameters + log(max(n_candidates, 1)))

    def is_final(self, totals: Ints, depth: int) -> bool:
        """Say whether a node is a leaf whatever its histogram looks like."""
        amounts = totals.tolist()  # few numbers: a list is faster than an array
        n = amounts[0] if self.moments else sum(amounts)
        if depth >= self.settings.max_depth or n < 2 * self.min_leaf:
            return True
        if self.moments:
            return impurity(totals, self.criterion) <= 1e-12
        return bool(max(amounts) == n)  # all in one class


def leaf_size(settings: Trees, n_rows: int) -> int:
    """Return the least number of rows of a leaf; a share of all rows is rounded up."""
    size = settings.min_samples_leaf
    if isinstance(size, int | np.integer):
        return int(size)
    return max(settings.min_rows, ceil(size * n_rows))


def make_target(m: int, column: Column, settings: Trees, code_counts: Ints) -> TreeTarget:
    """Bring a column into the form its tree predicts, given how often each code occurs."""
    nominal, n_rows = column.role == "nominal", int(code_counts.sum())
    moments = settings.price is None and not nominal
    has_groups = settings.price is not None and n_rows < settings.group_rows
    criterion = VARIANCE if moments else GINI if settings.price is None else ENTROPY
    class_of_code, n_classes, missing_class, totals = None, 0, -1, np.empty(0, np.int64)
    if not moments:
        class_of_code = _class_of_code(code_counts, nominal, bool(column.distinct), settings)
        n_classes = int(class_of_code.max()) + 1
        missing_class = int(class_of_code[0]) if code_counts[0] else -1
        totals = np.bincount(class_of_code, code_counts, n_classes).astype(np.int64)
    return TreeTarget(
        m, settings, criterion, class_of_code, n_classes, not nominal, missing_class,
        leaf_size(settings, n_rows), settings.group_price if has_groups else settings.price,
        n_rows, *column.limits, totals,
    )  # fmt: skip


def _class_of_code(
    code_counts: Ints, nominal: bool, discrete: bool, settings: Trees
) -> NDArray[np.unsignedinteger]:
    """Group the codes of a target column into classes, given how often each code occurs."""
    counts = code_counts[1:]
    by_code = np.arange(len(counts))
    if nominal:
        by_code = np.minimum(by_code, settings.max_classes - 2)
    elif not discrete and len(counts) > settings.target_bins:
        # Parts of about equally many rows. The middle of a code's rows decides, so that a code
        # heavier than a part stays in one part.
        middle = 2 * np.cumsum(counts) - counts
        by_code = middle * settings.target_bins // (2 * max(int(counts.sum()), 1))
    # Codes that never occur would only add empty classes. Missing values are the last class.
    present = np.unique(by_code[counts > 0])
    by_code = np.searchsorted(present, by_code).clip(0, max(len(present) - 1, 0))
    missing_class = len(present) if code_counts[0] else 0
    return np.append(missing_class, by_code).astype(np.uint8 if len(present) < 256 else np.uint16)


def fixed_point(values: Floats, low: float, high: float) -> ShortInts:
    """Scale values from [low, high] to integers in [0, 2 ** 30]; missing becomes -1."""
    width = high - low
    missing = np.isnan(values)
    if not width > 0:
        return np.where(missing, -1, 0).astype(np.int32)
    if not np.isfinite(width):  # the range itself overflows; halving both ends keeps the ratio
        values, low, width = values / 2, low / 2, high / 2 - low / 2
    scaled = np.rint((values - low) / width * (1 << SCALE_BITS))
    return np.where(missing, -1, scaled).astype(np.int32)


@kernel
def xlogx(n, table):  # type: ignore[no-untyped-def]
    """Return n log n of a count."""
    if n < len(table):
        return table[np.uint64(n)]
    return n * log(n)


def purity(totals: Ints, criterion: int) -> float:
    """Return minus a node's total impurity, up to a constant of the node."""
    amounts = totals.tolist()  # few numbers: a list is faster than an array
    if criterion == VARIANCE:
        scaled = amounts[1] / float(1 << SCALE_BITS)
        return scaled * scaled / amounts[0] if amounts[0] else 0.0
    if criterion == GINI:
        return sum(float(rows) * float(rows) for rows in amounts) / sum(amounts)
    # A list is read, and not the kernel called: a call from Python takes longer than its work.
    whole = sum(amounts)
    if whole < len(_XLOGX):
        return sum([_XLOGX[rows] for rows in amounts]) - _XLOGX[whole]
    return sum([rows * log(rows) for rows in amounts if rows]) - whole * log(whole)


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
