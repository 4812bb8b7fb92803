"""The relations of a model, for rows given as working values."""

from __future__ import annotations

import numpy as np

from admercs.arrays import Floats, Ints, ShortInts
from admercs.facets.relations import days_per_step, formula_of
from admercs.pipeline.model import Model


class RelatedCells:
    """Computes residuals, and what a cell should be by a relation, from working values."""

    def __init__(self, model: Model) -> None:
        used = model.schema.used
        self.cells = model.related
        facets = {r: used[r].facet for r in self.cells}
        self.formulas = {r: formula_of(facet) for r, facet in facets.items() if facet is not None}
        self._origin = np.array([float(column.origin) for column in used])
        self._is_whole = np.array([column.display in ("integer", "date") for column in used])
        self._days = np.array([days_per_step(column.unit) for column in used])

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

    def correct(
        self, block: Floats, relation: ShortInts, cell: Ints, row: Ints, to: Floats
    ) -> None:
        """Write into `to` what cells of rows should be by the relations that speak about them.

        `relation` (attributes x rows) says which do, −1: none.
        """
        speaks = relation[cell, row]
        for r in np.unique(speaks[speaks >= 0]).tolist():
            plain = self.plain(r, block)
            for place, m in enumerate(self.cells[r]):
                some = np.flatnonzero((speaks == r) & (cell == m))
                columns = [values[row[some]] for values in plain]
                solved = self.working(m, self.formulas[r].solve(place, columns))
                if self._is_whole[m]:
                    solved = np.rint(solved)
                known = np.isfinite(solved)
                to[some[known]] = solved[known]
