"""How the values of a column are written."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import ROUND_CEILING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.explain.column_words import ColumnWords, join, listed, name_and_unit, number, percent
from admercs.table.columns import Column


def words(display="number", role="numeric", step=0.1, unit="", **more) -> ColumnWords:
    made = Column("x", 0, role, display, unit=more.pop("ticks", ""), **more)
    return ColumnWords(made, "x", unit, step)


@given(st.floats(-1e12, 1e12), st.integers(0, 7))
def test_numbers_are_near_and_tidy(x: float, decimals: int) -> None:
    text = number(x, decimals)
    assert abs(float(text.replace(",", "")) - x) <= 0.5 * 10.0**-decimals * (
        1 + 1e-9
    ) + 1e-15 * abs(x)
    assert "e" not in text
    assert not ("." in text and text.endswith(("0", ".")))
    assert text not in {"-0", ""}


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e3))
def test_rounded_numbers_fit_and_have_the_fewest_digits(x: float, most: float) -> None:
    text = words().rounded(x, lambda shown: abs(shown - x) <= most)
    shown = float(text.replace(",", ""))
    assert abs(shown - x) <= max(most, 1e-14 * abs(x))
    digits = len(re.sub(r"e.*|[^1-9]", "", text))
    fewer = [float(f"{x:.{k}e}") for k in range(digits - 2)]
    assert not any(abs(other - x) <= most for other in fewer)


@pytest.mark.parametrize(
    ("x", "step", "text"),
    [
        (0.1 + 0.2, 0.05, "0.3"),
        (74.96, 1.1, "75"),
        (12345.678, 4.0, "12,346"),
        (1e-9, 1e-11, "1e-9"),
    ],
)
def test_digits_that_matter(x: float, step: float, text: str) -> None:
    assert words(step=step).text(x) == text


def test_own_values_are_said_as_recorded_unless_they_have_needless_digits() -> None:
    assert words(step=1.0).exact_text(7.85) == "7.85"
    assert words(step=1.0).exact_text(7.8542) == "7.9"
    assert words(step=1.0).exact_text(7.8542, apart=0.01) == "7.85"
    assert words(step=1.0).exact_text(310.0) == "310"
    assert words(step=1e-3).exact_text(146.34146341463415) == "146.3415"


def test_integers_stay_integers() -> None:
    column = words("integer", origin=2**60)
    assert column.native(5.0) == 2**60 + 5
    assert words("integer").text(2021.0) == "2021"
    assert words("integer").text(24310.0) == "24,310"


def test_dates_and_times() -> None:
    assert words("date", ticks="D", origin=18000).text(687.0) == "2021-03-01"
    moment = dt.datetime(2021, 3, 1, 14, 30, 5)
    micros = int((moment - dt.datetime(1970, 1, 1)).total_seconds() * 1e6)
    clock = words("datetime", ticks="us", origin=micros)
    assert clock.native(0.0) == moment
    assert clock.text(0.0, step=2 * 86400e6) == "2021-03-01"
    assert clock.text(0.0, step=300e6) == "2021-03-01 14:30"
    assert clock.text(0.0, step=5e6) == "2021-03-01 14:30:05"
    zoned = words("datetime", ticks="us", origin=micros, time_zone="Europe/Brussels")
    assert zoned.text(0.0, step=300e6) == "2021-03-01 15:30"
    assert words("time", ticks="us").text(3661e6, step=60e6) == "01:01"
    assert words("duration", ticks="us").text(7_500e6, step=60e6) == "2.08 h"
    assert words("duration", ticks="us").native(90e6) == dt.timedelta(seconds=90)


def test_durations_can_be_read_back_and_rounded_either_way() -> None:
    waits = words("duration", ticks="us", origin=10**6, step=6e6)
    x = 811.5e6  # with its origin 13.5416… minutes
    up = waits.text(x, rounding=ROUND_CEILING)
    assert [waits.text(x), up] == ["13.5 min", "13.6 min"]
    assert waits.read("13.5 min") == 13.5 * 60e6 - 1e6
    assert waits.read("2 h") == 7200e6 - 1e6
    assert waits.exact_text(x, apart=0.06e6) == "13.542 min"


def test_dates_beyond_the_calendar_are_said_somehow() -> None:
    assert words("date", ticks="D").text(1e9) == "1000000000"


def test_categories() -> None:
    column = words("boolean", "nominal", categories=(True, False))
    assert [column.category(column.native(code)) for code in (1.0, 2.0)] == ["yes", "no"]
    assert column.native(3.0) is None
    assert column.native(math.nan) is None
    assert column.category("") == '""'
    assert column.category("Ghent, Belgium") == '"Ghent, Belgium"'
    assert column.category("salt and pepper") == '"salt and pepper"'
    assert column.category("x" * 50) == "x" * 39 + "…"


def test_join() -> None:
    assert [join(["a", "b", "c"][:n], "or") for n in range(4)] == ["", "a", "a or b", "a, b or c"]


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (2, "a or b"),
        (4, "a, b, c or d"),
        (5, "a, b, c, d or 1 other"),
        (7, "a, b, c, d or 3 others"),
    ],
)
def test_long_lists_are_cut_short(n: int, text: str) -> None:
    assert listed(list("abcdefg")[:n]) == text


def test_lists_of_long_names_are_cut_shorter() -> None:
    names = ["x" * 35, "y" * 35, "z"]
    assert listed(names) == f"{names[0]} or 2 others"


def test_moments_centuries_away_are_not_a_moment_off() -> None:
    far = dt.datetime(1680, 1, 1)
    origin = int(dt.datetime(2020, 1, 1, tzinfo=dt.UTC).timestamp()) * 10**9 + 123_456_789
    ticks = (far - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1) * 10**9
    column = words("datetime", ticks="ns", origin=origin)
    assert column.native(float(ticks - origin)) == far


@pytest.mark.parametrize(
    ("column", "name", "unit"),
    [
        ("battery capacity (kWh)", "battery capacity", "kWh"),
        ("range_km", "range", "km"),
        ("home_dest", "home_dest", ""),
        ("mark (1 to 6)", "mark (1 to 6)", ""),
        ("score(long)", "score(long)", ""),
    ],
)
def test_units_in_names(column: str, name: str, unit: str) -> None:
    assert name_and_unit(column) == (name, unit)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.613, "61%"), (0.9903, "99%"), (0.99999, "99.9%"), (1.0, "100%"), (0.004, "0.4%")],
)
def test_shares_never_look_like_all_or_nothing(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("x", "decimals", "text"),
    [(1234567.0, 0, "1,234,567"), (2021.0, 1, "2021"), (-0.0004, 2, "0"), (27_731.0, -2, "27,700"),
     (1.5e-9, 10, "1.5e-9"), (1.5e-12, 10, "0"), (3.2e17, 0, "3.2e17")],
)  # fmt: skip
def test_numbers_large_and_small(x: float, decimals: int, text: str) -> None:
    assert number(x, decimals) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [("zip", "35233"), ("ZipCode", "35233"), ("postal_code", "35233"), ("width", "35,233")],
)
def test_codes_have_no_signs_between_thousands(name: str, text: str) -> None:
    for display in ("integer", "number"):
        made = ColumnWords(Column(name, 0, "numeric", display), name, "", 1.0)
        assert made.text(35233.0) == made.exact_text(35233.0) == text
