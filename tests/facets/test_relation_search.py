"""Relations that hold are found, and columns of noise have none."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.facets.relation_search import find_relations, smallest_unit
from admercs.facets.relations import Formula
from admercs.method.settings import Relations

NAMES = [
    *[
        "net",
        "vat",
        "ship",
        "gross",
        "quantity",
        "price",
        "amount",
        "each",
        "celsius",
        "fahrenheit",
        "radius",
        "girth",
    ]
]


def make_orders(n: int = 1500, seed: int = 0) -> np.ndarray:
    """Return columns x rows with relations between them, one wrong cell in each of a few."""
    rng = np.random.default_rng(seed)
    net = np.round(rng.lognormal(3, 1, n), 2)
    vat = np.round(np.where(rng.random(n) < 0.5, 0.21, 0.06) * net, 2)
    ship = rng.choice([0.0, 4.95, 9.95], n)
    gross = np.round(net + vat + ship, 2)
    quantity, price = rng.integers(1, 9, n).astype(float), np.round(rng.lognormal(2, 0.6, n), 2)
    amount, each = np.round(quantity * price, 2), np.round(gross / quantity, 2)
    fahrenheit = np.round(rng.normal(60, 12, n), 1)
    celsius, radius = np.round((fahrenheit - 32) / 1.8, 1), np.round(rng.uniform(5, 20, n), 1)
    girth = np.round(6.6 * radius + rng.normal(0, 1, n), 1)
    columns = [net, vat, ship, gross, quantity, price, amount, each]
    table = np.array([*columns, celsius, fahrenheit, radius, girth])
    table[3, 5], table[6, 9], table[7, 11] = 7.0, 1.0, np.nan
    return table


def in_words(found: list[Formula], names: list[str] = NAMES) -> set[str]:
    return {formula.words([names[source] for source in formula.sources]) for formula in found}


def search(table: np.ndarray, **settings: float) -> list[Formula]:
    return find_relations(table, np.zeros(len(table), bool), Relations(**settings))  # type: ignore


def test_relations_between_columns_are_found() -> None:
    found = in_words([each for each in search(make_orders()) if each.form != "order"])
    assert {"each = gross / quantity", "girth ≈ 6.6 × radius"} <= found
    assert found & {"amount = quantity × price", "amount = price × quantity"}
    assert any(text.startswith("gross = ") and text.count(" + ") == 2 for text in found)
    assert any(text.startswith(("celsius = ", "fahrenheit = ")) for text in found)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_and_columns_does_not_matter(seed: int) -> None:
    table, rng = make_orders(400), np.random.default_rng(seed)
    columns = rng.permutation(len(table))
    names = [NAMES[j] for j in columns]
    found = search(np.ascontiguousarray(table[columns]))
    assert in_words(found, names) == in_words(search(table))
    assert {each[2:] for each in found} == {each[2:] for each in search(table)}


def test_a_sum_is_found_beside_many_wrong_values() -> None:
    rng = np.random.default_rng(0)
    table = np.round(rng.lognormal(3, 1, (4, 1000)), 2)
    table[3] = np.round(table[:3].sum(axis=0), 2)
    table[3, :40] = rng.permutation(table[3, :40])
    found = [each for each in search(table) if each.exact]
    assert [(each.form, each.sources[0], each.weights) for each in found] == [
        ("linear", 3, (1.0, 1.0, 1.0))
    ]
    assert found[0].units == (0.01,) * 4


def test_rows_off_a_line_are_no_rest_to_be_left_out() -> None:
    # A cross: a fifth of the rows lie on another line.
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 2000))
    y = np.where(rng.random(2000) < 0.2, -x, x) + 0.2 * noise
    assert search(np.array([x, y])) == []
    assert len(search(np.array([x, x + 0.5 * noise]))) == 1


def test_what_follows_exactly_is_not_said_roughly_too() -> None:
    rng = np.random.default_rng(0)
    b, c = rng.uniform(90, 110, (2, 1000))
    other = (b - 100) * (c - 100) + rng.normal(size=1000)
    names = ["a", "b", "c", "other"]
    table = np.array([np.round(b / c, 6), b, c, other])
    # A ratio of two narrow columns is nearly linear in both.
    assert in_words(search(table), names) & {"a = b / c", "b = a × c", "b = c × a"}
    assert not any("≈" in text for text in in_words(search(table), names))


def test_equal_columns_and_multiples() -> None:
    rng = np.random.default_rng(0)
    a = np.round(rng.lognormal(3, 1, 500), 2)
    b = np.round(rng.lognormal(3, 1, 500), 2)
    found = search(np.array([a, np.round(1.19 * a, 2), b, b]))
    assert in_words(found, [*"abcd"]) in (
        {"b = 1.19 × a", "c = d"},
        {"b = 1.19 × a", "d = c"},
    )


def test_dates_are_in_order() -> None:
    rng = np.random.default_rng(0)
    ordered = rng.integers(18_000, 19_000, 800).astype(float)
    shipped = ordered + rng.integers(0, 20, 800)
    number = rng.integers(18_000, 19_000, 800).astype(float)
    shipped[3] = ordered[3] - 3
    table = np.array([ordered, shipped, number])
    found = find_relations(table, np.array([True, True, False]), Relations())
    assert in_words(found, ["ordered", "shipped", "number"]) == {"ordered ≤ shipped"}


def noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a column of one of many kinds."""
    kinds = [
        lambda: rng.normal(size=n),
        lambda: rng.integers(0, rng.integers(2, 200), n),
        lambda: np.round(rng.lognormal(2, 1, n), rng.integers(0, 3)),
        lambda: rng.random(n) < rng.random(),
        lambda: np.where(rng.random(n) < 0.9, 0, np.round(rng.lognormal(2, 1, n))),
        lambda: rng.standard_cauchy(n),
        lambda: np.round(rng.random(n), rng.integers(1, 4)),
        lambda: rng.poisson(rng.uniform(0.2, 30), n),
        lambda: np.where(rng.random(n) < 0.9, 1, rng.integers(1, 20, n)),
        lambda: rng.choice(np.round(rng.lognormal(3, 1, 30), 2), n),
        lambda: 1e6 + np.round(rng.normal(0, 100, n)),
    ]
    column = np.asarray(kinds[rng.integers(len(kinds))](), float)
    column[rng.random(n) < rng.choice([0, 0, 0, 0.3])] = np.nan
    return column


