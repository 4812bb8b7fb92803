"""A real cluster of two worker processes, shared by all tests, and a table that has a bit of everything."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as active,
    ):
        yield active


def make_table(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Return numbers, whole numbers, text, dates, flags and huge integers, with an anomalous context."""
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


def differences(one: Any, other: Any) -> list[str]:
    """Name the parts in which two models differ, by a single bit or more."""
    found = []
    for room in ("forest", "likelihoods"):
        mine, yours = getattr(one, room), getattr(other, room)
        for name in mine._fields:
            x, y = getattr(mine, name), getattr(yours, name)
            if x.dtype != y.dtype or x.tobytes() != y.tobytes():
                found.append(f"{room}.{name}")
    mine, yours = one.neighbours, other.neighbours
    for name in mine._fields[1:]:
        if getattr(mine, name).tobytes() != getattr(yours, name).tobytes():
            found.append(f"neighbours.{name}")
    for name in mine.likeness._fields:
        if getattr(mine.likeness, name).tobytes() != getattr(yours.likeness, name).tobytes():
            found.append(f"likeness.{name}")
    for name in ("log_lambda", "evidence_quantiles"):
        if getattr(one, name).tobytes() != getattr(other, name).tobytes():
            found.append(name)
    for name in ("schema", "settings", "n_rows"):
        if getattr(one, name) != getattr(other, name):
            found.append(name)
    if {k: v.tolist() for k, v in one.members.items()} != {
        k: v.tolist() for k, v in other.members.items()
    }:
        found.append("members")
    return found
