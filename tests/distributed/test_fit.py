"""Fitting on partitions gives the model of the whole table, bit for bit."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.distributed.drafts import Bracket
from admercs.distributed.run import Run
from tests.detector.test_fine import animals, fine_contexts
from tests.distributed.conftest import cut, differences, make_table

pytestmark = pytest.mark.filterwarnings("ignore:This column is set aside")

UNEVEN = [0, 1, 1400, 0, 7, 90]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"likelihood": "paper", "feedback": "centred", "contamination": 0.03},
        {"likelihood": "paper"},
        {"criterion": "variance", "max_depth": 4, "n_iter": 4},
        {"max_bins": "exact", "n_iter": 1},
        {"max_bins": 5, "nominal": ["few"], "n_iter": 3},
    ],
    ids=["defaults", "paper", "paper's likelihood", "variance", "exact", "few bins"],
)
def test_the_model_is_the_one_of_the_whole_table(client: Any, parameters: dict[str, Any]) -> None:
    table = make_table(2500)
    whole = ADMERCS(**parameters).fit(table)
    parts = ADMERCS(**parameters).fit(cut(table, UNEVEN))
    assert differences(whole.model_, parts.model_) == []
    assert parts.offset_ == whole.offset_
    assert parts.n_iter_ == whole.n_iter_
    assert list(parts.feature_names_in_) == list(whole.feature_names_in_)


def wrong_brackets(
    samples: list[Any], columns: list[int], ranks: list[Any], grain: Any
) -> dict[int, Bracket]:
    return {
        m: Bracket(np.unique(sample.values[:2]), np.array([1]))
        for m, sample in zip(columns, samples, strict=True)
    }


def test_a_wrong_guess_of_bin_edges_only_costs_time(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admercs.distributed.edges.bracket_columns", wrong_brackets)
    table = make_table(1200)[["b", "huge", "when"]]
    parts = ADMERCS(n_iter=1).fit(cut(table, [0, 300, 500]))
    assert differences(ADMERCS(n_iter=1).fit(table).model_, parts.model_) == []


def test_contexts_of_the_test_table_are_anomalous() -> None:
    # Else the test above would not go through the iteration at all.
    model = ADMERCS().fit(make_table(2500))
    assert (model.model_.log_lambda > -np.inf).any()
    assert model.model_.members


@pytest.mark.parametrize("max_bins", [254, "exact"])
def test_narrow_contexts_are_those_of_the_whole_table(client: Any, max_bins: Any) -> None:
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
    whole = ADMERCS(max_bins=max_bins).fit(table)
    forest = whole.model_.forest
    assert ((forest.scorer != np.arange(len(forest.n))) & (whole.model_.log_lambda > -1)).any()
    parts = ADMERCS(max_bins=max_bins).fit(cut(table, [0, 300, 500, 1]))
    assert differences(whole.model_, parts.model_) == []
    np.testing.assert_array_equal(parts.scores_.compute().to_numpy(), whole.scores_)


def test_gaps_acquit_the_same_contexts(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table
    whole = ADMERCS().fit(table)
    parts = ADMERCS().fit(cut(table, [0, 300, 500, 1]))
    assert differences(whole.model_, parts.model_) == []
    np.testing.assert_array_equal(parts.scores_.compute().to_numpy(), whole.scores_)
    # Else nobody would have been acquitted.
    monkeypatch.setattr("admercs.evidence.suspects._with_gaps", lambda *_: {})
    assert len(ADMERCS().fit(table).contexts_) > len(whole.contexts_)


def test_groups_of_fine_splits_are_those_of_the_whole_table(client: Any) -> None:
    table, _ = animals()
    whole = ADMERCS().fit(table)
    assert fine_contexts(whole)
    parts = ADMERCS().fit(cut(table, [0, 100, 30, 1]))
    assert differences(whole.model_, parts.model_) == []
    np.testing.assert_array_equal(parts.scores_.compute().to_numpy(), whole.scores_)


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


@pytest.mark.parametrize(("likelihood", "most"), [("area", 7), ("paper", 8)])
def test_the_table_is_read_as_often_as_documented(
    client: Any, tmp_path: Path, likelihood: str, most: int
) -> None:
    table, log = make_table(1500), str(tmp_path / "log")
    paths = []
    for number in range(3):
        path = tmp_path / f"{number}.pickle"
        table[number * 500 : number * 500 + 500].to_pickle(path)
        paths.append(str(path))
    lazy = dd.from_map(read_part, paths, log=log, meta=table.iloc[:0])
    ADMERCS(likelihood=likelihood, n_iter=3).fit(lazy)
    reads = Counter(Path(log).read_text().split())
    assert len(reads) == 3
    assert len(set(reads.values())) == 1
    assert 4 <= reads["0.pickle"] <= most


def test_what_comes_to_the_client_does_not_grow_with_the_rows(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    result = Run.result

    def weighed(run: Run, future: Any) -> Any:
        value = result(run, future)
        sizes.append(len(pickle.dumps(value)))
        return value

    monkeypatch.setattr(Run, "result", weighed)
    # Rows of small tables are compared by the client; these stand for larger ones.
    monkeypatch.setattr("admercs.detector.neighbours.MOST_CELLS", 0)
    largest = []
    for n in (20_000, 60_000):
        sizes.clear()
        # Few leaves and few bins: what is left is what might depend on the rows.
        table = make_table(n)[["a", "b", "kind"]]
        ADMERCS(max_depth=2, max_bins=16, n_iter=2).fit(cut(table, [n // 2]))
        largest.append(max(sizes))
    assert largest[1] < 1.5 * largest[0]


def test_without_a_cluster_threads_of_this_process_do_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody() -> Any:
        raise ValueError("No clients found")

    monkeypatch.setattr("admercs.distributed.local.default_client", nobody)
    table = make_table(600)[["a", "b", "kind"]]
    parts = ADMERCS(n_iter=2).fit(dd.from_pandas(table, npartitions=2))
    assert differences(ADMERCS(n_iter=2).fit(table).model_, parts.model_) == []
