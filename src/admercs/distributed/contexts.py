"""Rows and contexts inform each other, the rows lying on many workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.detector.fit import final_evidence
from admercs.detector.judge import judge_evidence
from admercs.detector.model import Model
from admercs.distributed.pieces import HalfRead, Placed, add_up
from admercs.distributed.quantiles import Quantiles
from admercs.distributed.run import Run
from admercs.evidence.feedback import (
    NEGLIGIBLE,
    Members,
    Watched,
    change_terms,
    jury_share,
    own_sums,
    raise_evidence,
    watch,
)
from admercs.evidence.noisy_or import Weighing
from admercs.evidence.suspects import UNIT, Aside, Own, Yardstick, add_terms
from admercs.method.tail import read_lowered
from admercs.trees.forest import Forest, Leaves, rows_within

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class State(NamedTuple):
    """The rows of some partitions, one partition after the other, between two rounds."""

    evidence: Floats
    terms: list[Ints]  # per partition, of its watched rows


def judge_part(part: Any, placed: Placed, model: Model) -> Floats:
    """Return the evidence against each row of a partition."""
    return judge_evidence(model, HalfRead(part, model.schema, placed), leaves=placed.leaves)


def judge_again(part: Any, placed: Placed, base: Floats, model: Model) -> Floats:
    """Return the evidence by the finished model, given that by the first one."""
    return final_evidence(model, HalfRead(part, model.schema, placed), placed.leaves, base)


class RowsOnCluster:
    """The rows of the training table as the iteration sees them (see ``evidence.feedback.Rows``).

    Workers keep the evidence of each row (16 bytes), the term and the leaves of rows in contexts that are tried,
    and the rows of suspicious ones. Partitions that lie together are worked on together, so that a round is a few
    tasks per thread however many partitions there are.
    """

    def __init__(
        self,
        run: Run,
        model: Future,
        forest: Forest,
        placed: Sequence[Future],
        base: Sequence[Future],
        columns: list[int],
        weighing: Weighing,
        feedback: str,
        tried: NDArray[np.bool_],
        narrow: Sequence[int],
        own: Sequence[Future],
    ) -> None:
        self._run = run
        self._model = model
        self._columns = columns
        self._in_order = placed
        self._groups = run.groups(placed)
        self._placed = [[placed[p] for p in group] for group in self._groups]
        self._base = [run.submit(in_a_row, [base[p] for p in group]) for group in self._groups]
        self._tried = tried
        shared = run.share((forest, tried))
        self._watched = [run.submit(watch_rows, some, shared) for some in self._placed]
        self._n_nodes = len(forest.feature)
        self._weighing = weighing
        self._jury = jury_share(feedback, forest.n)
        self._narrow = list(narrow)
        self._own = [
            run.submit(own_in_a_row, [own[p] for p in group], some)
            for group, some in zip(self._groups, self._placed, strict=True)
            if self._narrow
        ]
        self._states = [
            run.submit(first_state, *pair) for pair in zip(self._base, self._watched, strict=True)
        ]
        self._sums = np.zeros(self._n_nodes, np.int64)
        self._members = [run.submit(no_members) for _ in self._groups]
        self._known: set[int] = set()
        self._quantiles: Quantiles | None = None
        self._candidates: Future | None = None

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        if self._quantiles is None:
            evidence = [self._run.submit(evidence_of, state) for state in self._states]
            self._quantiles = Quantiles(self._run, evidence, self._candidates)
            self._candidates = self._quantiles.candidates
        return self._quantiles.inverted(level)

    def sums(self, gamma_lambda: float, yardstick: Yardstick) -> Ints:
        """Return per node the sum of its rows' terms."""
        steps = [
            self._run.submit(next_terms, *group, self._n_nodes, gamma_lambda, yardstick)
            for group in zip(self._states, self._placed, self._watched, strict=True)
        ]
        self._states = [self._run.submit(state_of, step) for step in steps]
        changes = [self._run.submit(sums_of, step) for step in steps]
        self._sums = self._sums + self._run.result(self._run.reduce(add_up, changes))
        sums = self._sums.copy()
        if self._narrow:
            parts = [
                self._run.submit(sums_of_own, own, state, gamma_lambda, yardstick)
                for own, state in zip(self._own, self._states, strict=True)
            ]
            sums[self._narrow] = self._run.result(self._run.reduce(add_up, parts))
        return sums

    def suspect(self, log_lambda: Floats) -> None:
        """Compute the evidence anew."""
        suspects = set(np.flatnonzero(log_lambda > -np.inf).tolist())
        if not suspects <= self._known:
            self._meet(suspects)
        self._quantiles = None
        shared = self._run.share(log_lambda)
        self._states = [
            self._run.submit(next_evidence, *group, shared, self._weighing)
            for group in zip(self._base, self._members, self._states, strict=True)
        ]

    def _meet(self, suspects: set[int]) -> None:
        """Look up the rows of suspicious contexts."""
        if self._weighing.needs_likelihood:
            chosen = self._possible(suspects)
            nodes = self._run.share(sorted(chosen - self._known))
            parts = self._run.read(
                "contexts", members_of, self._model, nodes,
                each=[self._in_order], columns=self._columns,
            )  # fmt: skip
            looked = [
                self._run.submit(members_in_a_row, [parts[p] for p in group])
                for group in self._groups
            ]
        else:
            chosen = suspects
            nodes = self._run.share(sorted(chosen - self._known))
            looked = [self._run.submit(members_by_leaves, placed, nodes) for placed in self._placed]
        self._members = [
            self._run.submit(join_members, *pair)
            for pair in zip(self._members, looked, strict=True)
        ]
        self._run.wait("", self._members)
        self._known |= chosen

    def _possible(self, suspects: set[int]) -> set[int]:
        """Return all contexts that could become suspicious in some later round.

        They are looked up together, so that the table is read once for all rounds. A λ can only grow by
        guilt from suspicious contexts: possible are those whose λ would not be negligible even if every row in a
        suspicious context were guilty beyond doubt, and so on until no further one is found.
        """
        chosen, found = self._known | suspects, suspects
        while found:
            some = self._run.share(sorted(chosen))
            parts = [
                self._run.submit(acquitted_sums, *group, self._n_nodes, some)
                for group in zip(self._states, self._placed, self._watched, strict=True)
            ]
            bound = self._jury * self._run.result(self._run.reduce(add_up, parts)) / UNIT
            found = set(np.flatnonzero(self._tried & (bound >= NEGLIGIBLE)).tolist()) - chosen
            chosen |= found
        return chosen


