"""Words that are found once for all rows of a node are those that would be found for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.explain import model_words
from admercs.explain.conditions import in_general


def varied() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 600
    x, few = rng.lognormal(sigma=2, size=n), rng.integers(0, 5, n) / 4
    peaks = np.where(rng.random(n) < 0.5, rng.normal(0, 1e-4, n), rng.normal(7, 1, n))
    day = pd.Timestamp("2020-02-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D")
    table = pd.DataFrame(
        {
            "x": x, "y": np.log(x) * 1e5 + rng.normal(size=n), "few": few, "peaks": peaks,
            "count": rng.poisson(20 * few), "day": day, "moment": day + pd.to_timedelta(x, "h"),
            "took": pd.to_timedelta(x * 100, "s"), "kind": np.where(peaks > 5, "high", "low"),
        }
    )  # fmt: skip
    table.loc[::7, "y"] = np.nan
    table.loc[3, "count"], table.loc[4, "kind"] = 1000, "middle"
    return table


@pytest.mark.parametrize(
    "table", [varied(), make_electric_vehicles(800).table], ids=["varied", "cars"]
)
def test_words_are_those_of_each_row(monkeypatch: Any, table: pd.DataFrame) -> None:
    model = ADMERCS().fit(table)
    rows = table.iloc[:150]
    known = model.explain(rows).to_dict()

    def never(*given: Any) -> Any:
        made, _ = in_general(*given)
        return made, lambda _: False

    monkeypatch.setattr(model_words, "in_general", never)
    everywhere = [(-np.inf, np.inf)]
    regions = model_words.ModelWords._usual_regions
    monkeypatch.setattr(
        model_words.ModelWords, "_usual_regions",
        lambda words, node: (regions(words, node)[0], [], everywhere),
    )  # fmt: skip
    assert model.explain(rows).to_dict() == known
