"""One table with every kind of column, in every library that can hold it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

BRUSSELS = ZoneInfo("Europe/Brussels")
N = 60

KINDS = {
    "price": "float",
    "doors": "integer",
    "electric": "boolean",
    "couleur é": "text",
    "built": "date",
    "sold": "datetime",
    "seen": "datetime",
    "trip": "duration",
    "opens": "time",
    "tax": "float",
    "serial": "integer",
}


def make_columns() -> dict[str, list[Any]]:
    """Return columns with a missing value in each but the last."""
    start = dt.datetime(2024, 3, 30, 22, 15, 0, 123456)
    columns: dict[str, list[Any]] = {
        "price": [1.5 * i - 7.25 for i in range(N)],
        "doors": [(2, 4, 5)[i % 3] for i in range(N)],
        "electric": [i % 4 == 0 for i in range(N)],
        "couleur é": [("rouge", "bleu", "grün", "日本")[i % 7 % 4] for i in range(N)],
        "built": [dt.date(1969, 12, 1) + dt.timedelta(days=3 * i) for i in range(N)],
        "sold": [start + dt.timedelta(minutes=37 * i) for i in range(N)],
        # Across the night in which the clocks change.
        "seen": [
            (start.replace(tzinfo=dt.UTC) + dt.timedelta(hours=i)).astimezone(BRUSSELS)
            for i in range(N)
        ],
        "trip": [dt.timedelta(seconds=90 * i, microseconds=i) for i in range(N)],
        "opens": [dt.time(i % 24, 30, 1, i) for i in range(N)],
        "tax": [Decimal(i) / 4 for i in range(N)],
        "serial": [2**60 + 3 * i for i in range(N)],
    }
    for j, name in enumerate(columns):
        if name != "serial":
            columns[name][3 * j + 1] = None
    return columns


def to_polars(columns: dict[str, list[Any]]) -> pl.DataFrame:
    zone = pl.Datetime("us", "Europe/Brussels")
    return pl.DataFrame(columns, schema_overrides={"seen": zone, "tax": pl.Decimal(10, 2)})


def to_pandas_arrow(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return to_polars(columns).to_arrow().to_pandas(types_mapper=pd.ArrowDtype)


def to_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    for name in frame.select_dtypes(["datetime", "datetimetz", "timedelta"]):
        frame[name] = frame[name].dt.as_unit("us")  # pandas 2 counts in nanoseconds
    special = {"doors": "Int64", "electric": "boolean"}
    return frame.astype({name: dtype for name, dtype in special.items() if name in columns})


def to_objects(columns: dict[str, list[Any]]) -> Any:
    return pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in columns.items()})


def to_array(columns: dict[str, list[Any]]) -> Any:
    return to_objects(columns).to_numpy()


LIBRARIES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "polars": to_polars,
    "polars lazy": lambda columns: to_polars(columns).lazy(),
    "polars chunks": lambda columns: pl.concat(
        [to_polars(columns)[:17], to_polars(columns)[17:]], rechunk=False
    ),
    "pyarrow": lambda columns: to_polars(columns).to_arrow(),
    "pandas": to_pandas,
    "pandas arrow": to_pandas_arrow,
    "pandas objects": to_objects,
    "numpy objects": to_array,
    "list of rows": lambda columns: to_array(columns).tolist(),
    "dict": dict,
}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[[dict[str, list[Any]]], Any]:
    """Return the function that turns columns into the table of one library."""
    return LIBRARIES[request.param]


@pytest.fixture
def columns() -> dict[str, list[Any]]:
    return make_columns()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
