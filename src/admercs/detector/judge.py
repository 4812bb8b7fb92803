"""Judging rows with a fitted model, a block at a time.

A block is large enough that calls cost nothing and small enough to stay in the processor's third cache
through its three steps: walk the trees, look the likelihoods up, weigh them. Every row is computed on its own, so
results do not depend on how a table is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import Likelihoods
from admercs.density.lookup import read_likelihood
from admercs.detector.model import Judgement, Model
from admercs.evidence.excuses import find_excuses, heard
from admercs.evidence.neighbours import Company
from admercs.evidence.noisy_or import (
    discount,
    log_complement,
    undiscount,
    weigh_cells,
    weigh_views,
)
from admercs.method.tail import lower_far, read_lowered
from admercs.table.prepared import Prepared
from admercs.trees.borders import look_across
from admercs.trees.forest import Leaves
from admercs.trees.walk import find_leaves

BLOCK = 32768
# A value at least this likely (ω = ½) is not odd; the benefit of the doubt goes no further.
BEYOND_DOUBT = -math.log(2)

Progress = Callable[[int, int], None]


class Views(NamedTuple):
    """How likely the values of a block look; every array has one row per attribute."""

    leaf: NDArray[np.int32]  # the leaf each row falls into
    log_omega: NDArray[np.float64]  # by the leaf's scorer or by a wider context
    log_omega_root: NDArray[np.float64]  # in the whole table
    heard_root: NDArray[np.float64]  # what is heard of that: a context may explain a value
    by_wider: NDArray[np.bool_]  # where a wider context speaks


class _Sight(NamedTuple):
    """One attribute of a block, and how likely its values look so far; the last two are written to."""

    m: int
    leaf: NDArray[np.int32]
    x: NDArray[np.float64]
    log_omega: NDArray[np.float64]
    root: NDArray[np.float64]  # log ω in the whole table


def _presented(likelihoods: Likelihoods, judge: NDArray[np.integer]) -> Likelihoods:
    """Return likelihoods that take a leaf for the node that judges it."""
    return likelihoods._replace(slot=likelihoods.slot[judge])


class Judge:
    """A model made ready for judging rows."""

    def __init__(self, model: Model) -> None:
        self.model = model
        forest = model.forest
        self._weighing = model.weighing
        self._tail = model.tail
        self._log_not_lambda = log_complement(model.log_lambda)
        roots = np.repeat(forest.root[:-1], np.diff(forest.root))
        # A leaf scored by its root sees the whole table already. The paper has no further view.
        self._look_at_root = model.settings.likelihood == "area"
        self._is_marginal = (forest.scorer == roots) | (not self._look_at_root)
        self._is_split = np.diff(forest.root) > 1
        self._answers = forest.wider >= 0  # to a wider context
        self._has_wider = np.logical_or.reduceat(self._answers, forest.root[:-1])
        self._excuses = find_excuses(forest)
        # Three judges of a row, to each of whom its leaf is presented.
        self._scorer = _presented(model.likelihoods, forest.scorer)
        self._whole_table = _presented(model.likelihoods, roots)
        # Where there is no wider context somebody else is asked, whose answer is not heard.
        wider = np.where(self._answers, forest.wider, roots)
        self._wider = _presented(model.likelihoods, wider)

    @cached_property
    def _position(self) -> NDArray[np.int64]:
        return np.array([column.position for column in self.model.schema.used], np.int64)

    def look(self, block: NDArray[np.float64], leaf: NDArray[np.int32] | None = None) -> Views:
        """Return how likely the values of a block look; `leaf` is each row's leaf, where that is known."""
        if leaf is None:
            leaf = np.empty(block.shape, np.int32)
            find_leaves(self.model.forest, block, leaf)
        log_omega = np.empty(block.shape)
        by_wider = np.zeros(block.shape, np.bool_)
        if not self._look_at_root:
            for m in range(len(block)):
                read_likelihood(self._scorer, m, leaf[m], block[m], log_omega[m])
            nothing = np.zeros(block.shape)
            return Views(leaf, log_omega, nothing, nothing, by_wider)
        log_omega_root = np.empty(block.shape)
        for m in range(len(block)):
            self._judge_twice(_Sight(m, leaf[m], block[m], log_omega[m], log_omega_root[m]), block)
        heard_root = heard(leaf, log_omega, log_omega_root, self._excuses)
        for m in np.flatnonzero(self._has_wider).tolist():
            sight = _Sight(m, leaf[m], block[m], log_omega[m], heard_root[m])
            by_wider[m, self._ask_wider(sight)] = True
        return Views(leaf, log_omega, log_omega_root, heard_root, by_wider)

    def _judge_twice(self, sight: _Sight, block: NDArray[np.float64]) -> None:
        """Let leaf and whole table judge one column of a block."""
        m, leaf, x, log_omega, root = sight
        read_lowered(self._tail, self._scorer, m, leaf, x, log_omega)
        if self._is_split[m]:
            read_lowered(self._tail, self._whole_table, m, leaf, x, root)
            self._fall_far(sight)
            self._give_benefit(sight, block)
        else:  # the only leaf is the whole table
            root[:] = log_omega
            self._fall_far(sight)

    def _fall_far(self, sight: _Sight) -> None:
        """Lower log ω, in the whole table, of values that lie far outside of all others."""
        m, leaf, x, log_omega, root = sight
        if self._tail is None:
            return
        far = lower_far(self._tail, m, x, root)
        same = far[self._is_marginal[leaf[far]]]
        log_omega[same] = root[same]

    def _give_benefit(self, sight: _Sight, block: NDArray[np.float64]) -> None:
        """Raise log ω of values that are odd in their context but not across its border.

        Where the whole table finds a value odder still the leaf is not asked.
        """
        m, _, x, log_omega, root = sight
        odd = np.flatnonzero((log_omega < BEYOND_DOUBT) & (log_omega < root))
        across, nearness = np.empty(len(odd), np.int32), np.empty(len(odd))
        look_across(self.model.forest, m, block, odd, across, nearness)
        found = across >= 0
        odd = odd[found]
        there = read_lowered(self._tail, self._scorer, m, across[found], x[odd])
        benefit = np.minimum(there + np.log(nearness[found]), BEYOND_DOUBT)
        log_omega[odd] = np.maximum(log_omega[odd], benefit)

    def _ask_wider(self, sight: _Sight) -> NDArray[np.int64]:
        """Lower log ω of values that a wider context finds odder than leaf and table do; say of which rows."""
        m, leaf, x, log_omega, root = sight
        there = read_lowered(self._tail, self._wider, m, leaf, x)
        so_far = np.minimum(log_omega, root)
        odder = np.flatnonzero((there < so_far) & self._answers[leaf])
        there = discount(there[odder])
        still = there < so_far[odder]
        odder = odder[still]
        log_omega[odder] = there[still]
        return odder

    def judge(self, block: NDArray[np.float64]) -> Judgement:
        """Return all there is to say about the rows of a block (attributes x rows)."""
        leaf, log_omega, log_omega_root, heard_root, by_wider = self.look(block)
        parts = weigh_views(
            leaf, log_omega, heard_root, self._log_not_lambda, self._is_marginal, self._weighing
        )
        forest = self.model.forest
        node = np.where(by_wider, forest.wider[leaf], forest.scorer[leaf])
        log_omega[by_wider] = undiscount(log_omega[by_wider])
        by_root = ~by_wider & ~self._is_marginal[leaf] & (heard_root < log_omega)
        node = np.where(by_root, forest.root[:-1, None], node).astype(np.int32)
        said = np.where(by_root, log_omega_root, log_omega)
        added, factor = self._compare(block, parts.sum(axis=(0, 1)))
        own = parts * factor
        return Judgement(leaf, node, said, own[0], own[1], added * factor, factor)

    def _compare(
        self, block: NDArray[np.float64], own: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what is added to the rows' own evidence by what is heard, and by what all of it is multiplied."""
        known = self.model.neighbours
        if not len(known.row):
            return np.zeros(block.shape), np.ones(len(own))
        company = known.meet(block)
        return known.added(company.heard, own).T, known.factor(company.away)

    def cells(
        self, block: NDArray[np.float64], leaf: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        """Return the evidence per row and column of the table; unused columns have none.

        `leaf` is each row's leaf in each tree, where that is known already.
        """
        cells = self.own_cells(block, leaf)
        if not len(self.model.neighbours.row):
            return cells
        return self.in_company(cells, self.model.neighbours.meet(block))

    def in_company(self, cells: NDArray[np.float64], company: Company) -> NDArray[np.float64]:
        """Add to the evidence per row and column what comparing the rows with others has shown."""
        known = self.model.neighbours
        cells[:, self._position] += known.added(company.heard, cells.sum(axis=1))
        cells *= known.factor(company.away)[:, None]
        return cells

    def own_cells(
        self, block: NDArray[np.float64], leaf: NDArray[np.int32] | None = None
    ) -> NDArray[np.float64]:
        """Return the evidence per row and column of the table before the rows are compared with others."""
        leaf, log_omega, _, heard_root, _ = self.look(block, leaf)
        cells = np.zeros((block.shape[1], len(self.model.schema.columns)))
        weigh_cells(
            leaf, log_omega, heard_root, self._log_not_lambda, self._is_marginal, self._weighing,
            self._position, cells,
        )  # fmt: skip
        return cells


def judge_cells(model: Model, table: Prepared, n_jobs: int = 1) -> NDArray[np.float64]:
    """Return the evidence per row and column of a table."""
    judge = Judge(model)
    out = np.empty((table.n_rows, len(model.schema.columns)))

    def work(start: int, stop: int) -> None:
        out[start:stop] = judge.cells(table.block(start, stop))

    run_blocks(work, table.n_rows, n_jobs)
    return out


def judge_evidence(
    model: Model,
    table: Prepared,
    n_jobs: int = 1,
    leaves: Leaves | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the evidence against each row: the sum of its cells, to the last bit.

    `leaves` are the rows' leaves, where they are known already.
    """
    judge = Judge(model)
    out = np.empty(table.n_rows)

    def work(start: int, stop: int) -> None:
        found = None if leaves is None else leaves.of(slice(start, stop))
        out[start:stop] = judge.cells(table.block(start, stop), found).sum(axis=1)

    run_blocks(work, table.n_rows, n_jobs, progress)
    return out


def run_blocks(
    work: Callable[[int, int], None], n_rows: int, n_jobs: int, progress: Progress | None = None
) -> None:
    """Call ``work(start, stop)`` for all blocks of rows, in threads."""
    starts = range(0, n_rows, BLOCK)
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        tasks = pool.map(lambda start: work(start, min(start + BLOCK, n_rows)), starts)
        for done, _ in enumerate(tasks, start=1):
            if progress is not None:
                progress(done, len(starts))
