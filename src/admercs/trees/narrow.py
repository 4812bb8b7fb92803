"""Narrow contexts: a leaf split once more, by its own target.

No condition of a leaf names the tree's target, so a group of rows that only two columns together set apart may
be no leaf of any tree: in each of their trees it shares a leaf with others, and only the target tells them apart.
Where the rows of such a group stand out (`evidence.suspects`), the leaf is split. All parts of it are judged by the
leaf as it was, for whoever judges a value must not have been chosen by it; the group is a context of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest, Leaves, leaf_type
from admercs.trees.nodes import depths

# Sets of tests on a path are kept as 64 bits (see `idle`), and two tests are added.
DEEPEST = 62


class Span(NamedTuple):
    """A range of its target's codes within a leaf; of categories just one."""

    leaf: int
    first: int
    last: int
    counts: NDArray[np.int64]  # rows of the leaf per code; code 0 is missing

    @property
    def n_rows(self) -> int:
        """Rows of the leaf in the range."""
        return int(self.counts[self.first : self.last + 1].sum())


class Narrowed(NamedTuple):
    """A forest some of whose leaves have been split."""

    forest: Forest
    number: NDArray[np.int32]  # the new number of each node there was before
    spans: list[Span]
    inside: NDArray[np.int64]  # per span, the node that is its context
    home: list[NDArray[np.int32]]  # per span and code, the node that holds its rows now

    def relocate(self, leaves: Leaves, codes: Any) -> Leaves:
        """Return the leaves of rows; `codes` are those of their targets, trees x rows."""
        root, old = self.forest.root, leaves.number
        moved = old.astype(leaf_type(int(np.diff(root).max())))
        for tree in {self.forest.tree_of(node) for node in self.inside}:
            stop = leaves.root[tree + 1]
            moved[tree] = (self.number[leaves.root[tree] : stop] - root[tree])[old[tree]]
        for span, home in zip(self.spans, self.home, strict=True):
            tree = self.forest.tree_of(home[0])
            rows = leaves.rows_in(span.leaf)
            moved[tree, rows] = home[codes[tree][rows]] - root[tree]
        return Leaves(moved, root)


class _Test(NamedTuple):
    bin: int
    missing_left: bool


def narrow(
    forest: Forest,
    spans: Sequence[Span],
    edges: Sequence[NDArray[np.float64]],
    is_nominal: NDArray[np.bool_],
) -> Narrowed:
    """Split leaves by ranges of their targets.

    Parameters
    ----------
    forest : Forest
    spans : sequence of Span
        At most one per leaf, and not all of its rows. Leaves that lie too deep stay as they are.
    edges : sequence of ndarray
        The bin edges of each column.
    is_nominal : ndarray of bool
        Which columns hold categories.
    """
    depth = depths(forest.parent)
    kept = sorted(
        (span for span in spans if depth[span.leaf] <= DEEPEST), key=lambda span: span.leaf
    )
    tests = [_tests(span, bool(is_nominal[forest.tree_of(span.leaf)])) for span in kept]
    inserted = np.zeros(len(forest.feature) + 1, np.int64)
    inserted[[span.leaf + 1 for span in kept]] = [2 * len(each) for each in tests]
    inserted = np.cumsum(inserted)
    number = (np.arange(len(forest.feature)) + inserted[:-1]).astype(np.int32)
    roomy = _with_room(forest, number, int(inserted[-1]))
    inside, home = np.empty(len(kept), np.int64), []
    subsets = [forest.subsets]
    for k, (span, each) in enumerate(zip(kept, tests, strict=True)):
        tree = forest.tree_of(span.leaf)
        place = int(number[span.leaf])
        if is_nominal[tree]:
            roomy.subset[place] = sum(map(len, subsets))
            subsets.append(_one_category(span.first))
        inside[k], where = _split(roomy, place, tree, span, each, edges[tree])
        home.append(where)
    return Narrowed(roomy._replace(subsets=np.concatenate(subsets)), number, kept, inside, home)


