"""Guilty by association, once more: what the rows most like a row have against them.

A context is about a few columns. Anomalies of one kind are alike in many, each a little odd in other columns than
the next, and no context may hold just them. So every row is compared with some rows of the training table in all
columns at once, and the guilt of those most like it is heard besides its own. How much that counts the table itself
says: as far as rows are as guilty as those most like them. Where most columns are noise, likeness says nothing and
nothing is added. What contexts say is not passed on: it was said to all their rows already.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.table.bins import Binning, encode

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Numbers are compared by their rank, from 0 to this; the next byte stands for a missing value.
TOP_RANK = 254
NO_VALUE = 255
# Two categories, or a value and none, are as far apart as two values of which each half of a column has one.
UNLIKE = TOP_RANK // 2
# One in so many rows is near, but at least and at most these numbers of them.
NEAR = 15
LEAST_NEAR, MOST_NEAR = 5, 30
# What is passed on is kept in fixed point: sums of it are exact in any order.
UNIT = float(1 << 12)
# Comparisons that are made together: they stay in the cache.
TOGETHER = 1 << 17
# How much what is heard counts if it could be trusted completely, compared with what a row itself has against it.
WORD = 3.0


class Likeness(NamedTuple):
    """How the values of each column are compared: a byte for each."""

    edges: Floats  # where the bins of numeric columns end, one column after the other
    first: NDArray[np.int64]  # of each column's edges, and one past the last
    place: Bytes  # of each code of numeric columns, two more than there are edges
    is_nominal: NDArray[np.bool_]

    @classmethod
    def of(cls, binning: Binning, values: Floats) -> Likeness:
        """Rank the values of a table (columns x rows)."""
        n_edges = [len(edges) for edges in binning.edges]
        places = [
            np.full(2, NO_VALUE, np.uint8) if nominal else _places(encode(column, edges), len(edges) + 2)
            for column, edges, nominal in zip(values, binning.edges, binning.is_nominal, strict=True)
        ]  # fmt: skip
        return cls(
            np.concatenate([np.empty(0), *binning.edges]),
            np.cumsum([0, *n_edges]),
            np.concatenate([np.empty(0, np.uint8), *places]),
            binning.is_nominal,
        )

    def profile(self, values: Floats) -> Bytes:
        """Return the byte of each value (columns x rows)."""
        out = np.empty(values.shape, np.uint8)
        for m, column in enumerate(values):
            if self.is_nominal[m]:
                out[m] = np.minimum(np.nan_to_num(column), NO_VALUE)
            else:
                first, last = self.first[m], self.first[m + 1]
                place = self.place[first + 2 * m : last + 2 * m + 2]
                out[m] = place[encode(column, self.edges[first:last])]
        return out


def _places(codes: NDArray[np.unsignedinteger], n_codes: int) -> Bytes:
    """Return the place of each code: the middle rank of the values that have it."""
    counts = np.bincount(codes, minlength=n_codes)
    counts[0] = 0  # missing values have no rank
    middle = np.cumsum(counts) - counts / 2
    place = np.rint(TOP_RANK * middle / max(1, counts.sum())).astype(np.uint8)
    place[0] = NO_VALUE
    return place


class Neighbours(NamedTuple):
    """Rows of the training table that others are compared with."""

    likeness: Likeness
    row: NDArray[np.int64]  # their numbers
    profile: Bytes  # columns x rows
    guilt: Floats  # rows x columns, in fixed point: what each column has against them
    typical: Floats  # what is heard about a typical row (one number)
    trust: Floats  # how much of what is heard beyond that counts (one number)

    @classmethod
    def nobody(cls, n_columns: int) -> Neighbours:
        """Return no rows at all: nothing is ever heard."""
        empty, none = np.empty(0), np.empty(0, np.uint8)
        no_bins = np.zeros(n_columns + 1, np.int64)
        likeness = Likeness(empty, no_bins, none, np.zeros(n_columns, np.bool_))
        nothing = np.zeros(1)
        return cls(
            likeness, np.empty(0, np.int64), np.empty((n_columns, 0), np.uint8),
            np.empty((0, n_columns)), nothing, nothing,
        )  # fmt: skip

    @property
    def n_near(self) -> int:
        """How many of them are near to a row."""
        return min(MOST_NEAR, max(LEAST_NEAR, len(self.row) // NEAR))

    def heard(self, values: Floats) -> Floats:
        """Return what is heard about rows from those most like them (rows x columns)."""
        profile = self.likeness.profile(values)
        out = np.empty(profile.shape[::-1])
        step = max(1, TOGETHER // len(self.row))
        for start in range(0, len(out), step):
            rows = slice(start, start + step)
            weight = self._weights(profile[:, rows])
            total = weight.sum(axis=1, keepdims=True)
            said = weight @ self.guilt
            out[rows] = np.divide(said, UNIT * total, out=np.zeros_like(said), where=total > 0)
        return out

    def evidence(self, values: Floats, own: Floats) -> Floats:
        """Return what is added to the evidence against rows, of which `own` is known (rows x columns)."""
        return self.added(self.heard(values), own)

    def added(self, heard: Floats, own: Floats) -> Floats:
        """Return what is added to the evidence against rows, given what is heard about them (rows x columns).

        Own evidence e and that of the others o make √(e² + o²): the stronger one speaks. A row with much against it
        is not made much worse by bad company, and is not overtaken by rows that have little else.
        """
        total = heard.sum(axis=1)
        others = self.trust * np.maximum(0.0, total - self.typical)
        # √(e² + o²) − e, without losing digits where o is small
        both = np.hypot(own, others) + own
        more = np.divide(others * others, both, out=np.zeros_like(own), where=others > 0)
        share = np.divide(more, total, out=np.zeros_like(own), where=others > 0)
        return heard * share[:, None]

    def nearest(self, values: Floats) -> Floats:
        """Return the weight of each of the rows in what is heard about one row."""
        weight: Floats = self._weights(self.likeness.profile(values[:, None]))[0]
        return weight

    def _weights(self, profile: Bytes) -> Floats:
        """Return how near each of the rows is to others (others x rows), 0 of those that are not asked."""
        away = self._distances(profile)
        n_alike = np.count_nonzero(away == 0, axis=1)
        n_near = min(self.n_near, len(self.row) - 1)
        nearest = np.partition(away, n_near, axis=1)[:, : n_near + 1]
        # A row of the training table is not its own witness: of those that are just alike one is passed over.
        last = np.where(n_alike > 0, nearest[:, n_near], nearest[:, :n_near].max(axis=1))
        horizon = last.astype(np.int64) + 1
        near = np.maximum(0, horizon.astype(away.dtype)[:, None] - away).astype(np.float64)
        # Whole numbers: sums of them, times what is passed on, are exact in any order.
        with_alike = np.flatnonzero(n_alike)
        near[with_alike] *= n_alike[with_alike, None]
        row, known = np.nonzero(away[with_alike] == 0)
        row = with_alike[row]
        near[row, known] = (horizon * (n_alike - 1))[row]
        return near

    def _distances(self, profile: Bytes) -> NDArray[np.signedinteger]:
        """Return how far away each of the rows is from others (others x rows)."""
        # Few columns fit into two bytes, and those are added up faster.
        small = np.int16 if TOP_RANK * len(profile) < np.iinfo(np.int16).max else np.int32
        away = np.zeros((profile.shape[1], len(self.row)), small)
        apart = np.empty(away.shape, np.int16)
        for own, theirs, nominal in zip(
            profile.astype(np.int16)[:, :, None], self.profile.astype(np.int16)[:, None, :],
            self.likeness.is_nominal, strict=True,
        ):  # fmt: skip
            if nominal:
                np.multiply(own != theirs, np.int16(UNLIKE), out=apart)
            else:
                np.abs(np.subtract(own, theirs, out=apart), out=apart)
                if own.max() == NO_VALUE or theirs.max() == NO_VALUE:
                    apart[(own == NO_VALUE) != (theirs == NO_VALUE)] = UNLIKE
            away += apart
        return away


def passed_on(cells: Floats, typical: float) -> Floats:
    """Return what rows pass on to those like them: the evidence of each column beyond a typical row's.

    Examples
    --------
    >>> passed_on(np.array([[1.0, 3.0], [0.5, 0.5]]), typical=2.0) / UNIT
    array([[0.5, 1.5],
           [0. , 0. ]])
    """
    evidence = cells.sum(axis=1)
    beyond = np.maximum(0.0, evidence - typical)
    share = np.divide(beyond, evidence, out=np.zeros_like(evidence), where=beyond > 0)
    return np.rint(cells * (UNIT * share)[:, None])


def find_trust(guilt: Floats, heard: Floats) -> float:
    """Return how much what is heard about rows counts: by the root of its correlation with their guilt.

    Examples
    --------
    >>> find_trust(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 1.5]))
    3.0
    >>> find_trust(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]))
    0.0
    """
    # Sums that do not depend on the order of the rows.
    own, theirs = (part - math.fsum(part) / len(part) for part in (guilt, heard))
    scale = math.sqrt(math.fsum(own * own) * math.fsum(theirs * theirs))
    correlation = math.fsum(own * theirs) / scale if scale > 0 else 0.0
    return WORD * math.sqrt(max(0.0, correlation))
