"""Which contexts may be suspected, before any of them is: those whose rows stand out on their own.

The feedback's fine unit lets contexts of the same rows talk each other into a conviction, so only those are tried
whose rows are on average nearly as guilty as the 90% quantile. That is asked of every leaf as a whole; that values
are missing in the columns of its conditions is not held against rows that were chosen by missing them. Of a leaf
that is not as guilty it may be true of a part: the rows whose target lies in some range (see `trees.narrow`). Such
a range is chosen by the guilt of its rows, so the columns it is chosen in, the target and those of the leaf's
conditions, have less of a say. Where no range stands out, one of the groups may into which fine splits part the
leaf: these were chosen before anybody was guilty, so again only gaps do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.forest import Forest
from admercs.trees.groups import Groups
from admercs.trees.narrow import Span

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Sums over rows are kept in fixed point: exact in any order, and 2 ** 33 rows fit.
UNIT = float(1 << 24)
# In units of half the distance from the median to the 90% quantile: the guilt that the rows of a context have on
# average, and the most that one row counts when it is asked whether all of them stand out.
LEAST_GUILT = 1.75
FULL_GUILT = 3.0
# In a table of two columns every context is about both, and nobody else could testify: rows in the thin end of a
# column would be guilty of being there, and by association once more.
LEAST_COLUMNS = 3
# What a column says about rows that were chosen by it counts only so much.
OWN_WORD = 0.25
# Others have to testify, and to break a relation takes two.
LEAST_OTHERS = 2
# A part of a leaf is a context if it holds so much of a smallest leaf, and at least this many rows.
PART_OF_LEAF = 0.75
LEAST_ROWS = 8
# Sums by code that are looked at together: 32 MB.
MOST_SUMS = 1 << 22


class Aside(NamedTuple):
    """What the rows of one leaf, or of a part of it, do not testify with."""

    rows: Ints
    less: Floats  # of the evidence of each
    share: float  # of all columns' say that is left

    def left_of(self, evidence: Floats, yardstick: Yardstick) -> tuple[Floats, Yardstick]:
        """Return the evidence that is left, and what it is to be measured by: as much less."""
        typical, unit = self.share * yardstick.typical, self.share * yardstick.unit
        return evidence[self.rows] - self.less, Yardstick(typical, unit)


Own = dict[int, Aside]


class Yardstick(NamedTuple):
    """What a row's guilt is measured by."""

    typical: float  # the evidence of a row that is not guilty at all
    unit: float  # the evidence beyond it that counts as one


def find_yardstick(feedback: str, quantile: Callable[[float], float]) -> Yardstick | None:
    """Return the yardstick, or None when no row stands out at all.

    ``"paper"``: evidence as it is. ``"centred"``: what exceeds the typical (median) row, since with many
    attributes even ordinary rows gather some. ``"relative"``: the same, in units of half the distance from the
    median to the 90% quantile, so that the number of attributes and how loud they are do not matter.

    Examples
    --------
    >>> find_yardstick("relative", {0.5: 1.0, 0.9: 3.0}.__getitem__)
    Yardstick(typical=1.0, unit=1.0)
    """
    if feedback == "paper":
        return Yardstick(0.0, 1.0)
    typical = quantile(0.5)
    if feedback == "centred":
        return Yardstick(typical, 1.0)
    unit = (quantile(0.9) - typical) / 2
    return Yardstick(typical, unit) if unit > 0 else None


def find_guilt(evidence: Floats, yardstick: Yardstick) -> Floats:
    """Return how guilty rows are."""
    return np.maximum(0.0, evidence - yardstick.typical) / yardstick.unit


def fixed_guilt(evidence: Floats, yardstick: Yardstick) -> Ints:
    """Return the guilt of rows in fixed point; a few that stand out by far do not make a context."""
    guilt = np.minimum(find_guilt(evidence, yardstick), FULL_GUILT)
    return np.rint(guilt * UNIT).astype(np.int64)


@kernel
def add_terms(leaves, rows, terms, sums):  # type: ignore[no-untyped-def]
    """Add the terms of some rows to the sums of their leaves in one tree."""
    for k in range(len(rows)):
        sums[leaves[rows[k]]] += terms[k]


def add_guilt(
    leaves: Iterable[NDArray[np.int32]], evidence: Floats, sums: Ints, yardstick: Yardstick
) -> None:
    """Add the guilt of a piece's rows to the sums of their leaves."""
    guilt = fixed_guilt(evidence, yardstick)
    rows = np.flatnonzero(guilt)
    for tree in leaves:
        add_terms(tree, rows, guilt[rows], sums)


