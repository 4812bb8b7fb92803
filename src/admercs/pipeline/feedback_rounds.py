"""Feedback over the rows of a table: candidate contexts, then contexts and rows scored in turn.

Candidates are leaves, groups and ranges of leaves whose rows stand out (`ContextSearch`). They and
the rows are scored in turn until nothing changes (`iterate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import Bools, Codes, Floats, Ints
from admercs.method.feedback import UNIT, Contexts, ExcessScale, context_evidence, log_scores
from admercs.method.odds import log_complement
from admercs.method.ranges import CodeRange, best_ranges
from admercs.method.settings import Feedback, NoisyOr, Odds, Ranges
from admercs.pipeline.model import Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import BLOCK, Scorer, sum_in_order
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.trees.forest import Forest, Leaves
from admercs.trees.redundant import redundant_conditions

CodeRanges = dict[int, CodeRange]  # by their leaf
# Columns whose evidence about the rows of a leaf is left out, and the share of it that is; None:
# all of it, where there is no value.
Omission = tuple[list[int], float | None]

MOST_SUMS = 1 << 22  # sums by code that are looked at together: 32 MB
MAX_MEMBERS = 1000  # training rows that are remembered of each context


class LeafRows(NamedTuple):
    """Rows of a piece in a leaf or in a part of it, and what counts of their evidence."""

    rows: Ints
    less: Floats = np.zeros(1)  # what is left out of the evidence of each row
    share: float = 1.0  # of all columns that is left
    log_omega: Floats = np.empty(0)  # of the target's values there, if they are asked for


class ContextSearch:
    """The candidate contexts of a table, given its model before any context is anomalous.

    `codes`, `leaves` and `base`, the evidence, are those of the rows of each piece.
    """

    def __init__(
        self, rows: Rows, model: Model, binning: Binning, codes: Kept, leaves: Kept, base: Kept
    ) -> None:
        self.rows, self.model, self.binning = rows, model, binning
        self.codes, self.leaves, self.base = codes, leaves, base
        self.forest = model.forest
        nodes = np.arange(len(self.forest.n), dtype=np.int32)
        # Leaves as they are without the splits into groups; the paper's scoring has none.
        self.whole = nodes if model.method.purest else model.scoring.own
        # A relation scores cells by how its residual looks there: its leaves are no groups of rows.
        trees = np.repeat(np.arange(self.forest.n_trees), np.diff(self.forest.root))
        self.is_leaf = self.forest.is_leaf & ~np.isin(trees, list(model.related))
        self._tree, self._stop = trees, self.forest.stops()
        self.n_columns = self.forest.n_trees - len(model.related)
        self.is_whole = np.isin(nodes, self.whole[self.is_leaf])
        self.ranges: CodeRanges = {}
        # Per piece: the rows of leaves with omissions.
        self.partly: Kept = [{} for _ in base]

    def find(self, smallest_leaf: int) -> Contexts:
        """Return the candidates, with log λ = −inf."""
        feedback = self.model.method.feedback
        if feedback is None or feedback.n_iter < 2:
            return Contexts.none()
        settings = feedback.candidates
        if settings is None:
            return self._contexts(self.is_whole)
        scale = excess_scale(self.rows, self.base, feedback)
        if self.n_columns < settings.min_columns or scale is None:
            return Contexts.none()
        self._excess, self._settings = (scale, settings.cap), settings
        return self._search(feedback.ranges, smallest_leaf)

    def _search(self, settings: Ranges | None, smallest_leaf: int) -> Contexts:
        forest, least, ranges = self.forest, self._settings.least * UNIT, settings or Ranges()
        kept = self.rows.keep("", excess_by_leaf, self.leaves, self.base, shared=self._excess)
        sums = self.rows.merge(np.add.reduce, kept)
        groups = self.is_leaf & ~self.is_whole & (sums >= least * forest.n)
        sums = np.bincount(self.whole, weights=sums, minlength=len(sums)).astype(np.int64)
        whole = self.is_whole & (sums >= least * forest.n)
        # A missing value in a column of the conditions does not count against rows chosen by it,
        # nor does all that follows from their columns: large orders have large totals.
        bound, alone = self._with_relations(np.flatnonzero(whole | groups).tolist())
        whole[alone] = groups[alone] = False
        partly = self._with_gaps(np.flatnonzero(whole | groups).tolist()) | bound
        least_rows = max(ranges.min_rows, int(np.ceil(ranges.share * smallest_leaf)))
        # A range of a root is about its column alone, which has said so already.
        possible = self.is_whole & (forest.parent >= 0) & (sums >= least * least_rows)
        possible &= settings is not None
        leaves = np.flatnonzero(possible & ~whole).tolist()
        chosen = self._own_columns(self._best_ranges(leaves, least_rows))
        # Both at once: to learn what is left out the table has to be read.
        self._leave_out(partly | chosen)
        late = []
        for leaves, counts, excess in self._by_code(list(partly)):
            for k in np.flatnonzero(excess.sum(axis=1) < least * counts.sum(axis=1)).tolist():
                whole[leaves[k]] = groups[leaves[k]] = False
                late += [leaves[k]] if possible[leaves[k]] else []
        again = self._own_columns(self._best_ranges(late, least_rows))
        self._leave_out(again)
        self.ranges = self._best_ranges(chosen | again, least_rows)
        # A group counts only where neither its leaf nor a range of it is a candidate.
        taken = whole.copy()
        taken[list(self.ranges)] = True
        return self._contexts(whole | (groups & ~taken[self.whole]))

    def _with_gaps(self, leaves: list[int]) -> dict[int, Omission]:
        """Return the leaves with conditions on columns in which values are missing."""
        gaps = {m for m, column in enumerate(self.model.schema.used) if column.n_missing > 0}
        found = {leaf: gaps.intersection(self.forest.condition_columns(leaf)) for leaf in leaves}
        return {leaf: (sorted(each), None) for leaf, each in found.items() if each}

    def _with_relations(self, leaves: list[int]) -> tuple[dict[int, Omission], list[int]]:
        """Return the leaves with conditions on columns of relations, and what follows from these.

        Also return the leaves beside which there are not enough other columns.
        """
        named = {leaf: set(self.forest.condition_columns(leaf)) for leaf in leaves}
        own = {leaf: self._following(columns) for leaf, columns in named.items()}
        own = {leaf: columns for leaf, columns in own.items() if columns}
        found = self._omissions(own)
        return found, [leaf for leaf in own if leaf not in found]

    def _following(self, columns: set[int]) -> set[int]:
        """Return what follows from some columns by relations, these columns too; else nothing."""
        found: set[int] = set()
        ties = [{m, *of} for m, of in self.model.related.items() if m not in self.model.orders]
        while more := [tie for tie in ties if tie & (columns | found) and not tie <= found]:
            found = found.union(*more)
        return found

    def _own_columns(self, found: CodeRanges) -> dict[int, Omission]:
        """Return the columns by which ranges were chosen, where there are enough others."""
        forest = self.forest
        named = {leaf: {*forest.condition_columns(leaf), forest.tree_of(leaf)} for leaf in found}
        named = {leaf: each | self._following(each) for leaf, each in named.items()}
        # A facet of such a column repeats what the column says.
        sources = [set(column.sources) for column in self.model.schema.used]
        return self._omissions(
            {
                leaf: {
                    m for m, each in enumerate(sources) if any(each & sources[k] for k in columns)
                }
                for leaf, columns in named.items()
            }
        )

    def _omissions(self, own: dict[int, set[int]]) -> dict[int, Omission]:
        """Return which columns count less about the rows of leaves, if there are enough others."""
        share, most = 1 - self._settings.own, self.n_columns - self._settings.others
        return {leaf: (sorted(each), share) for leaf, each in own.items() if len(each) <= most}

    def _leave_out(self, omissions: dict[int, Omission]) -> None:
        """From now on leave out some of the evidence about the rows of these leaves."""
        if omissions:
            self.partly = self.rows.read(
                "own columns", leave_out, self.leaves, self.partly, shared=(self.model, omissions)
            )

    def _by_code(self, leaves: list[int]) -> Iterator[tuple[list[int], Ints, Ints]]:
        """Yield leaves with the rows of each code of their target and their excess."""
        n_codes = int(self.binning.n_codes.max())
        step = max(1, MOST_SUMS // (2 * n_codes))
        for start in range(0, len(leaves), step):
            some = leaves[start : start + step]
            kept = self.rows.keep(
                "", excess_by_code, self.codes, self.leaves, self.base, self.partly,
                shared=([slice(leaf, self._stop[leaf]) for leaf in some], n_codes, self._excess),
            )  # fmt: skip
            yield some, *self.rows.merge(np.add.reduce, kept).transpose(1, 0, 2)

    def _best_ranges(self, leaves: Iterable[int], least_rows: int) -> CodeRanges:
        """Return the range of each leaf whose rows stand out most, if there is one."""
        found = {}
        for some, counts, excess in self._by_code(list(leaves)):
            columns = (self.model.schema.used[tree] for tree in self._tree[some].tolist())
            own = [len(each.categories) if each.role == "nominal" else 0 for each in columns]
            n_rows = counts.sum(axis=1).tolist()
            ranges = best_ranges(counts, excess, np.array(own), self._settings.least)
            for leaf, best, n in zip(some, ranges, n_rows, strict=True):
                if best is not None and least_rows <= best.n_rows < n:
                    found[leaf] = best
        return found

    def _contexts(self, whole: Bools) -> Contexts:
        """Put whole leaves and the ranges that were found into one table."""
        binning, n = self.binning, self.forest.n.copy()
        low, high = np.full(len(n), -np.inf), np.full(len(n), np.inf)
        for k, each in self.ranges.items():
            tree = self.forest.tree_of(k)
            low[k], high[k] = each.bounds(binning.edges[tree], bool(binning.is_nominal[tree]))
            n[k] = each.n_rows
        leaf = np.union1d(np.flatnonzero(whole), list(self.ranges)).astype(np.int32)
        none, redundant = np.full(len(leaf), -np.inf), self.model.redundant[leaf]
        start, no_member = np.zeros(len(leaf) + 1, np.int64), np.empty(0, np.int64)
        return Contexts(leaf, low[leaf], high[leaf], n[leaf], none, redundant, start, no_member)


def excess_scale(rows: Rows, evidence: Kept, feedback: Feedback) -> ExcessScale | None:
    """Return how excess evidence is measured."""
    high = 0.9 if feedback.spread is None else feedback.spread
    middle, top = rows.quantiles(evidence, np.array([0.5, high])).tolist()
    return ExcessScale.from_quantiles(middle, top, feedback)


def excess_by_leaf(leaves: Leaves, base: Floats, scale: ExcessScale, cap: float) -> Ints:
    """Return per node the sum of the capped excess evidence of a piece's rows."""
    terms = scale.capped(base, cap)
    rows = np.flatnonzero(terms)
    terms = terms[rows]
    # Sums of whole numbers below 2 ** 53 are exact in floating point.
    sums = [
        np.bincount(number[rows], weights=terms, minlength=n)
        for number, n in zip(leaves.number, np.diff(leaves.root), strict=True)
    ]
    return np.concatenate(sums).astype(np.int64)


