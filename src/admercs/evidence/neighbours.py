"""Rows compared with each other in all columns at once: guilty by association, once more, and standing apart.

A context is about a few columns. Anomalies of one kind are alike in many, each a little odd in other columns than
the next, and no context may hold just them. So every row is compared with some rows of the training table, and the
guilt of those most like it is heard besides its own. What contexts say is not passed on: it was said to all their
rows already. And where even those most like it are far away, all that is odd about a row counts more.

How much either counts the table itself says: as far as rows are as guilty as those most like them, and as far as
rows that stand apart are guilty. Where most columns are noise, likeness says nothing about guilt, and all rows are
about as far away from each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.evidence.likeness import TOP_RANK, Bytes, Likeness

Floats = NDArray[np.float64]

# One in so many rows is near, but at least and at most these numbers of them.
NEAR = 15
LEAST_NEAR, MOST_NEAR = 5, 30
# What is passed on is kept in fixed point: sums of it are exact in any order.
UNIT = float(1 << 12)
# Comparisons that are made together: they stay in the cache.
TOGETHER = 1 << 17
# How much what is heard counts if it could be trusted completely, compared with what a row itself has against it.
WORD = 3.0
# A row stands apart if those most like it are further away than those of so many of all rows.
USUAL = 0.75
# By how much the evidence against a row then grows, if that could be trusted completely, for each third of all
# ranks: as far are two rows apart in a column on average.
APART = 2.5
THIRD = TOP_RANK / 3


class Company(NamedTuple):
    """What is known about rows from comparing them with others."""

    heard: Floats  # rows x columns: what those most like them have against them
    away: Floats  # per row: how far away these are, in ranks of a column


class Neighbours(NamedTuple):
    """Rows of the training table that others are compared with."""

    likeness: Likeness
    row: NDArray[np.int64]  # their numbers
    profile: Bytes  # columns x rows
    guilt: Floats  # rows x columns, in fixed point: what each column has against them
    typical: Floats  # what is heard about a typical row (one number)
    trust: Floats  # how much of what is heard beyond that counts (one number)
    usual: Floats  # how far away those most like a row are at most if it does not stand apart (one number)
    louder: Floats  # how much more evidence counts for each rank beyond that (one number)
    mostly: Floats  # per column: how far away those most like a row are on average

    @classmethod
    def nobody(cls, n_columns: int) -> Neighbours:
        """Return no rows at all: nothing is ever heard."""
        empty, none = np.empty(0), np.empty(0, np.uint8)
        no_bins = np.zeros(n_columns + 1, np.int64)
        likeness = Likeness(empty, no_bins, none, np.zeros(n_columns, np.bool_))
        nothing = np.zeros(1)
        return cls(
            likeness, np.empty(0, np.int64), np.empty((n_columns, 0), np.uint8),
            np.empty((0, n_columns)), nothing, nothing, nothing, nothing, np.zeros(n_columns),
        )  # fmt: skip

    @property
    def n_near(self) -> int:
        """How many of them are near to a row."""
        return min(MOST_NEAR, max(LEAST_NEAR, len(self.row) // NEAR))

    def meet(self, values: Floats) -> Company:
        """Compare rows (columns x rows) with those that are known."""
        profile = self.likeness.profile(values)
        heard, away = np.empty(profile.shape[::-1]), np.empty(profile.shape[1])
        step = max(1, TOGETHER // len(self.row))
        for start in range(0, len(away), step):
            rows = slice(start, start + step)
            weight, away[rows] = self._nearest(profile[:, rows])
            total = weight.sum(axis=1, keepdims=True)
            said = weight @ self.guilt
            heard[rows] = np.divide(said, UNIT * total, out=np.zeros_like(said), where=total > 0)
        return Company(heard, away)

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

    def factor(self, away: Floats) -> Floats:
        """Return by what the evidence against rows is multiplied: their nearest may be further away than usual."""
        factor: Floats = 1.0 + self.louder * np.maximum(0.0, away - self.usual)
        return factor

    def nearest(self, values: Floats) -> Floats:
        """Return the weight of each of the rows in what is heard about one row."""
        weight, _ = self._nearest(self.likeness.profile(values[:, None]))
        return weight[0]

    def differences(self, values: Floats) -> Floats:
        """Return how far away from rows, column by column, those most like them are on average (columns x rows)."""
        profile = self.likeness.profile(values)
        near = self._nearest(profile)[0] > 0
        apart = self.likeness.differences(profile, self.profile)
        total = [each.sum(axis=1, where=near, dtype=np.int64) for each in apart]
        return np.array(total) / np.maximum(1, np.count_nonzero(near, axis=1))

    def _nearest(self, profile: Bytes) -> tuple[Floats, Floats]:
        """Return how near each of the rows is to others (others x rows), and how far the nearest are on average.

        0 of those that are not asked.
        """
        distance = self.likeness.distances(profile, self.profile)
        n_alike = np.count_nonzero(distance == 0, axis=1)
        n_near = min(self.n_near, len(self.row) - 1)
        nearest = np.partition(distance, n_near, axis=1)[:, : n_near + 1]
        # A row of the training table is not its own witness: of those that are just alike one is passed over.
        furthest = nearest[:, :n_near].max(axis=1)
        last = np.where(n_alike > 0, nearest[:, n_near], furthest).astype(np.int64)
        others = np.where(n_alike > 0, 0, nearest[:, n_near])
        away = (nearest.sum(axis=1, dtype=np.int64) - others) / (n_near * len(profile))
        return self._weights(distance, n_alike, last + 1), away

    @staticmethod
    def _weights(
        distance: NDArray[np.signedinteger], n_alike: NDArray[np.int64], horizon: NDArray[np.int64]
    ) -> Floats:
        """Return weights that fall with the distance, to nothing at the horizon."""
        near = np.maximum(0, horizon.astype(distance.dtype)[:, None] - distance).astype(np.float64)
        # Whole numbers: sums of them, times what is passed on, are exact in any order.
        with_alike = np.flatnonzero(n_alike)
        near[with_alike] *= n_alike[with_alike, None]
        row, known = np.nonzero(distance[with_alike] == 0)
        row = with_alike[row]
        near[row, known] = (horizon * (n_alike - 1))[row]
        return near


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


def find_trust(guilt: Floats, witness: Floats) -> float:
    """Return how far a witness may be trusted, from 0 to 1: the root of its correlation with the guilt of rows.

    Examples
    --------
    >>> find_trust(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 1.5]))
    1.0
    >>> find_trust(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]))
    0.0
    """
    # Sums that do not depend on the order of the rows.
    own, theirs = (part - math.fsum(part) / len(part) for part in (guilt, witness))
    scale = math.sqrt(math.fsum(own * own) * math.fsum(theirs * theirs))
    correlation = math.fsum(own * theirs) / scale if scale > 0 else 0.0
    return math.sqrt(max(0.0, correlation))