@kernel
def _add_by_code(leaf, codes, guilt, place, sums):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(len(leaf))):
        slot = place[np.uint64(leaf[i])]
        if slot >= 0:
            code = np.uint64(codes[i])
            sums[np.uint64(slot), np.uint64(0), code] += 1
            sums[np.uint64(slot), np.uint64(1), code] += guilt[i]


def add_by_code(
    leaf: NDArray[np.unsignedinteger],
    codes: NDArray[np.unsignedinteger],
    guilt: Ints,
    wanted: Sequence[slice],
    n_nodes: int,
    sums: Ints,
) -> None:
    """Count the rows of wanted leaves of one tree by the code of its target, and add up their guilt.

    `leaf` is each row's leaf, counted from the tree's root, and `wanted` the nodes that a leaf consists of, with
    its fine splits; `sums` (leaves x 2 x codes) is added to.
    """
    place = np.full(n_nodes, -1, np.int32)
    for slot, nodes in enumerate(wanted):
        place[nodes] = slot
    _add_by_code(leaf, codes, guilt, place, sums)


class Witnesses(Protocol):
    """The rows of a table before any context is suspected: in memory, or in many pieces."""

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        ...

    def guilt(self, yardstick: Yardstick) -> Ints:
        """Return per node the sum of its rows' guilt, in fixed point."""
        ...

    def by_code(self, leaves: Sequence[int], yardstick: Yardstick) -> list[Ints]:
        """Return for leaves, per code of their target, the number of rows and their guilt (2 x codes)."""
        ...

    def set_aside(self, asked: Mapping[int, Asked]) -> None:
        """From now on take less of what the rows of these leaves, too, have against them in some columns."""
        ...


class Asked(NamedTuple):
    """The columns by which a leaf, or a part of it, was chosen."""

    columns: list[int]
    gaps: bool  # only what they say of rows that have no value there is set aside, but all of that


class Columns(NamedTuple):
    """What is to be known of the columns."""

    n_categories: Sequence[int]  # 0 if it holds numbers
    has_gaps: Sequence[bool]  # whether values are missing


class Suspects(NamedTuple):
    """The contexts that may be suspected."""

    leaves: NDArray[np.bool_]  # per node: leaves as a whole, and groups of fine splits
    spans: list[Span]  # parts of leaves
    keep: NDArray[np.bool_]  # per node: splits that are needed

    def leave(self, forest: Forest) -> bool:
        """Say whether the trees may stay as they are."""
        return not self.spans and bool(self.keep[forest.feature >= 0].all())


def find_suspects(
    rows: Witnesses,
    forest: Forest,
    columns: Columns,
    n_codes: int,
    feedback: str | None,
    smallest_leaf: int,
    fine: bool,
) -> Suspects:
    """Return the contexts that may be suspected.

    Parameters
    ----------
    rows : Witnesses
    forest : Forest
    columns : Columns
    n_codes : int
        One more than the largest code there is.
    feedback : {"relative", "centred", "paper"} or None
        Only ``"relative"`` feedback asks: in the paper any leaf may be suspected. Without feedback none is.
    smallest_leaf : int
        The least number of rows of a leaf.
    fine : bool
        Whether the forest has fine splits: nodes below these are judged by the leaf as it was.
    """
    groups = Groups.of(forest, fine)
    leaves = groups.leaves
    if feedback in ("centred", "paper"):
        return Suspects(leaves, [], groups.coarse)
    nobody = Suspects(np.zeros_like(leaves), [], groups.coarse)
    if feedback is None or forest.n_trees < LEAST_COLUMNS:
        return nobody
    yardstick = find_yardstick(feedback, rows.quantile)
    if yardstick is None:
        return nobody
    least = max(LEAST_ROWS, int(np.ceil(PART_OF_LEAF * smallest_leaf)))
    inquiry = _Inquiry(rows, forest, columns, n_codes, yardstick, least)
    parts = rows.guilt(yardstick)
    guilt = groups.sum_up(parts)
    whole = leaves & (guilt >= LEAST_GUILT * UNIT * forest.n)
    small = groups.inside(leaves) & (parts >= LEAST_GUILT * UNIT * forest.n)
    # What a root says of a range is said by its column alone, and it has said so already.
    below = leaves & (forest.parent >= 0)
    possible = below & (guilt >= LEAST_GUILT * UNIT * least)
    acquitted, spans = inquiry.hear(
        np.flatnonzero(whole | small), np.flatnonzero(possible & ~whole)
    )
    whole[acquitted] = small[acquitted] = False
    spans += inquiry.parts_of(acquitted[possible[acquitted]])
    below &= ~whole
    below[[span.leaf for span in spans]] = False
    small &= groups.inside(below)
    return Suspects(whole | small, spans, groups.coarse | groups.on_the_way(small))


