"""Values far outside of the rest: slips of the pen, codes for missing, and heavy tails."""

from dataclasses import replace

import numpy as np
import pytest

from admercs import ADMERCS, Method
from admercs.density.lookup import read_likelihood
from admercs.method.settings import Density, Tail
from admercs.method.tail import (
    SideTail,
    TailStep,
    draw_tail,
    find_lone_values,
    read_lowered,
    tail_likelihood,
)

from ..density.tools import fit_columns, make_forest
from .tools import ALONE, fit

WITHOUT = replace(Method(), tail=None)


def in_a_leaf(x):
    """Fit a value's distribution in a leaf, beside another leaf of ordinary values."""
    forest = make_forest(2)
    both = np.concatenate([x, np.random.default_rng(1).normal(size=500)])
    leaves = np.repeat(forest.leaves(0), [len(x), 500]).astype(np.int32)
    fitted = fit_columns(forest, [both], leaves[None], settings=Density())
    return fitted, find_lone_values(fitted, forest.root, Tail().peak), leaves[: len(x)]


def test_in_a_leaf_a_lone_value_is_less_likely_the_further_from_the_bulk():
    x = np.random.default_rng(0).normal(size=500)
    x[:5] = 6, 9, 20, -20, 1e300
    fitted, lone, nodes = in_a_leaf(x)
    plain = read_likelihood(fitted, 0, nodes, x)
    lowered = read_lowered(lone, fitted, 0, nodes, x)
    assert np.all(lowered <= plain)
    assert np.all(np.diff(lowered[[0, 1, 2, 4]]) < 0)
    assert lowered[3] == pytest.approx(lowered[2], abs=0.5)
    # Never less likely than a value seen once, and nothing changes in the bulk.
    assert lowered.min() >= -np.log(500)
    np.testing.assert_array_equal(lowered[np.abs(x) < 2], plain[np.abs(x) < 2])
    np.testing.assert_array_equal(read_lowered(None, fitted, 0, nodes, x), plain)
    # In the whole table the tails say so.
    root = np.zeros_like(nodes)
    np.testing.assert_array_equal(
        read_lowered(lone, fitted, 0, root, x), read_likelihood(fitted, 0, root, x)
    )


def test_in_a_leaf_missing_values_and_groups_are_not_alone():
    x = np.random.default_rng(0).normal(size=500)
    x[:20], x[20:30] = 50 + np.arange(20) / 100, np.nan
    fitted, lone, nodes = in_a_leaf(x)
    np.testing.assert_array_equal(
        read_lowered(lone, fitted, 0, nodes[:30], x[:30]),
        read_likelihood(fitted, 0, nodes[:30], x[:30]),
    )


def test_tails_go_through_the_quantiles():
    # Of an exponential and of a Pareto distribution: shares beyond v are known.
    for quantile, shape in [(lambda s: -2 * np.log(s), 0.0), (lambda s: s**-0.5, 0.5)]:
        tail = draw_tail([quantile(s) for s in (0.5, 0.1, 0.02)], np.empty(0), 10_000, Tail())
        assert tail.heavy_shape == pytest.approx(shape, abs=1e-9)
        for share in (0.01, 1e-3, 1e-5):
            z = (quantile(share) - tail.heavy_from) / tail.heavy_scale
            falls = np.log1p(shape * z) / shape if shape else z
            assert np.log(0.02) - falls == pytest.approx(np.log(share), rel=1e-9)
        light = (quantile(0.1) - quantile(0.5)) / np.log(5)
        assert (tail.light_from, tail.light_scale) == pytest.approx((quantile(0.1), light))


@pytest.mark.parametrize(
    ("quantiles", "n", "light", "heavy"),
    [
        ([0, 1, 2], 500, True, True),
        ([0, 1, 2], 499, True, False),
        ([0, 1, 2], 49, False, False),
        ([0, 0, 2], 500, False, False),
        ([0, 1, 1], 500, True, False),
        ([0, 1, np.inf], 500, True, False),
    ],
)
def test_few_rows_and_columns_without_spread_have_no_tail(quantiles, n, light, heavy):
    tail = draw_tail([float(q) for q in quantiles], np.empty(0), n, Tail())
    assert (tail is not None) == light
    assert (tail is not None and tail.heavy_scale > 0) == heavy


