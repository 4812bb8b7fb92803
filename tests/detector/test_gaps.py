"""Rows that were chosen because a value is missing are not guilty of missing it."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.datasets.labelled import LabelledTable


def false_contexts(cars: LabelledTable) -> list[str]:
    """Return the anomalous contexts of mostly ordinary cars."""
    return [
        context.text
        for context in ADMERCS().fit(cars.table).contexts_
        if np.mean([row in cars.odd_columns for row in context.members]) < 0.5
    ]


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6, 10])
def test_ordinary_rows_with_a_gap_are_no_context(seed: int) -> None:
    cars = make_electric_vehicles(seed, as_frame="pandas")
    with patch("admercs.evidence.suspects._with_gaps", return_value={}):
        assert any("missing" in text for text in false_contexts(cars))
    assert not false_contexts(cars)


@pytest.mark.parametrize("seed", range(3))
def test_odd_rows_with_a_gap_are_a_context(seed: int) -> None:
    rng = np.random.default_rng(seed)
    figures = rng.normal(size=(1000, 3))
    figures[:30] = rng.uniform(-8, 8, (30, 3))
    letters = pd.DataFrame(figures, columns=["size", "weight", "price"])
    letters["sender"] = rng.choice(["Ada", "Bob", "Cleo"], 1000).astype(object)
    letters.loc[:29, "sender"] = None
    context = ADMERCS().fit(letters).contexts_[0]
    assert context.text.startswith("Rows with sender missing (n = 30) are nearly all anomalous.")
    assert sorted(context.members) == list(range(30))


@pytest.mark.parametrize("seed", range(4))
def test_odd_rows_among_others_with_the_same_gap_are_a_context(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = pd.DataFrame(rng.normal(size=(1000, 4)), columns=["size", "weight", "depth", "price"])
    letters["sender"] = rng.choice(["Ada", "Bob", "Cleo"], 1000).astype(object)
    letters.loc[:109, "sender"] = None
    letters.loc[:109, "price"] += 4
    letters.loc[:29, "price"] = 4 + rng.uniform(-0.05, 0.05, 30)
    letters.loc[:29, ["size", "weight", "depth"]] = rng.uniform(-4, 4, (30, 3))
    contexts = ADMERCS().fit(letters).contexts_
    assert any(np.mean(np.array(context.members) < 30) > 0.8 for context in contexts)


def shops(seed: int) -> pd.DataFrame:
    """Return ordinary shops of which some, mostly of one kind, name no price."""
    rng = np.random.default_rng(seed)
    size, kind = rng.normal(size=250), rng.choice(list("uvw"), 250)
    table = pd.DataFrame({"size": size, "staff": size + rng.normal(size=250)})
    table["age"] = rng.normal(size=250)
    table["kind"] = kind.astype(object)
    table["owner"] = rng.choice(list("pq"), 250).astype(object)
    table["price"] = rng.normal(size=250) + size
    table.loc[rng.random(250) < np.where(kind == "u", 0.25, 0.04), "price"] = np.nan
    return table


@pytest.mark.parametrize("seed", [7, 31, 40, 55, 58, 71])
def test_groups_of_a_small_table_are_not_guilty_of_gaps(seed: int) -> None:
    def told() -> list[str]:
        return [
            each.text for each in ADMERCS().fit(shops(seed)).contexts_ if "missing" in each.text
        ]

    with patch("admercs.evidence.suspects._with_gaps", return_value={}):
        assert told()
    assert not told()
