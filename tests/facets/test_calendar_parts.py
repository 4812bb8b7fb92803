"""Parts of dates: right by the standard library, chosen where they say something, and told."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from admercs import ADMERCS, Method
from admercs.facets import FacetFrame, prepare
from admercs.facets.calendar_parts import HOUR, MONTHS, WEEKDAYS
from admercs.method.settings import Calendar
from admercs.pipeline.joint_questions import find_together
from admercs.pipeline.made_columns import date_facets
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from admercs.table.columns import Facet
from tests.rows_in_pieces import RowsInPieces

NIGHT, SUNDAY = 5, 77


def parts_of(table: pd.DataFrame | pl.DataFrame, start: int = 0) -> list[list[object]]:
    facets = [Facet("clock", (0,), (start, False))]
    facets += [Facet(kind, (0,)) for kind in ("weekday", "monthday", "month", "timed")]
    made = FacetFrame(read_frame(table), facets)
    columns = [made.column(1 + k) for k in range(len(facets))]
    return [np.where(c.is_missing(), None, c.values).tolist() for c in columns]


def expected(moments: list[dt.datetime | None]) -> list[list[object]]:
    said = [
        m
        and (
            m.hour * HOUR,
            WEEKDAYS[m.weekday()],
            str(m.day),
            MONTHS[m.month - 1],
            "not set" if m.time().replace(microsecond=0) == dt.time() else "set",
        )
        for m in moments
    ]
    return [[each and each[k] for each in said] for k in range(5)]


def chosen(table: pd.DataFrame, cuts: tuple[int, ...] | None = None) -> list[tuple[str, tuple]]:
    rows = RowsInMemory(read_frame(table)) if cuts is None else RowsInPieces(table, cuts)
    (facets,) = find_together(rows, [date_facets(rows.summary("auto"), Calendar())])
    return [(facet.kind, facet.settings) for facet in facets]


def make_orders(first: int = 7, last: int = 21, n: int = 3000) -> pd.DataFrame:
    """Return a shop's orders, none on Sundays but one, and one at another time of day."""
    rng = np.random.default_rng(0)
    seconds = rng.integers(first * 3600, last * 3600, n)
    seconds[NIGHT] = (3 * 60 + 12) * 60 if last <= 24 else 12 * 3600
    days = rng.choice([day for day in range(120) if day % 7 < 6 - (last > 24)], n)
    days[SUNDAY] = 6
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(86_400 * days + seconds, unit="s")
    amount, channel = rng.lognormal(3, 1, n).round(2), rng.choice(["web", "shop"], n)
    return pd.DataFrame({"ordered": ordered, "amount": amount, "channel": channel})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_parts_are_those_of_the_calendar(unit: str) -> None:
    rng = np.random.default_rng(1)
    seconds = rng.integers(-(10**9), 4 * 10**9, 200).tolist()
    moments = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=each) for each in seconds]
    moments[7] = moments[7].replace(hour=0, minute=0, second=0)
    times = pd.Series(moments).astype(f"datetime64[{unit}]")
    assert parts_of(pd.DataFrame({"at": times})) == expected([*moments])
    times[3] = pd.NaT
    assert parts_of(pd.DataFrame({"at": times})) == expected([*moments[:3], None, *moments[4:]])
    turned = parts_of(pd.DataFrame({"at": times}), start=5)[0]
    hours = [m and ((m.hour - 5) % 24 + 5) * HOUR for m in moments]
    assert turned == [*hours[:3], None, *hours[4:]]


@pytest.mark.parametrize("zone", ["Europe/Brussels", "Asia/Kathmandu", "America/New_York"])
def test_parts_are_those_of_the_clock_of_the_place(zone: str) -> None:
    start = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    moments = [start + dt.timedelta(minutes=37 * k) for k in range(1500)]
    table = pl.DataFrame({"at": moments}).with_columns(pl.col("at").dt.convert_time_zone(zone))
    assert parts_of(table) == expected([each.astimezone(ZoneInfo(zone)) for each in moments])


def test_the_first_and_the_last_year_have_parts() -> None:
    moments = [dt.datetime(1, 1, 1, 5), dt.datetime(9999, 12, 31, 23, 59)]
    times = pl.DataFrame({"at": [each.replace(tzinfo=dt.UTC) for each in moments]})
    assert parts_of(times) == expected([*moments])


