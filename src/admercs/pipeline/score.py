"""Scoring rows with a fitted model, a block at a time.

The order of the steps:

1. every tree finds the row's leaf;
2. the leaf's scoring node and the whole table say how likely the value is;
3. `tail`: values far outside of the rest are less likely than that;
4. `border`: near a threshold the context across counts, too;
5. `discount`: what the context explains counts less in the whole table;
6. `ancestor`: a wider context may find the value less likely;
7. relations, and what facets state about their cells, are other views of a value;
8. `odds`: the least likely view becomes evidence;
9. `strongest view`: of a column and its facets, the one with most evidence counts;
10. `contexts`: anomalous contexts add evidence to their rows;
11. `neighbours`: rows far from all others have more, and those like odd rows;
12. `credit`: what is said of a row as a whole belongs to some of its cells.

A block is large enough that calls cost nothing and small enough to stay in the processor's cache.
Every row is computed on its own, so results do not depend on how a table is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import FEW_ROWS, Bytes, Floats, Ints, Keys, ShortInts
from admercs.density.likelihoods import NOMINAL
from admercs.density.lookup import in_groups, make_ready, read_likelihood
from admercs.method.ancestor import AncestorStep, undiscount
from admercs.method.border import BorderStep
from admercs.method.broken_relations import RelationStep
from admercs.method.credit import CellCredit, count_above
from admercs.method.discount import DiscountStep
from admercs.method.feedback import ContextStep
from admercs.method.neighbours import Nearest, ReferenceRows
from admercs.method.odds import pattern_evidence, plain_evidence, raise_gaps
from admercs.method.settings import Method, NoisyOr, Odds
from admercs.method.strongest_view import keep_strongest, views_of_cells
from admercs.method.tail import Residuals, TailStep, find_lone_values, read_lowered
from admercs.method.views import ANCESTOR, MARGINAL, RELATION, BlockViews
from admercs.pipeline.model import Model
from admercs.pipeline.related_cells import RelatedCells
from admercs.table.prepared import Prepared
from admercs.table.row_keys import key_rows
from admercs.trees.forest import Leaves, find_leaves

BLOCK = 65536  # rows, and fewer …
CELLS, FEWEST = 1 << 20, 8192  # … where they have more cells, but not too few

LikelihoodStep = TailStep | BorderStep | DiscountStep | AncestorStep | RelationStep


class Parts(NamedTuple):
    """What the model says about a block of rows; arrays are columns x rows.

    The evidence of a row is the sum over columns of ``pattern`` and ``context``, and ``alone`` and
    ``passed``, which ``isolation`` and ``neighbours`` credit to columns where that is asked for.
    """

    leaf: ShortInts  # the leaf (node number) the row falls into
    speaker: Bytes  # whose view counts: OWN, ANCESTOR or MARGINAL
    log_omega: Floats  # the likelihood by that view; an ancestor's is discounted
    pattern: Floats  # evidence of the value
    context: Floats | None  # evidence of belonging to an anomalous context
    alone: Floats | None = None  # of each row: evidence of being far from all rows, …
    passed: Floats | None = None  # … and of being like odd rows
    isolation: Floats | None = None  # the same by column
    neighbours: Floats | None = None
    relation: ShortInts | None = None  # the attribute of the relation whose view counts, or -1
    credited: Floats | None = None  # the evidence of cells, where that is not their own alone

    def cells(self) -> Floats:
        """Return the evidence per column and row."""
        if self.credited is not None:
            return self.credited
        parts = (self.pattern, self.context, self.isolation, self.neighbours)
        return sum_in_order([part for part in parts if part is not None])

    def evidence(self) -> Floats:
        """Return the evidence per row."""
        by_column = [
            sum_in_order(part) for part in (self.pattern, self.context) if part is not None
        ]
        by_row = (part for part in (self.alone, self.passed) if part is not None)
        return sum_in_order([*by_column, *by_row])

    def nodes(self, model: Model) -> ShortInts:
        """Return the node whose view counts."""
        nodes = model.scoring.own[self.leaf]
        nodes = np.where(self.speaker == ANCESTOR, model.scoring.ancestor[self.leaf], nodes)
        roots = model.forest.root[:-1, None]
        nodes = np.where(self.speaker == MARGINAL, roots, nodes).astype(np.int32)
        if self.relation is not None:
            cell, row = np.nonzero(self.speaker == RELATION)
            nodes[cell, row] = nodes[self.relation[cell, row], row]
        return nodes

    def log_likelihoods(self, model: Model) -> Floats:
        """Return log ω of each value by the view that counts."""
        log_omega = self.log_omega.copy()
        if model.method.ancestor is not None:
            by_ancestor = self.speaker == ANCESTOR
            log_omega[by_ancestor] = undiscount(log_omega[by_ancestor], model.method.ancestor.odds)
        if self.relation is not None and model.method.relations is not None:
            times = model.method.relations.times(odds_of(model.evidence))
            exact = (self.speaker == RELATION) & np.isin(self.relation, model.exact)
            log_omega[exact] = undiscount(log_omega[exact], times)
        return log_omega


def sum_in_order(arrays: Floats | list[Floats]) -> Floats:
    """Add up one array after the other; numpy's order depends on the number of rows."""
    if isinstance(arrays, np.ndarray) and arrays.shape[-1] <= FEW_ROWS and len(arrays):
        return np.add.accumulate(arrays)[-1]
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def join_parts(parts: list[Parts]) -> Parts:
    """Put the parts of several blocks together."""
    joined: Any = (
        None if some[0] is None else np.concatenate(some, axis=-1)
        for some in zip(*parts, strict=True)
    )
    return Parts(*joined)