def in_a_row(arrays: list[Floats]) -> Floats:
    """Put the rows of partitions one after the other."""
    return np.concatenate(arrays)


def along(placed: list[Placed]) -> Iterator[tuple[Leaves, slice]]:
    """Go through partitions, each with the place of its rows among those of all of them."""
    start = 0
    for part in placed:
        stop = start + part.n_rows
        yield part.leaves, slice(start, stop)
        start = stop


def watch_rows(placed: list[Placed], shared: tuple[Forest, NDArray[np.bool_]]) -> list[Watched]:
    """Find the rows of partitions that are in contexts that are tried."""
    return [watch(part.leaves, part.n_rows, *shared) for part in placed]


def first_state(base: Floats, watched: list[Watched]) -> State:
    """Return the state before the first round."""
    return State(base, [np.zeros(1, np.int64)] * len(watched))


def no_members() -> Members:
    """Return the rows of no context."""
    return {}


def evidence_of(state: State) -> Floats:
    """Return the evidence of a state."""
    return state.evidence


def next_terms(
    state: State,
    placed: list[Placed],
    watched: list[Watched],
    n_nodes: int,
    gamma_lambda: float,
    yardstick: Yardstick,
) -> tuple[State, Ints]:
    """Return the state with new terms, and by how much they change the sums of the leaves."""
    sums = np.zeros(n_nodes, np.int64)
    terms = [
        change_terms(some, state.evidence[rows], old, sums, gamma_lambda, yardstick)
        for (_, rows), some, old in zip(along(placed), watched, state.terms, strict=True)
    ]
    return State(state.evidence, terms), sums


