"""Rows with other values in some cells: what is made of a cell changes with it."""

from __future__ import annotations

import numpy as np

from admercs.arrays import Floats, Ints, ShortInts
from admercs.facets.calendar_parts import CALENDAR
from admercs.facets.repeated_keys import REPEATS, SCATTERED
from admercs.pipeline.expected_values import ExpectedValues
from admercs.pipeline.model import Model
from admercs.pipeline.related_cells import RelatedCells

_ODD = -3.0  # log ω of a form that is odd itself


class CellChanges:
    """Changes cells of rows. A cell goes by the number of its first attribute.

    That is the column itself, or a facet of it if the column is set aside. The facets of a cell
    that is changed become what is expected of them: a right value has the usual form. The
    residuals of relations follow from the new values. Of a value that repeats in a key, and of
    a date on an odd day, nobody knows what it should have been: that is no part of a cell.
    """

    def __init__(self, model: Model, expected: ExpectedValues) -> None:
        self._expected = expected
        first: dict[int, int] = {}
        used = model.schema.used
        self._related = RelatedCells(model)
        measured = np.flatnonzero(~np.array(model.schema.is_stated)).tolist()
        for m in sorted(
            measured, key=lambda m: (used[m].facet is not None, used[m].role != "nominal")
        ):
            first.setdefault(used[m].sources[0], m)
        facets = {m: column.facet for m, column in enumerate(used) if column.facet is not None}
        unknown = {
            m for m, facet in facets.items() if facet.kind in (REPEATS, SCATTERED, *CALENDAR)
        }
        cells = {m: first[each.sources[0]] for m, each in enumerate(used)
                 if m not in unknown and each.sources[0] in first}  # fmt: skip
        self.cell_of = np.array([cells.get(m, m) for m in range(len(used))])
        self._in_none = [m for m in range(len(used)) if m not in cells]
        self._is_facet = np.array([m in facets and not facets[m].is_stated
                                   for m in range(len(used))])  # fmt: skip
        self._kinds = {m: facet.kind for m, facet in facets.items()}
        is_relation = np.isin(np.arange(len(used)), list(model.related))
        self.cell_of[is_relation] = np.flatnonzero(is_relation)
        self._others = np.flatnonzero(self.cell_of != np.arange(len(used)))

    def foremost(self, cell: int, log_omega: Floats) -> int:
        """Return the attribute of a cell that is told to be wrong: the column itself, if it is one.

        Of the facets it is the one that is oddest, but the form of a text tells more than its
        length.
        """
        if not self._is_facet[cell]:
            return cell
        parts = np.flatnonzero((self.cell_of == cell) & self._is_facet)
        first = int(parts[np.argmin(log_omega[parts])])
        if self._kinds[first] == "length":
            for m in parts.tolist():
                if self._kinds[m] == "shape" and log_omega[m] <= _ODD:
                    return int(m)
        return first

    def by_cell(self, amounts: Floats) -> Floats:
        """Add up what the attributes of each cell have (attributes x rows)."""
        if len(self._others) or self._in_none:
            amounts = amounts.copy()
            amounts[self._in_none] = 0.0
            np.add.at(amounts, self.cell_of[self._others], amounts[self._others])
            amounts[self._others] = 0.0
        return amounts

    def made(self, values: Floats, leaf: ShortInts, row: Ints, cells: Ints, new: Floats) -> Floats:
        """Return some of the rows (columns x rows) with new values in cells (rows x cells)."""
        block, number = np.ascontiguousarray(values[:, row]), np.arange(len(row))
        for cell, value in zip(cells.T, new.T, strict=True):
            block[cell, number] = value
        for facet in self._others.tolist():
            changed = np.flatnonzero((cells == self.cell_of[facet]).any(axis=1))
            block[facet, changed] = self._expected.at(leaf[facet, row[changed]])
        for relation in self._related.cells:
            block[relation] = self._related.residual(relation, block)
        return block
