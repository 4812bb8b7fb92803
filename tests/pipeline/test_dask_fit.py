"""Fitting on partitions gives the model of the whole table, bit for bit."""

from __future__ import annotations

import dataclasses
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.datasets import make_electric_vehicles
from admercs.pipeline.cluster_run import ClusterRun
from tests.facets.test_facet_frame import make_calls
from tests.facets.test_stated_views import make_shops
from tests.pipeline.dask_tables import cut, differences, make_table

pytestmark = pytest.mark.filterwarnings("ignore:This column is set aside")

UNEVEN = [0, 1, 1400, 0, 7, 90]


def check_same(table: pd.DataFrame, sizes: list[int], **parameters: Any) -> ADMERCS:
    """Fit a table as a whole and in partitions; return the detector of the whole."""
    whole = ADMERCS(**parameters).fit(table)
    parts = ADMERCS(**parameters).fit(cut(table, sizes))
    assert differences(whole.model_, parts.model_) == []
    assert parts.offset_ == whole.offset_
    assert parts.n_iter_ == whole.n_iter_
    assert list(parts.feature_names_in_) == list(whole.feature_names_in_)
    np.testing.assert_array_equal(parts.scores_.compute().to_numpy(), whole.scores_)
    return whole


PAPER = Method.paper("Campos")


