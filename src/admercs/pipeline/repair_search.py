"""Repairs: which cell of a row, put right, would leave least that is odd.

Each cell of a row is replaced by what the rest of the row predicts, and the row is scored again.
The repair that removes most evidence names the cell to blame: a wrong value is odd itself, and it
makes others odd that are predicted from it. Values of two columns may also have changed places.
Where no single repair makes a row as ordinary as nine of ten training rows, two cells are replaced.

What counts is a row's *own* evidence, that of patterns and of isolation. What it has by association
stays: a repair is about the row's values, not about other rows.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints, ShortInts
from admercs.density.likelihoods import CONTINUOUS, column_kind
from admercs.pipeline.cell_changes import CellChanges
from admercs.pipeline.expected_values import ExpectedValues
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.pipeline.related_cells import RelatedCells
from admercs.pipeline.score import Parts, Scorer, sum_in_order
from admercs.table.columns import Column

AT_ONCE = 1 << 21  # cells that are scored at a time
_SAME = 1e-12  # relative; sums of the same numbers in another order


class Replacement(NamedTuple):
    """Other values for one or two cells of a row, and the evidence that they remove."""

    row: int
    cells: tuple[int, ...]
    values: tuple[float, ...]  # working values
    nodes: tuple[int, ...]  # whose rows have such values; empty where two cells change places
    removed: float


class Repaired(NamedTuple):
    """What was found for some rows."""

    replacements: list[list[Replacement]]  # per row; the first one removes most
    pattern: Floats  # the evidence of values after the first of their row's replacements


class Trials(NamedTuple):
    """Rows with other values in some of their cells; one entry, or row of an array, per trial."""

    row: Ints
    cells: Ints  # trials x cells
    values: Floats  # trials x cells
    nodes: ShortInts  # trials x cells; none for cells that change places

    def only(self, chosen: Ints) -> Trials:
        """Return some of the trials."""
        return Trials._make(array[chosen] for array in self)

    def replacements(self, removed: Floats) -> list[Replacement]:
        """Return the trials one by one."""
        rows = zip(*(array.tolist() for array in self), removed.tolist(), strict=True)
        return [
            Replacement(row, tuple(cells), tuple(values), tuple(nodes), evidence)
            for row, cells, values, nodes, evidence in rows
        ]


class RepairSearch:
    """Looks for the repairs of rows of a model."""

    def __init__(self, model: Model) -> None:
        self._forest, self._scorer = model.forest, model.once(Scorer)
        self._settings = model.method.repairs
        self._expected = ExpectedValues(model)
        self._changes = CellChanges(model, self._expected)
        self._related = RelatedCells(model)
        self._compares = model.references is not None
        # Only values of the same kind can have changed places. Where a column has few values,
        # exchanging two of them is no more than replacing both.
        kinds = [_kind(column) for column in model.schema.used]
        self._kind = np.array([kinds.index(kind) if kind else -1 for kind in kinds])
        self._origin = np.array([float(column.origin) for column in model.schema.used])
        self._limits = np.array([column.limits for column in model.schema.used])
        self.usual = float(
            np.interp(self._settings.usual, QUANTILE_LEVELS, model.evidence_quantiles)
        )

    def search(self, values: Floats, parts: Parts, stated: Floats | None = None) -> Repaired:
        """Look for repairs of rows, given as working values (columns x rows) with their scores.

        `stated` has the values (columns x rows) that are known to be right, or else NaN.
        """
        stated = np.full(values.shape, np.nan) if stated is None else stated
        settings = self._settings
        promising = self._promising(parts, settings.cells)
        least = settings.least * parts.evidence()
        singles = self._best(values, parts, self._singles(values, parts, promising, stated), least)
        swaps = self._best(
            values, parts, self._swaps(values, promising[: settings.exchanged]), least
        )
        found: list[list[Replacement]] = [[] for _ in least]
        for one in sorted((*singles, *swaps), key=lambda one: -one.removed):
            found[one.row].append(one)
        for pair in self._pairs(values, parts, stated, singles, found):
            found[pair.row].insert(0, pair)
        told = [[self._as_told(one, parts) for one in each[: settings.listed]] for each in found]
        return Repaired(told, self._after(values, parts, found))

    def _as_told(self, one: Replacement, parts: Parts) -> Replacement:
        """Name each cell of which only facets are looked at by the facet with most evidence."""
        if not one.nodes:
            return one
        cells = tuple(
            self._changes.foremost(cell, parts.log_omega[:, one.row]) for cell in one.cells
        )
        if len(cells) == 1 and cells == one.cells:  # told as it was tried
            return one
        leaves = parts.leaf[list(cells), one.row]
        told, nodes = self._expected.at(leaves).tolist(), self._expected.nodes(leaves).tolist()
        is_same = [new == old for new, old in zip(cells, one.cells, strict=True)]
        values = zip(is_same, one.values, told, strict=True)
        return one._replace(
            cells=cells,
            values=tuple(old if same else new for same, old, new in values),
            nodes=tuple(nodes),
        )

    def _promising(self, parts: Parts, most: int) -> Ints:
        """Return the cells of each row (cells x rows) that may be to blame for most evidence.

        A cell can only remove its own evidence, that of cells that are predicted from it, and that
        of a broken equation, whichever of its cells has it. Cells that cannot remove enough are -1.
        """
        cells, evidence = _own_cells(parts), parts.evidence()
        bound = cells.copy()  # by attribute
        if parts.relation is not None:
            _, bound = self._related.may_be_wrong(parts.relation, cells)
        target, row = np.nonzero(cells > self._settings.least / 10 * evidence)
        node, own = parts.leaf[target, row], cells[target, row]
        while len(node):
            node = self._forest.parent[node]
            inside = node >= 0
            node, row, own = node[inside], row[inside], own[inside]
            np.add.at(bound, (self._forest.feature[node], row), own)
        bound = self._changes.by_cell(bound)
        order = np.argsort(-bound, axis=0, kind="stable")[:most]
        enough = np.take_along_axis(bound, order, axis=0) > self._settings.least * evidence
        return np.where(enough, order, -1)

    def _singles(self, values: Floats, parts: Parts, promising: Ints, stated: Floats) -> Trials:
        """Replace one cell by what is stated, or else by what the rest of the row predicts."""
        place, row = np.nonzero(promising >= 0)
        cell = promising[place, row]
        leaf = parts.leaf[cell, row]
        expected, own = self._expected.at(leaf), values[cell, row]
        nodes = self._expected.nodes(leaf)
        if parts.relation is not None:
            speaks, _ = self._related.may_be_wrong(parts.relation, _own_cells(parts))
            solved, exact = self._related.solved_cells(values, speaks, cell, row)
            known = ~np.isnan(solved)
            expected = np.where(known & exact, solved, expected)
            # What follows roughly may be far off, so the likeliest value is tried as well.
            some = np.flatnonzero(known & ~exact)
            every = np.append(np.arange(len(cell)), some)
            cell, row, own, nodes = cell[every], row[every], own[every], nodes[every]
            expected = np.append(expected, solved[some])
        expected = np.where(np.isnan(stated[cell, row]), expected, stated[cell, row])
        other = ~((expected == own) | (np.isnan(expected) & np.isnan(own)))
        trials = Trials(row, cell[:, None], expected[:, None], nodes[:, None])
        return trials.only(np.flatnonzero(other))

    def _swaps(self, values: Floats, promising: Ints) -> Trials:
        """Exchange the values of two cells of the same kind."""
        found = [np.empty((0, 3), np.int64)]
        for one, other in combinations(promising, 2):
            row = np.flatnonzero((one >= 0) & (other >= 0))
            a, b = one[row], other[row]
            fits = (self._kind[a] == self._kind[b]) & (self._kind[a] >= 0)
            found.append(np.stack((row, a, b), axis=1)[fits])
        row, a, b = np.concatenate(found).T
        apart = self._origin[a] - self._origin[b]
        new = np.stack((values[b, row] - apart, values[a, row] + apart), axis=1)
        cells = np.stack((a, b), axis=1)
        trials = Trials(row, cells, new, np.empty((len(row), 0), np.int32))
        # Values that changed places were values of the other column; missing ones are none.
        low, high = self._limits[cells].transpose(2, 0, 1)
        fits = ((low <= new) & (new <= high)).all(axis=1)
        return trials.only(np.flatnonzero(fits & (new[:, 0] != new[:, 1])))

    def _best(
        self, values: Floats, parts: Parts, trials: Trials, least: Floats
    ) -> list[Replacement]:
        """Return the trials of each row that remove most evidence, and more than ``least``."""
        if self._compares:
            # Comparing rows with others takes long: most trials are out of the question before.
            rough = self._removed(values, parts, trials, alone=True)
            trials = trials.only(_first_of_rows(trials, rough, self._settings.compared))
        removed = self._removed(values, parts, trials, alone=False)
        order = _first_of_rows(trials, removed, self._settings.listed)
        order = order[removed[order] > least[trials.row[order]]]
        return trials.only(order).replacements(removed[order])

    def _removed(self, values: Floats, parts: Parts, trials: Trials, *, alone: bool) -> Floats:
        """Return the evidence that is removed; ``alone``: isolation of other cells stays."""
        before = _own_evidence(parts)
        step, removed = max(1, AT_ONCE // len(values)), np.empty(len(trials.row))
        for start in range(0, len(removed), step):
            some = trials.only(np.arange(start, min(start + step, len(removed))))
            block = self._changes.made(values, parts.leaf, some.row, some.cells, some.values)
            if alone:
                left = sum_in_order(self._scorer.score_alone(block).pattern)
                if parts.alone is not None and parts.isolation is not None:
                    of_cells = parts.isolation[some.cells.T, some.row]
                    left += parts.alone[some.row] - sum_in_order(of_cells)
            else:
                left = _own_evidence(self._scorer.score(block, cells=False))
            removed[start : start + step] = before[some.row] - left
        return removed

    def _pairs(
        self, values: Floats, parts: Parts, stated: Floats, singles: list[Replacement],
        found: list[list[Replacement]],
    ) -> list[Replacement]:  # fmt: skip
        """Replace two cells of the rows for which no single repair suffices."""
        rest = parts.evidence()
        for row, each in enumerate(found):
            rest[row] -= each[0].removed if each else 0.0
        firsts = [each for each in singles if rest[each.row] > self.usual]
        if not firsts:
            return []
        rows = np.array([first.row for first in firsts])
        cells = np.array([first.cells for first in firsts])
        new = np.array([first.values for first in firsts])
        block = self._changes.made(values, parts.leaf, rows, cells, new)
        repaired, seconds = self._scorer.score(block), self._settings.seconds
        trials = self._singles(block, repaired, self._promising(repaired, seconds), stated[:, rows])
        trials = trials.only(np.flatnonzero(trials.cells[:, 0] != cells[trials.row, 0]))
        # Together they have to remove so much more than the best single one does.
        best = np.array([found[row][0].removed for row in rows.tolist()])
        own = np.array([first.removed for first in firsts])
        least = best - own + self._settings.rest * rest[rows]
        pairs: dict[int, Replacement] = {}
        for second in self._best(block, repaired, trials, least):
            first = firsts[second.row]
            removed = first.removed + second.removed
            # Two cells in either order remove the same: the one that removes more alone is first.
            if first.row not in pairs or removed > (1 + _SAME) * pairs[first.row].removed:
                pairs[first.row] = Replacement(
                    first.row, first.cells + second.cells, first.values + second.values,
                    first.nodes + second.nodes, removed,
                )  # fmt: skip
        return list(pairs.values())

    def _after(self, values: Floats, parts: Parts, found: list[list[Replacement]]) -> Floats:
        """Return the evidence of all values after the first of their row's replacements."""
        pattern = parts.pattern.copy()
        firsts = [each[0] for each in found if each]
        step = max(1, AT_ONCE // len(values))
        for n_cells in {len(first.cells) for first in firsts}:
            some = [first for first in firsts if len(first.cells) == n_cells]
            for start in range(0, len(some), step):
                row, cells, new = (
                    np.array([first[k] for first in some[start : start + step]]) for k in range(3)
                )
                block = self._changes.made(values, parts.leaf, row, cells, new)
                pattern[:, row] = self._scorer.score_alone(block).pattern
        return pattern


def _own_cells(parts: Parts) -> Floats:
    """Return the evidence of each cell that is not by association."""
    return parts.pattern if parts.isolation is None else parts.pattern + parts.isolation


def _own_evidence(parts: Parts) -> Floats:
    """Return the evidence of each row that is not by association."""
    own = sum_in_order(parts.pattern)
    return own if parts.alone is None else own + parts.alone


def _first_of_rows(trials: Trials, removed: Floats, most: int) -> Ints:
    """Return the trials of each row that remove most evidence, one per cell, in this order."""
    order = np.lexsort((trials.cells[:, 0], -removed, trials.row))
    tried = trials.row[order]
    for cell in trials.cells[order].T:
        tried = tried * (1 + trials.cells.max(initial=0)) + cell
    order = order[np.sort(np.unique(tried, return_index=True)[1])]
    row = trials.row[order]
    return order[np.arange(len(row)) - np.searchsorted(row, row) < most]


def _kind(column: Column) -> tuple[str, str, str] | None:
    """Return what values must have in common to change places; None if they never do."""
    if column_kind(column) != CONTINUOUS:
        return None
    display = "number" if column.display == "integer" else column.display
    return display, column.unit, column.time_zone
