"""Formulas: residuals, words, settings in a model file; samples of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from admercs.facets import FacetFrame
from admercs.facets.facet_kinds import facet_fits
from admercs.facets.relation_sample import count_satisfied, merge_number_samples, sample_numbers
from admercs.facets.relations import Formula, formula_of, relation_facet
from admercs.table import read_frame

SUM = Formula("linear", (0, 1, 2), (1.0, 1.0), 0.0, 0.005, True, 0.01, (0.01, 0.01, 0.01))


def test_residuals_within_rounding_are_zero() -> None:
    total, net = np.array([3.0, 3.01, np.nan, 5.0]), np.array([1.0, 1.0, 1.0, 1.0])
    residual = SUM.residual([total, net, np.array([2.0, 2.005, 2.0, 2.0])])
    np.testing.assert_array_equal(residual, [0.0, 0.0, np.nan, 2.0])
    np.testing.assert_array_equal(SUM.holds(residual), [True, True, False, False])
    about = SUM._replace(exact=False, tolerance=1.0)
    assert about.residual([np.array([3.5]), np.array([1.0]), np.array([2.0])])[0] == 0.5


@pytest.mark.parametrize(
    ("form", "others", "residual"),
    [
        ("product", [2.0, 3.0], 1.0),
        ("quotient", [14.0, 2.0], 0.0),
        ("quotient", [7.0, 0.0], np.nan),
        ("order", [5.0], 2.0),
        ("order", [9.0], 0.0),
    ],
)
def test_other_forms(form: str, others: list[float], residual: float) -> None:
    formula = Formula(form, tuple(range(1 + len(others))))  # type: ignore[arg-type]
    found = formula.residual([np.array([7.0]), *(np.array([x]) for x in others)])
    np.testing.assert_array_equal(found, [residual])


def test_words() -> None:
    assert SUM.words(["total", "net", "vat"]) == "total = net + vat"
    linear = Formula("linear", (0, 1, 2), (-2.5, 0.21), -3.0, 0.5)
    assert linear.words([*"cab"]) == "c = −2.5 × a + 0.21 × b − 3"
    about = Formula("linear", (0, 1), (6.5988,), 0.01, 1.9, False)
    assert about.words(["perimeter", "radius"]) == "perimeter ≈ 6.6 × radius"
    assert Formula("order", (0, 1)).words(["ordered", "shipped"]) == "ordered ≤ shipped"


def test_what_a_file_says_is_checked() -> None:
    facet, kinds = relation_facet(SUM, 100, 99), ("float", "integer", "float")
    used = range(3)
    assert facet_fits(facet, "float", kinds, used)
    assert not facet_fits(facet, "float", ("float", "text", "float"), used)
    assert not facet_fits(facet, "float", kinds, [0, 1])
    assert not facet_fits(facet, "integer", kinds, used)
    assert formula_of(facet) == SUM
    good = facet.settings
    for place, wrong in enumerate(["cube", (1.0,), np.inf, -1.0, 1, -1.0, (0.01,), 98, 101]):
        settings = (*good[:place], wrong, *good[place + 1 :])
        assert not facet_fits(replace(facet, settings=settings), "float", kinds, used), place
    for units in ((0.01, 0.01, -1.0), (0.01, 0.01, 10.0), (0.01, 0.01, np.nan)):
        settings = (*good[:6], units, *good[7:])
        assert not facet_fits(replace(facet, settings=settings), "float", kinds, used), units
    for sources in ((0, 1), (0, 1, 1), (0, 1, 3), (0, 1, -1), (0, 1, True), ()):
        assert not facet_fits(replace(facet, sources=sources), "float", kinds, used)


def test_a_right_value_is_written_like_the_others_of_its_column() -> None:
    # 3 pieces at 4.20 are 12.60: for an amount of 13.50 there is a price, but no number of pieces.
    form = Formula("product", (0, 1, 2), tolerance=0.005, units=(0.01, 1.0, 0.1))
    row = [np.array([13.5]), np.array([3.0]), np.array([4.2])]
    amount, pieces, price = (float(form.right_values(place, row)[0]) for place in range(3))
    assert (amount, price) == (12.6, 4.5)
    assert np.isnan(pieces)
    # What holds roughly is no exact number, and columns without a unit are not rounded.
    for changed in (form._replace(exact=False), form._replace(units=(0.0, 0.0, 0.0))):
        assert changed.right_values(1, row) == pytest.approx(13.5 / 4.2)


def test_dates_are_counted_in_days() -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-02", None])
    table = pd.DataFrame({"ordered": days, "shipped": days[::-1] - pd.Timedelta(12, "h")})
    frame = FacetFrame(read_frame(table), [relation_facet(Formula("order", (0, 1)), 9, 9)])
    np.testing.assert_array_equal(frame.column(2).values, [np.nan, 0.5, np.nan])
    assert frame.names[2] == "ordered ≤ shipped"


@pytest.mark.parametrize("cuts", [[], [10, 10, 450], [1, 2, 3]])
def test_samples_and_counts_of_pieces_are_those_of_the_whole(cuts: list[int]) -> None:
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(500, 3)), 1)
    table[rng.random(table.shape) < 0.1] = np.nan
    whole, pieces = read_frame(table), np.split(table[rng.permutation(500)], cuts)
    frames = [read_frame(piece, allow_empty=True) for piece in pieces]
    expected = sample_numbers(whole, 200)
    found = merge_number_samples([sample_numbers(frame, 200) for frame in frames])
    np.testing.assert_array_equal(found.keys, expected.keys)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.values.shape == (3, 200)
    formulas = [Formula("order", (0, 1)), SUM]
    counts = sum(count_satisfied(frame, formulas) for frame in frames)
    np.testing.assert_array_equal(counts, count_satisfied(whole, formulas))
    both = ~np.isnan(table[:, :2]).any(axis=1)
    assert counts[0].tolist() == [both.sum(), (table[both, 0] <= table[both, 1]).sum()]
