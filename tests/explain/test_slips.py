"""Slips are recognised where they lead straight to what is expected, and nowhere else."""

from __future__ import annotations

import datetime as dt

import pytest

from admercs.explain.slips import find_slip

DAY = dt.date


@pytest.mark.parametrize(
    ("own", "low", "high", "slip"),
    [
        (1234.0, 110.0, 130.0, "10 times too large?"),
        (12.34, 1100.0, 1300.0, "100 times too small?"),
        (84_700, 84, 85, "1,000 times too large?"),
        (-7.2, 7.0, 7.4, "wrong sign?"),
        (7.2, -7.4, -7.0, "wrong sign?"),
        (1324, 1230, 1235, "digits swapped?"),
        (1243.0, 1234.0, 1234.0, "digits swapped?"),
        (1294.0, 1234.0, 1234.0, "a wrong digit?"),
        (124.0, 1234.0, 1234.0, "a wrong digit?"),
        (150.0, 70.5, 71.5, ""),
        (2.54, 0.99, 1.01, "cm instead of inches?"),
        (62.0, 99.0, 100.5, "miles instead of km?"),
        (5.0, 1.0, 100.0, ""),  # anything is typical
        (500.0, 10.0, 90.0, ""),  # what is typical is as wide as the slip is long
        (4356.0, -7.5, 7.5, ""),  # around zero nothing is so many times too large
        (6000.0, -15.4, 15.4, ""),
        (12.0, -3.4, 12.0, ""),
        (280.0, 0.0, 30.0, ""),
        (True, 10.0, 10.0, ""),
    ],
)
def test_numbers(own: float, low: float, high: float, slip: str) -> None:
    assert find_slip(own, (low + high) / 2, low, high) == slip


@pytest.mark.parametrize(
    ("own", "expected", "slip"),
    [
        ("Berlni", "Berlin", "typing error?"),
        ("Berln", "Berlin", "typing error?"),
        ("Berliin", "Berlin", "typing error?"),
        ("Perlin", "Berlin", "typing error?"),
        ("Dublin", "Berlin", ""),
        ("no", "on", ""),  # short words are near each other
        ("Berlin", "Berlin", ""),
    ],
)
def test_texts(own: str, expected: str, slip: str) -> None:
    assert find_slip(own, expected, expected, expected) == slip


@pytest.mark.parametrize(
    ("own", "slip"),
    [
        (DAY(2023, 3, 7), "a year too early?"),
        (DAY(2025, 3, 7), "a year too late?"),
        (DAY(2024, 7, 3), "day and month exchanged?"),
        (DAY(2024, 2, 7), "a month too early?"),
        (DAY(2024, 9, 21), ""),
    ],
)
def test_dates(own: DAY, slip: str) -> None:
    assert find_slip(own, DAY(2024, 3, 7), DAY(2024, 3, 5), DAY(2024, 3, 9)) == slip
    moment = dt.datetime.combine(own, dt.time(13))
    low, high = (dt.datetime(2024, 3, day, 12) for day in (5, 9))
    assert find_slip(moment, low, low, high) == slip


def test_a_leap_day_has_no_day_a_year_before() -> None:
    assert find_slip(DAY(2024, 2, 29), DAY(2023, 2, 27), DAY(2023, 2, 25), DAY(2023, 3, 1)) == (
        "a year too late?"
    )
    assert find_slip(DAY(1, 1, 5), DAY(1, 6, 5), DAY(1, 6, 1), DAY(1, 6, 9)) == ""
