"""Tables at the limits: nothing but missing values, odd time zones, extreme values and dates."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dateutil import tz

from admercs import ADMERCS
from admercs.facets import prepare
from admercs.table import learn_schema, read_frame, summarise
from admercs.table.values import zone_name, zone_of
from tests.binned import bin_table

N = 60
START = dt.datetime(2024, 3, 30, 22)


def training_table(rng: np.random.Generator) -> pd.DataFrame:
    days = pd.Series(pd.date_range(START, periods=N))
    return pd.DataFrame(
        {
            "float": rng.normal(size=N),
            "integer": rng.integers(0, 100, N),
            "boolean": rng.random(N) < 0.5,
            "text": list("abc") * (N // 3),
            "date": days,
            "zoned": days.dt.tz_localize("UTC"),
            "duration": days - days[0],
            "category": pd.Categorical(rng.integers(0, 3, N)),
        }
    )


MISSING = {
    "NaT": pd.Series([pd.NaT] * N),
    "NaT with a zone": pd.Series([pd.NaT] * N).dt.tz_localize("UTC"),
    "NaT of durations": pd.Series([pd.NaT] * N, dtype="timedelta64[ns]"),
    "NaT among objects": pd.Series([pd.NaT] * N, dtype=object),
    "NA among objects": pd.Series([pd.NA] * N, dtype=object),
    "NA of integers": pd.Series([pd.NA] * N, dtype="Int64"),
    "NA of booleans": pd.Series([pd.NA] * N, dtype="boolean"),
    "NA of texts": pd.Series([pd.NA] * N, dtype="string"),
    "NaN": pd.Series([np.nan] * N),
    "None": pd.Series([None] * N, dtype=object),
    "None of categories": pd.Series([None] * N, dtype="category"),
}


@pytest.mark.parametrize("nothing", MISSING)
def test_a_column_of_nothing_is_missing(rng, nothing):
    table = training_table(rng)
    schema = learn_schema(summarise(read_frame(table)))
    for m, column in enumerate(schema.used):
        new = prepare(read_frame(table.assign(**{column.name: MISSING[nothing]})), schema)
        assert np.isnan(new.column(m)).all()
        assert np.isnan(new.block(3, 9)[m]).all()


@pytest.fixture(scope="module")
def related() -> tuple[ADMERCS, pd.DataFrame]:
    """Return a detector whose columns are related, and its table."""
    rng = np.random.default_rng(0)
    table = training_table(rng)
    table["later"] = table["date"] + pd.to_timedelta(rng.integers(1, 9, N), unit="D")
    table["double"] = 2 * table["float"]
    detector = ADMERCS().fit(table)
    of = {source for column in detector.model_.schema.facets for source in column.facet.sources}
    assert {table.columns.get_loc(name) for name in ("date", "later", "float", "double")} <= of
    return detector, table


@pytest.mark.parametrize("nothing", MISSING)
def test_columns_of_nothing_have_no_relations(related, nothing):
    detector, table = related
    for name in ("date", "float"):
        new = table.assign(**{name: MISSING[nothing]})
        assert np.isfinite(detector.score_samples(new)).all()
        assert len(detector.explain(new.head(2))) == 2


ZONES = {
    "Europe/Brussels": (ZoneInfo("Europe/Brussels"), "Europe/Brussels"),
    "UTC": (dt.UTC, "+00:00"),
    "fixed": (dt.timezone(dt.timedelta(hours=-3, minutes=-30)), "-03:30"),
    "named": (dt.timezone(dt.timedelta(hours=5, minutes=30), "IST"), "+05:30"),
    "dateutil offset": (tz.tzoffset(None, 7200), "+02:00"),
    "dateutil file": (tz.gettz("Europe/Brussels"), "Europe/Brussels"),
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("dtype", ["pandas", "object"])
def test_time_zones_can_be_read_back(rng, zone, dtype):
    given, name = ZONES[zone]
    try:
        days = pd.Series(pd.date_range(START, periods=N, tz=given))
    except AttributeError:
        pytest.skip("pandas 2 does not know the zones of dateutil 4")
    table = pd.DataFrame({"day": days.astype(object) if dtype == "object" else days})
    found = read_frame(table).column(0).time_zone
    assert found in (name, "UTC") if zone == "UTC" else found == name
    for moment in (days[0], days[N - 1]):
        assert moment.astimezone(zone_of(found)).utcoffset() == moment.utcoffset()


def test_time_zones_without_a_name():
    class Odd(dt.tzinfo):
        def utcoffset(self, when):
            return None if when is None else dt.timedelta(hours=when.month % 2)

    nearly_a_day = dt.timedelta(days=1) - dt.timedelta(microseconds=1)
    assert zone_name(Odd()) == zone_name("tzfile('/nowhere')") == "UTC"
    assert zone_name("+25:00") == zone_name(dt.timezone(nearly_a_day)) == "UTC"
    assert zone_of(zone_name(tz.tzlocal())) is not None
    assert zone_name("UTC+02:00") == zone_name("+0200") == "+02:00"


def test_rows_with_an_offset_are_explained(rng):
    table = pd.DataFrame({"x": rng.normal(size=200), "y": rng.normal(size=200)})
    days = pa.array(pd.date_range(START, periods=200, tz="UTC")).cast(pa.timestamp("us", "+02:00"))
    arrow = pa.Table.from_pandas(table).append_column("day", days)
    model = ADMERCS().fit(arrow)
    assert len(model.explain(arrow)) == 200
    rows = model.report(arrow, rows=200).to_dict()["rows"]
    assert "+02:00" in str(rows)


def test_the_largest_numbers_in_one_column(rng):
    values = rng.normal(size=(20_000, 2))
    values[:2, 0] = 1.7e308, -1.7e308
    schema = learn_schema(summarise(read_frame(values)))
    binning, codes = bin_table(values, schema)
    assert np.isfinite(binning.edges[0]).all()
    assert np.bincount(codes[0])[1:].max() <= 20_000 / 254 + 2 * 20
    model = ADMERCS().fit(values[:300])
    assert np.isfinite(model.score_samples(values[:300])).all()
    assert "1.7e+308" in model.report(values[:300]).html()


@pytest.mark.parametrize("power", [20, 100, 308])
def test_numbers_of_all_magnitudes(rng, power):
    values = 10.0 ** rng.integers(-power, power, 300)
    model = ADMERCS().fit(np.stack([values, values], axis=1))
    assert np.isfinite(model.score_samples([[1.0, 1.0], [values[0], values[1]]])).all()


def test_rows_of_the_largest_numbers_are_explained():
    # So few rows that a region of typical values lies all at one end.
    numbers = np.random.default_rng(11).choice([1e308, -1e308, 0.0, 5e-324], (10, 2))
    model = ADMERCS().fit(numbers)
    assert "1e+308" in str(model.explain(numbers)) + model.report(numbers).html()


@pytest.mark.parametrize("zone", [None, dt.UTC, dt.timezone(dt.timedelta(hours=-3))])
def test_the_first_and_the_last_year(rng, zone):
    days = [START + dt.timedelta(days=k) for k in range(198)]
    days += [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59)]
    table = pd.DataFrame({"x": rng.normal(size=200)})
    table["day"] = pd.Series([day.replace(tzinfo=zone) for day in days], dtype=object)
    model = ADMERCS().fit(table)
    assert np.isfinite(model.score_samples(table)).all()
    assert len(model.explain(table)) == 200
    page = model.report(table).html()
    assert "0001-01-01" in page
    assert "9999-12-31 23:59" in page or "10000-01-01 02:59" in page


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "-11:30"])
def test_moments_that_a_zone_moves_beyond_the_last_year(rng, zone):
    days = np.array(["0001-01-01", "9999-12-31T23:59"] * 100, "M8[s]").astype(np.int64)
    table = pa.table({"x": rng.normal(size=200), "day": pa.array(days, pa.timestamp("s", zone))})
    model = ADMERCS().fit(table)
    assert len(model.explain(table)) == 200
    assert len(model.report(table).html()) > 1000
    assert len(model.patterns()) >= 0


@pytest.mark.parametrize("dtype", ["M8[s]", "M8[ms]", "M8[us]", "m8[s]", "m8[us]"])
@pytest.mark.parametrize("size", [2**53, 2**62])
def test_times_that_no_calendar_has(rng, dtype, size):
    times = rng.integers(-size, size, 200).astype(dtype)
    table = pd.DataFrame({"x": rng.normal(size=200), "time": times})
    model = ADMERCS().fit(table)
    assert len(model.explain(table)) == 200
    assert len(model.report(table).html()) > 1000


def test_dates_too_far_apart_for_their_unit():
    days = [np.datetime64("2024-01-01", "ns"), np.datetime64("0001-01-01", "D")]
    with pytest.raises(ValueError, match="'x0' holds times that are too far apart to be counted"):
        read_frame([[day] for day in days]).column(0)


@pytest.mark.parametrize("library", [lambda table: table, lambda table: table.to_numpy()])
def test_text_that_is_not_unicode(library):
    texts = list("abc") * 20 + ["\ud800x"]
    table = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    with pytest.raises(ValueError, match=r"not valid Unicode \('\\ud800x'\)"):
        summarise(read_frame(library(table)))
    training = read_frame(library(table[:60]))
    schema = learn_schema(summarise(training))
    assert prepare(read_frame(library(table)), schema).column(0)[60] == 4  # any other text


def test_rows_with_text_that_is_not_unicode_are_told(rng):
    table = pd.DataFrame({"text": list("abc") * 30, "x": rng.normal(size=90)})
    detector = ADMERCS(missing=["\udcff", "c"]).fit(table)
    rows = pd.DataFrame({"text": pd.Series(["\udcff", "a\udcfe"], dtype=object), "x": 9.0})
    schema = detector.model_.schema
    text = [column.name for column in schema.used].index("text")
    assert np.isnan(prepare(read_frame(rows), schema).column(text)).tolist() == [True, False]
    repairs = detector.repair(rows)
    assert "a\\udcfe" in repairs["value"].tolist()
    assert "a\\udcfe" in detector.explain(rows).to_frame("polars")["value"].to_list()


def test_numbers_of_bins_of_numpy():
    table = [[float(k)] for k in range(9)]
    schema = learn_schema(summarise(read_frame(table)))
    _, codes = bin_table(table, schema, np.int64(3))
    assert codes.max() == 3


def test_times_of_day_in_nanoseconds():
    times = pa.array([3_001, None, 86_399_999_999_999], pa.time64("ns"))
    for table in (pa.table({"time": times}), pl.DataFrame({"time": pl.from_arrow(times)})):
        read = read_frame(table).column(0)
        assert (read.kind, read.unit) == ("time", "us")
        assert read.present().tolist() == [3, 86_399_999_999]
        assert read.is_missing().tolist() == [False, True, False]


def test_integers_wider_than_those_of_numpy():
    wide = pl.Series("n", [2**100, 1, None], dtype=pl.Int128)
    assert read_frame(wide.to_frame()).column(0).values[:2].tolist() == [2.0**100, 1.0]
    narrow = pl.Series("n", [2**60, 1, None], dtype=pl.Int128)
    read = read_frame(narrow.to_frame()).column(0)
    assert (read.kind, read.values[:2].tolist()) == ("integer", [2**60, 1])


def test_values_that_no_array_holds_are_refused():
    days = pd.array(pa.array([10**17], pa.int64()).cast(pa.date64()), pd.ArrowDtype(pa.date64()))
    signals = pd.Series([Decimal("sNaN"), Decimal(1)], dtype=object)
    for values in (days, signals):
        with pytest.raises(ValueError, match=r"Column 'odd' .*cannot be read .* or leave it out"):
            read_frame(pd.DataFrame({"odd": values})).column(0)


def test_rows_of_several_types_have_the_same_score_in_any_batch(rng):
    odd = [1, "a", 7.0, Decimal("1.10"), True, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 3),
           None, dt.time(3, 12), dt.timedelta(days=-1), np.datetime64("2024-03-01"), 2**70,
           np.timedelta64(3, "h"), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]  # fmt: skip
    values = np.empty(200, object)
    values[:] = [odd[k] for k in rng.integers(0, len(odd), 200)]
    table = pd.DataFrame({"x": rng.normal(size=200), "odd": pd.Series(values, dtype=object)})
    detector = ADMERCS().fit(table)
    assert detector.columns_[1].role == "nominal"
    scores = detector.score_samples(table)
    for value in odd:
        rows = [k for k in range(200) if values[k] is value]
        some = table.iloc[rows]
        for batch in (some, {name: some[name].to_numpy() for name in some}):
            assert detector.score_samples(batch).tolist() == scores[rows].tolist()
