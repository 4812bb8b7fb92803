"""Relations: a broken relation is another view of one of its cells.

The residual of a relation is scored like a column: by its context, by the whole table, by its tails
(which here go on as long as rows get fewer). Where it is likely, the relation holds, and where it
is not, one of its cells is wrong. Of the cells of the broken relations of a row, that one is
credited which has the most evidence: its own, and that of all broken relations it is in. The
relations it is in are then explained by it; of the others the next cell is credited. A credited
cell has the lowest of the likelihoods of its value and of those relations.

Net, vat and total of a large order are one oddity, not three. Of the cells of an exact equation
that holds, the whole table's view counts for the least likely only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import log

import numpy as np

from admercs.arrays import Bools, Floats, Ints
from admercs.method.settings import Relations
from admercs.method.views import MARGINAL, RELATION, BlockViews


class RelationStep:
    """Lets the cells of relations be scored by what becomes of the relations.

    `cells` are the attributes that each relation (an attribute, too) is about, `equations` those
    relations by which one of the cells follows exactly from the others.
    """

    def __init__(
        self,
        cells: Mapping[int, Sequence[int]],
        equations: Collection[int],
        has_marginal: Bools,
        odds: float,
        settings: Relations,
    ) -> None:
        self._cells, self._equations = cells, equations
        self._has_marginal, self._odds = has_marginal, odds
        self._holds = log(settings.holds)

    def apply(self, views: BlockViews) -> None:
        """Change the views of the cells; relations have no evidence of their own afterwards."""
        lowest = views.log_omega.copy()
        for m in np.flatnonzero(self._has_marginal).tolist():
            np.minimum(lowest[m], views.marginal[m], out=lowest[m])
        broken = self._broken(views, lowest)
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
        some = [r for r in self._cells if broken[r][rows].any()]
        left = {r: np.where(broken[r][rows], self._evidence(lowest[r, rows]), 0.0) for r in some}
        attributes = sorted({m for r in some for m in self._cells[r]})
        place = {m: k for k, m in enumerate(attributes)}
        own = self._evidence(lowest[attributes][:, rows])
        at = np.arange(len(rows))
        while any(each.any() for each in left.values()):
            votes = np.zeros(own.shape)
            for r, evidence in left.items():
                for m in self._cells[r]:
                    votes[place[m]] += evidence
            votes = np.where(votes > 0, votes + own, -1.0)
            first = votes.argmax(axis=0)
            least, speaks = np.zeros(len(rows)), np.full(len(rows), -1)
            for r, evidence in left.items():
                hit = (evidence > 0) & np.isin(first, [place[m] for m in self._cells[r]])
                lower = hit & (lowest[r, rows] < least)
                least[lower], speaks[lower] = lowest[r, rows][lower], r
                evidence[hit] = 0.0
            cell = np.array(attributes)[first]
            wins = (speaks >= 0) & (least < lowest[cell, rows])
            cell, row = cell[wins], rows[at[wins]]
            views.log_omega[cell, row], views.marginal[cell, row] = least[wins], 0.0
            views.speaker[cell, row], views.relation[cell, row] = RELATION, speaks[wins]

    def _evidence(self, log_omega: Floats) -> Floats:
        """Return the evidence of likelihoods."""
        return np.log1p(self._odds * np.expm1(np.minimum(-log_omega, 700.0)))