def _tests(span: Span, nominal: bool) -> list[_Test]:
    """Return the tests that set a range apart from the rest of its leaf, the upper end first."""
    if nominal:
        return [_Test(0, missing_left=False)]
    below = bool(span.counts[1 : span.first].any())
    missing = bool(span.counts[0])
    above = bool(span.counts[span.last + 1 :].any())
    tests = [_Test(span.last, missing_left=below or missing)] if above else []
    if below or missing:  # bin 0 holds missing values alone
        tests.append(_Test(span.first - 1 if below else 0, missing_left=True))
    return tests


def _split(
    forest: Forest,
    place: int,
    tree: int,
    span: Span,
    tests: list[_Test],
    edges: NDArray[np.float64],
) -> tuple[int, NDArray[np.int32]]:
    """Write the parts of a leaf to the room behind it; return the part inside, and who goes where."""
    scorer, wider = forest.scorer[place], forest.wider[place]
    code = np.arange(len(span.counts))
    here = np.ones(len(code), np.bool_)
    home = np.full(len(code), place, np.int32)
    end = place + 2 * len(tests) + 1
    node = place
    for test in tests:
        if forest.subset[place] >= 0:
            goes_left, stays_left = code == span.first, True
        else:
            goes_left = np.where(code == 0, test.missing_left, code <= test.bin)
            stays_left = test.bin >= span.last
            forest.threshold[node] = edges[test.bin - 1] if test.bin else -np.inf
        # Preorder: the part that is split no further comes first if it is the left one, else last.
        left, right = node + 1, end - 1 if stays_left else node + 2
        forest.feature[node], forest.bin[node] = tree, test.bin
        forest.missing_left[node] = test.missing_left
        forest.left[node], forest.right[node] = left, right
        for child, side in ((left, goes_left), (right, ~goes_left)):
            forest.parent[child], forest.impurity[child] = node, forest.impurity[place]
            forest.n[child] = span.counts[here & side].sum()
            home[here & side] = child
        forest.scorer[node], forest.wider[node] = node, -1
        here &= goes_left if stays_left else ~goes_left
        node = left if stays_left else right
    for part in np.unique(home):
        forest.scorer[part], forest.wider[part] = scorer, wider
    return node, home


def _with_room(forest: Forest, number: NDArray[np.int32], n_more: int) -> Forest:
    """Return a forest with room for further nodes, where `number` leaves it."""
    n_nodes = len(number) + n_more

    def spread(name: str, fill: float) -> NDArray[Any]:
        old = getattr(forest, name)
        array = np.full(n_nodes, fill, old.dtype)
        array[number] = old
        return array

    def renumbered(name: str) -> NDArray[np.int32]:
        array = spread(name, -1)
        return np.where(array >= 0, number[array], -1).astype(np.int32)

    return forest._replace(
        root=np.append(number[forest.root[:-1]], n_nodes).astype(np.int64),
        feature=spread("feature", -1),
        threshold=spread("threshold", np.nan),
        lower=spread("lower", np.nan),  # whether a row has its own value is never in doubt
        upper=spread("upper", np.nan),
        bin=spread("bin", 0),
        subset=spread("subset", -1),
        missing_left=spread("missing_left", False),
        left=renumbered("left"),
        right=renumbered("right"),
        parent=renumbered("parent"),
        n=spread("n", 0),
        impurity=spread("impurity", 0.0),
        scorer=renumbered("scorer"),
        wider=renumbered("wider"),
        idle=spread("idle", 0),
    )


def _one_category(code: int) -> NDArray[np.uint64]:
    """Return the set of a single category, as a row of ``Forest.subsets``."""
    words = np.zeros((1, 4), np.uint64)
    words[0, code >> 6] = np.uint64(1) << np.uint64(code & 63)
    return words