class _Inquiry(NamedTuple):
    """What the rows are asked about contexts."""

    rows: Witnesses
    forest: Forest
    columns: Columns
    n_codes: int
    yardstick: Yardstick
    least: int  # rows of a part of a leaf

    def hear(self, contexts: Ints, leaves: Ints) -> tuple[Ints, list[Span]]:
        """Return contexts that are not guilty enough without their gaps, and the guiltiest parts of leaves."""
        gappy = _with_gaps(self.forest, contexts.tolist(), self.columns.has_gaps)
        narrow = self._with_parts(leaves)
        # Both at once: to learn what is to be set aside a table in pieces has to be read.
        self._set_aside({**gappy, **narrow})
        acquitted = [
            context
            for context, (counts, left) in self._by_code(list(gappy))
            if left.sum() < LEAST_GUILT * UNIT * counts.sum()
        ]
        return np.array(acquitted, np.int64), self._search(list(narrow))

    def parts_of(self, leaves: Ints) -> list[Span]:
        """Return the guiltiest parts of leaves."""
        narrow = self._with_parts(leaves)
        self._set_aside(narrow)
        return self._search(list(narrow))

    def _with_parts(self, leaves: Ints) -> dict[int, Asked]:
        """Return the leaves in which a part stands out with all that is said, and what is to be set aside."""
        found = [span.leaf for span in self._search(leaves.tolist())]
        asked = {
            leaf: sorted({*_tested(self.forest, leaf), self.forest.tree_of(leaf)}) for leaf in found
        }
        most = self.forest.n_trees - LEAST_OTHERS
        return {leaf: Asked(each, gaps=False) for leaf, each in asked.items() if len(each) <= most}

    def _set_aside(self, asked: dict[int, Asked]) -> None:
        if asked:
            self.rows.set_aside(asked)

    def _search(self, leaves: list[int]) -> list[Span]:
        found = (
            best_span(leaf, sums, self.columns.n_categories[self.forest.tree_of(leaf)])
            for leaf, sums in self._by_code(leaves)
        )
        return [span for span in found if span and self.least <= span.n_rows < span.counts.sum()]

    def _by_code(self, leaves: list[int]) -> Iterator[tuple[int, Ints]]:
        for part in _portions(leaves, MOST_SUMS // (2 * self.n_codes)):
            yield from zip(part, self.rows.by_code(part, self.yardstick), strict=True)


def _portions(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), max(1, size)):
        yield items[start : start + max(1, size)]


def _with_gaps(forest: Forest, contexts: list[int], has_gaps: Sequence[bool]) -> dict[int, Asked]:
    """Return the contexts with conditions on columns in which values are missing, and these columns."""
    if not any(has_gaps):
        return {}
    gappy = {node: [m for m in _tested(forest, node) if has_gaps[m]] for node in contexts}
    return {node: Asked(columns, gaps=True) for node, columns in gappy.items() if columns}


def _tested(forest: Forest, node: int) -> list[int]:
    """Return the columns that the conditions of a node are about."""
    return sorted(set(forest.feature[forest.path(node)[:-1]].tolist()))


def best_span(leaf: int, sums: Ints, n_categories: int) -> Span | None:
    """Return the range of codes whose rows are guilty enough and together the guiltiest.

    `sums` holds the number of rows per code and their guilt. What exceeds the guilt that a context must have on
    average is added up; of numbers a range is looked for, of categories a single one. Missing values belong to
    no range, nor do rare categories that share a code.

    Examples
    --------
    >>> guilt = np.array([4, 0, 1, 3, 2, 4, 1]) * int(UNIT)
    >>> span = best_span(0, np.array([[1] * 7, guilt]), n_categories=0)
    >>> span.first, span.last
    (3, 5)
    """
    counts, guilt = sums
    excess = (guilt - int(LEAST_GUILT * UNIT) * counts)[1:]
    if n_categories:
        first = last = int(excess[:n_categories].argmax())
        best = int(excess[first])
    else:
        total = np.cumsum(excess)
        before = np.append(0, total[:-1])
        gain = total - np.minimum.accumulate(before)
        last = int(gain.argmax())
        first = last - int(before[last::-1].argmin())  # no code in front that nobody has
        best = int(gain[last])
    return Span(leaf, first + 1, last + 1, counts) if best > 0 else None