def excess_by_code(
    codes: Codes, leaves: Leaves, base: Floats, partly: dict[int, LeafRows], some: list[slice],
    n_codes: int, excess: tuple[ExcessScale, float],
) -> Ints:  # fmt: skip
    """Return for some leaves the rows of a piece and their excess per code of the target.

    Leaves of which nothing is left out have no rows in common.
    """
    (scale, cap), sums = excess, np.zeros((len(some), 2, n_codes), np.int64)
    starts = np.array([nodes.start for nodes in some])
    trees, terms = np.searchsorted(leaves.root, starts, side="right") - 1, scale.capped(base, cap)
    whole: dict[int, list[int]] = {}
    for place, nodes in enumerate(some):
        if nodes.start not in partly:
            whole.setdefault(int(trees[place]), []).append(place)
    for tree, own in whole.items():
        # All leaves of a tree at once, as if each code of each leaf were a code of its own.
        at = np.full(leaves.root[tree + 1] - leaves.root[tree], -1, np.int32)
        for k, place in enumerate(own):
            at[some[place].start - leaves.root[tree] : some[place].stop - leaves.root[tree]] = k
        number = at[leaves.number[tree]]
        rows = np.flatnonzero(number >= 0)
        key, n = number[rows] * n_codes + codes[tree][rows], len(own) * n_codes
        sums[own, 0] = np.bincount(key, minlength=n).reshape(-1, n_codes)
        sums[own, 1] = np.bincount(key, weights=terms[rows], minlength=n).reshape(-1, n_codes)
    for place in [k for k, nodes in enumerate(some) if nodes.start in partly]:
        leaf = partly[some[place].start]
        code, share = codes[trees[place]][leaf.rows], scale.times(leaf.share)
        weights = share.capped(base[leaf.rows] - leaf.less, cap)
        sums[place, 0] = np.bincount(code, minlength=n_codes)
        sums[place, 1] = np.bincount(code, weights=weights, minlength=n_codes)
    return sums


