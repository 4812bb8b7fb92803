"""Joint tail: values near the ends of several columns at once are odd together.

Let S be the share of the rows at a value or beyond, on the side of the column where it is smaller,
and t = −log 2S: 0 in the middle of a column, and larger towards its ends. T is the sum of t over
the numeric columns of a row, and u the scale of an exponential tail through the median of T and its
90% quantile. With

    z = min(c, w (α r)²) max(0, T − median T) / u,    o = log(1 + a (e^z − 1)),

the evidence e of a row becomes √(e² + o²). How much T counts follows from the table, up to a limit
c = 2.5. α is Cronbach's alpha of the columns' t,

    α = M / (M − 1) (1 − Σ var t / var T),

which says how far columns have their ends in the same rows: 0 if they are independent. r is the
correlation between T and the rows' evidence so far, or 0 if it is negative. What is added is
credited to the columns as their t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.arrays import Bools, Floats, Ints
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, N_RANKS, Likelihoods, Shares
from admercs.method.settings import JointTail

Surprises = NDArray[np.uint16]

UNIT = 256  # t is kept in fixed point: sums are exact in any order
MIN_COLUMNS = 2
QUANTILES = 0.5, 0.9  # of T, through which its tail is drawn
_MOST_EVIDENCE = 1000.0  # of a row, so that sums of squares do not overflow
_MOST_Z = 700.0  # beyond, floats end


class ColumnEnd(NamedTuple):
    """How near a column's values are to its ends: t is linear between the values given here."""

    column: int
    value: Floats  # ascending
    surprise: Floats  # t
    middle: float  # the column's median, or near it


def find_ends(
    likelihoods: Likelihoods, root: Ints, is_facet: Bools, shares: Shares
) -> list[ColumnEnd]:
    """Find the ends of the numeric columns of the table, facets left out.

    `shares` are those of the rows beyond the quantiles that are kept of each column.
    """
    like, slots = likelihoods, likelihoods.slot[root[:-1]]
    rows = (like.n - like.n_missing)[slots]
    sides = like.outer.reshape(len(slots), 2, -1)
    ends = []
    for m in np.flatnonzero(~is_facet & (rows > 0)).tolist():
        if like.kind[m] == CONTINUOUS:
            value, surprise = _continuous(sides[m], int(rows[m]), shares)
        elif like.kind[m] == DISCRETE:
            value = like.distinct[like.distinct_ptr[m] : like.distinct_ptr[m + 1]]
            count = like.count[like.value_ptr[slots[m]] :][: len(value)]
            beyond = np.minimum(np.cumsum(count), np.cumsum(count[::-1])[::-1]) - count / 2
            surprise = -np.log(np.clip(2 * beyond, 1, rows[m]) / rows[m])
        else:
            continue
        if len(value) > 1:
            middle = float(value[surprise.argmin()])
            ends.append(ColumnEnd(m, read_only(value), read_only(surprise), middle))
    return ends if len(ends) >= MIN_COLUMNS else []


def _continuous(sides: Floats, n: int, shares: Shares) -> tuple[Floats, Floats]:
    """Return values of both ends of a column and their t, from the quantiles kept of it."""
    beyond = np.array([*shares, *(2.0 ** np.arange(N_RANKS) - 0.5) / n])
    surprise = np.tile(-np.log(np.minimum(1.0, 2 * beyond)), (2, 1))
    value, known = sides.ravel(), np.isfinite(sides).ravel()
    # Where several shares have the same value, the largest holds.
    value, first = np.unique(value[known], return_inverse=True)
    least = np.full(len(value), np.inf)
    np.minimum.at(least, first, surprise.ravel()[known])
    return value, least


class JointScale(NamedTuple):
    """What is learnt of T: its median, and how fast z rises beyond it."""

    middle: float
    slope: float

    def added(self, total: Floats, evidence: Floats, odds: float) -> Floats:
        """Return what T adds to the evidence of rows."""
        z = self.slope * np.maximum(0.0, total - self.middle)
        other = np.log1p(odds * np.expm1(np.minimum(z, _MOST_Z)))
        # √(e² + o²) − e, without losing digits where o is small
        both = np.hypot(evidence, other) + evidence
        return np.divide(other * other, both, out=np.zeros_like(both), where=other > 0)


