"""Text columns that are numbers, dates or times, however they are written."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.method.settings import Columns
from admercs.table.readings import (
    Reading,
    ReadingRules,
    count_column,
    decide_reading,
    merge_forms,
    read_column,
)
from admercs.table.values import RawColumn, from_objects

USUAL = ReadingRules()


def column_of(values) -> RawColumn:
    array = np.empty(len(values), object)
    array[:] = values
    return from_objects(array, "x")


def decide(values, rules=USUAL) -> Reading | None:
    return decide_reading(count_column(column_of(values), rules), Columns())


def read(values, rules=USUAL):
    """Return the values that a column is read as, with None where it cannot be read."""
    reading = decide(values, rules)
    assert reading is not None
    column = read_column(column_of(values), reading, rules)
    given = column.values.tolist()
    if column.kind == "date":
        given = [dt.date(1970, 1, 1) + dt.timedelta(days) for days in given]
    if column.kind == "datetime":
        given = [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=us) for us in given]
    if column.kind == "time":
        given = [(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=us)).time() for us in given]
    missing = column.is_missing().tolist()
    return [None if absent else value for value, absent in zip(given, missing, strict=True)]


NUMBERS = {
    "integers": (["7", "-12", "+3"], [7, -12, 3]),
    "points": (["1.5", ".25", "3."], [1.5, 0.25, 3.0]),
    "commas": (["1,5", "12,25", "3"], [1.5, 12.25, 3.0]),
    "thousands": (["1,234.50", "12.5", "1,000,000"], [1234.5, 12.5, 1e6]),
    "points between thousands": (["1.234,5", "1.000.000", "3,5"], [1234.5, 1e6, 3.5]),
    "spaces between thousands": (["1 234,5", "1\u202f000\u00a0000"], [1234.5, 1e6]),
    "apostrophes": (["1'234.5", "1\u2019000"], [1234.5, 1000.0]),
    "lakhs": (["12,34,567.5", "1,234.0"], [1234567.5, 1234.0]),
    "dollars": (["$5", "$1,000.20", "($3)", "-$4"], [5, 1000.2, -3, -4]),
    "euros": (["5 €", "6,50 €"], [5, 6.5]),
    "codes of currencies": (["EUR 5", "EUR 1,250"], [5, 1250]),
    "percent": (["5%", "3.5 %"], [5, 3.5]),
    "a unit": (["66.5 kg", "70 kg", "1kg"], [66.5, 70, 1]),
    "a unit with a point": (["12.0 oz.", "16.0 oz."], [12, 16]),
    "a compound unit": (["50 km/h", "120 km/h"], [50, 120]),
    "negative in parentheses": (["(1,234)", "12"], [-1234, 12]),
    "minus signs": (["-5", "\u22126", "7-"], [-5, -6, -7]),
    "powers": (["1e-7", "2.5E+3", "4"], [1e-7, 2500, 4]),
    "many digits": (["0.30000000000000004", "-1.5"], [0.30000000000000004, -1.5]),
    "huge": (["123456789012345678", "-5"], [123456789012345678, -5]),
    "too long for an integer": (["123456789012345678901", "5"], [1.2345678901234568e20, 5]),
    "all at once": (["1,234,567,890,123,456.789", "(2.5)"], [1234567890123456.789, -2.5]),
    "blanks around": ([" 12 ", "13", "\t14"], [12, 13, 14]),
    "powers and signs": (["3e5", "3e5-", "(3e-1)", "+1.5E2"], [3e5, -3e5, -0.3, 150.0]),
    "powers with units": (["3e5 kg", "-2e5kg", "7 kg"], [3e5, -2e5, 7.0]),
    "powers and commas": (["1.234,5e2", "3,5e-1"], [123450.0, 0.35]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case):
    texts, numbers = NUMBERS[case]
    assert read(texts) == numbers


@pytest.mark.parametrize(
    "texts",
    [
        ["A-101", "B-12"],
        ["01234", "35233", "02134"],  # zip codes
        ["+32 471 234 567", "+32 471 999 000"],
        ["192.168.1.1", "10.0.0.1"],
        ["1.2.3", "2.0.11"],
        ["5 kg", "300 g", "2 kg", "9 g"],
        ["1,5", "2.5", "3,5", "4.5"],
        ["(5", "6)"],
        ["--5", "+-6"],
        ["12,3456.7", "1,23,4"],
        ["2021-03-04", "12"],
        ["", "NA"],
        ["yes", "no"],
        ["\x00", "1\x002"],
        ["٣٤", "٥"],
    ],
)
def test_texts_that_are_no_numbers(texts):
    assert decide(texts) is None


DATES = {
    "ISO": (["2021-03-04", "2021-12-31"], [dt.date(2021, 3, 4), dt.date(2021, 12, 31)]),
    "day first": (["03/04/2021", "15/06/2021"], [dt.date(2021, 4, 3), dt.date(2021, 6, 15)]),
    "month first": (["03/04/2021", "05/26/2021"], [dt.date(2021, 3, 4), dt.date(2021, 5, 26)]),
    "points": (["3.4.2021", "15.06.2021"], [dt.date(2021, 4, 3), dt.date(2021, 6, 15)]),
    "names": (["12 Mar 2021", "1 April 2020"], [dt.date(2021, 3, 12), dt.date(2020, 4, 1)]),
    "month names first": (
        ["Mar 3, 2021", "May 1st, 2020"],
        [dt.date(2021, 3, 3), dt.date(2020, 5, 1)],
    ),
    "weekdays": (["Mon, 3 May 2021", "4 Jun 2021"], [dt.date(2021, 5, 3), dt.date(2021, 6, 4)]),
    "short years": (
        ["12/31/98", "12/31/29", "1/1/30"],
        [dt.date(1998, 12, 31), dt.date(2029, 12, 31), dt.date(1930, 1, 1)],
    ),
    "times": (
        ["2021-03-04 10:30", "2021-03-05T23:59:59.25", "2021-03-06"],
        [
            dt.datetime(2021, 3, 4, 10, 30),
            dt.datetime(2021, 3, 5, 23, 59, 59, 250_000),
            dt.datetime(2021, 3, 6),
        ],
    ),
    "noon": (
        ["12/31/2011 12:10 a.m.", "12/31/2011 1:10 PM"],
        [dt.datetime(2011, 12, 31, 0, 10), dt.datetime(2011, 12, 31, 13, 10)],
    ),
    "zones": (
        ["2021-03-04T10:30:00Z", "2021-03-04 10:30:00+02:00"],
        [dt.datetime(2021, 3, 4, 10, 30), dt.datetime(2021, 3, 4, 8, 30)],
    ),
    "logs": (
        ["10/Oct/2000:13:55:36 +0200", "11/Oct/2000:00:00:00 -0130"],
        [dt.datetime(2000, 10, 10, 11, 55, 36), dt.datetime(2000, 10, 11, 1, 30)],
    ),
    "times of day": (["7:10 a.m.", "12:05 pm"], [dt.time(7, 10), dt.time(12, 5)]),
    "the first year": (["0001-01-01", "9999-12-31"], [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
}


@pytest.mark.parametrize("case", DATES)
def test_dates(case):
    texts, dates = DATES[case]
    assert read(texts) == dates


@pytest.mark.parametrize(
    "odd", ["2021-02-29", "2021-13-01", "04/03/2021", "2021-01-01 25:00", "?!"]
)
def test_dates_that_no_calendar_has_and_other_forms_cannot_be_read(odd):
    texts = ["2021-03-04"] * 20 + [odd]
    assert read(texts)[-1] is None
    reading = decide(texts)
    unread = read_column(column_of(texts), reading, USUAL).unread
    assert np.flatnonzero(unread).tolist() == [20]


def test_nine_in_ten_decide():
    assert decide(["1"] * 9 + ["n.a."]) is not None
    assert decide(["1"] * 8 + ["n.a."]) is None
    # What stands for a missing value is no cell that says something.
    assert decide(["1", "2", "", "NA", "?", "nan", None]) is not None
    assert decide(["1", "2", "n.a."]) is None
    assert decide(["1", "2", "n.a."], ReadingRules(missing=("n.a.",))) is not None
    assert read(["1", "n.a.", ""], ReadingRules(missing=("n.a.",))) == [1, None, None]


def test_a_second_form_that_many_cells_share():
    assert read([".05", ".06", ".07", ".05%"]) == [0.05, 0.06, 0.07, None]
    assert read(["$5", "$6", "$7", "8"]) == [5, 6, 7, None]
    assert read(["2021-03-04", "2021-03-05", "06/03/2021"])[1:] == [dt.date(2021, 3, 5), None]
    # Half of the cells have neither form, a third has no unit but another one, and none has most.
    assert decide(["1", "2", "3%", "n.a.", "none", "?!"]) is None
    assert decide(["3 kg", "4 kg", "5 lb"]) is None
    assert decide(["12A", "13B", "14", "15C", "16D"]) is None
    # One day may be written in two orders: that is no second form.
    assert decide(["13/04/2021", "14/04/2021", "15/04/2021", "04/16/2021", "04/17/2021"]) is None


def test_what_is_ambiguous_is_known_and_can_be_decided():
    assert decide(["1,234", "2,345"]).ambiguous
    assert read(["1,234", "2,345"]) == [1234, 2345]
    assert read(["1,234", "2,345"], ReadingRules(decimal=",")) == [1.234, 2.345]
    assert not decide(["1,234", "2,345", "1,234,567"]).ambiguous
    assert not decide(["12", "7"]).ambiguous
    days = ["03/04/2021", "05/06/2021"]
    assert decide(days).ambiguous
    assert read(days)[0] == dt.date(2021, 3, 4)
    assert read(days, ReadingRules(dayfirst=True))[0] == dt.date(2021, 4, 3)
    assert decide([day.replace("/", ".") for day in days]).form.order == "dmy"
    assert not decide([*days, "13/06/2021"]).ambiguous


def test_columns_of_several_types():
    assert read([1, 2.5, "n.a.", *[3] * 20])[:3] == [1, 2.5, None]
    assert read([1, "2,5", np.int64(3), None]) == [1, 2.5, 3, None]
    assert read([1, True, *[3] * 20])[1] is None
    moment = dt.datetime(2020, 1, 2, 3)
    mixed = [moment, dt.date(2020, 1, 1), pd.Timestamp(moment), "2020-01-05", *[moment] * 20, "x"]
    expected = [moment, dt.datetime(2020, 1, 1), moment, dt.datetime(2020, 1, 5)]
    assert read(mixed)[:4] == expected
    assert read([dt.time(3), "4:30", dt.time(5, 0, 0, 1)]) == [
        dt.time(3), dt.time(4, 30), dt.time(5, 0, 0, 1),
    ]  # fmt: skip
    assert decide([1, "a", dt.date(2020, 1, 1)]) is None


def test_later_tables_may_hold_other_types():
    reading = decide(["1", "2"])
    column = read_column(column_of([1.5, 2.5]), reading, USUAL)
    assert (column.values.tolist(), column.unread) == ([1.5, 2.5], None)
    column = read_column(column_of(["1.5", "x"]), reading, USUAL)
    assert column.values[0] == 1.5
    assert column.unread.tolist() == [False, True]
    assert read_column(column_of([None, None]), reading, USUAL).is_missing().all()
    day = decide(["2021-03-04"])
    column = read_column(column_of(["2021-03-04 12:00"]), day, USUAL)
    assert (column.kind, column.unit) == ("datetime", "us")


@pytest.mark.parametrize("texts", [["1,5"], ["2021-03-04"], ["$3"], ["4:30"], ["3/4/2021 1:00"]])
def test_readings_are_kept_as_json(texts):
    reading = decide(texts)
    assert Reading.from_dict(json.loads(json.dumps(reading.to_dict()))) == reading
    for change in ({"kind": "text"}, {"form": {}}, {"form": {"kind": "number", "decimal": "x"}}):
        with pytest.raises(ValueError, match=r"read"):
            Reading.from_dict({**reading.to_dict(), **change})
    with pytest.raises(ValueError, match=r"read"):
        Reading.from_dict({})


CELLS = st.sampled_from(
    ["1", "2,5", "1,234", "1.234", "007", "12 kg", "$3", "03/04/2021", "13/04/2021", "n.a.", "",
     "x", "7:30", 5, 2.5, None, dt.date(2020, 1, 1)]
)  # fmt: skip


@given(st.lists(CELLS, max_size=40), st.lists(st.integers(0, 40), max_size=3), st.randoms())
def test_pieces_and_order_change_nothing(cells, cuts, random):
    whole = count_column(column_of(cells), USUAL)
    shuffled = random.sample(cells, len(cells))
    pieces = np.split(np.arange(len(cells)), sorted(min(cut, len(cells)) for cut in cuts))
    parts = [count_column(column_of([shuffled[k] for k in piece]), USUAL) for piece in pieces]
    merged = merge_forms(random.sample(parts, len(parts)))
    assert (merged.n_cells, merged.reads) == (whole.n_cells, whole.reads)
    assert decide_reading(merged, Columns()) == decide_reading(whole, Columns())


@given(
    st.lists(st.decimals(-(10**12), 10**12, places=3), min_size=1, max_size=20),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", "."), ("", ".")]),
    st.sampled_from(["{}", "{} kg", "€{}", "{}%", "({})"]),
)
def test_numbers_are_read_as_python_reads_them(numbers, signs, pattern):
    group, decimal = signs
    numbers = [*numbers, 1234567.25]  # which decides between the signs
    plain = [abs(x) if pattern == "({})" else x for x in numbers]
    written = [
        f"{x:,.3f}".replace(",", "g").replace(".", decimal).replace("g", group) for x in plain
    ]
    found = read([pattern.format(text) for text in written])
    sign = -1 if pattern == "({})" else 1
    assert found == [sign * float(f"{x:.3f}") for x in plain]


@given(st.lists(st.text(max_size=60), max_size=20))
def test_any_text_can_be_looked_at(texts):
    texts = [text for text in texts if not any("\ud800" <= c <= "\udfff" for c in text)]
    reading = decide([*texts, *["1"] * 200])
    column = read_column(column_of([*texts, *["1"] * 200]), reading, USUAL)
    assert column.unread is None or not column.unread[len(texts) :].any()
    assert np.isfinite(column.values[~column.is_missing()]).all()