def leave_out(
    table: Prepared, leaves: Leaves, known: dict[int, LeafRows], model: Model,
    omissions: dict[int, Omission],
) -> dict[int, LeafRows]:  # fmt: skip
    """Return the rows of some leaves, and what is left out of the evidence about them."""
    scorer, found, is_in = model.once(Scorer), {}, np.zeros(table.n_rows, np.bool_)
    for leaf, (columns, share) in omissions.items():
        rows = leaves.rows_in(model.forest.below(leaf))
        is_in[rows] = True
        left = 1 - (share or 0.0) * len(columns) / model.forest.n_trees
        found[leaf] = LeafRows(rows, np.empty(len(rows)), left)
    some = np.flatnonzero(is_in)
    for start in range(0, len(some), BLOCK):
        here = some[start : start + BLOCK]
        values = table.some(here)
        cells = scorer.plain(scorer.score_alone(values, leaves.of(here)), values)
        for leaf, (columns, share) in omissions.items():
            rows, less = found[leaf][:2]
            a, b = np.searchsorted(rows, [here[0], here[-1] + 1])
            its = np.searchsorted(here, rows[a:b])
            left_out = np.isnan(values[columns][:, its]) if share is None else share
            less[a:b] = sum_in_order(cells[columns][:, its] * left_out)
    return known | found


