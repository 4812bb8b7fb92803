"""Tests that change nothing are those that a plain look at all rows finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from admercs.datasets import make_electric_vehicles
from admercs.table import bin_table, learn_schema, prepare, read_frame, summarise
from admercs.trees.forest import Forest, Leaves
from admercs.trees.grow import Layout, layout_of
from admercs.trees.growth import TreeSettings, grow_forest
from admercs.trees.idle import Search, with_idle_tests
from admercs.trees.nodes import left_codes, tree_nodes
from admercs.trees.strays import (
    Rows,
    Shape,
    Survey,
    find_strays,
    merge_surveys,
    merge_unseen,
    survey,
)


class Grown(NamedTuple):
    forest: Forest
    codes: np.ndarray
    leaves: Leaves
    layout: Layout


def tangled(seed: int, n: int = 600) -> pd.DataFrame:
    """Make columns that nearly tell each other, so that paths repeat themselves."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "a": z + 0.05 * rng.normal(size=n),
            "b": np.exp(z),
            "steps": np.round(3 * z),
            "size": np.array(["S", "M", "L", "XL", "XXL"])[np.digitize(z, [-1, 0, 0.5, 1.2])],
            "up": z > 0.3,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.round(100 * z), unit="D"),
            "noise": rng.normal(size=n),
        }
    )
    for name in ("a", "size", "day"):
        table[name] = table[name].where(rng.random(n) > 0.05)
    table.loc[z > 1.5, "b"] = np.nan
    return table


def grow(table: pd.DataFrame, settings: TreeSettings) -> Grown:
    frame = read_frame(table)
    schema = learn_schema(summarise(frame), warn=False)
    prepared = prepare(frame, schema)
    binning, codes = bin_table(prepared, schema)
    forest, leaves = grow_forest(
        codes, binning.edges, binning.n_codes, schema.used, prepared.column, settings
    )
    return Grown(forest, codes, leaves, layout_of(binning))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "cars": lambda: make_electric_vehicles(2, as_frame="pandas").table,
    "tangled": lambda: tangled(0),
    "tangled, again": lambda: tangled(1, 3000),
}
SETTINGS = {
    "defaults": TreeSettings("distribution", 10, 0.02, "auto"),
    "small leaves": TreeSettings("distribution", 20, 5, "auto"),
    "an inner node may judge": TreeSettings("paper", 6, 0.03, 0.001, purest_scores=True),
}


@pytest.fixture(
    scope="module",
    params=[(table, settings) for table in TABLES for settings in SETTINGS],
    ids=", ".join,
)
def grown(request: pytest.FixtureRequest) -> Grown:
    table, settings = request.param
    return grow(TABLES[table](), SETTINGS[settings])


def plainly_idle(grown: Grown, tree: int) -> np.ndarray:
    """Give tests up one by one, from the lowest, as long as the rows stay the same."""
    forest, codes, _, layout = grown
    nodes, root = tree_nodes(forest, tree), int(forest.root[tree])
    idle = np.zeros(len(nodes.feature), np.uint64)
    told = np.union1d(forest.leaves(tree), forest.judges(tree)) - root
    for node in told.tolist():
        path = [step - root for step in forest.path(node + root)]
        passes = []
        for parent, child in pairwise(path):
            column = nodes.feature[parent]
            n_codes = int(np.diff(layout.offsets).max())
            left = left_codes(nodes, [parent], layout.is_nominal[[column]], n_codes)[0]
            passes.append(left[codes[column]] == (nodes.left[parent] == child))
        kept = set(range(len(passes)))
        inside = np.all(passes, axis=0) if passes else np.ones(codes.shape[1], bool)
        assert inside.sum() == nodes.n[node]
        for k in sorted(kept, reverse=True):
            others = [passes[j] for j in kept - {k}] or [np.ones(codes.shape[1], bool)]
            if np.array_equal(np.all(others, axis=0), inside):
                kept.remove(k)
                idle[node] |= np.uint64(1 << k)
    return idle


def check(grown: Grown, idle: np.ndarray) -> None:
    forest = grown.forest
    for tree, (start, stop) in enumerate(pairwise(forest.root)):
        np.testing.assert_array_equal(idle[start:stop], plainly_idle(grown, tree))


def test_idle_tests_are_those_of_a_plain_look(grown: Grown) -> None:
    found = with_idle_tests(*grown)
    check(grown, found.idle)
    assert found.idle.any()


def test_huge_trees_are_left_as_they_are(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admercs.trees.idle.MOST_NODES", 10)
    idle = with_idle_tests(*grown).idle
    for tree, (start, stop) in enumerate(pairwise(grown.forest.root)):
        expected = plainly_idle(grown, tree) if stop - start <= 10 else 0
        np.testing.assert_array_equal(idle[start:stop], expected)


def test_a_survey_in_small_portions(grown: Grown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admercs.trees.strays.MOST_WORDS", 100)
    monkeypatch.setattr("admercs.trees.strays.SAMPLE", 1)
    check(grown, with_idle_tests(*grown).idle)


def test_threads_make_no_difference(grown: Grown) -> None:
    one, two = with_idle_tests(*grown), with_idle_tests(*grown, n_jobs=2)
    np.testing.assert_array_equal(one.idle, two.idle)


def search(shape: Shape, found: Survey, pieces: list[Rows]) -> np.ndarray:
    tree = Search(shape, found)
    while (question := tree.question) is not None:
        tree.answer(merge_unseen([find_strays(shape, question, [piece]) for piece in pieces]))
    return tree.idle


def test_pieces_tell_what_the_whole_table_tells(grown: Grown) -> None:
    forest, codes, leaves, layout = grown
    cuts = [0, 7, 300, codes.shape[1]]
    pieces = [
        Rows(np.ascontiguousarray(codes[:, a:b]), np.ascontiguousarray(leaves.number[:, a:b]))
        for a, b in pairwise(cuts)
    ]
    idle = []
    for tree in range(forest.n_trees):
        shape = Shape.of(forest, tree, layout)
        found = merge_surveys([survey(shape, [piece], [piece.sample()]) for piece in pieces])
        idle.append(search(shape, found, pieces))
    check(grown, np.concatenate(idle))


def test_without_a_survey_rows_tell_the_same(grown: Grown) -> None:
    forest, codes, leaves, layout = grown
    idle = []
    for tree in range(forest.n_trees):
        shape = Shape.of(forest, tree, layout)
        n = len(shape.parent)
        nothing_known = Survey(np.full((n, n // 8 + 1), 255, np.uint8), shape.tests)
        idle.append(search(shape, nothing_known, [Rows(codes, leaves.number)]))
    check(grown, np.concatenate(idle))
