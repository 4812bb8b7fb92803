from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from admercs.density.counts import count_codes, count_values, merge_values, node_counts
from admercs.density.fitting import (
    check_grids,
    code_layout,
    finish_targets,
    start_target,
)
from admercs.density.likelihoods import of_counts
from admercs.density.lookup import read_likelihood

from .tools import (
    HEAVY,
    PAPER,
    SHARES,
    encode,
    fit_columns,
    fit_one,
    fit_target,
    log_likelihood,
    make_forest,
    numeric,
    plan_one,
    quantile_edges,
    value_limits,
)


def assert_equal(a, b):
    for name, left, right in zip(a._fields, a, b, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)


@pytest.mark.parametrize("settings", [PAPER, HEAVY])
def test_the_order_of_rows_changes_nothing(mixed, settings):
    forest, values, leaves, columns = mixed
    once = fit_columns(forest, values, leaves, columns, settings, {3: 2})
    order = np.random.default_rng(2).permutation(leaves.shape[1])
    moved = [x[order] for x in values]
    again = fit_columns(forest, moved, leaves[:, order], columns, settings, {3: 2})
    assert_equal(once, again)


def fit_in_pieces(plan, x, leaves, column, edges, pieces, settings):
    """How a partitioned table is fitted: count each piece, merge, go on."""
    codes = encode(x, edges)
    n_codes, shift = code_layout(column, edges)
    counts = node_counts(
        plan, sum(count_codes(codes[p], leaves[p], plan, n_codes, shift) for p in pieces)
    )
    limits = [value_limits(x[p]) for p in pieces if not np.isnan(x[p]).all()]
    low, high = min(a for a, _ in limits), max(b for _, b in limits)
    start = start_target(counts, edges, (low, high), settings)

    def count(start):
        return merge_values([count_values(x[p], leaves[p], plan, start.grids) for p in pieces])

    counted = count(start)
    start = check_grids(start, counted)
    if start.spread is None:
        counted = count(start)
    return next(finish_targets([start], [counted], SHARES))


@hypothesis_settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 1500), max_size=5), settings=st.sampled_from([PAPER, HEAVY]))
def test_pieces_give_the_same_model_bit_for_bit(mixed, cuts, settings):
    forest, values, leaves, columns = mixed
    plan, edges = plan_one(forest, scorers={3: 2}), quantile_edges(values[0])
    x = values[0].copy()
    x[leaves[0] == forest.leaves(0)[0]] = 1.25  # one leaf is constant and needs a second grid
    pieces = np.split(np.arange(1500), sorted(cuts))
    in_pieces = fit_in_pieces(plan, x, leaves[0], columns[0], edges, pieces, settings)
    whole = fit_target(plan, encode(x, edges), leaves[0], columns[0], edges, x, settings)
    assert_equal(in_pieces, whole)


def test_few_values_in_pieces(mixed):
    forest, values, leaves, columns = mixed
    plan, codes = plan_one(forest, 1), values[1].astype(np.uint8)
    parts = [count_codes(codes[p], leaves[1][p], plan, 5) for p in (slice(600), slice(600, None))]
    in_pieces = of_counts(columns[1], node_counts(plan, parts[0] + parts[1]), PAPER, SHARES)
    whole = fit_target(plan, codes, leaves[1], columns[1], np.empty(0), values[1], PAPER)
    assert_equal(in_pieces, whole)


@pytest.mark.parametrize("rho", [0.5, 0.8, 0.9, 0.99])
def test_about_a_fraction_rho_of_the_rows_is_fully_typical(rho):
    x = np.random.default_rng(0).gamma(2, size=5000)
    log_omega = read_likelihood(fit_one(x, replace(PAPER, rho=rho)), 0, np.zeros(5000, np.int32), x)
    assert np.mean(log_omega > -1e-3) == pytest.approx(rho, abs=0.005)
    assert log_omega.max() == 0


@hypothesis_settings(max_examples=15, derandomize=True)
@given(
    scale=st.floats(1e-3, 1e3), sign=st.sampled_from([-1, 1]), shift=st.floats(-100, 100),
    settings=st.sampled_from([PAPER, HEAVY]),
)  # fmt: skip
def test_likelihoods_do_not_depend_on_units(mixed, scale, sign, shift, settings):
    _, values, leaves, _ = mixed
    tree = make_forest(3)
    moved = values[0] * (scale * sign) + shift
    expected = fit_columns(tree, values[:1], leaves[:1], settings=settings)
    found = fit_columns(tree, [moved], leaves[:1], settings=settings)
    nodes = leaves[0]
    tolerance = 1e-6 if sign > 0 else 0.02  # mirrored bins close on the other side
    np.testing.assert_allclose(
        read_likelihood(found, 0, nodes, moved),
        read_likelihood(expected, 0, nodes, values[0]),
        atol=tolerance,
    )


def test_an_extreme_value_changes_nothing_for_the_others():
    x = np.random.default_rng(0).normal(size=2000)
    nodes = np.zeros(2000, np.int32)
    x[0] = 1e3
    near = read_likelihood(fit_one(x), 0, nodes, x)
    x[0] = 1e9
    far = read_likelihood(fit_one(x), 0, nodes, x)
    np.testing.assert_array_equal(near, far)
    without = read_likelihood(fit_one(x[1:]), 0, nodes[1:], x[1:])
    np.testing.assert_allclose(far[1:], without, atol=0.02)


def test_a_discrete_column_with_fewer_bins_than_values(mixed):
    forest, values, leaves, columns = mixed
    plan, x = plan_one(forest, 2), values[2]
    own = fit_target(plan, encode(x, np.array([3.0, 4.5])), leaves[2], columns[2],
                     np.array([3.0, 4.5]), x, PAPER)  # fmt: skip
    joined = fit_target(plan, encode(x, np.array([4.5])), leaves[2], columns[2],
                        np.array([4.5]), x, PAPER)  # fmt: skip
    assert_equal(own, joined)


def test_rank_codes_of_exact_mode():
    x = np.random.default_rng(0).normal(size=3000)
    ordered = np.sort(x)
    edges = (ordered[1:] + ordered[:-1]) / 2
    plan = plan_one(make_forest(1))
    leaves = np.zeros(3000, np.int32)
    exact = fit_target(plan, encode(x, edges), leaves, numeric(), edges, x, PAPER)
    binned = fit_one(x)
    assert exact.bandwidth[0] == pytest.approx(binned.bandwidth[0], rel=0.02)


def test_golden_values():
    x = np.random.default_rng(42).normal(size=1000)
    fitted = fit_one(x)
    found = [log_likelihood(fitted, 0, 0, value) for value in (0.0, 2.0, 2.5, 3.0, 10.0)]
    np.testing.assert_allclose(found, GOLDEN, atol=1e-6)


GOLDEN = [0.0, -0.612165, -1.938361, -2.969839, -4.137790]
