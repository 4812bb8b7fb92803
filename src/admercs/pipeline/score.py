"""Scoring rows with a fitted model, a block at a time.

The order of the steps:

1. every tree finds the row's leaf;
2. the leaf's scoring node and the whole table say how likely the value is;
3. `tail`: values far outside of the rest are less likely than that;
4. `border`: near a threshold the context across counts, too;
5. `discount`: what the context explains counts less in the whole table;
6. `ancestor`: a wider context may find the value less likely;
7. what facets state about their cells is taken as it is;
8. `odds`: the least likely view becomes evidence;
9. `strongest view`: of a column and its facets, the one with most evidence counts;
10. `contexts`: anomalous contexts add evidence to their rows;
11. `neighbours`: rows far from all others have more, and those like odd rows;
12. `joint tail`: rows near the ends of several columns at once have more.

A block is large enough that calls cost nothing and small enough to stay in the processor's cache.
Every row is computed on its own, so results do not depend on how a table is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import Bytes, Floats, ShortInts
from admercs.density.lookup import read_likelihood
from admercs.method.ancestor import AncestorStep, undiscount
from admercs.method.border import BorderStep
from admercs.method.discount import DiscountStep
from admercs.method.feedback import ContextStep
from admercs.method.joint_tail import JointTailStep
from admercs.method.neighbours import Nearest
from admercs.method.odds import pattern_evidence
from admercs.method.settings import Method, Odds
from admercs.method.strongest_view import keep_strongest, views_of_cells
from admercs.method.tail import TailStep, find_lone_values, read_lowered
from admercs.method.views import ANCESTOR, MARGINAL, BlockViews
from admercs.pipeline.model import Model
from admercs.table.prepared import Prepared
from admercs.trees.forest import Leaves, find_leaves

BLOCK = 32768

LikelihoodStep = TailStep | BorderStep | DiscountStep | AncestorStep


class Parts(NamedTuple):
    """What the model says about a block of rows; arrays are columns x rows.

    The evidence of row i is the sum over columns of ``pattern``, ``context``, ``isolation``,
    ``neighbours`` and ``joint``.
    """

    leaf: ShortInts  # the leaf (node number) the row falls into
    speaker: Bytes  # whose view counts: OWN, ANCESTOR or MARGINAL
    log_omega: Floats  # the likelihood by that view; an ancestor's is discounted
    pattern: Floats  # evidence of the value
    context: Floats | None  # evidence of sitting in an anomalous context
    isolation: Floats | None  # evidence of being far from all rows, mostly in this column
    neighbours: Floats | None  # evidence of being like rows that are odd in this column
    joint: Floats | None  # evidence of being near the ends of several columns at once
    joint_of_row: Floats | None  # the same of each row: what `joint` adds up to

    def cells(self) -> Floats:
        """Return the evidence per column and row."""
        parts = (self.pattern, self.context, self.isolation, self.neighbours, self.joint)
        return sum_in_order([part for part in parts if part is not None])

    def evidence(self) -> Floats:
        """Return the evidence per row."""
        parts = (self.pattern, self.context, self.isolation, self.neighbours)
        rows = [sum_in_order(part) for part in parts if part is not None]
        return sum_in_order(rows if self.joint_of_row is None else [*rows, self.joint_of_row])

    def nodes(self, model: Model) -> ShortInts:
        """Return the node whose view counts."""
        nodes = model.scoring.own[self.leaf]
        nodes = np.where(self.speaker == ANCESTOR, model.scoring.ancestor[self.leaf], nodes)
        roots = model.forest.root[:-1, None]
        return np.where(self.speaker == MARGINAL, roots, nodes).astype(np.int32)

    def log_likelihoods(self, model: Model) -> Floats:
        """Return log ω of each value by the view that counts."""
        log_omega = self.log_omega.copy()
        if model.method.ancestor is not None:
            by_ancestor = self.speaker == ANCESTOR
            log_omega[by_ancestor] = undiscount(log_omega[by_ancestor], model.method.ancestor.odds)
        return log_omega


def sum_in_order(arrays: Floats | list[Floats]) -> Floats:
    """Add up one array after the other; numpy's order depends on the number of rows."""
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
        self.model = model
        method, forest, likelihoods = model.method, model.forest, model.likelihoods
        roots = forest.roots
        # Likelihoods that take a leaf for the node that scores it.
        self._own = likelihoods._replace(slot=likelihoods.slot[model.scoring.own])
        self._whole_table = likelihoods._replace(slot=likelihoods.slot[roots])
        # A tree without a split is its own marginal view.
        self._has_marginal = (np.diff(forest.root) > 1) & method.marginal
        self._lone, self._contexts = None, None
        self._cells = views_of_cells(model.credited)
        self._stated = np.flatnonzero(model.schema.is_stated)
        self._steps: list[LikelihoodStep] = []
        if method.tail is not None:
            self._lone = find_lone_values(likelihoods, forest.root)
            self._steps.append(TailStep(likelihoods, forest.root, method.tail))
        if method.border is not None and model.zones is not None:
            most = method.border.most
            self._steps.append(BorderStep(forest, model.zones, self._own, self._lone, most))
        if method.discount is not None:
            self._steps.append(DiscountStep(forest, model.scoring.own, method.discount))
        if method.ancestor is not None:
            ancestor, odds = model.scoring.ancestor, method.ancestor.odds
            self._steps.append(AncestorStep(ancestor, roots, likelihoods, self._lone, odds))
        if method.feedback is not None and len(model.contexts.leaf):
            self._contexts = ContextStep(model.contexts, forest, method.feedback, method.evidence)
        self._joint = None
        if model.joint_tail is not None:
            self._joint = JointTailStep(model.ends, model.joint_tail, odds_of(method))

    def score(self, block: Floats, leaf: ShortInts | None = None) -> Parts:
        """Return all there is to say about the rows of a block (columns x rows)."""
        parts = self.score_alone(block, leaf)
        known = self.model.references
        if known is not None:
            parts = add_neighbours(parts, self.model, block, known.compare(block))
        if self._joint is not None:
            in_all, by_column = self._joint.apply(block, parts.evidence())
            parts = parts._replace(joint=by_column, joint_of_row=in_all)
        return parts

    def own_likelihoods(self, block: Floats, leaf: ShortInts) -> Floats:
        """Return log ω of the values of a block by the leaves' own scoring nodes."""
        log_omega = np.empty(block.shape)
        for m in range(len(block)):
            read_lowered(self._lone, self._own, m, leaf[m], block[m], log_omega[m])
        return log_omega

    def score_alone(self, block: Floats, leaf: ShortInts | None = None) -> Parts:
        """Return what there is to say before rows are compared with others.

        `leaf` is each row's leaf in each tree, where that is known already.
        """
        if leaf is None:
            leaf = np.empty(block.shape, np.int32)
            find_leaves(self.model.forest, block, leaf)
        log_omega = self.own_likelihoods(block, leaf)
        marginal = np.zeros(block.shape)
        speaker = np.zeros(block.shape, np.uint8)
        if self.model.method.marginal:
            for m, is_other in enumerate(self._has_marginal):
                if is_other:
                    read_likelihood(self._whole_table, m, leaf[m], block[m], marginal[m])
                else:
                    marginal[m] = log_omega[m]
        views = BlockViews(leaf, block, log_omega, marginal, [], speaker)
        for step in self._steps:
            step.apply(views)
        log_omega[self._stated] = block[self._stated]
        pattern = pattern_evidence(views, self._has_marginal, self.model.method.evidence)
        keep_strongest(pattern, self._cells)
        context = None
        if self._contexts is not None:
            context = self._contexts.apply(leaf, block, log_omega)
        return Parts(leaf, speaker, log_omega, pattern, context, None, None, None, None)


