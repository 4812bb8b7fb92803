"""From paths to conditions in words."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from admercs import ADMERCS
from admercs.explain.access import Range
from admercs.explain.column_words import ColumnWords
from admercs.explain.conditions import Worded, make_condition
from admercs.explain.model_words import ModelWords
from admercs.table.columns import Column


def codes(*allowed: int) -> int:
    return sum(1 << code for code in allowed)


def nominal(n: int = 6, **more) -> ColumnWords:
    names = ("clerk", "manager", "cook", "nurse", "pilot", "vet", "smith", "baker", "tailor")[:n]
    return ColumnWords(Column("job", 0, "nominal", "text", categories=names, **more), "job", "", 1)


def numeric(display="number", step=1.0, unit="", **more) -> ColumnWords:
    return ColumnWords(Column("age", 0, "numeric", display, **more), "age", unit, step)


def make(words: ColumnWords, allowed: Range, own: float = math.inf) -> Worded | None:
    """Make a condition whose thresholds may be rounded by half a step."""
    return make_condition(
        words, allowed, own, lambda exact, shown: abs(exact - shown) <= words.step / 2
    )


def text(words: ColumnWords, allowed: Range, own: float = math.inf) -> str:
    made = make(words, allowed, own)
    return "" if made is None else made[0].text


def test_categories_are_said_the_shorter_way_round() -> None:
    assert text(nominal(), Range(codes=codes(1))) == "job = clerk"
    assert text(nominal(), Range(codes=codes(1, 3))) == "job = clerk or cook"
    assert text(nominal(), Range(codes=codes(2, 3, 4, 5, 6))) == "job ≠ clerk"
    assert text(nominal(), Range(codes=codes(3, 4, 5, 6))) == "job not clerk or manager"
    assert text(nominal(2), Range(codes=codes(2))) == "job = manager"


def test_long_lists_are_shortened_with_a_count() -> None:
    kept = Range(codes=codes(1, 2, 3, 4, 5, 6))
    many = ColumnWords(
        Column("job", 0, "nominal", "text", categories=tuple("abcdefghijklmno")), "job", "", 1
    )
    assert text(many, kept) == "job = a, b, c, d or 2 others"


def test_rare_categories_are_mentioned_where_there_are_any() -> None:
    some = nominal(n_grouped=3)
    assert text(some, Range(codes=codes(1, 7))) == "job = clerk or a rare value"
    assert text(some, Range(codes=codes(7))) == "job = a rare value"
    assert text(some, Range(codes=codes(2, 3, 4, 5, 6, 7))) == "job ≠ clerk"
    inside = Range(codes=codes(2, 3, 4, 5, 6))
    assert text(some, inside) == "job = manager, cook, nurse, pilot or 1 other"
    assert make(some, Range(codes=codes(1, 7)), 1.0)[0].holds("something rare")


def test_an_unseen_category_of_the_row_satisfies_the_words() -> None:
    made = make(nominal(), Range(codes=codes(1, 7)), 7.0)[0]
    assert made.holds("astronaut")
    assert made.text == "job = clerk or a rare value"


def test_conditions_that_change_nothing_are_dropped() -> None:
    assert make(nominal(), Range(codes=codes(1, 2, 3, 4, 5, 6))) is None
    assert make(numeric(), Range()) is None


def test_missing_and_recorded() -> None:
    assert text(numeric(n_missing=3), Range(missing=False)) == "age recorded"
    assert text(numeric(n_missing=3), Range(low=math.inf)) == "age missing"
    assert text(numeric(n_missing=3), Range(low=7.0, high=5.0)) == "age missing"
    assert text(numeric(n_missing=3), Range(high=5.0)) == "age at most 5 or missing"
    assert text(numeric(n_missing=0), Range(high=5.0)) == "age at most 5"
    assert text(numeric(n_missing=0), Range(high=5.0), math.nan) == "age at most 5 or missing"
    assert text(nominal(n_missing=1), Range(codes=codes(), missing=True)) == "job missing"
    assert text(nominal(n_missing=1), Range(missing=False)) == "job recorded"
    most = Range(codes=codes(3, 4, 5, 6))
    assert text(nominal(n_missing=1), most) == "job missing or not clerk or manager"
    assert text(nominal(n_missing=1), Range(codes=codes(3))) == "job = cook or missing"


def test_integers_and_dates_name_values_that_occur() -> None:
    whole = numeric("integer")
    assert text(whole, Range(17.5, 30.5)) == "age 18 to 30"
    assert text(whole, Range(17.5, 18.5)) == "age = 18"
    assert text(whole, Range(low=17.5)) == "age at least 18"
    assert text(whole, Range(high=17.0)) == "age at most 17"
    day = numeric("date", unit="", origin=18686)
    day = ColumnWords(Column("made", 0, "numeric", "date", origin=18686, unit="D"), "made", "", 1)
    assert text(day, Range(0.5, 9.5)) == "made 2021-03-01 to 2021-03-09"
    assert text(day, Range(low=0.5)) == "made from 2021-03-01"
    assert text(day, Range(high=9.5)) == "made until 2021-03-09"


def test_few_values_are_named_instead_of_thresholds() -> None:
    legs = numeric(step=0.1, distinct=(0.0, 2.0, 4.0, 5.0, 6.0, 8.0))
    assert text(legs, Range(high=1.0)) == "age = 0"
    assert text(legs, Range(1.0, 4.5)) == "age = 2 or 4"
    assert text(legs, Range(1.0, 5.5)) == "age 2 to 5"
    assert text(legs, Range(low=3.0)) == "age at least 4"
    # A new row may have a value that no training row has: the words must hold for it too.
    assert text(legs, Range(1.0, 4.5), own=3.0) == "age 1 to 4.5"


@given(st.floats(-100, 100), st.floats(1e-3, 50), st.floats(0.001, 1))
def test_rounded_thresholds_hold_for_the_row(low: float, width: float, part: float) -> None:
    own = low + part * width
    made = make(numeric(step=0.5), Range(low, low + width), own)[0]
    assume(made.holds(own))
    shown = [float(end) for end in made.text.removeprefix("age ").split(" to ")]
    assert shown[0] <= own <= shown[-1]


def test_a_threshold_is_not_rounded_past_the_row() -> None:
    assert text(numeric(), Range(low=74.6)) == "age above 75"
    assert text(numeric(), Range(low=74.6), own=74.9) == "age above 74.6"
    assert text(numeric(), Range(high=74.4)) == "age at most 74"
    assert text(numeric(), Range(high=74.4), own=74.2) == "age at most 74.4"


def test_units() -> None:
    assert text(numeric(unit="kWh", step=1.0), Range(74.99, 95.01)) == "age 75 to 95 kWh"
    assert text(numeric(unit="kWh", step=1.0), Range(low=74.3)) == "age above 74 kWh"


def test_vague_conditions_leave_the_value_open() -> None:
    assert make(numeric(), Range(low=74.6))[1]
    assert make(nominal(), Range(codes=codes(2, 3, 4, 5, 6)))[1]
    assert make(numeric(), Range(10.0, 74.6))[1]
    assert not make(numeric("integer"), Range(17.5, 18.5))[1]
    assert make(nominal(), Range(codes=codes(1, 3)))[1]
    assert not make(nominal(), Range(codes=codes(1)))[1]


def test_counts_of_rounded_conditions_are_right_within_a_hundredth_or_two_rows() -> None:
    # Prices with a long tail, and weights of which a few are frequent.
    rng = np.random.default_rng(0)
    n = 3000
    few = rng.choice([0.3, 0.31, 0.32, 0.33, 0.4, 0.5, 0.7, 1.0], n)
    carat = np.where(rng.random(n) < 0.5, few, 0.2 + np.exp(rng.normal(-0.4, 0.6, n))).round(2)
    price = np.exp(8 + 1.6 * np.log(carat) + rng.normal(0, 0.15, n)).round()
    table = pd.DataFrame({"carat": carat, "price": price})
    words = ModelWords(ADMERCS().fit(table).model_)
    checked = 0
    for node in range(int(words.access.model.forest.root[-1])):
        conditions, _ = words.described(node)
        keep = np.ones(n, bool)
        for condition in conditions:
            name, _, said = condition.text.replace(",", "").partition(" ")
            ends = re.fullmatch(r"(?:above (\S+)|at most (\S+)|(\S+) to (\S+))", said)
            assert ends is not None, condition.text
            low, high = ends[1] or ends[3] or -np.inf, ends[2] or ends[4] or np.inf
            keep &= (table[name] > float(low)) & (table[name] <= float(high))
        assert keep.sum() == pytest.approx(words.access.sizes[node], rel=0.01, abs=2)
        checked += 1
    assert checked > 20
