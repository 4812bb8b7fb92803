"""Tests on a path that change nothing: without them the same training rows end up in the node.

Every animal with teeth has a backbone, so "backbone and teeth" is no more than "teeth". A test of a node's
path is *idle* if no row strays into the node without it (`strays`). Idle tests are given up one at a time, from the
lowest on the path to the highest, each only if it is idle without those given up before. So what remains
describes exactly the rows of the node, and none of it can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from admercs.trees.forest import Forest, Leaves
from admercs.trees.grow import Layout
from admercs.trees.levels import Codes
from admercs.trees.strays import Bits, Question, Rows, Shape, Survey, find_strays, survey

# The search takes the square of the nodes in time and memory. Whoever grows larger trees, leaves of a few rows in a
# large table, would wait longer for it than for the trees.
MOST_NODES = 2048


class Search:
    """The search for idle tests in one tree; sets of tests and of leaves are the bits of whole numbers.

    Parameters
    ----------
    shape : Shape
        The tree.
    found : Survey
        What all rows tell at first.
    """

    def __init__(self, shape: Shape, found: Survey) -> None:
        self._parent, self._sibling = shape.parent.tolist(), shape.sibling.tolist()
        self._depth = shape.depth.tolist()
        self._inside = [(1 << end) - (1 << node) for node, end in enumerate(shape.end.tolist())]
        self._enters = [int.from_bytes(row.tobytes(), "little") for row in found.enters]
        self._open = {node: tests for node, tests in enumerate(found.unseen.tolist()) if tests}
        self._idle = dict.fromkeys(self._open, 0)
        # At first all tests at once, with none given up: whoever is found then is a stray for good.
        self._asked = dict(self._open)
        self._strays: dict[tuple[int, int], int] = {}
        self._go_on()

    @property
    def idle(self) -> Bits:
        """The idle tests of each node."""
        idle = np.zeros(len(self._parent), np.uint64)
        idle[list(self._idle)] = list(self._idle.values())
        return idle

    @property
    def question(self) -> Question | None:
        """What is to be asked of the rows; None if nothing is left to be asked."""
        if not self._asked:
            return None
        n_nodes = len(self._parent)
        asked, given_up, hope = [0] * n_nodes, [0] * n_nodes, [0] * n_nodes
        whence: dict[int, int] = {}
        for (node, test), leaves in self._strays.items():
            asked[node] |= test
            given_up[node] = self._idle[node]
            whence[test] = whence.get(test, 0) | leaves
        for test, leaves in whence.items():
            for leaf in members(leaves):
                hope[leaf] |= test
        return Question(*(np.array(tests, np.uint64) for tests in (asked, given_up, hope)))

    def answer(self, unseen: Bits) -> None:
        """Go on, given the tests asked about for which no row strays."""
        for node, test in self._strays:
            if not int(unseen[node]) & test:
                self._open[node] ^= test
                self._asked[node] ^= test
        self._give_up()
        self._go_on()

    def _go_on(self) -> None:
        """Ask until there is a question that only rows can answer."""
        while self._asked:
            self._strays = {
                (node, test): leaves
                for node, tests in self._asked.items()
                for test, leaves in self._possible_strays(node, tests)
            }
            if self._strays:
                return
            self._give_up()

    def _give_up(self) -> None:
        """Give up the lowest test of each node that turned out to be idle; ask about the next one."""
        for node, tests in self._asked.items():
            self._idle[node] |= lowest(tests)
            self._open[node] ^= lowest(tests)
        self._asked = {node: lowest(tests) for node, tests in self._open.items() if tests}

    def _possible_strays(self, node: int, tests: int) -> Iterator[tuple[int, int]]:
        """Go through tests with leaves that may have rows that fail this one and those given up, but no other."""
        idle, leaves = self._idle[node], -1
        test = 1 << self._depth[node] - 1
        while leaves and tests:  # from the lowest test of the path upwards
            if test & tests:
                tests ^= test
                strays = leaves & self._inside[self._sibling[node]]
                if strays:
                    yield test, strays
            if not test & idle:
                leaves &= self._enters[node]
            node, test = self._parent[node], test >> 1


def lowest(tests: int) -> int:
    """Return the test that is lowest on the path."""
    return 1 << tests.bit_length() >> 1


def members(number: int) -> list[int]:
    """Return the places of the bits of a whole number, from the last to the first.

    Examples
    --------
    >>> members(0b1011)
    [3, 1, 0]
    """
    places = []
    while number:
        places.append(number.bit_length() - 1)
        number ^= 1 << places[-1]
    return places


def with_idle_tests(
    forest: Forest, codes: Codes, leaves: Leaves, layout: Layout, n_jobs: int = 1
) -> Forest:
    """Let the nodes of a forest know which tests of their paths are idle, given all rows in memory."""
    rows = Rows(codes, leaves.number)
    sample = rows.sample()

    def search(tree: int) -> Bits:
        shape = Shape.of(forest, tree, layout)
        found = Search(shape, survey(shape, [rows], [sample]))
        while (question := found.question) is not None:
            found.answer(find_strays(shape, question, [rows]))
        return found.idle

    trees = trees_to_search(forest)
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        return with_idle(forest, dict(zip(trees, pool.map(search, trees), strict=True)))


def trees_to_search(forest: Forest) -> list[int]:
    """Return the trees in which some path has two tests, which takes five nodes, but not huge ones."""
    n_nodes = np.diff(forest.root)
    trees: list[int] = np.flatnonzero((n_nodes >= 5) & (n_nodes <= MOST_NODES)).tolist()
    return trees


def with_idle(forest: Forest, idle: dict[int, Bits]) -> Forest:
    """Write down the idle tests of some trees; the others have none."""
    whole = np.zeros_like(forest.idle)
    for tree, tests in idle.items():
        whole[forest.root[tree] : forest.root[tree + 1]] = tests
    return forest._replace(idle=whole)