def odds_of(method: Method) -> float:
    """Return the odds with which evidence counts that does not come from likelihoods."""
    return method.evidence.odds if isinstance(method.evidence, Odds) else 1.0


def add_neighbours(parts: Parts, model: Model, block: Floats, nearest: Nearest) -> Parts:
    """Add isolation and neighbour evidence to the parts of a block."""
    references, settings = model.references, model.method.neighbours
    if references is None or settings is None:
        return parts
    own = parts.evidence()
    isolation = None
    if settings.isolation is not None:
        alone = references.isolation(nearest.distance, settings.isolation, odds_of(model.method))
        isolation = np.ascontiguousarray(references.by_column(block, alone).T)
        own = own + sum_in_order(isolation)
    added = np.ascontiguousarray(references.added(nearest.evidence, own).T)
    return parts._replace(isolation=isolation, neighbours=added)


def score_evidence(
    model: Model, table: Prepared, n_jobs: int = 1, leaves: Leaves | None = None
) -> Floats:
    """Return the evidence of each row, given their leaves where these are known already."""
    return score_strongest(model, table, n_jobs, leaves)[0]


def score_strongest(
    model: Model, table: Prepared, n_jobs: int = 1, leaves: Leaves | None = None
) -> tuple[Floats, Floats]:
    """Return the evidence of each row, and that of its oddest value alone."""
    scorer = Scorer(model)
    evidence, strongest = np.empty((2, table.n_rows))

    def work(start: int, stop: int) -> None:
        leaf = None if leaves is None else leaves.of(slice(start, stop))
        parts = scorer.score(table.block(start, stop), leaf)
        evidence[start:stop] = parts.evidence()
        strongest[start:stop] = parts.pattern.max(axis=0)

    run_blocks(work, table.n_rows, n_jobs)
    return evidence, strongest


def score_values(model: Model, table: Prepared, n_jobs: int = 1) -> Floats:
    """Return the evidence of values, as `score_cells` does, without that from other rows."""
    return score_cells(model, table, n_jobs, of_values=True)


def score_cells(
    model: Model, table: Prepared, n_jobs: int = 1, *, of_values: bool = False
) -> Floats:
    """Return the evidence per row and column of the table; unused columns have none."""
    scorer, credited = Scorer(model), model.credited
    out = np.zeros((table.n_rows, len(model.schema.columns)))

    def work(start: int, stop: int) -> None:
        block = table.block(start, stop)
        cells = scorer.score_alone(block).pattern if of_values else scorer.score(block).cells()
        for position, evidence in zip(credited, cells, strict=True):
            out[start:stop, position] += evidence

    run_blocks(work, table.n_rows, n_jobs)
    return out


def run_blocks(work: Callable[[int, int], None], n_rows: int, n_jobs: int) -> None:
    """Call ``work(start, stop)`` for all blocks of rows, in threads."""
    starts = range(0, n_rows, BLOCK)
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        # A list: errors are raised where results are taken.
        list(pool.map(lambda start: work(start, min(start + BLOCK, n_rows)), starts))
