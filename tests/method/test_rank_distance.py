"""Distances between rows, against ranks counted by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs.facets import prepare
from admercs.method.rank_distance import NO_VALUE, UNLIKE, RankDistance
from admercs.pipeline.grow import codes_of_piece
from admercs.table import Schema, learn_schema, read_frame, summarise
from tests.binned import bin_table


def people(seed: int = 3, n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "count": rng.integers(0, 12, n).astype(float),
            "size": rng.normal(size=n),
            "share": rng.random(n),
            "kind": rng.choice(["a", "b", "c"], n).astype(object),
        }
    )
    table.loc[rng.random(n) < 0.2, "size"] = np.nan
    table.loc[rng.random(n) < 0.2, "kind"] = None
    return table


def by_hand(table: pd.DataFrame, row: int) -> np.ndarray:
    """Return how far all rows are away from one of them in each column (rows x columns)."""
    apart = np.empty(table.shape)
    for place, name in enumerate(table):
        column = table[name]
        unlike = (column.isna() != pd.isna(column[row])).to_numpy()
        both = (column.isna() & pd.isna(column[row])).to_numpy()
        if name == "kind":
            between = 127.0 * (column != column[row]).to_numpy()
        else:
            rank = np.rint(254 * (column.rank() - 0.5) / column.notna().sum())
            between = (rank - rank[row]).abs().to_numpy()
        apart[:, place] = np.where(unlike, 127, np.where(both, 0, between))
    return apart


def ranked(table: pd.DataFrame, schema: Schema) -> RankDistance:
    binning, codes = bin_table(table, schema)
    counts = codes_of_piece(codes, binning.n_codes)
    return RankDistance.of(binning, counts, np.zeros(len(codes), bool))


@pytest.fixture(scope="module")
def measured() -> tuple[pd.DataFrame, RankDistance, np.ndarray]:
    table = people()
    frame = read_frame(table)
    schema = learn_schema(summarise(frame))
    prepared = prepare(frame, schema)
    values = prepared.block(0, len(table))
    return (
        table,
        ranked(table, schema),
        values,
    )


def test_distances_are_those_of_counted_ranks(
    measured: tuple[pd.DataFrame, RankDistance, np.ndarray],
) -> None:
    table, ranks, values = measured
    profile = ranks.profile(values)
    distances = ranks.distances(profile[:, ::7], profile)
    differences = np.array([each.copy() for each in ranks.differences(profile[:, ::7], profile)])
    for k, row in enumerate(range(0, len(table), 7)):
        expected = by_hand(table, row)
        np.testing.assert_array_equal(differences[:, k].T, expected)
        np.testing.assert_array_equal(distances[k], expected.sum(axis=1))
        assert distances[k, row] == 0
    np.testing.assert_array_equal(
        ranks.distances(profile, profile), ranks.distances(profile, profile).T
    )


def test_new_values(measured: tuple[pd.DataFrame, RankDistance, np.ndarray]) -> None:
    _, ranks, values = measured
    new = np.repeat(values[:, :1], 5, axis=1)
    new[1] = -1e300, 1e300, np.nan, np.nanmin(values[1]), np.nanmax(values[1])
    new[3] = 0, 4, np.nan, 1, 2  # an unseen category, and a missing one
    profile = ranks.profile(new)
    assert profile[1].tolist()[2] == NO_VALUE
    assert profile[1, 0] == profile[1, 3]
    assert profile[1, 1] == profile[1, 4]
    away = next(each.copy() for m, each in enumerate(ranks.differences(profile, profile)) if m == 1)
    assert away[2].tolist() == [UNLIKE, UNLIKE, 0, UNLIKE, UNLIKE]


def test_many_columns_add_up_without_overflow() -> None:
    n = 200
    nominal = np.ones(n, np.bool_)
    ranks = RankDistance(np.empty(0), np.zeros(n + 1, np.int64), np.empty(0, np.uint8), nominal)
    one, other = np.ones((n, 2), np.uint8), np.full((n, 3), 2, np.uint8)
    assert np.all(ranks.distances(one, other) == n * UNLIKE)
    few = ranks._replace(is_nominal=nominal[:50])
    np.testing.assert_array_equal(few.distances(one[:50], other[:50]), 50 * UNLIKE)