def test_the_likelihood_is_the_formula():
    n, settings = 1000, Tail(slack=2.0, power=2.5)
    tail = SideTail(1.0, 0.5, 3.0, 1.0, 0.25, np.array([9.0, 8.0, 6.0, 4.0, 2.0]))
    v = np.array([1.5, 2.0, 3.5, 4.0, 6.5, 8.5, 9.0, 30.0, 1e4, 1e300])
    # Rows at v or beyond, as far as ranks 1, 2, 4, 8, 16 tell: at most so many.
    mass = np.array([31, 31, 15, 15, 3, 1, 1, 1, 1, 1]) / n
    light = np.exp(np.log(0.1) - (v - 1.0) / 0.5)
    pareto = 0.02 * (1 + 0.25 * np.maximum(0, v - 3.0)) ** -4
    heavy = np.where(v > 3.0, pareto, 1.0)
    slack = np.exp(2.0)
    far = np.where(slack**2 * heavy < mass, np.maximum(mass**2.5, slack**2 * heavy), 1.0)
    expected = np.minimum(np.maximum(mass, slack * light / mass), far)
    assert 0 < np.count_nonzero(far < 1) < len(v)
    found = tail_likelihood(tail, n, v, settings)
    np.testing.assert_allclose(found, np.minimum(0.0, np.log(expected)), rtol=1e-9, atol=1e-12)
    without = tail_likelihood(tail._replace(heavy_scale=0.0), n, v, settings)
    np.testing.assert_allclose(
        without, np.minimum(0.0, np.log(np.maximum(mass, slack * light / mass))), atol=1e-12
    )


def ages(n, seed=0):
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 18, n), 1, 94).round()
    return np.column_stack([age, rng.normal(size=n), rng.lognormal(size=n)])


def test_the_step_lowers_the_view_of_the_whole_table():
    people = ages(2000)
    people[7, 0] = 455
    people[5, 0] = np.nan
    seen = fit(people, replace(Method(), **ALONE))
    forest, like = seen.model.forest, seen.model.likelihoods
    views, before = seen.views(), seen.views()
    TailStep(like, forest.root, Tail()).apply(views)
    age = seen.model.positions.tolist().index(0)
    people = people[:, seen.model.positions]
    assert views.marginal[age, 7] < before.marginal[age, 7] - 2
    found = np.zeros(views.marginal.shape)
    for m, rows, far in views.far:
        found[m, rows] = np.minimum(found[m, rows], far)
    np.testing.assert_array_equal(views.marginal, np.minimum(before.marginal, found))
    assert found[age, 5] == 0  # a missing value is in no tail
    expected = np.zeros(found.shape)
    for m, sides in enumerate(like.outer.reshape(3, 2, -1)):
        n = int(np.sum(~np.isnan(people[:, m])))
        for sign, side in zip((-1, 1), upwards(sides), strict=True):
            tail = draw_tail(side[:3].tolist(), side[3:][~np.isnan(side[3:])], n, Tail())
            v = sign * people[:, m]
            beyond = v > tail.light_from
            far = tail_likelihood(tail, n, v[beyond], Tail())
            expected[m, beyond] = np.minimum(expected[m, beyond], far)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # A leaf that is the whole table says what the table says, any other is left alone.
    whole = np.diff(forest.root) == 1
    np.testing.assert_array_equal(views.log_omega[~whole], before.log_omega[~whole])
    lowered = np.minimum(before.log_omega, found)
    np.testing.assert_array_equal(views.log_omega[whole], lowered[whole])


def upwards(sides):
    """Mirror the lower side of a column, so that both point upwards."""
    return -sides[0], sides[1]