def test_parts_are_chosen_where_dates_are_spread_unevenly() -> None:
    rng = np.random.default_rng(2)
    start, n = pd.Timestamp("2015-01-05"), 4000
    even = pd.DataFrame({"at": start + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s")})
    assert chosen(even) == []
    assert chosen(even.head(60)) == []
    assert chosen(make_orders()) == [("clock", (0, False)), ("weekday", ())]
    assert chosen(make_orders(), (1, 1, 700)) == chosen(make_orders())
    assert chosen(make_orders(18, 29))[0] == ("clock", (6, False))
    days = make_orders().assign(ordered=lambda table: table["ordered"].dt.normalize())
    assert chosen(days) == [("weekday", ())]
    days.loc[:2000, "ordered"] = make_orders()["ordered"]
    assert chosen(days) == [("timed", ()), ("clock", (0, True)), ("weekday", ())]
    firsts = pd.date_range("2010-01-01", periods=48, freq="MS")
    found = chosen(pd.DataFrame({"on": rng.choice(firsts, 900)}))
    assert found == [("monthday", ())]
    winter = firsts[firsts.month.isin([1, 2, 12])]
    later = pd.to_timedelta(rng.integers(0, 31, 900), unit="D")
    assert chosen(pd.DataFrame({"on": rng.choice(winter, 900) + later})) == [("month", ())]


def test_orders_at_night_and_on_a_sunday_are_found_and_told(tmp_path: Path) -> None:
    orders = make_orders()
    model = ADMERCS().fit(orders)
    assert set(np.argsort(-model.scores_)[:3]) >= {NIGHT, SUNDAY}
    cells = model.score_cells(orders)
    assert cells[NIGHT, 0] > 0.8 * cells[NIGHT].sum()
    told = {row.label: row for row in model.top(orders, 3, noun="orders")}
    assert told[NIGHT].reasons[0].text == (
        "All orders typically have the time of ordered between 07:00 and 21:00, but this order has "
        "03:12."
    )
    assert told[SUNDAY].reasons[0].text == (
        "All orders typically have the weekday of ordered Monday to Saturday, but this order has "
        "Sunday (1 of 3,000)."
    )
    assert told[NIGHT].reasons[0].value_text == "03:12"
    assert told[NIGHT].repair_text == ""  # nobody knows when it was placed
    model.save(tmp_path / "orders.admercs")
    again = ADMERCS.load(tmp_path / "orders.admercs")
    assert np.array_equal(again.score_cells(orders), cells)
    without = Method().change({"facets.calendar": None})
    assert ADMERCS(method=without).fit(orders).score_cells(orders)[NIGHT, 0] < 1


def test_hours_before_and_after_midnight_are_neighbours() -> None:
    orders = make_orders(18, 29)
    model = ADMERCS().fit(orders)
    cells = model.score_cells(orders)[:, 0]
    hour = orders["ordered"].dt.hour
    assert cells[NIGHT] > 3
    assert cells[(hour >= 18) | (hour < 5)].max() < cells[NIGHT]
    reasons = model.explain(orders.iloc[[NIGHT]], noun="orders")[0].reasons
    assert any("between 18:00 and 05:00, but this order has 12:00" in r.text for r in reasons)


def test_what_are_no_dates_is_refused_before_their_parts_are_made() -> None:
    orders = make_orders()
    schema = ADMERCS().fit(orders).model_.schema
    assert schema.facets
    orders["ordered"] = "later"
    for order in (schema.order, schema.order[::-1]):  # the method's order is that of the contents
        with pytest.raises(ValueError, match="Column 'ordered' held dates"):
            prepare(read_frame(orders), replace(schema, order=order))


def test_weekdays_may_be_conditions() -> None:
    orders = make_orders()
    weekday = orders["ordered"].dt.day_of_week
    orders["amount"] = np.where(weekday == 5, 100.0, 10.0) + orders["amount"] / 100
    model = ADMERCS().fit(orders)
    texts = " ".join(pattern.text for pattern in model.patterns())
    assert "the weekday of ordered = Saturday" in texts or "weekday of ordered ≠ Saturday" in texts


def test_even_dates_change_no_score() -> None:
    rng, n = np.random.default_rng(3), 1000
    at = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s")
    table = pd.DataFrame({"at": at, "size": rng.normal(size=n)})
    without = ADMERCS(method=Method().change({"facets.calendar": None})).fit(table)
    assert np.array_equal(ADMERCS().fit(table).scores_, without.scores_)
