"""Ranges of paths: they describe exactly the rows of a node, and none of them can be left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method, inspect
from admercs.datasets import make_electric_vehicles
from admercs.explain import Condition, Context
from admercs.explain.access import ModelAccess
from admercs.method.feedback import Contexts
from admercs.trees.forest import Forest
from tests.explain.conftest import mixed_table
from tests.explain.truth import Table, with_facets

PAPER_TREES = replace(Method(), trees=Method.paper("Campos").trees)


class Counter:
    """Counts the rows of a table that satisfy conditions."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = Table(table)
        self._holds: dict[Condition, np.ndarray] = {}

    def __call__(self, conditions: list[Condition]) -> int:
        inside = np.ones(self._table.n, bool)
        for condition in conditions:
            if condition not in self._holds:
                values = self._table.columns[condition.attribute]
                self._holds[condition] = np.array([condition.holds(value) for value in values])
            inside &= self._holds[condition]
        return int(inside.sum())


def every_context(model: ADMERCS) -> Iterator[Context]:
    forest = model.model_.forest
    for leaf in np.flatnonzero((forest.feature < 0) & (forest.parent >= 0)).tolist():
        yield model.describe_context(leaf)


def check_needed(table: pd.DataFrame, **parameters: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ADMERCS(**parameters).fit(table)
    count = Counter(with_facets(table, model))
    said = [(context.conditions, context.n) for context in every_context(model)]
    assert said
    patterns = model.patterns(None)
    said += [(p.conditions, p.n) for pattern in patterns for p in (pattern, *pattern.also)]
    for conditions, n in said:
        assert count(list(conditions)) == n, conditions
        for k, condition in enumerate(conditions):
            others = [*conditions[:k], *conditions[k + 1 :]]
            assert count(others) > n, condition
            if condition.low is None or condition.high is None:
                continue
            for end in ("low", "high"):
                # What keeps values beyond an end out may keep missing ones out as well.
                wider = replace(condition, missing=True, **{end: None})
                assert count([*others, wider]) > n, (condition, end)


@pytest.mark.parametrize("seed", range(4))
def test_mixed_tables(seed: int) -> None:
    check_needed(mixed_table(seed, 1500))


@pytest.mark.parametrize(
    "parameters",
    [{"min_samples_leaf": 5, "max_depth": 20}, {"max_bins": "exact"}, {"method": PAPER_TREES}],
    ids=["small leaves", "exact", "paper"],
)
def test_other_settings(parameters: dict[str, object]) -> None:
    check_needed(mixed_table(5, 800), **parameters)


def test_cars() -> None:
    check_needed(make_electric_vehicles(as_frame="pandas").table)


@pytest.mark.parametrize("file", ["zoo.csv", "titanic.csv", "hypothyroid.csv"])
def test_real_tables(data: Path, file: str) -> None:
    check_needed(pd.read_csv(data / file))


def test_who_has_teeth_need_not_have_a_backbone_too(data: Path) -> None:
    animals = pd.read_csv(data / "zoo.csv").set_index("animal_name").drop(columns="class_type")
    assert animals.loc[animals["toothed"] == 1, "backbone"].eq(1).all()
    model = ADMERCS(method=Method().change({"trees.group_rows": 0})).fit(animals)
    nodes = [node for node in inspect.tree_nodes(model) if node.target == "tail"]
    assert {node.split_on for node in nodes} == {"toothed", "backbone", None}
    tails = [context for context in every_context(model) if context.target == "tail"]
    said = {tuple(condition.text for condition in context.conditions) for context in tails}
    assert ("toothed = 1",) in said
    assert ("backbone = 1", "toothed = 0") in said


def access_to(forest: Forest) -> ModelAccess:
    """Return access to a model of which only the trees matter."""
    nothing = SimpleNamespace(used=())
    redundant = np.zeros(len(forest.feature), np.uint64)
    return ModelAccess(
        SimpleNamespace(
            forest=forest,
            likelihoods=SimpleNamespace(kind=np.empty(0)),
            schema=nothing,
            contexts=Contexts.none(),
            redundant=redundant,
        )
    )


def chain() -> Forest:
    """One path: age <= 30 (or missing), job in {1, 2}, age > 18, age <= 25."""
    n = 9
    left = np.full(n, -1, np.int32)
    right = left.copy()
    parent = left.copy()
    feature = left.copy()
    subset = left.copy()
    threshold = np.full(n, np.nan)
    missing = np.zeros(n, bool)
    for node, (column, bound, chosen) in enumerate(
        [(1, 30.0, True), (0, None, True), (1, 18.0, False), (1, 25.0, True)]
    ):
        inner, outer = node + 1, n - 1 - node
        feature[node] = column
        left[node], right[node] = (inner, outer) if chosen else (outer, inner)
        parent[[inner, outer]] = node
        if bound is None:
            subset[node] = 0
        else:
            threshold[node] = bound
    missing[0] = missing[2] = True
    nothing = np.zeros(n, np.int32)
    subsets = np.array([[0b110, 0, 0, 0]], np.uint64)
    return Forest(
        np.array([0, n]), feature, threshold, nothing, subset, missing, left, right, parent,
        np.ones(n, np.int64), np.ones(n), feature >= 0, subsets,
    )  # fmt: skip


def test_repeated_splits_merge_into_one_range() -> None:
    access = access_to(chain())
    ranges = access.ranges(4)
    assert list(ranges) == [1, 0]
    assert (ranges[1].low, ranges[1].high, ranges[1].missing) == (18.0, 25.0, False)
    assert [code for code in range(8) if ranges[0].allows(code)] == [1, 2]
    assert not ranges[0].missing
    assert access.ranges(0) == {}


def test_the_other_side_of_a_split() -> None:
    ranges = access_to(chain()).ranges(7)  # job not in {1, 2}
    assert [code for code in range(1, 7) if ranges[0].allows(code)] == [3, 4, 5, 6]
    assert ranges[0].missing
    inside = ranges[0].contains(np.array([1.0, 3.0, np.nan]))
    assert inside.tolist() == [False, True, True]
    assert ranges[1].contains(np.array([30.0, 31.0])).tolist() == [True, False]
