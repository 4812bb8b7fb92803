"""Conditions describe exactly the rows of their context, and none of them can be left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.explanation import Condition, Context
from tests.explanation.conftest import mixed_table
from tests.explanation.truth import Table


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
    count = Counter(table)
    said = [(context.conditions, context.n) for context in every_context(model)]
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
    [{"min_samples_leaf": 5, "max_depth": 20}, {"max_bins": "exact"}, {"criterion": "paper"}],
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
    model = ADMERCS().fit(animals)
    tree = next(tree for tree in model.trees_ if tree.target == "tail")
    assert tree.attributes == ["toothed", "backbone"]
    tails = [context for context in every_context(model) if context.target == "tail"]
    said = {tuple(condition.text for condition in context.conditions) for context in tails}
    assert ("toothed = 1",) in said
    assert ("backbone = 1", "toothed = 0") in said
