"""Finding anomalous contexts: candidates first, then the rounds of feedback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.method.contexts import Contexts, context_evidence
from admercs.method.feedback import UNIT, ExcessScale, context_terms, log_scores
from admercs.method.odds import log_complement
from admercs.method.ranges import CodeRange, best_range
from admercs.method.settings import Candidates, Feedback, NoisyOr
from admercs.pipeline.model import Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import BLOCK, Scorer, sum_in_order
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.trees.forest import Forest, Leaves
from admercs.trees.redundant import redundant_conditions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint8] | NDArray[np.uint16]

# Sums by code that are looked at together: 32 MB.
MOST_SUMS = 1 << 22


class Own(NamedTuple):
    """What a candidate's own columns say about the rows of its leaf, and is left out."""

    rows: Ints
    less: Floats  # of the evidence of each row
    share: float  # of all columns that is left


Owns = dict[int, Own]


class Question(NamedTuple):
    """The columns whose evidence about the rows of a leaf is left out."""

    columns: list[int]
    gaps: bool  # only of rows without a value there, but all of it
    own: float  # else: the share that is kept


class CappedExcess(NamedTuple):
    """How much evidence beyond the median row's counts for a candidate."""

    scale: ExcessScale
    cap: float

    def of(self, evidence: Floats, share: float = 1.0) -> Ints:
        """Return it for evidence that comes from a share of the columns."""
        return self.scale.times(share).capped(evidence, self.cap)


