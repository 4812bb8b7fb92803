from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS


def mixed_table(seed: int = 0, n: int = 400) -> pd.DataFrame:
    """Make a table of all kinds of columns that depend on each other, with missing values."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "manager", "cook", "nurse"], n, p=[0.4, 0.1, 0.3, 0.2])
    base = pd.Series(job).map({"clerk": 30.0, "manager": 80.0, "cook": 25.0, "nurse": 40.0})
    pay = (base * rng.lognormal(0, 0.08, n)).round(2).to_numpy(copy=True)
    age = rng.integers(18, 66, n)
    night = np.where(job == "nurse", rng.random(n) < 0.95, rng.random(n) < 0.02)
    shifts = np.where(night, rng.integers(8, 11, n), rng.integers(18, 22, n))
    start = np.datetime64("2020-01-06") + (20 * (65 - age) + rng.integers(0, 60, n)).astype(int)
    pay[rng.random(n) < 0.03] = np.nan
    table = pd.DataFrame(
        {
            "job": job,
            "pay (kEUR)": pay,
            "age": age,
            "night work": night,
            "shifts": shifts,
            "start": start.astype("datetime64[s]"),
        }
    )
    table.loc[0, "pay (kEUR)"] = 400.25
    table.loc[1, ["job", "night work", "shifts"]] = ["manager", True, 21]
    table["job"] = table["job"].where(rng.random(n) > 0.02, None)
    return table


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    return mixed_table()


@pytest.fixture(scope="session")
def model(table: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(table)
