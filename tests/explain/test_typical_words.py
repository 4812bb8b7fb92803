"""What is typical, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.explain.column_words import ColumnWords
from admercs.explain.model_words import region_text
from admercs.table.columns import Column


def test_a_value_shared_by_many_rows_is_said_as_it_is() -> None:
    rng = np.random.default_rng(0)
    loss = np.where(np.arange(2000) < 1900, 0, rng.integers(1400, 2500, 2000))
    table = pd.DataFrame({"loss": loss, "other": rng.normal(size=2000)})
    model = ADMERCS(method=replace(Method(), neighbours=None)).fit(table)
    reason = model.explain(table.tail(1), top=1)[0].reasons[0]
    assert reason.typical.text == "loss 0"
    ((low, high),) = reason.typical.intervals
    assert low <= 0 <= high


@pytest.mark.parametrize("n", [3, 9, 30])
@pytest.mark.parametrize("code", ["9999-12-31", "1800-01-01"])
def test_a_group_far_outside_does_not_hide_what_is_typical(n, code) -> None:
    rng = np.random.default_rng(1)
    day = np.datetime64("2023-01-02") + rng.integers(0, 700, 600)
    table = pd.DataFrame({"until": day.astype(str), "x": rng.normal(size=600)})
    table.loc[: n - 1, "until"] = code
    reason = ADMERCS().fit(table).explain(table.head(1), top=1)[0].reasons[0]
    ends = [end.year for part in reason.typical.intervals for end in part]
    assert 2018 <= min(ends) <= 2023
    assert 2024 <= max(ends) <= 2031
    assert " to 202" in reason.typical.text


@pytest.mark.parametrize("dry", [0.951, 0.99, 0.994])
@pytest.mark.parametrize("seed", range(6))
def test_zero_is_said_as_zero(seed, dry) -> None:
    rng = np.random.default_rng(seed)
    rain = np.where(rng.random(3000) < dry, 0.0, rng.exponential(size=3000))
    flood = ADMERCS().fit(rain[:, None]).explain([[1e9]])[0]
    assert flood.reasons[0].typical.text == "x0 0"


@pytest.mark.parametrize(
    ("own", "text"), [(49.0, "14 to 48"), (13.8, "14 to 49"), (30.0, "14 to 49")]
)
def test_a_region_looks_apart_from_a_value_next_to_it_without_needless_digits(own, text) -> None:
    words = ColumnWords(Column("age", 0, "numeric", "number"), "age", "", 1.0)
    limits = (-math.inf, math.inf)
    odd = None if own == 30 else own
    close = lambda end, shown: abs(end - shown) < 1  # noqa: E731
    assert region_text(words, (13.86, 48.997), odd, limits, close)[0] == text


def test_what_most_rows_lack_or_have_is_not_called_typical() -> None:
    table = pd.DataFrame({"cabin": ["a", "b", None] * 100, "fare": np.arange(300.0)})
    model = ADMERCS(method=replace(Method(), neighbours=None)).fit(table)
    text = model.explain(table.iloc[[2]], top=1)[0].reasons[0].text
    assert text == "All rows: cabin is mostly recorded (67%), but it is missing for this row."


def test_what_is_typical_leaves_out_a_value_far_outside_that_many_rows_share() -> None:
    rng = np.random.default_rng(0)
    fare = rng.lognormal(3, 0.3, 2000).round(2)
    fare[:30] = 0.0
    table = pd.DataFrame({"fare": fare, "class": rng.integers(1, 4, 2000)})
    model = ADMERCS().fit(table)
    reason = model.explain(table.head(1), top=1)[0].reasons[0]
    assert reason.text.endswith("but this row has 0.")
    assert all(low > 0 for low, _ in reason.typical.intervals)
    assert not reason.typical.text.startswith("fare 0")


def test_a_missing_text_is_told_of_its_column() -> None:
    rng = np.random.default_rng(0)
    n = 1000
    phone = [f"+32 {k}" for k in rng.integers(10_000, 10_000_000, n)]
    table = pd.DataFrame({"phone": phone, "sum": rng.normal(size=n)})
    table.loc[5, "phone"] = None
    model = ADMERCS().fit(table)
    row = model.explain(table.iloc[[5]], top=1)[0]
    assert row.reasons[0].text.startswith("All rows: phone is normally recorded (99.9%)")
    assert row.repair_text.startswith("If phone were recorded, ")