class Scorer:
    """A model made ready for scoring rows."""

    def __init__(self, model: Model) -> None:
        method, forest, likelihoods = model.method, model.forest, model.likelihoods
        self._method, self._forest, self._references = method, forest, model.references
        self._evidence = model.evidence
        roots = forest.roots
        # Likelihoods that take a leaf for the node that scores it.
        self._own = make_ready(likelihoods._replace(slot=likelihoods.slot[model.scoring.own]))
        self._whole_table = make_ready(likelihoods._replace(slot=likelihoods.slot[roots]))
        # A tree without a split is its own marginal view.
        self._has_marginal = (np.diff(forest.root) > 1) & method.marginal
        self._lone, self._contexts, self._tail = None, None, None
        self._cells = views_of_cells(model.credited)
        is_nominal, usual = likelihoods.kind == NOMINAL, model.usual_evidence
        self._credit: CellCredit | None = None
        if method.credit is not None and len(usual) and is_nominal.any():
            usual = np.where(model.by_degree, usual, 0.0)
            self._credit = CellCredit(model.credited, usual, method.credit)
        self._least: tuple[float, Floats] | None = None
        if isinstance(method.evidence, Odds) and is_nominal.any():
            self._least = method.evidence.gap, gap_shares(model)
        self._stated = np.flatnonzero(model.schema.is_stated)
        self._steps: list[LikelihoodStep] = []
        ordinary = method.density.ordinary
        if method.tail is not None:
            self._lone = find_lone_values(likelihoods, forest.root, method.tail.peak)
            residuals = Residuals(model.steps, method.relations.power) if method.relations else None
            self._tail = TailStep(likelihoods, forest.root, method.tail, residuals)
            self._steps.append(self._tail)
        if method.border is not None and model.zones is not None:
            self._steps.append(BorderStep(forest, model.zones, self._own, self._lone, ordinary))
        if method.discount is not None:
            discount = DiscountStep(forest, model.scoring.own, method.discount, ordinary)
            self._steps.append(discount)
        if method.ancestor is not None:
            ancestor, odds = model.scoring.ancestor, method.ancestor.odds
            self._steps.append(AncestorStep(ancestor, roots, likelihoods, self._lone, odds))
        self._relates = bool(model.related) and method.relations is not None
        if self._relates and method.relations is not None:
            step = RelationStep(
                RelatedCells(model),
                model.equations,
                self._has_marginal,
                self.look,
                odds_of(self._evidence),
                method.relations,
            )
            self._steps.append(step)
        if method.feedback is not None and len(model.contexts.leaf):
            self._contexts = ContextStep(model.contexts, forest, method.feedback, method.evidence)

    def score(self, block: Floats, leaf: ShortInts | None = None, cells: bool = True) -> Parts:
        """Return all there is to say about the rows of a block (columns x rows).

        `cells` asks for the evidence of single columns, which takes longer than that of rows.
        """
        parts, known = self.score_alone(block, leaf), self._references
        if known is not None:
            own, nearest = parts.evidence(), known.compare(block)
            alone, passed = compared_evidence(self._method, known, own, nearest)
            parts = parts._replace(alone=alone, passed=passed)
            if cells:
                zero = np.zeros_like(own)
                said = (zero if alone is None else alone), passed
                by_column, added = known.credit(block, *said, self._usually_apart)
                parts = parts._replace(neighbours=added)
                parts = parts if alone is None else parts._replace(isolation=by_column)
        if cells and self._credit is not None:
            credited = self._credit.cells(parts.pattern, np.isnan(block), parts.evidence())
            parts = parts._replace(credited=credited)
        return parts

    @cached_property
    def _usually_apart(self) -> Floats | None:
        credit, known = self._method.credit, self._references
        if credit is None or known is None:
            return None
        return known.usually_apart(credit.usual)

    def plain(self, parts: Parts, block: Floats) -> Floats:
        """Return the evidence of values by the usual odds, see `plain_evidence`."""
        odds, usual = self._evidence, self._method.evidence
        if isinstance(odds, NoisyOr) or isinstance(usual, NoisyOr):
            return parts.pattern
        return plain_evidence(parts.pattern, parts.log_omega, parts.speaker, block, odds, usual)

    def own_likelihoods(self, block: Floats, leaf: ShortInts) -> Floats:
        """Return log ω of the values of a block by the leaves' own scoring nodes."""
        log_omega = np.empty(block.shape)
        for group, first in in_groups(self._own, np.arange(len(block)), block.shape[1]):
            nodes, x, out = leaf[group].ravel(), block[group].ravel(), log_omega[group].ravel()
            read_lowered(self._lone, self._own, first, nodes, x, out)
            if not isinstance(group, slice):  # a copy, and not the memory of these columns
                log_omega[group] = out.reshape(leaf[group].shape)
        return log_omega

    def look(self, m: int, leaf: ShortInts, x: Floats) -> Floats:
        """Return log ω of some values of a column by their leaves, the whole table and tails."""
        out = read_lowered(self._lone, self._own, m, leaf, x)
        if self._has_marginal[m]:
            np.minimum(out, read_likelihood(self._whole_table, m, leaf, x), out=out)
        if self._tail is not None:
            for rows, far in self._tail.far_of(m, x):
                out[rows] = np.minimum(out[rows], far)
        return out

    def score_alone(self, block: Floats, leaf: ShortInts | None = None) -> Parts:
        """Return what there is to say before rows are compared with others.

        `leaf` is each row's leaf in each tree, where that is known already.
        """
        if leaf is None:
            leaf = np.empty(block.shape, np.int32)
            find_leaves(self._forest, block, leaf)
        log_omega = self.own_likelihoods(block, leaf)
        marginal = np.zeros(block.shape)
        speaker = np.zeros(block.shape, np.uint8)
        if self._method.marginal:
            marginal[~self._has_marginal] = log_omega[~self._has_marginal]
            others = np.flatnonzero(self._has_marginal)
            for group, first in in_groups(self._whole_table, others, block.shape[1]):
                nodes, x, out = leaf[group].ravel(), block[group].ravel(), marginal[group].ravel()
                read_likelihood(self._whole_table, first, nodes, x, out)
                if not isinstance(group, slice):
                    marginal[group] = out.reshape(leaf[group].shape)
        relation = np.full(block.shape if self._relates else 0, -1, np.int32)
        views = BlockViews(leaf, block, log_omega, marginal, [], speaker, relation)
        for step in self._steps:
            step.apply(views)
        log_omega[self._stated] = block[self._stated]
        pattern = pattern_evidence(views, self._has_marginal, self._evidence)
        if self._least is not None:
            raise_gaps(pattern, views, *self._least)
        keep_strongest(pattern, self._cells)
        context = None
        if self._contexts is not None:
            context = self._contexts.apply(leaf, block, log_omega)
        told = relation if self._relates else None
        return Parts(leaf, speaker, log_omega, pattern, context, relation=told)