def optional(settings: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings that may be None and are not."""
    for field in dataclasses.fields(settings):
        value, name = getattr(settings, field.name), prefix + field.name
        if "None" in str(field.type) and value is not None:
            yield name
        if dataclasses.is_dataclass(value):
            yield from optional(value, f"{name}.")


VARIANTS = {
    "defaults": {},
    "paper": {"method": PAPER, "contamination": 0.03},
    "paper's likelihood": {
        "method": Method().change({"density": PAPER.density, "evidence": PAPER.evidence})
    },
    "variance": {"method": Method().change({"trees.price": None}), "max_depth": 4, "n_iter": 4},
    "exact": {"max_bins": "exact", "n_iter": 1},
    "few bins": {"max_bins": 5, "nominal": ["few"], "n_iter": 3},
    "no marginal view": {"method": replace(Method(), marginal=False)},
    "purest nodes": {"method": replace(Method(), purest=True)},
    **{f"no {name}": {"method": Method().change({name: None})} for name in optional(Method())},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_model_is_the_one_of_the_whole_table(client: Any, variant: str) -> None:
    check_same(make_table(2500), UNEVEN, **VARIANTS[variant])


def test_the_test_table_needs_all_steps() -> None:
    # Else the test above would pass steps by.
    model = ADMERCS().fit(make_table(2500)).model_
    assert len(model.contexts.leaf)
    assert len(model.contexts.member)
    assert (model.scoring.ancestor >= 0).any()
    assert np.isfinite(model.zones.lower).any()
    assert model.references.weight > 0


def numbers(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": a + rng.exponential(size=n), "c": rng.uniform(size=n)})


def texts(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    city = rng.choice(["Ghent", "Bremen", "Turin", "Oslo"], n, p=[0.5, 0.3, 0.19, 0.01])
    country = pd.Series(city).map({"Ghent": "B", "Bremen": "D", "Turin": "I", "Oslo": "N"})
    country[rng.random(n) < 0.02] = "D"
    return pd.DataFrame({"city": city, "country": country, "size": rng.choice(list("SML"), n)})


def amounts(n: int) -> pd.DataFrame:
    """Return a text, and a number of many values that all repeat: nothing to ask of keys."""
    amount = np.random.default_rng(3).integers(0, 300, n).astype(float)
    return texts(n)[["city"]].assign(amount=amount)


@pytest.mark.parametrize(
    ("table", "sizes"),
    [
        (numbers(900), [300, 1]),
        (texts(900), [0, 400, 0]),
        (amounts(3000), [0, 400, 0]),
        (make_shops(), [0, 18, 300]),
        (make_table(30)[["a", "b", "kind", "few"]], [1, 0, 2]),
        (make_table(2), [1]),
        (make_table(250), [0, 100, 30, 1]),
        (make_table(400), [0, 0, 400, 0]),
        (make_table(600), [15] * 39),
    ],
    ids=[
        "numbers",
        "texts",
        "amounts",
        "a city follows from a code",
        "few rows",
        "two rows",
        "groups",
        "empty partitions",
        "many partitions",
    ],
)
def test_other_tables(client: Any, table: pd.DataFrame, sizes: list[int]) -> None:
    check_same(table, sizes)


@pytest.mark.parametrize("max_bins", [254, 16, "exact"])
def test_edges_of_a_long_table_are_searched_alike(client: Any, max_bins: Any) -> None:
    table = make_table(18_000)[["a", "b", "kind", "skewed", "when", "huge"]]
    table["skewed"] **= 9  # takes several passes
    check_same(table, [0, 5_000, 9_000, 3], max_bins=max_bins, n_iter=1, max_depth=3)


@pytest.mark.parametrize("max_bins", [254, "exact"])
def test_ranges_are_those_of_the_whole_table(client: Any, max_bins: Any) -> None:
    rng = np.random.default_rng(0)
    n, bad = 1500, 60
    load = rng.uniform(0, 10, n)
    heat = 3 * load + rng.normal(scale=0.5, size=n)
    heat[:bad] = 3 * ((load[:bad] + 5) % 10)
    corner = np.array([(0, 0), (0, 1), (1, 1)])[rng.integers(0, 3, n)]
    corner[:bad] = (1, 0)
    table = pd.DataFrame(
        {
            "load": load,
            "heat": np.where(rng.random(n) < 0.05, np.nan, heat),
            "east": 10 * corner[:, 0] + rng.normal(size=n),
            "north": np.array(["below", "above"])[corner[:, 1]],
        }
    ).sample(frac=1, random_state=0)
    whole = check_same(table, [0, 300, 500, 1], max_bins=max_bins)
    contexts = whole.model_.contexts
    assert any(map(contexts.is_range, range(len(contexts.leaf))))


def test_gaps_make_the_same_contexts_ordinary(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table
    method = replace(Method(), relations=None)  # of the columns of relations nothing counts anyway
    whole = check_same(table, [0, 300, 500, 1], method=method)
    # Else gaps would not have mattered.
    monkeypatch.setattr("admercs.pipeline.feedback_rounds.ContextSearch._with_gaps", lambda *_: {})
    assert len(ADMERCS(method=method).fit(table).contexts_) > len(whole.contexts_)


def test_parquet_on_disk(client: Any, tmp_path: Path) -> None:
    table = make_table(1200, seed=3)
    for number, part in enumerate([table[:500], table[500:510], table[510:]]):
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    files = dd.read_parquet(tmp_path)
    parts = ADMERCS(n_iter=3).fit(files)
    whole = ADMERCS(n_iter=3).fit(table)
    assert differences(whole.model_, parts.model_) == []
    np.testing.assert_array_equal(parts.scores_.compute().to_numpy(), whole.scores_)


def test_partitions_stay_apart_where_few_columns_are_read(client: Any, tmp_path: Path) -> None:
    table = make_table(1200, seed=4)[["a", "b", "kind", "flag"]]
    table = table.assign(**{f"kind {k}": table["kind"].shift(k) for k in range(1, 6)})
    for number in range(4):
        part = table[number * 300 : number * 300 + 300]
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    files = dd.read_parquet(tmp_path)
    # For the two numbers alone Dask would read several files as one partition.
    parts = ADMERCS(n_iter=2).fit(files[files["flag"]])
    assert differences(ADMERCS(n_iter=2).fit(table[table["flag"]]).model_, parts.model_) == []


def read_part(path: str, log: str) -> pd.DataFrame:
    # Appending a few bytes is atomic: workers may write at the same time.
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{Path(path).name}\n".encode())
    os.close(handle)
    return pd.read_pickle(path)


# Once each to summarise, compare columns, look at dates, keys and numbers, encode and score; once
# more to count the values of keys and the rows that satisfy relations, and to summarise facets;
# twice to count on grids and to leave out the evidence of own columns; a short table once to
# compare rows. The edges of a long table take two readings here, and the paper's trees one for
# every few columns.
@pytest.mark.parametrize(
    ("n_rows", "method", "most"),
    [(1500, Method(), 11), (1500, PAPER, 7), (18_000, Method(), 12), (18_000, PAPER, 13)],
    ids=["short", "short, paper", "long", "long, paper"],
)
def test_the_table_is_read_as_often_as_documented(
    client: Any, tmp_path: Path, n_rows: int, method: Method, most: int
) -> None:
    table, log = make_table(n_rows), str(tmp_path / "log")
    paths = []
    for number in range(3):
        path = tmp_path / f"{number}.pickle"
        table[number * n_rows // 3 : (number + 1) * n_rows // 3].to_pickle(path)
        paths.append(str(path))
    lazy = dd.from_map(read_part, paths, log=log, meta=table.iloc[:0])
    ADMERCS(method=method, n_iter=3).fit(lazy)
    reads = Counter(Path(log).read_text().split())
    assert len(reads) == 3
    assert len(set(reads.values())) == 1
    assert 4 <= reads["0.pickle"] <= most


def test_what_comes_to_the_client_does_not_grow_with_the_rows(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    result = ClusterRun.result

    def weighed(run: ClusterRun, future: Any) -> Any:
        value = result(run, future)
        sizes.append(len(pickle.dumps(value)))
        return value

    monkeypatch.setattr(ClusterRun, "result", weighed)
    largest = []
    for n in (20_000, 60_000):
        sizes.clear()
        # Few leaves and few bins: what is left is what might depend on the rows.
        table = make_table(n)[["a", "b", "kind"]]
        # Rows of small tables are compared by the client; these stand for larger ones.
        method = replace(Method(), neighbours=None)
        ADMERCS(method=method, max_depth=2, max_bins=16, n_iter=2).fit(cut(table, [n // 2]))
        largest.append(max(sizes))
    assert largest[1] < 1.5 * largest[0]


def test_without_a_cluster_threads_of_this_process_do_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody() -> Any:
        raise ValueError("No clients found")

    monkeypatch.setattr("admercs.pipeline.local_cluster.default_client", nobody)
    table = make_table(600)[["a", "b", "kind"]]
    parts = ADMERCS(n_iter=2).fit(dd.from_pandas(table, npartitions=2))
    assert differences(ADMERCS(n_iter=2).fit(table).model_, parts.model_) == []


def test_facets_of_texts(client: Any) -> None:
    calls = make_calls()
    on_dask = ADMERCS().fit(cut(calls, [100, 0, 1, 300]))
    assert on_dask.model_.schema.facets
    assert differences(ADMERCS().fit(calls).model_, on_dask.model_) == []
