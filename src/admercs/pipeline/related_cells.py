"""The relations of a model, for rows given as working values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admercs.arrays import Bools, Floats, Ints, ShortInts
from admercs.facets.relations import days_per_step
from admercs.pipeline.model import Model


class RelatedCells:
    """Computes residuals, and what a cell should be by a relation, from working values."""

    def __init__(self, model: Model) -> None:
        used = model.schema.used
        self.cells, self.formulas = model.related, model.formulas
        self.exact, self._equations = model.exact, model.equations
        self._origin = np.array([float(column.origin) for column in used])
        self._is_whole = np.array([column.display in ("integer", "date") for column in used])
        self._days = np.array([days_per_step(column.unit) for column in used])
        ends = [
            (-np.inf if column.low is None else column.low,
             np.inf if column.high is None else column.high)
            for column in used
        ]  # fmt: skip
        self._low, self._high = np.array(ends).T

    def plain(self, relation: int, block: Floats) -> list[Floats]:
        """Return the cells of a relation (from attributes x rows) as numbers or days."""
        cells = self.cells[relation]
        return [(block[m] + self._origin[m]) * self._days[m] for m in cells]

    def residual(self, relation: int, block: Floats) -> Floats:
        """Return the residual of a relation in some rows."""
        return self.formulas[relation].residual(self.plain(relation, block))

    def working(self, attribute: int, plain: Floats) -> Floats:
        """Return numbers or days as working values of an attribute."""
        return np.asarray(plain / self._days[attribute] - self._origin[attribute])

    def solved(self, relation: int, place: int, plain: Sequence[Floats]) -> Floats:
        """Return what one cell of a relation should be, given all of its cells, see `plain`.

        NaN where no training row reaches that, or none can have it: it is no right value.
        """
        m = self.cells[relation][place]
        values = self.working(m, self.formulas[relation].right_values(place, plain))
        if self._is_whole[m]:
            values = np.rint(values)
        return np.where((values >= self._low[m]) & (values <= self._high[m]), values, np.nan)

    def may_be_wrong(self, relation: ShortInts, evidence: Floats) -> tuple[ShortInts, Floats]:
        """Let each broken relation speak about all of its cells: any of them may be wrong.

        `relation` (attributes x rows) says by which one a cell is scored, −1: none. Also return
        the evidence that each cell may be to blame for.
        """
        speaks, blamed = relation.copy(), evidence.copy()
        for r, attributes in self.cells.items():
            cells = list(attributes)
            credited = relation[cells] == r
            shared = np.where(credited, evidence[cells], 0.0).sum(axis=0)
            for m, own in zip(cells, credited, strict=True):
                other = (shared > 0) & ~own
                blamed[m] += np.where(other, shared, 0.0)
                speaks[m, other & (speaks[m] < 0)] = r
        return speaks, blamed

    def solved_cells(
        self, block: Floats, relation: ShortInts, cell: Ints, row: Ints
    ) -> tuple[Floats, Bools]:
        """Return what cells of rows should be by the relations that speak about them, or NaN.

        `relation` (attributes x rows) says which do, −1: none. Also return which are equations: an
        order only says how far a value may go.
        """
        speaks, right = relation[cell, row], np.full(len(cell), np.nan)
        exact = np.zeros(len(cell), bool)
        for r in np.unique(speaks[speaks >= 0]).tolist():
            exact[speaks == r] = r in self._equations
            plain = self.plain(r, block)
            for place, m in enumerate(self.cells[r]):
                some = np.flatnonzero((speaks == r) & (cell == m))
                right[some] = self.solved(r, place, [values[row[some]] for values in plain])
        return right, exact