def gap_shares(model: Model) -> Floats:
    """Return the share of gaps in each attribute; what relates several columns has none itself."""
    n_missing = [
        0 if each.facet is not None and len(each.facet.sources) > 1 else each.n_missing
        for each in model.schema.used
    ]
    return np.array(n_missing) / model.n_rows


def odds_of(evidence: Odds | NoisyOr) -> float:
    """Return the odds with which evidence counts that does not come from likelihoods."""
    return evidence.odds if isinstance(evidence, Odds) else 1.0


def compared_evidence(
    method: Method, references: ReferenceRows, own: Floats, nearest: Nearest
) -> tuple[Floats | None, Floats]:
    """Return the evidence of rows for being alone, and for being like odd rows."""
    alone = None
    if method.neighbours is not None and method.neighbours.isolation is not None:
        settings = method.neighbours.isolation
        alone = references.isolation(nearest.distance, settings, odds_of(method.evidence))
        own = own + alone
    return alone, references.added(nearest, own)


def score_evidence(
    model: Model, table: Prepared, n_jobs: int = 1, leaves: Leaves | None = None
) -> Floats:
    """Return the evidence of each row, given their leaves where these are known already."""
    return score_strongest(model, table, n_jobs, leaves)[0]


def score_strongest(
    model: Model, table: Prepared, n_jobs: int = 1, leaves: Leaves | None = None,
    keys: Keys | None = None, above: list[Ints] | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return the evidence of each row, that of its oddest value alone, and its plain evidence.

    Plain evidence has the usual odds, see `plain_evidence`; it is found where keys are wanted.
    `keys` receives the keys of the rows (see `row_keys`), and `above` how many values have
    how much evidence (see `credit`), where these are wanted.
    """
    scorer = model.once(Scorer)
    evidence, strongest, base = np.empty((3, table.n_rows))
    # What a relation leaves of a value changes with all rows, and so would all keys.
    own_values = np.flatnonzero(~model.is_facet).tolist()

    def work(start: int, stop: int) -> None:
        leaf = None if leaves is None else leaves.of(slice(start, stop))
        block = table.block(start, stop)
        parts = scorer.score(block, leaf, cells=False)
        evidence[start:stop] = parts.evidence()
        strongest[start:stop] = parts.pattern.max(axis=0)
        plain = parts.pattern if keys is None else scorer.plain(parts, block)
        if plain is parts.pattern:
            base[start:stop] = evidence[start:stop]
        else:
            base[start:stop] = parts._replace(pattern=plain).evidence()
        if above is not None:
            above.append(count_above(parts.pattern))
        if keys is not None and len(keys):
            key_rows([block[m] for m in own_values], keys[start:stop])

    run_blocks(work, table.n_rows, n_jobs, table.n_columns)
    return evidence, strongest, base


def score_values(model: Model, table: Prepared, n_jobs: int = 1) -> Floats:
    """Return the evidence of values, as `score_cells` does, without that from other rows."""
    return score_cells(model, table, n_jobs, of_values=True)


def score_cells(
    model: Model, table: Prepared, n_jobs: int = 1, *, of_values: bool = False
) -> Floats:
    """Return the evidence per row and column of the table; unused columns have none."""
    scorer, credited = model.once(Scorer), model.credited
    out = np.zeros((table.n_rows, len(model.schema.columns)))

    def work(start: int, stop: int) -> None:
        block = table.block(start, stop)
        cells = scorer.score_alone(block).pattern if of_values else scorer.score(block).cells()
        for position, evidence in zip(credited, cells, strict=True):
            out[start:stop, position] += evidence

    run_blocks(work, table.n_rows, n_jobs, table.n_columns)
    return out


def run_blocks(
    work: Callable[[int, int], None], n_rows: int, n_jobs: int, n_columns: int = 1
) -> None:
    """Call ``work(start, stop)`` for all blocks of rows, in threads where there are several."""
    step = min(BLOCK, max(FEWEST, CELLS // n_columns))
    starts = range(0, n_rows, step)
    if n_jobs <= 1 or len(starts) == 1:
        for start in starts:
            work(start, min(start + step, n_rows))
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        # A list: errors are raised where results are taken.
        list(pool.map(lambda start: work(start, min(start + step, n_rows)), starts))
