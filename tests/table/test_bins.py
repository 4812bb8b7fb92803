"""Edges and codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from admercs.facets import prepare
from admercs.table import learn_schema, read_frame, summarise
from admercs.table.bins import edge_ranks, edges_between, encode, find_edges, make_binning
from tests.binned import bin_table, search_edges

finite = st.floats(allow_infinity=False, allow_nan=True)
coarse = st.one_of(st.integers(-5, 5).map(float), st.just(float("nan")))
columns = hnp.arrays(np.float64, st.integers(0, 60), elements=st.one_of(finite, coarse))
some_bins = st.sampled_from([2, 3, 8, 254])


def slow_edges(values: np.ndarray, max_bins: int) -> list[float]:
    """Return the edges as the definition says, one after the other."""
    ordered = sorted(float(x) for x in values if not np.isnan(x))
    distinct = sorted(set(ordered))
    lows = distinct[:-1]
    if len(distinct) > max_bins:
        n = len(ordered)
        lows = [ordered[-(-k * n // max_bins) - 1] for k in range(1, max_bins)]
    edges = []
    for low in sorted(set(lows) - {distinct[-1]}) if distinct else []:
        high = min(x for x in distinct if x > low)
        middle = max(low / 2 + high / 2, low)
        edges.append(middle if middle < high else low)
    return edges


@settings(max_examples=80)
@given(columns, some_bins)
def test_edges_follow_their_definition(values, max_bins):
    assert find_edges(values, max_bins).tolist() == slow_edges(values, max_bins)


def check_near(values: np.ndarray, edges: np.ndarray, max_bins: int) -> None:
    """Check that edges lie between values, and near the quantiles of a long column."""
    ordered = np.sort(values[~np.isnan(values)])
    n = len(ordered)
    ends = np.searchsorted(ordered, edges, side="right")
    np.testing.assert_array_equal(edges, edges_between(ordered[ends - 1], ordered[ends]))
    exact = np.searchsorted(ordered, ordered[edge_ranks(n, max_bins)], side="right")
    found = np.append(ends, n)[np.searchsorted(ends, exact)]
    assert (found - exact).max() <= min(n / 1000, n / max_bins / 4)


def long_column(rng: np.random.Generator, shape: str) -> np.ndarray:
    """Return more values than are sorted to find a quantile."""
    n = 20_000
    z = rng.normal(size=n)
    columns = {
        "normal": z,
        "skewed": np.exp(3 * z),
        "all magnitudes": np.exp(150 * z),
        "no spread": np.where(rng.random(n) < 0.97, 1.0, z),
        "rounded": np.round(z, 2) + 0.0,
        "far apart": z * np.where(rng.random(n) < 0.5, 1e-300, 1e300),
        "denormal": rng.integers(0, 900, n) * 5e-324,
        "missing": np.where(rng.random(n) < 0.5, np.nan, z),
        "few distinct": rng.integers(0, 100, n) * 1.0,
        "extremes": np.append(z, [1.7e308, -1.7e308]),
    }
    return columns[shape]


@pytest.mark.parametrize(
    "shape",
    ["normal", "skewed", "all magnitudes", "no spread", "rounded", "far apart", "denormal",
     "missing", "few distinct", "extremes"],
)  # fmt: skip
@pytest.mark.parametrize("max_bins", [2, 254, 1000])
def test_edges_and_codes_of_long_columns(rng, shape, max_bins):
    values = long_column(rng, shape)
    edges = search_edges(values, max_bins)
    if shape == "few distinct" and max_bins == 254:
        assert edges.tolist() == slow_edges(values, max_bins)
    else:
        check_near(values, edges, max_bins)
    beside = [np.nextafter(edges, way) for way in (-np.inf, np.inf)]
    values = np.concatenate([values, edges, *beside])
    expected = np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))
    np.testing.assert_array_equal(encode(values, edges), expected)


@settings(max_examples=80)
@given(columns, some_bins)
def test_codes_and_edges_agree(values, max_bins):
    edges = find_edges(values, max_bins)
    assert len(edges) < max_bins
    codes = encode(values, edges)
    known = ~np.isnan(values)
    assert (codes[~known] == 0).all()
    for k, edge in enumerate(edges):
        np.testing.assert_array_equal(values[known] <= edge, codes[known] <= k + 1)
    expected = 1 + np.searchsorted(edges, values[known], side="left")
    np.testing.assert_array_equal(codes[known], expected)
    if known.any():  # no bin is empty
        assert set(codes[known].tolist()) == set(range(1, len(edges) + 2))


@settings(max_examples=50)
@given(columns, some_bins, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values, max_bins, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    np.testing.assert_array_equal(find_edges(values, max_bins), find_edges(shuffled, max_bins))


@settings(max_examples=50)
@given(
    hnp.arrays(np.float64, st.integers(2, 60), elements=st.floats(-1e6, 1e6, width=32)),
    some_bins,
    st.integers(-20, 20),
    st.sampled_from([0.0, 1.0, -1024.0, 4096.0]),
)
def test_scaling_and_shifting_change_no_code(values, max_bins, exponent, shift):
    # Powers of two and short numbers, so that the change of scale itself does not round.
    values = np.round(values * 64) / 64
    changed = (values + shift) * 2.0**exponent
    edges, scaled = find_edges(values, max_bins), find_edges(changed, max_bins)
    np.testing.assert_allclose(scaled, (edges + shift) * 2.0**exponent, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(encode(values, edges), encode(changed, scaled))


@settings(max_examples=80)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False))
def test_an_edge_lies_between_its_values(one, other):
    low, high = min(one, other), max(one, other)
    assume(low < high < np.inf)
    edge = edges_between(np.array([low]), np.array([high]))[0]
    assert low <= edge < high


def test_bins_are_of_equal_size(rng):
    values = rng.normal(size=16_003)
    counts = np.bincount(encode(values, find_edges(values)))[1:]
    assert len(counts) == 254
    assert counts.max() - counts.min() <= 1
    values = rng.normal(size=100_003)
    counts = np.bincount(encode(values, search_edges(values)))[1:]
    assert len(counts) == 254
    assert counts.max() - counts.min() <= 2 * 100_003 / 1000


def test_a_heavy_value_gets_a_bin_of_its_own(rng):
    values = np.concatenate([np.zeros(9000), rng.uniform(1, 2, 1000)])
    edges = find_edges(values)
    assert 0 <= edges[0] < values[values > 0].min()
    assert len(edges) > 20


def test_exact_bins(rng):
    values = rng.permutation(np.repeat(np.arange(40_000.0) ** 1.5, 2))
    codes = encode(values, find_edges(values, "exact"))
    assert codes.dtype == np.uint16
    _, ranks = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(codes, ranks + 1)


def test_exact_bins_of_a_long_table():
    table = pd.DataFrame({"age": np.arange(65_535.0)})
    schema = learn_schema(summarise(read_frame(table)))
    with pytest.raises(ValueError, match=r"'age' has more than 65,534 distinct .*max_bins=254"):
        bin_table(table, schema, "exact")
    binning, codes = bin_table(table[1:], schema, "exact")
    assert len(binning.edges[0]) == 65_533
    np.testing.assert_array_equal(codes[0], np.arange(1, 65_535))


def test_no_values_and_one_value():
    assert find_edges(np.array([])).tolist() == []
    assert find_edges(np.array([np.nan])).tolist() == []
    assert find_edges(np.array([3.0, 3.0])).tolist() == []
    assert encode(np.array([np.nan, 7.0]), np.array([])).tolist() == [0, 1]
    assert encode(np.array([]), np.array([1.0])).tolist() == []


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 7, 8, 253])
@pytest.mark.parametrize("n_values", [0, 1, 255, 256, 257, 1000])
def test_encode_against_numpy(rng, n_edges, n_values):
    edges = np.sort(rng.normal(size=n_edges))
    values = rng.choice(np.concatenate([rng.normal(size=50), edges, [np.inf, -np.inf]]), n_values)
    np.testing.assert_array_equal(encode(values, edges), 1 + np.searchsorted(edges, values))


def mixed_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "few": rng.integers(0, 5, n),
            "color": rng.choice(["red", "blue", "green"], n),
            "y": rng.exponential(size=n),
        }
    )
    table.loc[::7, "x"] = np.nan
    table.loc[::11, "color"] = None
    return table


@pytest.mark.parametrize(("max_bins", "dtype"), [(254, np.uint8), (30, np.uint8), (255, np.uint16)])
def test_a_whole_table(rng, max_bins, dtype):
    table = mixed_table(rng, 3000)
    frame = read_frame(table)
    schema = learn_schema(summarise(frame))
    prepared = prepare(frame, schema)
    binning, codes = bin_table(table, schema, max_bins)
    assert codes.dtype == binning.dtype == dtype
    assert codes.flags.c_contiguous
    assert codes.shape == (4, 3000)
    assert binning.is_nominal.tolist() == [False, False, True, False]
    assert binning.n_codes.tolist() == [max_bins + 1, 6, 5, max_bins + 1]
    assert (codes.max(axis=1) < binning.n_codes).all()
    np.testing.assert_array_equal(codes == 0, table.isna().to_numpy().T)
    np.testing.assert_array_equal(codes[2], np.nan_to_num(prepared.column(2)))


def test_threads_change_nothing(rng):
    table = mixed_table(rng, 5000)
    schema = learn_schema(summarise(read_frame(table)))
    binning, codes = bin_table(table, schema)
    for n_jobs in (2, 3):
        other, same = bin_table(table, schema, n_jobs=n_jobs)
        np.testing.assert_array_equal(same, codes)
        for one, two in zip(binning.edges, other.edges, strict=True):
            np.testing.assert_array_equal(one, two)


def test_an_error_in_a_thread_arrives(rng):
    table = rng.normal(size=(100, 3))
    schema = learn_schema(summarise(read_frame(table)))
    table[5, 2] = np.inf
    with pytest.raises(ValueError, match="'x2' contains infinity"):
        bin_table(table, schema, n_jobs=2)


@pytest.mark.parametrize("max_bins", [0, 1, 65_535, 3.5, "all"])
def test_numbers_of_bins_that_make_no_sense(max_bins):
    schema = learn_schema(summarise(read_frame([[1.0], [2.0]])))
    with pytest.raises(ValueError, match="max_bins must be 'exact' or from 2 to 65,534"):
        make_binning(schema, [np.array([1.5])], max_bins)