class JointTailStep:
    """Tells how near the values of rows are to the ends of their columns."""

    def __init__(self, ends: Sequence[ColumnEnd], scale: JointScale, odds: float) -> None:
        self._ends, self._scale, self._odds = ends, scale, odds

    def apply(self, block: Floats, evidence: Floats) -> tuple[Floats, Floats]:
        """Return what is added to rows, in all and by column (columns x rows)."""
        surprises = [read_surprise(end, block[end.column]) for end in self._ends]
        total = np.zeros(block.shape[1])
        for surprise in surprises:
            total += surprise
        added = self._scale.added(total, evidence, self._odds)
        each = added / np.maximum(total, 1.0)
        cells = np.zeros(block.shape)
        for end, surprise in zip(self._ends, surprises, strict=True):
            np.multiply(surprise, each, out=cells[end.column])
        return added, cells


def read_surprise(end: ColumnEnd, x: Floats) -> Surprises:
    """Return t of a column's values in fixed point; a missing value has 0."""
    out = np.empty(len(x), np.uint16)
    _read(read_only(x), end.value, end.surprise, float(UNIT), out)
    return out


@kernel
def _read(x, value, surprise, unit, out):  # type: ignore[no-untyped-def]
    """Interpolate; unsigned indices: numba asks whether signed ones are negative."""
    last = np.uint64(len(value) - 1)
    one = np.uint64(1)
    for i in range(np.uint64(len(x))):
        v = x[i]
        t = 0.0
        if v <= value[0]:
            t = surprise[0]
        elif v >= value[last]:
            t = surprise[last]
        elif not math.isnan(v):
            low, high = np.uint64(0), last
            while high - low > one:
                middle = (low + high) >> one
                if value[middle] <= v:
                    low = middle
                else:
                    high = middle
            part = (v - value[low]) / (value[high] - value[low])
            t = surprise[low] + part * (surprise[high] - surprise[low])
        out[i] = np.uint16(t * unit + 0.5)


class EndsOfRows(NamedTuple):
    """T of the rows of a piece, and for each numeric column Σ t and Σ t²."""

    total: Floats  # whole numbers
    sums: Ints


def sum_surprises(
    ends: Sequence[ColumnEnd], column: Callable[[int], Floats], n_rows: int
) -> EndsOfRows:
    """Sum up t by row and by column, given a function that returns the values of a column."""
    total, sums = np.zeros(n_rows), []
    for end in ends:
        surprise = read_surprise(end, column(end.column)).astype(np.int64)
        total += surprise
        sums.append((surprise.sum(), surprise @ surprise))
    return EndsOfRows(total, np.array(sums, np.int64).T)


def sum_products(total: Floats, evidence: Floats) -> Ints:
    """Return the number of rows and the sums of T, T², e, e² and T e, with e the evidence."""
    total = total.astype(np.int64)
    e = np.rint(np.minimum(evidence, _MOST_EVIDENCE) * UNIT).astype(np.int64)
    sums = (total.sum(), total @ total, e.sum(), e @ e, total @ e)
    return np.array([len(total), *sums], np.int64)


def learn_joint_tail(
    settings: JointTail, sums: Ints, products: Ints, middle: float, high: float
) -> JointScale | None:
    """Learn how much T counts; None if it does not count.

    `middle` and `high` are the `QUANTILES` of T.
    """
    n, t, tt, e, ee, te = products.tolist()  # whole numbers of any size
    var_t, var_e, both = n * tt - t * t, n * ee - e * e, n * te - t * e
    if both <= 0 or high <= middle:
        return None
    alone = sum(n * square - one * one for one, square in sums.T.tolist())
    n_columns = sums.shape[1]
    alpha = n_columns / (n_columns - 1) * (1.0 - alone / var_t)
    correlation = both / (math.sqrt(var_t) * math.sqrt(var_e))
    unit = (high - middle) / math.log((1 - QUANTILES[0]) / (1 - QUANTILES[1]))
    counts = min(settings.most, settings.weight * max(0.0, alpha * correlation) ** 2)
    slope = counts / unit
    return JointScale(middle, slope) if slope > 0 else None
