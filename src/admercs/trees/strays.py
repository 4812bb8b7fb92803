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
SAMPLE = 1024
# Words of 64 bits that are compared at a time: 32 MB.
MOST_WORDS = 1 << 22


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
        told = np.append(leaves, forest.judges(tree)) - forest.root[tree]
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

    # Per node, as bits: leaves with rows that pass the test that leads to it.
    enters: NDArray[np.uint8]
    unseen: Bits  # tests that may be idle, as far as a sample of the rows can tell


def survey(shape: Shape, pieces: Sequence[Rows], samples: Sequence[Rows]) -> Survey:
    """Let all rows of some pieces say which tests they pass, and those of samples go astray."""
    column, following = shape.turns.column, shape.turns.next
    n_nodes, n_codes = following.shape
    enters = np.zeros((n_nodes, n_nodes), np.bool_)
    # Flags of codes, in whole words of 64 bits.
    seen, goes_left = np.zeros((2, n_nodes, -(-n_codes // 64) * 64), np.bool_)
    goes_left[:, :n_codes] = following == np.arange(1, n_nodes + 1)[:, None]  # preorder
    inner = np.flatnonzero(following[:, 0] != np.arange(n_nodes))
    for attribute in np.unique(column[inner]):
        seen[:] = False
        for piece in pieces:
            note(piece.codes[attribute], piece.leaf[shape.tree], seen)
        there = np.packbits(seen, axis=1).view(np.uint64)
        mine = inner[column[inner] == attribute]
        for some in np.array_split(mine, 1 + mine.size * there.size // MOST_WORDS):
            left = np.packbits(goes_left[some], axis=1).view(np.uint64)[:, None]
            enters[some + 1] = (left & there).any(axis=2)
            enters[shape.sibling[some + 1]] = (~left & there).any(axis=2)
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
    turns, (asked, given_up, hope) = shape.turns, question
    unseen, ways = asked.copy(), np.empty((turns.depth, len(asked)), np.int32)
    waiting = np.empty((2, turns.depth), np.uint64)
    for codes, leaf in pieces:
        below, n_ways = np.zeros_like(ways), np.zeros(len(asked), np.int32)
        stray(
            codes, leaf[shape.tree], turns.column, turns.next, shape.parent, shape.sibling, shape.depth,
            hope, given_up, unseen, given_up.copy(), below, ways, n_ways, waiting,
        )  # fmt: skip
    return unseen


@kernel
def note(codes, leaf, seen):  # type: ignore[no-untyped-def]
    """Write down which codes of a column the rows of each leaf have."""
    for i in range(np.uint64(len(leaf))):
        seen[np.uint64(leaf[i]), np.uint64(codes[i])] = True


@kernel
def stray(  # type: ignore[no-untyped-def]
    codes, leaf, column, turns, parent, sibling, depth, hope, given_up, unseen, some_give_up, below,
    ways, n_ways, waiting,
):  # fmt: skip
    """Send each row astray at the tests of its path where there is hope, and on as its codes tell.

    Where a node below has given up a test, a row that fails it goes both ways. Whoever is reached is looked for no
    longer. All after `unseen` is room to work in.
    """
    one, none = np.uint64(1), np.uint64(0)
    left = 0
    for node in range(len(parent) - 1, -1, -1):  # preorder: a parent comes before its children
        # How many of the nodes from here down are looked for, by test; what some of them have given up.
        for level in range(len(below)):
            if unseen[node] >> np.uint64(level) & one != none:
                below[level, node] += 1
                left += 1
            if node > 0:
                below[level, parent[node]] += below[level, node]
        if node > 0:
            some_give_up[parent[node]] |= some_give_up[node]
    for node in range(len(parent)):
        # The wrong ways that rows of a leaf may go.
        on = node
        while on > 0:
            if hope[node] >> np.uint64(depth[on] - 1) & one != none:
                ways[n_ways[node], node] = sibling[on]
                n_ways[node] += 1
            on = parent[on]
    for i in range(np.uint64(len(leaf))):
        start = np.uint64(leaf[i])
        if n_ways[start] == 0:
            continue
        if left == 0:
            break
        way = 0
        while way < n_ways[start]:
            wrong = np.int64(ways[way, start])
            level = depth[wrong] - 1
            test = one << np.uint64(level)
            if below[level, wrong] == 0:  # nobody is left to be found: the last way takes its place
                n_ways[start] -= 1
                ways[way, start] = ways[n_ways[start], start]
                continue
            way += 1
            waiting[0, 0], waiting[1, 0] = wrong, none
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                at, failed = np.int64(waiting[0, n_waiting]), waiting[1, n_waiting]
                while below[level, at] > 0 and failed & ~some_give_up[at] == none:
                    if unseen[at] & test != none and failed & ~given_up[at] == none:
                        unseen[at] ^= test
                        left -= 1
                        up = at
                        while up >= 0:
                            below[level, up] -= 1
                            up = np.int64(parent[up])
                    turn = np.int64(turns[at, codes[column[at], i]])
                    if turn == at:
                        break
                    too = failed | one << np.uint64(depth[at])
                    if too & ~some_give_up[sibling[turn]] == none:
                        waiting[0, n_waiting], waiting[1, n_waiting] = sibling[turn], too
                        n_waiting += 1
                    at = turn
