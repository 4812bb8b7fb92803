"""A table that has a bit of everything, in partitions of any size, and a comparison of models."""

from __future__ import annotations

import dataclasses
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd


def make_table(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Return numbers, text, dates, flags and huge integers, with an anomalous context."""
    rng = np.random.default_rng(seed)
    a, kind = rng.normal(size=n), rng.integers(0, 5, n)
    zone = rng.integers(0, 40, n).astype(float)
    table = pd.DataFrame(
        {
            "a": a,
            "b": 2 * a + rng.normal(scale=0.1, size=n) + kind,
            "kind": np.array(list("vwxyz"))[kind],
            "few": rng.integers(0, 8, n),
            "skewed": np.exp(rng.normal(size=n)),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "flag": (a > 0) ^ (rng.random(n) < 0.02),
            "huge": rng.integers(2**60, 2**60 + 10**6, n),
            "zone": zone,
            "constant": 1.0,
        }
    )
    table.loc[rng.random(n) < 0.05, "a"] = np.nan
    table.loc[rng.random(n) < 0.05, "kind"] = None
    odd = zone == 7
    table.loc[odd, "b"] = rng.uniform(-30, 30, odd.sum())
    table.loc[odd, "skewed"] = rng.uniform(50, 90, odd.sum())
    return table


def cut(table: pd.DataFrame, sizes: list[int]) -> Any:
    """Cut a table into partitions of the given sizes; the last one takes the rest."""
    stops = [*np.cumsum(sizes).tolist(), len(table)]
    parts = [table.iloc[a:b] for a, b in zip([0, *stops], stops, strict=False)]
    return dd.from_map(lambda part: part, parts, meta=table.iloc[:0])


def differences(one: Any, other: Any, name: str = "model") -> list[str]:
    """Name the parts in which two models differ, by a single bit or more."""
    if type(one) is not type(other):
        return [f"{name}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and one.shape == other.shape
        return [] if same and one.tobytes() == other.tobytes() else [name]
    if dataclasses.is_dataclass(one):
        parts = [(field.name, getattr) for field in dataclasses.fields(one)]
    elif isinstance(one, tuple) and hasattr(one, "_fields"):
        parts = [(field, getattr) for field in one._fields]
    elif isinstance(one, list | tuple) and len(one) == len(other):
        parts = [(k, lambda value, k: value[k]) for k in range(len(one))]
    else:
        same = repr(one) == repr(other) if isinstance(one, float) else one == other
        return [] if same else [name]
    return [
        found
        for part, get in parts
        for found in differences(get(one, part), get(other, part), f"{name}.{part}")
    ]