def sums_of_own(own: Own, state: State, gamma_lambda: float, yardstick: Yardstick) -> Ints:
    """Sum up the terms of the rows of narrow contexts."""
    return own_sums(own, state.evidence, gamma_lambda, yardstick)


def own_in_a_row(parts: list[Own], placed: list[Placed]) -> Own:
    """Join what the rows of partitions that follow each other do not testify with."""
    first = np.cumsum([0, *(part.n_rows for part in placed)])
    return {
        node: Aside(
            np.concatenate([own[node].rows + s for own, s in zip(parts, first, strict=False)]),
            np.concatenate([own[node].less for own in parts]),
            parts[0][node].share,
        )
        for node in parts[0]
    }


def state_of(step: tuple[State, Ints]) -> State:
    """Return the state after a step."""
    return step[0]


def sums_of(step: tuple[State, Ints]) -> Ints:
    """Return what a step changes in the sums."""
    return step[1]


def next_evidence(
    base: Floats, members: Members, state: State, log_lambda: Floats, weighing: Weighing
) -> State:
    """Return the state with new evidence."""
    return State(raise_evidence(base, members, log_lambda, weighing), state.terms)


def acquitted_sums(
    state: State, placed: list[Placed], watched: list[Watched], n_nodes: int, some: list[int]
) -> Ints:
    """Sum up the terms of the watched rows that are in none of some contexts."""
    chosen = np.zeros(n_nodes, np.bool_)
    chosen[some] = True
    sums = np.zeros(n_nodes, np.int64)
    for part, watching, terms in zip(placed, watched, state.terms, strict=True):
        untouched = np.ones(part.n_rows, np.bool_)
        untouched[rows_within(part.leaves, part.n_rows, part.leaves.root, chosen)[0]] = False
        free = np.flatnonzero(untouched[watching.rows])
        for tree in watching.leaves:
            add_terms(tree, free, terms[free], sums)
    return sums


class PartMembers(NamedTuple):
    """A partition's rows in some contexts."""

    members: Members
    n_rows: int


def members_of(part: Any, placed: Placed, model: Model, nodes: list[int]) -> PartMembers:
    """Return a partition's rows in some contexts, and how likely their values are there."""
    table = HalfRead(part, model.schema, placed)
    forest, tail = model.forest, model.tail
    found: Members = {}
    for node in nodes:
        tree = forest.tree_of(node)
        rows = placed.leaves.rows_in(node)
        scorer, x = np.full(len(rows), forest.scorer[node], np.int32), table.column(tree)[rows]
        found[node] = rows, read_lowered(tail, model.likelihoods, tree, scorer, x)
    return PartMembers(found, placed.n_rows)


def members_by_leaves(placed: list[Placed], nodes: list[int]) -> Members:
    """Return the rows of partitions in some contexts; nobody asks how likely their values are."""
    parts = []
    for part in placed:
        rows = {node: part.leaves.rows_in(node) for node in nodes}
        found = {node: (some, np.full(len(some), np.nan)) for node, some in rows.items()}
        parts.append(PartMembers(found, part.n_rows))
    return members_in_a_row(parts)


def members_in_a_row(parts: list[PartMembers]) -> Members:
    """Join the members of partitions that follow each other, their rows numbered throughout."""
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    return {
        node: (
            np.concatenate([p.members[node][0] + s for p, s in zip(parts, first, strict=False)]),
            np.concatenate([part.members[node][1] for part in parts]),
        )
        for node in parts[0].members
    }


def join_members(one: Members, other: Members) -> Members:
    """Put the rows of further contexts to those of the first ones."""
    return one | other