def test_both_sides_of_a_column_are_treated_alike():
    x = ages(2000)[:, [0]]
    x[:3, 0] = 455, 300, 200
    evidence = [-ADMERCS(n_iter=1).fit(s * x).score_samples(s * x) for s in (1, -1)]
    np.testing.assert_allclose(*evidence, rtol=0.05, atol=0.05)


def test_a_digit_too_many_is_the_first_finding():
    people = ages(2000)
    people[7, 0] = 455
    model = ADMERCS().fit(people)
    assert np.argmax(model.scores_) == 7
    assert model.predict(people)[7] == -1
    first = model.explain(people[[7]])[0].reasons[0]
    assert (first.target, first.conditions) == ("x0", ())


def test_several_slips_in_one_column_are_found():
    people = ages(2000)
    people[[3, 4, 5], 0] = 455, 320, 999
    assert set(np.argsort(-ADMERCS().fit(people).scores_)[:3]) == {3, 4, 5}


@pytest.mark.parametrize("n_iter", [1, 20])
def test_further_out_is_never_more_likely_and_has_an_end(n_iter):
    far = np.zeros((6, 3))
    far[:, 0] = 95, 120, 200, 455, 1e6, 1e300
    evidence = -ADMERCS(n_iter=n_iter).fit(ages(1000)).score_samples(far)
    assert np.all(np.diff(evidence) >= 0)
    assert evidence[3] > evidence[0] + 2
    # With n rows ω is never below n^-3.
    assert evidence[-1] == evidence[-2] < 3 * np.log(1000)
    plain = -ADMERCS(method=WITHOUT, n_iter=n_iter).fit(ages(1000)).score_samples(far)
    assert np.all(evidence[3:] > plain[3:] + 1)


def test_both_ends_are_as_odd():
    ends = np.array([[1e300, 0, 0], [-1e300, 0, 0]])
    low, high = -ADMERCS(n_iter=1).fit(ages(1000)).score_samples(ends)
    assert low == high


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_values_of_a_heavy_tail_are_no_slips(seed):
    rng = np.random.default_rng(seed)
    incomes = np.exp(rng.normal(size=(2000, 2)) * 1.5)
    model = ADMERCS().fit(incomes)
    # As unlikely as a value seen once, and not more.
    assert np.all(model.score_cells(incomes).max(axis=0) <= np.log(1 + 0.1 * 2 * 2000))


def test_a_code_for_missing_is_odd_however_many_rows_have_it():
    people = ages(5000)
    people[:20, 0] = -999
    evidence = [
        -ADMERCS(method=method, n_iter=1).fit(people).score_samples(people)
        for method in (Method(), WITHOUT)
    ]
    rank = np.argsort(np.argsort(-evidence[0]))
    assert np.median(rank[:20]) < 40
    assert evidence[0][:20].mean() > evidence[1][:20].mean() + 1


def cells_of(column, step):
    """Return the evidence of a column's values beside one of noise."""
    noise = np.random.default_rng(1).normal(size=len(column))
    method = replace(Method(), neighbours=None).change({"tail.step": step})
    table = np.column_stack([column, noise])
    return ADMERCS(method=method).fit(table).score_cells(table)[:, 0]


@pytest.mark.parametrize(("low", "high"), [(2015, 2021), (0, 1)])
def test_a_thousand_times_too_large_is_far_outside_of_few_values(low, high):
    rng = np.random.default_rng(0)
    year = np.where(rng.random(2000) < 0.6, high, rng.integers(low, high + 1, 2000)).astype(float)
    year[:5] = 1000 * high
    found, before = cells_of(year, 0.25), cells_of(year, 0.0)
    assert found[:5].min() > 10
    assert before[:5].max() < 6
    np.testing.assert_array_equal(found[5:], before[5:])


def test_a_column_of_which_most_rows_share_a_value_has_no_bulk():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(2000) < 0.92, 0.0, rng.lognormal(8, 1, 2000))
    gains[0] = 99_999
    np.testing.assert_array_equal(cells_of(gains, 0.25), cells_of(gains, 0.0))