def test_columns_of_noise_have_no_relations() -> None:
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        n, n_columns = int(rng.choice([60, 100, 300])), int(rng.integers(2, 16))
        assert search(np.array([noise(rng, n) for _ in range(n_columns)])) == [], seed


def test_a_relation_that_only_some_rows_satisfy_is_none() -> None:
    rng = np.random.default_rng(0)
    a, b = np.round(rng.lognormal(3, 1, (2, 600)), 2)
    c = np.where(rng.random(600) < 0.5, np.round(a + b, 2), np.round(rng.lognormal(4, 1, 600), 2))
    assert not [each for each in search(np.array([a, b, c])) if each.exact and each.form != "order"]


def test_the_least_rows_and_the_most_columns_are_kept_to() -> None:
    table = make_orders(400)
    assert search(table[:, :40]) == []
    assert len({source for each in search(table, max_columns=3) for source in each.sources}) <= 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-12, 1e-200, 5e-324, 1e140, 1e200, 1e307])
def test_tiny_and_huge_numbers(scale: float) -> None:
    """Tiny numbers are not all zero; where sums or products would be infinite nothing is sought."""
    rng = np.random.default_rng(0)
    a, b, other = rng.uniform(1, 9, (3, 300)) * scale
    with np.errstate(all="ignore"):
        table = np.array([a, b, a + b, a / b, other, rng.normal(size=300)])
        found = in_words(search(table), ["a", "b", "sum", "ratio", "other", "noise"])
    if scale <= 1e140:
        assert {"sum = a + b", "sum = b + a"} & found
    assert not any("other" in text or "noise" in text for text in found)
    for formula in search(table):
        numbers = [*formula.weights, formula.constant, formula.tolerance, formula.step]
        assert np.isfinite(numbers).all()


def test_the_unit_of_numbers() -> None:
    """A rest of a difference is zero; a column of such numbers has no unit."""
    assert smallest_unit(np.array([0.3 - 0.1 - 0.2, 0.5, 1.25])) == 0.01
    assert smallest_unit(np.array([2e-12, 3e-12])) == 0