def iterate(
    search: ContextSearch, contexts: Contexts, feedback: Feedback, whole: Kept
) -> tuple[Contexts, Kept, int]:
    """Score contexts and rows in turn until nothing changes.

    `whole` is all evidence of the rows, where contexts are scored by their plain evidence. Returns
    the contexts that are anomalous, the evidence of the rows, and the number of rounds.
    """
    rows, model, base = search.rows, search.model, search.base
    log_lambda, evidence, rounds = contexts.log_lambda, base, 1
    if not len(contexts.leaf):
        return contexts, whole, rounds
    members = rows.keep(
        "", find_members, search.codes, search.leaves, search.partly,
        shared=(contexts.leaf.tolist(), search.ranges, model.forest),
    )  # fmt: skip
    if isinstance(model.method.evidence, NoisyOr):
        members = rows.read("", with_likelihoods, search.leaves, members, shared=(model, contexts))
    within = rows.keep("", number_members, base, members)
    while rounds < feedback.n_iter:
        scale = excess_scale(rows, evidence, feedback)
        if scale is None:
            break
        rounds += 1
        kept = rows.keep("", sums_of_terms, evidence, within, shared=(feedback.gamma_lambda, scale))
        sums = rows.merge(np.add.reduce, kept)
        before, log_lambda = log_lambda, log_scores(sums, contexts.n, feedback)
        shared = log_lambda, feedback, model.method.evidence
        evidence = rows.keep("feedback", raise_evidence, base, within, shared=shared)
        if np.max(np.abs(np.exp(log_lambda) - np.exp(before))) <= feedback.tol:
            break
    if rounds > 1:
        whole = rows.keep("feedback", raise_evidence, whole, within, shared=shared)
    return _anomalous(contexts._replace(log_lambda=log_lambda), members, rows), whole, rounds


