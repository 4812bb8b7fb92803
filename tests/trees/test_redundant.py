"""Redundant conditions are those that a plain look at all rows finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from admercs.datasets import make_electric_vehicles
from admercs.method.settings import Trees
from admercs.trees.forest import Forest
from admercs.trees.redundant import find_redundant

from .tools import Grown, grow


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


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "cars": lambda: make_electric_vehicles(2, as_frame="pandas").table,
    "tangled": lambda: tangled(0),
    "tangled, again": lambda: tangled(1, 3000),
}
SETTINGS = {
    "defaults": Trees(),
    "small leaves": Trees(max_depth=20, min_samples_leaf=5),
    "exact bins": Trees(price=None, max_depth=6, max_bins="exact"),
}


@pytest.fixture(
    scope="module",
    params=[(table, settings) for table in TABLES for settings in SETTINGS],
    ids=", ".join,
)
def grown(request: pytest.FixtureRequest) -> Grown:
    table, settings = request.param
    return grow(TABLES[table](), SETTINGS[settings])


def goes_left(forest: Forest, node: int, values: np.ndarray) -> np.ndarray:
    """Return which rows a split sends left, by their working values."""
    x = values[forest.feature[node]]
    if forest.subset[node] >= 0:
        words = [int(word) for word in forest.subsets[forest.subset[node]]]
        bits = sum(word << 64 * k for k, word in enumerate(words))
        left = np.array([bool(bits >> int(code) & 1) for code in np.nan_to_num(x)])
    else:
        left = x <= forest.threshold[node]
    return np.where(np.isnan(x), forest.missing_left[node], left)


def test_what_remains_describes_the_same_rows_and_none_can_be_left_out(grown: Grown) -> None:
    forest = grown.forest
    redundant = find_redundant(forest, grown.codes, range(len(forest.feature)))
    dropped = 0
    for node in range(len(forest.feature)):
        holds = [
            goes_left(forest, parent, grown.values) == (forest.left[parent] == child)
            for parent, child in pairwise(forest.path(node))
        ]
        everyone = np.ones(grown.codes.shape[1], bool)
        inside = np.all([everyone, *holds], axis=0)
        assert inside.sum() == forest.n[node]
        assert int(redundant[node]) >> max(0, len(holds) - 1) == 0  # its last condition stays
        kept = [test for k, test in enumerate(holds) if not int(redundant[node]) >> k & 1]
        np.testing.assert_array_equal(np.all([everyone, *kept], axis=0), inside)
        for k in range(len(kept)):
            others = np.all([everyone, *kept[:k], *kept[k + 1 :]], axis=0)
            assert others.sum() > inside.sum()
        dropped += len(holds) - len(kept)
    assert dropped > 0


def test_nodes_that_nobody_asks_about_have_none(grown: Grown) -> None:
    leaves = grown.forest.leaves(0)
    some = find_redundant(grown.forest, grown.codes, leaves)
    everything = find_redundant(grown.forest, grown.codes, range(len(grown.forest.feature)))
    np.testing.assert_array_equal(some[leaves], everything[leaves])
    assert not np.delete(some, leaves).any()


def test_the_higher_of_two_conditions_that_say_the_same_is_kept_only_if_it_is_needed() -> None:
    # Every row above 0.5 in the first column is "b" in the second, and the third follows both.
    x = np.linspace(0, 1, 400)
    second = np.where(x > 0.5, "b", "a")
    third = np.where(x > 0.75, 10.0, 0.0) + np.linspace(0, 0.1, 400)
    table = pd.DataFrame({"x": x, "second": second, "third": third})
    forest, _, codes, *_ = grow(table, replace(Trees(), min_samples_leaf=20))
    redundant = find_redundant(forest, codes, range(len(forest.feature)))
    for node in forest.leaves(2):
        columns = forest.feature[forest.path(node)[:-1]]
        kept = [m for k, m in enumerate(columns) if not int(redundant[node]) >> k & 1]
        assert 1 <= len(kept) <= 2  # a range of one column at most
