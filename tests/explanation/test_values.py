"""How the values of a column are said."""

from __future__ import annotations

import datetime as dt
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.explanation.values import ColumnVoice, join, number
from admercs.table.columns import Column


def voice(display="number", role="numeric", step=0.1, unit="", **more) -> ColumnVoice:
    column = Column("x", 0, role, display, unit=more.pop("ticks", ""), **more)
    return ColumnVoice(column, "x", unit, step)


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
def test_bounds_never_cross_the_number(x: float, step: float) -> None:
    say = voice(step=step)
    assert float(say.floor(x).replace(",", "")) <= x <= float(say.ceil(x).replace(",", ""))


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
    assert voice(step=step).say(x) == text


def test_own_values_are_said_as_recorded_unless_they_have_needless_digits() -> None:
    assert voice(step=1.0).say_exactly(7.85) == "7.85"
    assert voice(step=1.0).say_exactly(7.8542) == "7.9"
    assert voice(step=1.0).say_exactly(7.8542, apart=0.01) == "7.85"
    assert voice(step=1.0).say_exactly(310.0) == "310"
    assert voice(step=1e-3).say_exactly(146.34146341463415) == "146.3415"


def test_integers_stay_integers() -> None:
    say = voice("integer", origin=2**60)
    assert say.native(5.0) == 2**60 + 5
    assert voice("integer").say(2021.0) == "2021"
    assert voice("integer").say(24310.0) == "24,310"


def test_dates_and_times() -> None:
    assert voice("date", ticks="D", origin=18000).say(687.0) == "2021-03-01"
    moment = dt.datetime(2021, 3, 1, 14, 30, 5)
    micros = int((moment - dt.datetime(1970, 1, 1)).total_seconds() * 1e6)
    clock = voice("datetime", ticks="us", origin=micros)
    assert clock.native(0.0) == moment
    assert clock.say(0.0, step=2 * 86400e6) == "2021-03-01"
    assert clock.say(0.0, step=300e6) == "2021-03-01 14:30"
    assert clock.say(0.0, step=5e6) == "2021-03-01 14:30:05"
    zoned = voice("datetime", ticks="us", origin=micros, time_zone="Europe/Brussels")
    assert zoned.say(0.0, step=300e6) == "2021-03-01 15:30"
    assert voice("time", ticks="us").say(3661e6, step=60e6) == "01:01"
    assert voice("duration", ticks="us").say(7_500e6, step=60e6) == "2.08 h"
    assert voice("duration", ticks="us").native(90e6) == dt.timedelta(seconds=90)


def test_durations_can_be_read_back_and_rounded_either_way() -> None:
    waits = voice("duration", ticks="us", origin=10**6, step=6e6)
    x = 811.5e6  # with its origin 13.5416… minutes
    assert [waits.say(x), waits.floor(x), waits.ceil(x)] == ["13.5 min", "13.5 min", "13.6 min"]
    assert waits.read("13.5 min") == 13.5 * 60e6 - 1e6
    assert waits.read("2 h") == 7200e6 - 1e6
    assert waits.say_exactly(x, apart=0.06e6) == "13.542 min"


def test_dates_beyond_the_calendar_are_said_somehow() -> None:
    assert voice("date", ticks="D").say(1e9) == "1000000000"


def test_categories() -> None:
    say = voice("boolean", "nominal", categories=(True, False))
    assert [say.category(say.native(code)) for code in (1.0, 2.0)] == ["yes", "no"]
    assert say.native(3.0) is None
    assert say.native(math.nan) is None
    assert say.category("") == '""'
    assert say.category("Ghent, Belgium") == '"Ghent, Belgium"'
    assert say.category("salt and pepper") == '"salt and pepper"'
    assert say.category("x" * 50) == "x" * 39 + "…"


def test_join() -> None:
    assert [join(["a", "b", "c"][:n], "or") for n in range(4)] == ["", "a", "a or b", "a, b or c"]


def test_moments_centuries_away_are_not_a_moment_off() -> None:
    far = dt.datetime(1680, 1, 1)
    origin = int(dt.datetime(2020, 1, 1, tzinfo=dt.UTC).timestamp()) * 10**9 + 123_456_789
    ticks = (far - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1) * 10**9
    say = voice("datetime", ticks="ns", origin=origin)
    assert say.native(float(ticks - origin)) == far