class ContextSearch:
    """The candidate contexts of a table.

    Parameters
    ----------
    rows : Rows
    model : Model
        The model before any context is anomalous.
    binning : Binning
    codes, leaves, base : Kept
        The codes, the leaves and the evidence of the rows of each piece.
    """

    def __init__(
        self, rows: Rows, model: Model, binning: Binning, codes: Kept, leaves: Kept, base: Kept
    ) -> None:
        self.rows, self.model, self.binning = rows, model, binning
        self.codes, self.leaves, self.base = codes, leaves, base
        self.forest = model.forest
        # Leaves as they are without the splits into groups; the paper's scoring has none.
        own = model.scoring.own
        self.whole = np.arange(len(own), dtype=np.int32) if model.method.purest else own
        self.is_whole = np.zeros(len(own), np.bool_)
        self.is_whole[self.whole[self.forest.is_leaf]] = True
        self.owns: Kept = rows.keep("", no_owns, base)
        self.shared_model: Any = None

    def find(self, smallest_leaf: int) -> Contexts:
        """Return the candidates, with log λ = −inf."""
        feedback = self.model.method.feedback
        if feedback is None or feedback.n_iter < 2:
            return Contexts.none()
        if feedback.candidates is None:
            return self._contexts(self.is_whole, [])
        if self.forest.n_trees < feedback.candidates.min_columns:
            return Contexts.none()
        scale = excess_scale(self.rows, self.base, feedback)
        if scale is None:
            return Contexts.none()
        return self._search(scale, feedback, feedback.candidates, smallest_leaf)

    def _search(
        self, scale: ExcessScale, feedback: Feedback, settings: Candidates, smallest_leaf: int
    ) -> Contexts:
        forest, excess = self.forest, CappedExcess(scale, settings.cap)
        kept = self.rows.keep(
            "", excess_by_leaf, self.leaves, self.base, shared=(len(forest.feature), excess)
        )
        sums = self.rows.merge(add_up, kept)
        groups = forest.is_leaf & ~self.is_whole & (sums >= settings.least * UNIT * forest.n)
        sums = np.bincount(self.whole, weights=sums, minlength=len(sums)).astype(np.int64)
        whole = self.is_whole & (sums >= settings.least * UNIT * forest.n)
        # A missing value in a column of the conditions does not count against rows chosen by it.
        gappy = self._with_gaps(np.flatnonzero(whole | groups).tolist())
        ranges = feedback.ranges
        possible = np.zeros_like(whole)
        search, questions = None, {}
        if ranges is not None:
            least_rows = max(ranges.min_rows, int(np.ceil(ranges.share * smallest_leaf)))
            # A range of a root is about its column alone, which has said so already.
            below = self.is_whole & (forest.parent >= 0)
            possible = below & (sums >= settings.least * UNIT * least_rows)
            search = _RangeSearch(self, excess, settings.least, least_rows)
            questions = self._own_questions(
                search, np.flatnonzero(possible & ~whole).tolist(), ranges
            )
        # Both at once: to learn what is left out the table has to be read.
        self._leave_out({**gappy, **questions})
        ordinary = [
            leaf
            for leaf, (counts, sums_of_leaf) in self._by_code(list(gappy), excess)
            if sums_of_leaf.sum() < settings.least * UNIT * counts.sum()
        ]
        whole[ordinary] = groups[ordinary] = False
        found: list[CodeRange] = []
        if search is not None and ranges is not None:
            found = search.find(list(questions))
            late = [leaf for leaf in ordinary if possible[leaf]]
            questions = self._own_questions(search, late, ranges)
            self._leave_out(questions)
            found += search.find(list(questions))
        # A group counts only where neither its leaf nor a range of it is a candidate.
        taken = whole.copy()
        taken[[each.leaf for each in found]] = True
        return self._contexts(whole | (groups & ~taken[self.whole]), found)

    def _with_gaps(self, leaves: list[int]) -> dict[int, Question]:
        """Return the leaves with conditions on columns in which values are missing."""
        gaps = [column.n_missing > 0 for column in self.model.schema.used]
        if not any(gaps):
            return {}
        columns = {
            leaf: [m for m in self.forest.condition_columns(leaf) if gaps[m]] for leaf in leaves
        }
        return {leaf: Question(each, True, 0.0) for leaf, each in columns.items() if each}

    def _own_questions(
        self, search: _RangeSearch, leaves: list[int], ranges: Any
    ) -> dict[int, Question]:
        """Return the leaves in which a range stands out by all evidence, and their own columns."""
        forest = self.forest
        found = [each.leaf for each in search.find(leaves)]
        columns = {
            leaf: sorted({*forest.condition_columns(leaf), forest.tree_of(leaf)}) for leaf in found
        }
        most = forest.n_trees - ranges.others
        return {
            leaf: Question(each, False, ranges.own)
            for leaf, each in columns.items()
            if len(each) <= most
        }

    def _leave_out(self, questions: dict[int, Question]) -> None:
        """From now on leave out some of the evidence about the rows of these leaves."""
        if not questions:
            return
        if self.shared_model is None:
            self.shared_model = self.rows.share(self.model)
        found = self.rows.read(
            "own columns", own_evidence, self.leaves, shared=(self.shared_model, questions)
        )
        self.owns = self.rows.keep("", join_owns, self.owns, found)

    def _by_code(self, leaves: list[int], excess: CappedExcess) -> Iterator[tuple[int, Ints]]:
        """Yield for leaves, per code of their target, the rows and their excess (2 x codes)."""
        n_codes = int(self.binning.n_codes.max())
        step = max(1, MOST_SUMS // (2 * n_codes))
        for start in range(0, len(leaves), step):
            some = leaves[start : start + step]
            kept = self.rows.keep(
                "", excess_by_code, self.codes, self.leaves, self.base, self.owns,
                shared=([self.forest.below(leaf) for leaf in some], excess, n_codes),
            )  # fmt: skip
            yield from zip(some, self.rows.merge(add_up, kept), strict=True)

    def _contexts(self, whole: NDArray[np.bool_], found: Sequence[CodeRange]) -> Contexts:
        """Put whole leaves and ranges into one table."""
        forest, binning = self.forest, self.binning
        entries = [
            (leaf, -np.inf, np.inf, int(forest.n[leaf])) for leaf in np.flatnonzero(whole).tolist()
        ]
        for each in found:
            tree = forest.tree_of(each.leaf)
            bounds = each.bounds(binning.edges[tree], bool(binning.is_nominal[tree]))
            entries.append((each.leaf, *bounds, each.n_rows))
        entries.sort()
        leaf, low, high, n = zip(*entries, strict=True) if entries else ((), (), (), ())
        return Contexts.none()._replace(
            leaf=np.array(leaf, np.int32),
            low=np.array(low, np.float64),
            high=np.array(high, np.float64),
            n=np.array(n, np.int64),
            log_lambda=np.full(len(leaf), -np.inf),
            redundant=self.model.redundant[np.array(leaf, np.int64)],
            member_ptr=np.zeros(len(leaf) + 1, np.int64),
        )


class _RangeSearch(NamedTuple):
    """The search for the range of a leaf whose rows stand out most."""

    contexts: ContextSearch
    excess: CappedExcess
    least: float
    least_rows: int

    def find(self, leaves: list[int]) -> list[CodeRange]:
        """Return the ranges of some leaves that have one."""
        found = []
        columns, forest = self.contexts.model.schema.used, self.contexts.forest
        for leaf, (counts, excess) in self.contexts._by_code(leaves, self.excess):
            column = columns[forest.tree_of(leaf)]
            n_categories = len(column.categories) if column.role == "nominal" else 0
            best = best_range(leaf, counts, excess, n_categories, self.least)
            if best is not None and self.least_rows <= best.n_rows < counts.sum():
                found.append(best)
        return found


def excess_scale(rows: Rows, evidence: Kept, feedback: Feedback) -> ExcessScale | None:
    """Return how excess evidence is measured."""
    high = 0.9 if feedback.spread is None else feedback.spread
    middle, top = rows.quantiles(evidence, np.array([0.5, high])).tolist()
    return ExcessScale.from_quantiles(middle, top, feedback)


def no_owns(base: Floats) -> Owns:  # noqa: ARG001
    """Return that nothing is left out."""
    return {}


def join_owns(one: Owns, other: Owns) -> Owns:
    """Return what is left out by both."""
    return {**one, **other}


def add_up(parts: Sequence[Ints]) -> Ints:
    """Add up the sums of several pieces."""
    total: Ints = np.sum(parts, axis=0)
    return total


def excess_by_leaf(leaves: Leaves, base: Floats, n_nodes: int, excess: CappedExcess) -> Ints:
    """Return per node the sum of the capped excess evidence of a piece's rows."""
    sums = np.zeros(n_nodes, np.int64)
    terms = excess.of(base)
    rows = np.flatnonzero(terms)
    terms = terms[rows]
    for tree, number in enumerate(leaves.number):
        add_terms(number, int(leaves.root[tree]), rows, terms, sums)
    return sums


@kernel
def add_terms(number, root, rows, terms, sums):  # type: ignore[no-untyped-def]
    """Add the terms of some rows to the sums of their leaves in one tree."""
    for k in range(np.uint64(len(rows))):
        sums[np.uint64(root) + np.uint64(number[np.uint64(rows[k])])] += terms[k]


def excess_by_code(
    codes: Codes,
    leaves: Leaves,
    base: Floats,
    owns: Owns,
    some: list[slice],
    excess: CappedExcess,
    n_codes: int,
) -> Ints:
    """Return for some leaves the rows of a piece and their excess per code of the target."""
    sums = np.zeros((len(some), 2, n_codes), np.int64)
    for place, nodes in enumerate(some):
        own = owns.get(nodes.start)
        if own is None:
            rows = leaves.rows_in(nodes)
            terms = excess.of(base[rows])
        else:
            rows = own.rows
            terms = excess.of(base[rows] - own.less, own.share)
        tree = int(np.searchsorted(leaves.root, nodes.start, side="right")) - 1
        code = codes[tree][rows]
        sums[place, 0] = np.bincount(code, minlength=n_codes)
        # Sums of whole numbers below 2 ** 53 are exact in floating point.
        sums[place, 1] = np.bincount(code, weights=terms, minlength=n_codes)
    return sums


def own_evidence(
    table: Prepared, leaves: Leaves, model: Model, questions: dict[int, Question]
) -> Owns:
    """Return the rows of some leaves, and what is left out of the evidence about them."""
    scorer = Scorer(model)
    rows = {leaf: leaves.rows_in(model.forest.below(leaf)) for leaf in questions}
    some = np.unique(np.concatenate(list(rows.values())))
    place = {leaf: np.searchsorted(some, mine) for leaf, mine in rows.items()}
    less = {leaf: np.empty(len(mine)) for leaf, mine in rows.items()}
    for start in range(0, len(some), BLOCK):
        here = some[start : start + BLOCK]
        values = table.some(here)
        cells = scorer.score_alone(values, leaves.of(here)).pattern
        for leaf, mine in place.items():
            a, b = np.searchsorted(mine, [start, start + len(here)])
            its, question = mine[a:b] - start, questions[leaf]
            said = cells[question.columns][:, its]
            left_out: Any = 1 - question.own
            if question.gaps:
                left_out = np.isnan(values[question.columns][:, its])
            less[leaf][a:b] = sum_in_order(said * left_out)

    def share(question: Question) -> float:
        left_out = 0.0 if question.gaps else (1 - question.own) * len(question.columns)
        return 1 - left_out / model.forest.n_trees

    return {leaf: Own(mine, less[leaf], share(questions[leaf])) for leaf, mine in rows.items()}


class ContextRows(NamedTuple):
    """The rows of a piece in one context."""

    rows: Ints
    log_omega: Floats  # how likely their values are there; empty where nothing depends on it
    less: Floats | None  # what is left out of their evidence
    share: float


def find_members(codes: Codes, leaves: Leaves, owns: Owns, shared: Any) -> list[ContextRows]:
    """Return the rows of a piece in each context."""
    contexts, binning, forest = shared
    return [
        _member(contexts, k, codes, leaves, owns, binning, forest)
        for k in range(len(contexts.leaf))
    ]


def _member(
    contexts: Contexts, k: int, codes: Codes, leaves: Leaves, owns: Owns, binning: Binning,
    forest: Forest,
) -> ContextRows:  # fmt: skip
    leaf = int(contexts.leaf[k])
    nothing = np.empty(0)
    if not contexts.is_range(k):
        return ContextRows(leaves.rows_in(forest.below(leaf)), nothing, None, 1.0)
    tree = forest.tree_of(leaf)
    rows, less, share = owns[leaf]
    inside = in_range(contexts, k, codes[tree][rows], tree, binning)
    return ContextRows(rows[inside], nothing, less[inside], share)


def in_range(
    contexts: Contexts, k: int, code: NDArray[np.unsignedinteger], tree: int, binning: Binning
) -> NDArray[np.bool_]:
    """Say which rows have a target in the range of a context, given its codes."""
    if binning.is_nominal[tree]:
        return code == int(contexts.high[k])
    first, last = np.searchsorted(binning.edges[tree], [contexts.low[k], contexts.high[k]])
    first = 1 if contexts.low[k] == -np.inf else first + 2
    return (code >= first) & (code <= last + 1)


def without_redundant(
    contexts: Contexts, forest: Forest, codes: Codes, binning: Binning
) -> Contexts:
    """Find the conditions that the range of a context makes redundant, in a sample of rows."""
    redundant = contexts.redundant.copy()
    for k, leaf in enumerate(contexts.leaf.tolist()):
        if contexts.is_range(k):
            tree = forest.tree_of(leaf)
            outside = ~in_range(contexts, k, codes[tree], tree, binning)
            redundant[k] = redundant_conditions(forest, codes, leaf, {}, outside)
    return contexts._replace(redundant=redundant)


def with_likelihoods(
    table: Prepared, leaves: Leaves, members: list[ContextRows], model: Model, contexts: Contexts
) -> list[ContextRows]:
    """Look up how likely the values of a context's rows are there, for the paper's form."""
    scorer, found = Scorer(model), []
    for k, member in enumerate(members):
        tree = model.forest.tree_of(contexts.leaf[k])
        log_omega = np.empty(len(member.rows))
        for start in range(0, len(member.rows), BLOCK):
            here = member.rows[start : start + BLOCK]
            parts = scorer.score_alone(table.some(here), leaves.of(here))
            log_omega[start : start + BLOCK] = parts.log_omega[tree]
        found.append(member._replace(log_omega=log_omega))
    return found


def sums_of_terms(
    evidence: Floats, members: list[ContextRows], gamma_lambda: float, scale: ExcessScale
) -> Ints:
    """Return for each context the sum of its rows' terms in a piece."""
    sums = []
    for rows, _, less, share in members:
        if less is None:
            terms = context_terms(evidence[rows], gamma_lambda, scale)
        else:
            terms = context_terms(evidence[rows] - less, gamma_lambda, scale.times(share))
        sums.append(int(terms.sum()))
    return np.array(sums, np.int64)


def raise_evidence(
    base: Floats, members: list[ContextRows], log_lambda: Floats, feedback: Feedback, evidence: Any
) -> Floats:
    """Return the evidence of a piece's rows when contexts have these scores."""
    context = np.zeros(len(base))
    log_not_lambda = log_complement(log_lambda)
    for k in np.flatnonzero(log_lambda > -np.inf):
        rows, log_omega = members[k][:2]
        given = np.full(len(rows), log_not_lambda[k])
        context[rows] += context_evidence(given, log_omega, feedback, evidence)
    return base + context


def iterate(
    search: ContextSearch, contexts: Contexts, feedback: Feedback
) -> tuple[Contexts, Kept, int]:
    """Score contexts and rows in turn until nothing changes.

    Returns the contexts that are anomalous, the evidence of the rows, and the number of rounds.
    """
    rows, model, base = search.rows, search.model, search.base
    log_lambda, evidence, rounds = contexts.log_lambda, base, 1
    if not len(contexts.leaf):
        return contexts, base, rounds
    shared = rows.share((contexts, search.binning, model.forest))
    members = rows.keep(
        "", find_members, search.codes, search.leaves, search.owns, shared=(shared,)
    )
    if isinstance(model.method.evidence, NoisyOr):
        members = rows.read("", with_likelihoods, search.leaves, members, shared=(model, contexts))
    while rounds < feedback.n_iter:
        scale = excess_scale(rows, evidence, feedback)
        if scale is None:
            break
        kept = rows.keep(
            "", sums_of_terms, evidence, members, shared=(feedback.gamma_lambda, scale)
        )
        new = log_scores(rows.merge(add_up, kept), contexts.n, feedback)
        moved = np.max(np.abs(np.exp(new) - np.exp(log_lambda)))
        log_lambda = new
        rounds += 1
        evidence = rows.keep(
            "feedback", raise_evidence, base, members,
            shared=(log_lambda, feedback, model.method.evidence),
        )  # fmt: skip
        if moved <= feedback.tol:
            break
    found = contexts._replace(log_lambda=log_lambda)
    kept_members = rows.gather(rows.keep("", first_members, members))
    return _with_members(found, kept_members, rows), evidence, rounds


MAX_MEMBERS = 1000
"""Training rows that are remembered of each context."""


def first_members(members: list[ContextRows]) -> list[Ints]:
    """Return the first rows of a piece in each context."""
    return [member.rows[:MAX_MEMBERS] for member in members]


def _with_members(contexts: Contexts, pieces: list[list[Ints]], rows: Rows) -> Contexts:
    """Keep the anomalous contexts, and remember the numbers of their first rows."""
    anomalous = contexts.log_lambda > -np.inf
    starts = rows.first_rows()
    members = [
        np.concatenate([start + piece[k] for start, piece in zip(starts, pieces, strict=True)])
        for k in np.flatnonzero(anomalous)
    ]
    members = [each[:MAX_MEMBERS] for each in members]
    return contexts.take(anomalous)._replace(
        member_ptr=np.cumsum([0, *map(len, members)]),
        member=np.concatenate([np.empty(0, np.int64), *members]),
    )
