"""The search for values at given ranks, against sorting."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from admercs.facets import prepare
from admercs.table import learn_schema, merge_summaries, read_frame, summarise
from admercs.table.bins import edge_ranks, edges_between, find_edges
from admercs.table.quantiles import (
    RankSearch,
    count_requests,
    counted_quantiles,
    edge_search,
    merge_requests,
    run_searches,
    sorted_quantiles,
)
from tests.binned import bin_table, search_edges

elements = st.one_of(
    st.floats(allow_infinity=False, allow_nan=True),
    st.floats(-1e-307, 1e-307),
    st.integers(-3, 3).map(float),
    st.integers(0, 500).map(lambda k: 1e15 + k / 8),
    st.sampled_from([0.0, -0.0, 1.7e308, -1.7e308, 5e-324, -5e-324]),
)
some_values = hnp.arrays(np.float64, st.integers(1, 200), elements=elements)


def present(values: np.ndarray) -> np.ndarray:
    return np.sort(values[~np.isnan(values)]) + 0.0


def search_in(pieces: list[np.ndarray], search: RankSearch) -> int:
    """Bring a search to its end over pieces; return how many passes it took."""
    n_passes = 0

    def count(requests):
        nonlocal n_passes
        n_passes += 1
        return merge_requests(
            [count_requests({0: piece}.__getitem__, requests) for piece in pieces]
        )

    run_searches({0: search}, count)
    return n_passes


@settings(max_examples=150)
@given(some_values, st.booleans(), st.data())
def test_values_at_ranks_are_those_of_sorting(values, known, data):
    ordered = present(values)
    n = len(ordered)
    if not n:
        return
    ranks = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=8)))
    ends = (float(ordered[0]), float(ordered[-1])) if known else None
    search = RankSearch(ranks, n, ends)
    assert search_in([values], search) <= 8
    np.testing.assert_array_equal(search.at(ranks), ordered[ranks])


@settings(max_examples=100)
@given(some_values, st.integers(0, 20), st.sampled_from([0, 4]), st.data())
def test_pieces_in_any_order_change_nothing(values, tolerance, n_distinct, data):
    ordered = present(values)
    n = len(ordered)
    ranks = edge_ranks(n, 5) if n else np.empty(0, np.int64)
    whole = RankSearch(ranks, n, tolerance=tolerance, n_distinct=n_distinct)
    search_in([values], whole)
    shuffled = np.array(data.draw(st.permutations(values.tolist())))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=4)))
    parts = RankSearch(ranks, n, tolerance=tolerance, n_distinct=n_distinct)
    search_in(np.split(shuffled, cuts), parts)
    for one, other in zip(whole.cells[1:], parts.cells[1:], strict=True):
        assert one.tobytes() == other.tobytes()
    assert whole.cells.rows.sum() == n
    for rows, low, high in zip(*whole.cells[1:], strict=True):
        assert np.count_nonzero((ordered >= low) & (ordered <= high)) == rows


@settings(max_examples=100)
@given(some_values, st.sampled_from([2, 3, 8, 254]))
def test_edges_of_a_short_column_are_found_by_search_too(values, max_bins):
    ordered = present(values)
    ends = (float(ordered[0]), float(ordered[-1])) if len(ordered) else (0.0, 0.0)
    search = edge_search(len(ordered), ends, max_bins)
    search_in(np.split(values, [len(values) // 3]), search)
    np.testing.assert_array_equal(edges_between(*search.gaps()), find_edges(values, max_bins))


@settings(max_examples=100)
@given(
    hnp.arrays(np.float64, st.integers(1, 100), elements=st.floats(-1e6, 1e6)),
    hnp.arrays(np.float64, st.integers(1, 5), elements=st.floats(0, 1)),
)
def test_quantiles_are_those_of_numpy(values, levels):
    values = values + 0.0
    count = partial(count_requests, [values].__getitem__)
    expected = np.quantile(values, levels)
    np.testing.assert_array_equal(counted_quantiles(levels, len(values), count), expected)
    np.testing.assert_array_equal(sorted_quantiles(values, levels), expected)


LONG = {
    "normal": lambda z: z,
    "integers": lambda z: np.round(100 * z),
    "few values": lambda z: np.round(5 * z),
    "huge offset": lambda z: 1e9 + z,
    "skewed": lambda z: np.exp(3 * z),
    "all magnitudes": lambda z: np.sign(z) * np.exp(150 * np.abs(z)),
    "subnormal": lambda z: z * 1e-310,
    "one extreme value": lambda z: np.append(z, 1e15),
    "extremes": lambda z: np.append(z, [1.7e308, -1.7e308]),
    "ties": lambda z: np.where(z > 0.5, 1.0, z),
    "constant": lambda z: np.full(len(z), -2.5),
    "missing": lambda z: np.where(z > 1, np.nan, z),
}


@pytest.mark.parametrize("shape", LONG)
def test_long_columns_in_pieces(rng, shape):
    values = LONG[shape](rng.normal(size=30_000))
    ordered = present(values)
    search = edge_search(len(ordered), (float(ordered[0]), float(ordered[-1])), 254)
    shuffled = rng.permutation(values)
    assert search_in(np.array_split(shuffled, 7), search) <= 4
    np.testing.assert_array_equal(edges_between(*search.gaps()), search_edges(values))


def test_several_columns_at_once(rng):
    columns = [rng.normal(size=100), np.exp(9 * rng.normal(size=100)), np.ones(100)]
    searches = {m: RankSearch(np.array([40]), 100) for m in range(3)}
    run_searches(searches, partial(count_requests, columns.__getitem__))
    for m, search in searches.items():
        assert search.at(np.array([40]))[0] == np.sort(columns[m])[40]


def test_partitions_have_the_edges_of_the_whole_table(rng):
    n = 20_000
    table = pd.DataFrame(
        {
            "normal": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "huge": 2**60 + 3 * rng.integers(0, 5000, n),
            "few": rng.integers(0, 200, n),
            "short": rng.normal(size=n).astype(np.float32),
            "day": pd.Timestamp("2024-03-30") + pd.to_timedelta(rng.integers(0, 10**6, n), "s"),
        }
    )
    parts = [read_frame(part) for part in (table[:7000], table[7000:7001], table[7001:])]
    schema = learn_schema(merge_summaries(map(summarise, parts)))
    opened = [prepare(part, schema) for part in parts]
    searches = {
        m: edge_search(n - column.n_missing, column.limits, 254)
        for m, column in enumerate(schema.used)
    }
    run_searches(
        searches,
        lambda requests: merge_requests([count_requests(part.column, requests) for part in opened]),
    )
    whole, _ = bin_table(table, schema)
    for m, search in searches.items():
        np.testing.assert_array_equal(edges_between(*search.gaps()), whole.edges[m])