def find_members(
    codes: Codes, leaves: Leaves, partly: dict[int, LeafRows], contexts: list[int],
    ranges: CodeRanges, forest: Forest,
) -> list[LeafRows]:  # fmt: skip
    """Return the rows of a piece in each context."""
    members = []
    for leaf in contexts:
        if leaf in ranges:
            rows, less, share, _ = partly[leaf]
            inside = ranges[leaf].holds(codes[forest.tree_of(leaf)][rows])
            members.append(LeafRows(rows[inside], less[inside], share))
        else:
            members.append(LeafRows(leaves.rows_in(forest.below(leaf))))
    return members


def with_likelihoods(
    table: Prepared, leaves: Leaves, members: list[LeafRows], model: Model, contexts: Contexts
) -> list[LeafRows]:
    """Look up how likely the values of a context's rows are there, for the paper's form."""
    scorer, found = Scorer(model), []
    for leaf, member in zip(contexts.leaf, members, strict=True):
        tree, log_omega = model.forest.tree_of(leaf), np.empty(len(member.rows))
        for start in range(0, len(log_omega), BLOCK):
            here = member.rows[start : start + BLOCK]
            parts = scorer.score_alone(table.some(here), leaves.of(here))
            log_omega[start : start + BLOCK] = parts.log_omega[tree]
        found.append(member._replace(log_omega=log_omega))
    return found


def number_members(base: Floats, members: list[LeafRows]) -> tuple[Ints, list[LeafRows]]:
    """Return the rows that are in any context, and each context's rows counted among these."""
    place = np.zeros(len(base), np.int64)
    for each in members:
        place[each.rows] = 1
    rows = np.flatnonzero(place)
    place[rows] = np.arange(len(rows))
    return rows, [each._replace(rows=place[each.rows]) for each in members]


def sums_of_terms(
    evidence: Floats, within: tuple[Ints, list[LeafRows]], gamma_lambda: float, scale: ExcessScale
) -> Ints:
    """Return for each context the sum of its rows' terms in a piece."""
    rows, members = within
    own = evidence[rows]
    terms = (
        scale.times(each.share).terms(own[each.rows] - each.less, gamma_lambda) for each in members
    )
    return np.array([each.sum() for each in terms], np.int64)


def raise_evidence(
    base: Floats, within: tuple[Ints, list[LeafRows]], log_lambda: Floats, feedback: Feedback,
    evidence: Odds | NoisyOr,
) -> Floats:  # fmt: skip
    """Return the evidence of a piece's rows when contexts have these scores."""
    rows, members = within
    context, log_not_lambda = np.zeros(len(rows)), log_complement(log_lambda)
    for k in np.flatnonzero(log_lambda > -np.inf):
        own, *_, log_omega = members[k]
        given = np.full(len(own), log_not_lambda[k])
        context[own] += context_evidence(given, log_omega, feedback, evidence)
    raised = base.copy()
    raised[rows] += context
    return raised


def first_members(members: list[LeafRows]) -> list[Ints]:
    """Return the first rows of a piece in each context."""
    return [member.rows[:MAX_MEMBERS] for member in members]


def _anomalous(contexts: Contexts, members: Kept, rows: Rows) -> Contexts:
    """Keep the anomalous contexts, and remember the numbers of their first rows."""
    anomalous = contexts.log_lambda > -np.inf
    pieces = zip(rows.first_rows(), rows.gather(rows.keep("", first_members, members)), strict=True)
    known = [[start + numbers for numbers in piece] for start, piece in pieces]
    first = [
        np.concatenate([piece[k] for piece in known])[:MAX_MEMBERS]
        for k in np.flatnonzero(anomalous)
    ]
    member_ptr = np.cumsum([0, *map(len, first)])
    member = np.concatenate([np.empty(0, np.int64), *first])
    columns: Any = (*(column[anomalous] for column in contexts[:6]), member_ptr, member)
    return Contexts(*columns)


def without_redundant(
    contexts: Contexts, forest: Forest, codes: Codes, ranges: CodeRanges
) -> Contexts:
    """Find the conditions that the range of a context makes redundant, in a sample of rows."""
    redundant = contexts.redundant.copy()
    for k, leaf in enumerate(contexts.leaf.tolist()):
        if leaf in ranges:
            outside = ~ranges[leaf].holds(codes[forest.tree_of(leaf)])
            redundant[k] = redundant_conditions(forest, codes, leaf, {}, outside)
    return contexts._replace(redundant=redundant)
