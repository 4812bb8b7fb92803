"""Words that depend on a model: digits that matter, values that are shown."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from tests.explain.truth import Table, each

NUMBER = r"(-?\d[\d.]*(?:e-?\d+)?)"


def written_bounds(text: str) -> tuple[float, float]:
    """Return the bounds that the text of a condition names."""
    text = text.replace(",", "")
    if both := re.search(f"{NUMBER} to {NUMBER}", text):
        return float(both[1]), float(both[2])
    low, high = re.search(f"above {NUMBER}", text), re.search(f"at most {NUMBER}", text)
    return float(low[1]) if low else -np.inf, float(high[1]) if high else np.inf


def rounding_errors(table: pd.DataFrame) -> list[float]:
    """Return the share of its context's rows that each rounded condition adds or loses."""
    model, told = ADMERCS().fit(table), Table(table)
    smooth = {c.name for c in model.columns_ if c.display == "number" and not c.distinct}
    forest = model.model_.forest
    errors = []
    for leaf in np.flatnonzero((forest.feature < 0) & (forest.parent >= 0)).tolist():
        context = model.describe_context(leaf)
        for condition in context.conditions:
            if condition.attribute not in smooth or condition.kind != "interval":
                continue
            low, high = written_bounds(condition.text)
            others = told.members([each for each in context.conditions if each != condition])
            values = [told.columns[condition.attribute][row] for row in others]
            n = sum(condition.missing if v is None else low < v <= high for v in values)
            errors.append(max(0, abs(n - context.n) - 1) / context.n)
    return errors


@pytest.mark.parametrize("name", ["cars", "hypothyroid.csv"])
def test_rounded_conditions_keep_their_rows(name: str, request) -> None:
    if name == "cars":
        table = make_electric_vehicles(0, as_frame="pandas").table
    else:
        folder: Path = request.getfixturevalue("data")
        table = pd.read_csv(folder / name)
    errors = np.array(rounding_errors(table))
    assert len(errors) > 50
    # Densities are smooth: where many rows share a value, they tell too little about it.
    assert np.mean(errors <= 0.01) >= 0.98


def test_own_values_are_shown_where_a_condition_leaves_them_open() -> None:
    months = np.tile(np.arange(1.0, 13.0), 60)
    bonus = np.where(months == 12, 100.0, 0.0)
    table = pd.DataFrame({"month": months, "bonus": bonus})
    model = ADMERCS().fit(table)
    row = model.explain(pd.DataFrame({"month": [13.0], "bonus": [0.0]}), top=None)[0]
    texts = [reason.text for reason in each(row.reasons)]
    assert any("month" in text and "(here 13)" in text for text in texts), texts


def test_a_rare_category_of_a_training_row_is_rare_and_not_unseen() -> None:
    rng = np.random.default_rng(0)
    towns = [f"town {k}" for k in range(400)]
    homes = pd.DataFrame(
        {"home": [*rng.choice(towns[:20], 2600), *towns], "age": rng.normal(size=3000)}
    )
    model = ADMERCS(nominal=["home"]).fit(homes)
    grouped = model.columns_[0].n_grouped
    assert grouped
    texts = [r.text for row in model.explain(homes.tail(5), top=None) for r in row.reasons]
    assert any("which is rare" in text for text in texts)
    assert not any("never seen" in text for text in texts)
