"""Scores of Dask tables: lazy, in the table's own partitions, and the same as in memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dask.array
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from tests.pipeline.dask_tables import cut, make_table

pytestmark = pytest.mark.filterwarnings("ignore:This column is set aside")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return make_table(1500).set_index(pd.Index(range(10, 3010, 2), name="car"))


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(table)


METHODS = ["score_samples", "anomaly_score", "decision_function", "predict"]


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_lazy_and_the_same(
    client: Any, model: ADMERCS, table: pd.DataFrame, method: str
) -> None:
    lazy = dd.from_pandas(table, npartitions=4)
    scores = getattr(model, method)(lazy)
    assert type(scores).__module__.startswith("dask.")
    assert scores.divisions == lazy.divisions
    found = scores.compute()
    assert found.index.equals(table.index)
    assert found.dtype == scores.dtype
    np.testing.assert_array_equal(found.to_numpy(), getattr(model, method)(table))


def test_cells_are_lazy_and_add_up(client: Any, model: ADMERCS, table: pd.DataFrame) -> None:
    lazy = cut(table, [0, 700, 3])
    cells = model.score_cells(lazy)
    assert cells.npartitions == lazy.npartitions
    assert list(cells.columns) == list(table.columns)
    found = cells.compute()
    assert found.index.equals(table.index)
    values = np.ascontiguousarray(
        found.to_numpy()
    )  # the order of summation decides about the last bit
    np.testing.assert_array_equal(values, model.score_cells(table))
    np.testing.assert_allclose(values.sum(axis=1), -model.score_samples(table), rtol=1e-12)


def test_the_most_anomalous_rows_are_those_of_the_whole_table(
    client: Any, model: ADMERCS, table: pd.DataFrame
) -> None:
    for lazy in (dd.from_pandas(table, npartitions=3), cut(table, [0, 40, 900])):
        found, known = model.top(lazy, 5), model.top(table, 5)
        assert [row.label for row in found] == [row.label for row in known]
        assert [row.evidence for row in found] == [row.evidence for row in known]
        # Only these rows come to the client, which cannot tell that others are of the same table:
        # "training row 124" may be what the table itself calls row 258.
        texts = [re.sub(r"(training )?row \d+", "row", str(rows)) for rows in (found, known)]
        assert texts[0] == texts[1]


def test_rows_without_a_name_are_called_by_their_number(client: Any, model: ADMERCS) -> None:
    table = make_table(1500)
    pieces = [table[:800].reset_index(drop=True), table[800:].reset_index(drop=True)]
    lazy = dd.from_map(lambda part: part, pieces, meta=table.iloc[:0])
    known = np.argsort(model.score_samples(table), kind="stable")[:4]
    assert [row.label for row in model.top(lazy, 4)] == known.tolist()


def test_scores_beside_the_data_on_disk(
    client: Any, model: ADMERCS, table: pd.DataFrame, tmp_path: Path
) -> None:
    lazy = dd.from_pandas(table, npartitions=3)
    lazy.assign(score=model.score_samples(lazy)).to_parquet(tmp_path / "scored")
    back = pd.read_parquet(tmp_path / "scored")
    np.testing.assert_array_equal(back["score"].to_numpy(), model.score_samples(table))


@pytest.mark.parametrize("method", ["score_samples", "score_cells"])
def test_a_partition_that_cannot_be_scored_is_named(
    client: Any, model: ADMERCS, table: pd.DataFrame, method: str
) -> None:
    def read(number: int) -> pd.DataFrame:
        part = table[number * 300 : number * 300 + 300]
        return part.assign(few=part["few"].astype(str) + " or so") if number == 2 else part

    lazy = dd.from_map(read, range(5), meta=table.iloc[:0])
    with pytest.raises((ValueError, TypeError), match=r"Partition 2: .*'few'"):
        getattr(model, method)(lazy).compute()


def test_other_collections_of_dask_are_refused(model: ADMERCS) -> None:
    with pytest.raises(TypeError, match="Dask DataFrame is needed"):
        model.score_samples(dask.array.zeros((4, 3)))
