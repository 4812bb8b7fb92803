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
    size = rng.uniform(0, 10, 1000)
    weight = size + rng.normal(scale=0.2, size=1000)
    price = weight + rng.normal(scale=0.2, size=1000)
    sender = rng.choice(["Ada", "Bob", "Cleo"], 1000).astype(object)
    sender[:40] = None
    weight[:40] += 4
    price[:40] -= 4
    letters = pd.DataFrame({"size": size, "weight": weight, "price": price, "sender": sender})
    of_gaps = [
        context
        for context in ADMERCS().fit(letters).contexts_
        if any(condition.kind == "missing" for condition in context.conditions)
    ]
    assert np.mean(np.array(of_gaps[0].members) < 40) > 0.9
