"""What rows tell about the tests on a path: who would come into a node if it were not for one of them.

A row *strays* into a node if it fails one test of the node's path and passes all others. Rows are asked in
pieces, and what they tell is merged: a table in memory is the case of one piece. A survey of all rows says
for each leaf which tests of the tree some of its rows pass (`survey`). This rules out nearly all strays there are
none of, and a sample of the rows finds nearly all others. What is left open is asked row by row (`find_strays`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.forest import Forest
from admercs.trees.grow import Layout
from admercs.trees.levels import Codes, Turns, find_turns
from admercs.trees.nodes import depths, tree_nodes

Bits = NDArray[np.uint64]

# Rows of a piece that are asked first.
SAMPLE = 4096


class Rows(NamedTuple):
    """A piece of a table."""

    codes: Codes  # columns x rows
    leaf: NDArray[np.unsignedinteger]  # trees x rows, counted from the tree's root; see `Leaves`

    def sample(self) -> Rows:
        """Return some of the rows, from all over the piece."""
        step = max(1, self.leaf.shape[1] // SAMPLE)
        return Rows(*(np.ascontiguousarray(array[:, ::step]) for array in self))


class Shape(NamedTuple):
    """One tree, as rows need to know it that go astray."""

    tree: int
    turns: Turns
    parent: NDArray[np.int32]
    sibling: NDArray[np.int32]
    depth: NDArray[np.int64]
    end: NDArray[np.int64]  # one past the last node below
    tests: Bits  # tests that may be idle: of leaves and of nodes that judge rows

    @classmethod
    def of(cls, forest: Forest, tree: int, layout: Layout) -> Shape:
        """Return the shape of a tree."""
        nodes = tree_nodes(forest, tree)
        inner = np.flatnonzero(nodes.feature >= 0)
        left, right = nodes.left[inner], nodes.right[inner]
        sibling = np.full(len(nodes.feature), -1, np.int32)
        sibling[left], sibling[right] = right, left
        end = list(range(1, len(sibling) + 1))
        for node, last in zip(inner[::-1].tolist(), right[::-1].tolist(), strict=True):
            end[node] = end[last]  # preorder: the right half comes last
        depth, leaves = depths(nodes.parent), forest.leaves(tree)
        told = np.union1d(leaves, forest.scorer[leaves]) - forest.root[tree]
        # The last test of a path, by which a node parts from its sibling, is never idle.
        last_test = np.uint64(1) << np.maximum(depth[told] - 1, 0).astype(np.uint64)
        tests = np.zeros(len(depth), np.uint64)
        tests[told] = last_test - np.uint64(1)
        turns = find_turns(nodes, layout)
        return cls(tree, turns, nodes.parent, sibling, depth, np.array(end), tests)


class Question(NamedTuple):
    """Which strays are looked for in a tree; in a set of tests, bit k is the test k steps below the root."""

    asked: Bits  # per node: tests that a stray is looked for who fails it
    given_up: Bits  # per node: tests that a stray may fail as well
    hope: Bits  # per leaf: tests at which its rows may go astray and be one of those looked for


class Survey(NamedTuple):
    """What all rows of some pieces tell at first."""

    enters: NDArray[
        np.uint8
    ]  # per node, as bits: leaves with rows that pass the test that leads to it
    unseen: Bits  # tests that may be idle, as far as a sample of the rows can tell


def survey(shape: Shape, pieces: Sequence[Rows], samples: Sequence[Rows]) -> Survey:
    """Let all rows of some pieces say which tests they pass, and those of samples go astray."""
    n_nodes, n_codes = shape.turns.next.shape
    enters = np.zeros((n_nodes, n_nodes), np.bool_)
    seen = np.empty((n_nodes, n_codes), np.bool_)
    inner = np.flatnonzero(shape.turns.next[:, 0] != np.arange(n_nodes))
    for column in np.unique(shape.turns.column[inner]):
        seen[:] = False
        for piece in pieces:
            note(piece.codes[column], piece.leaf[shape.tree], seen)
        mine = inner[shape.turns.column[inner] == column]
        goes = shape.turns.next[mine]
        for child in (mine + 1, shape.sibling[mine + 1]):  # preorder: the left child is next
            enters[child] = (goes == child[:, None]).astype(np.float32) @ seen.T.astype(np.float32)
    all_hope = np.full(n_nodes, ~np.uint64(0))
    question = Question(shape.tests, np.zeros_like(shape.tests), all_hope)
    return Survey(
        np.packbits(enters, axis=1, bitorder="little"), find_strays(shape, question, samples)
    )


def merge_surveys(parts: Sequence[Survey]) -> Survey:
    """Put together what several groups of pieces tell."""
    enters, unseen = zip(*parts, strict=True)
    return Survey(np.bitwise_or.reduce(enters), merge_unseen(unseen))


def merge_unseen(parts: Sequence[Bits]) -> Bits:
    """Return the tests for which nobody has found a stray."""
    unseen: Bits = np.bitwise_and.reduce(parts)
    return unseen


def find_strays(shape: Shape, question: Question, pieces: Sequence[Rows]) -> Bits:
    """Return the tests asked about for which no row strays."""
    tree, turns, parent, sibling, depth, end, _ = shape
    asked, given_up, hope = question
    unseen, hope, nodes = asked.copy(), hope.copy(), np.arange(len(parent))
    # Tests given up by some node at or below each node.
    both = np.stack([nodes, end], axis=1).ravel()
    some_give_up = np.bitwise_or.reduceat(np.append(given_up, given_up[-1:]), both)[::2]
    # How many nodes at or below each node are looked for, by test.
    level = np.arange(turns.depth, dtype=np.uint64)[:, None]
    up_to = np.zeros((turns.depth, len(parent) + 1), np.int32)
    np.cumsum((asked >> level) & np.uint64(1), axis=1, out=up_to[:, 1:])
    below = up_to[:, end] - up_to[:, nodes]
    room = np.empty((2, turns.depth + 1), np.uint64)
    for codes, leaf in pieces:
        stray(
            codes, leaf[tree], turns.column, turns.next, parent, sibling, depth, given_up,
            some_give_up, unseen, below, hope, room,
        )  # fmt: skip
    return unseen


@kernel
def note(codes, leaf, seen):  # type: ignore[no-untyped-def]
    """Write down which codes of a column the rows of each leaf have."""
    for i in range(np.uint64(len(leaf))):
        seen[np.uint64(leaf[i]), np.uint64(codes[i])] = True


@kernel
def stray(  # type: ignore[no-untyped-def]
    codes, leaf, column, turns, parent, sibling, depth, given_up, some_give_up, unseen, below, hope,
    room,
):  # fmt: skip
    """Send each row astray at the tests of its path where there is hope, and on as its codes tell.

    Where a node below has given up a test, a row that fails it goes both ways. Whoever is reached is looked for no
    longer, and a test at which nobody is left to be found is no hope any more.
    """
    one, none = np.uint64(1), np.uint64(0)
    for i in range(np.uint64(len(leaf))):
        start = np.uint64(leaf[i])
        if hope[start] == none:
            continue
        node = np.int64(start)
        while parent[node] >= 0:
            above = np.int64(parent[node])
            level = depth[above]
            test = one << np.uint64(level)
            waiting = 0
            if hope[start] & test != none:
                if below[level, sibling[node]] > 0:
                    room[0, 0], room[1, 0] = sibling[node], none
                    waiting = 1
                else:
                    hope[start] ^= test
            while waiting > 0:
                waiting -= 1
                at, failed = np.int64(room[0, waiting]), room[1, waiting]
                while below[level, at] > 0 and failed & ~some_give_up[at] == none:
                    if unseen[at] & test != none and failed & ~given_up[at] == none:
                        unseen[at] ^= test
                        up = at
                        while up != above:
                            below[level, up] -= 1
                            up = np.int64(parent[up])
                    turn = np.int64(turns[at, codes[column[at], i]])
                    if turn == at:
                        break
                    too = failed | one << np.uint64(depth[at])
                    if too & ~some_give_up[sibling[turn]] == none:
                        room[0, waiting], room[1, waiting] = sibling[turn], too
                        waiting += 1
                    at = turn
            node = above
