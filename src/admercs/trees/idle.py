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
        return self._per_node(self._idle)

    @property
    def question(self) -> Question | None:
        """What is to be asked of the rows; None if nothing is left to be asked."""
        if not self._asked:
            return None
        asked, given_up, hope = (dict.fromkeys(range(len(self._parent)), 0) for _ in range(3))
        for (node, test), leaves in self._strays.items():
            asked[node] |= test
            given_up[node] = self._idle[node]
            for leaf in bits(leaves):
                hope[leaf.bit_length() - 1] |= test
        return Question(*(self._per_node(tests) for tests in (asked, given_up, hope)))

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
                for test in bits(tests)
                if (leaves := self._possible_strays(node, test))
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

    def _possible_strays(self, node: int, test: int) -> int:
        """Return the leaves that may have rows that fail a test, and those given up, but no other."""
        idle, leaves = self._idle[node], -1
        while leaves:
            way_in = 1 << self._depth[node] - 1
            if way_in == test:
                return leaves & self._inside[self._sibling[node]]
            if not way_in & idle:
                leaves &= self._enters[node]
            node = self._parent[node]
        return 0

    def _per_node(self, tests: dict[int, int]) -> Bits:
        array = np.zeros(len(self._parent), np.uint64)
        array[list(tests)] = list(tests.values())
        return array


def lowest(tests: int) -> int:
    """Return the test that is lowest on the path."""
    return 1 << tests.bit_length() >> 1


def bits(number: int) -> Iterator[int]:
    """Return the members of a set one by one, each as a set."""
    while number:
        yield number & -number
        number &= number - 1


def with_idle_tests(
    forest: Forest, codes: Codes, leaves: Leaves, layout: Layout, n_jobs: int = 1
) -> Forest:
    """Let the nodes of a forest know which tests of their paths are idle, given all rows in memory."""
    rows = Rows(codes, leaves.number)
    sample = rows.sample()

    def search(tree: int) -> Bits:
        shape = Shape.of(forest, tree, layout)
        if not shape.tests.any():
            return shape.tests
        found = Search(shape, survey(shape, [rows], [sample]))
        while (question := found.question) is not None:
            found.answer(find_strays(shape, question, [rows]))
        return found.idle

    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        return forest._replace(idle=np.concatenate(list(pool.map(search, range(forest.n_trees)))))
