"""Relations: a broken relation is another view of one of its cells.

The residual of a relation is scored like a column: by its context, by the whole table, by its tails
(which here go on as long as rows get fewer). Where it is likely, the relation holds, and where it
is not, one of its cells is wrong. Each cell of a broken relation is put right by it, and the cell
is credited whose change removes most evidence: its own, and that of the relations it is in. If
total is wrong, total = net + vat gives a value that such an order has; solved for net or vat it
gives one that no order has, or one that breaks other relations. What the change does not explain is
credited to the next cell. A credited cell has the lowest of the likelihoods of its value and of the
relations that it explains.

Net, vat and total of a large order are one oddity, not three. Of the cells of an exact equation
that holds, the whole table's view counts for the least likely only.

How many rows break an exact relation says how frequent errors are, and not how unlikely a right
value is: no right value breaks it. So a broken one has other odds than a rare value, 1 : 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple, Protocol

import numpy as np

from admercs.arrays import Bools, Floats, Ints, ShortInts
from admercs.method.ancestor import discount
from admercs.method.odds import MOST
from admercs.method.settings import Relations
from admercs.method.views import MARGINAL, RELATION, BlockViews

# The evidence that a cell removes which has no right value by a relation: less than any other.
_NEVER = -1e6
# Log ω of values of an attribute, given their leaves.
Look = Callable[[int, ShortInts, Floats], Floats]


class Related(Protocol):
    """The relations of a model; those and their cells are attributes."""

    @property
    def cells(self) -> Mapping[int, Sequence[int]]:
        """The cells of each relation."""

    @property
    def exact(self) -> Collection[int]:
        """The relations that no right value breaks."""

    def plain(self, relation: int, block: Floats) -> list[Floats]:
        """Return the cells of a relation (from attributes x rows) as numbers or days."""

    def solved(self, relation: int, place: int, plain: Sequence[Floats]) -> Floats:
        """Return what one cell of a relation should be, given all of its cells."""

    def residual(self, relation: int, block: Floats) -> Floats:
        """Return the residual of a relation in some rows."""


class Change(NamedTuple):
    """A cell put right by a broken relation."""

    relation: int
    cell: int
    row: Ints  # the rows that break it
    removed: Floats  # of these: the own evidence of the cell that is removed
    left: dict[int, Floats]  # the evidence that each relation of the cell has afterwards


class RelationStep:
    """Lets the cells of relations be scored by what becomes of the relations.

    `equations` are those relations by which one of the cells follows exactly from the others.
    """

    def __init__(
        self,
        related: Related,
        equations: Collection[int],
        has_marginal: Bools,
        look: Look,
        odds: float,
        settings: Relations,
    ) -> None:
        self._related, self._cells, self._equations = related, related.cells, equations
        self._has_marginal, self._look, self._odds = has_marginal, look, odds
        self._holds, self._times = log(settings.holds), settings.times(odds)
        holds = np.array([self._holds])
        self._enough = {r: float(self._evidence(self._weighed(r, holds))[0]) for r in self._cells}
        self._of_cell: dict[int, list[int]] = {}
        for r, cells in self._cells.items():
            for m in cells:
                self._of_cell.setdefault(m, []).append(r)

    def apply(self, views: BlockViews) -> None:
        """Change the views of the cells; relations have no evidence of their own afterwards."""
        lowest = views.log_omega.copy()
        for m in np.flatnonzero(self._has_marginal).tolist():
            np.minimum(lowest[m], views.marginal[m], out=lowest[m])
        broken = self._broken(views, lowest)
        for r in self._related.exact:
            lowest[r] = self._weighed(r, lowest[r])
        self._count_once(views, lowest, broken)
        rows = np.flatnonzero(np.any(list(broken.values()), axis=0))
        if len(rows):
            self._credit(views, lowest, broken, rows)

    def _broken(self, views: BlockViews, lowest: Floats) -> dict[int, Bools]:
        """Say which rows break each relation, and silence its own views."""
        broken = {}
        for r in self._cells:
            known = ~np.isnan(views.block[r])
            broken[r] = known & (lowest[r] < self._holds)
            if self._has_marginal[r]:
                by_table = views.marginal[r] < views.log_omega[r]
                views.speaker[r, by_table] = MARGINAL
            views.log_omega[r] = views.marginal[r] = 0.0
        return broken

    def _count_once(self, views: BlockViews, lowest: Floats, broken: dict[int, Bools]) -> None:
        """Leave the table's view of one cell of each equation that holds."""
        for r in self._equations:
            cells = self._cells[r]
            holds = ~(broken[r] | np.isnan(views.block[r]))
            least, first = lowest[cells[0]].copy(), np.zeros(len(holds), np.int64)
            for k, m in enumerate(cells[1:], start=1):
                lower = lowest[m] < least
                least[lower], first[lower] = lowest[m, lower], k
            for k, m in enumerate(cells):
                others = holds & (first != k)
                views.marginal[m, others] = views.log_omega[m, others] = 0.0

    def _credit(
        self, views: BlockViews, lowest: Floats, broken: dict[int, Bools], rows: Ints
    ) -> None:
        """Credit the broken relations of some rows to as few cells as possible."""
        block, leaf = views.block[:, rows], views.leaf[:, rows]
        log_omega = lowest[:, rows]
        left = {r: np.where(np.isnan(block[r]), 0.0, self._evidence(log_omega[r])) for r in broken}
        open_ = {r: broken[r][rows] for r in broken}
        changes = list(self._changes(block, leaf, log_omega, open_))
        while any(each.any() for each in open_.values()):
            best, first = np.full(len(rows), -np.inf), np.full(len(rows), -1)
            for k, change in enumerate(changes):
                removed = change.removed + sum(
                    left[r][change.row] - after for r, after in change.left.items()
                )
                removed[~open_[change.relation][change.row]] = -np.inf
                better = removed > best[change.row]
                at = change.row[better]
                best[at], first[at] = removed[better], k
            for k in np.unique(first[first >= 0]).tolist():
                change = changes[k]
                chosen = first[change.row] == k
                at = change.row[chosen]
                least, speaks = np.zeros(len(at)), np.full(len(at), change.relation)
                for r, after in change.left.items():
                    explained = open_[r][at] & (after[chosen] < self._enough[r])
                    explained |= r == change.relation
                    lower = explained & (log_omega[r, at] < least)
                    least[lower], speaks[lower] = log_omega[r, at[lower]], r
                    open_[r][at[explained]] = False
                    left[r][at] = np.minimum(left[r][at], after[chosen])
                wins = least < lowest[change.cell, rows[at]]
                cell, row = change.cell, rows[at[wins]]
                views.log_omega[cell, row], views.marginal[cell, row] = least[wins], 0.0
                views.speaker[cell, row], views.relation[cell, row] = RELATION, speaks[wins]

    def _changes(
        self, block: Floats, leaf: ShortInts, log_omega: Floats, broken: dict[int, Bools]
    ) -> Iterator[Change]:
        """Put each cell of each broken relation right, and see what is odd then."""
        for r, cells in self._cells.items():
            row = np.flatnonzero(broken[r])
            if not len(row):
                continue
            some, at = block[:, row], leaf[:, row]
            plain = self._related.plain(r, some)
            for place, m in enumerate(cells):
                own, value = some[m].copy(), self._related.solved(r, place, plain)
                some[m] = value
                removed = self._evidence(log_omega[m, row])
                removed -= self._evidence(self._look(m, at[m], value))
                after = {r: np.zeros(len(row))}
                for other in self._of_cell[m]:
                    if other != r:
                        rest = self._related.residual(other, some)
                        seen = self._weighed(other, self._look(other, at[other], rest))
                        seen = self._evidence(seen)
                        after[other] = np.where(np.isnan(rest), 0.0, seen)
                removed[np.isnan(value)] = _NEVER
                some[m] = own
                yield Change(r, m, row, removed, after)

    def _weighed(self, relation: int, log_omega: Floats) -> Floats:
        """Return log ω of residuals, lowered for an exact relation to what its odds make of it."""
        if relation not in self._related.exact:
            return log_omega
        return discount(np.maximum(log_omega, -MOST), self._times)

    def _evidence(self, log_omega: Floats) -> Floats:
        """Return the evidence of likelihoods."""
        return np.log1p(self._odds * np.expm1(np.minimum(-log_omega, MOST)))
