"""The generated cars hold exactly the anomalies they promise."""

import sys

import numpy as np
import pytest

from admercs.datasets import make_electric_vehicles

RANGE, CAPACITY = "range (km)", "battery capacity (kWh)"
DATE, FACTORY = "production date", "factory"


@pytest.fixture(scope="module", params=[0, 1, 7])
def cars(request):
    return make_electric_vehicles(random_state=request.param, as_frame="dict")


def test_counts_of_each_kind(cars):
    kinds, counts = np.unique(cars.kind, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        "accidental inlier": 1,
        "defective": 24,
        "global outlier": 1,
        "local outlier": 6,
        "normal": 968,
    }
    assert set(cars.odd_columns) == set(np.flatnonzero(cars.is_anomaly).tolist())


def test_short_range_occurs_once(cars):
    (row,) = cars.rows("global outlier")
    others = np.delete(cars.table[RANGE], row)
    assert cars.table[RANGE][row] == 200
    assert others.min() > 250


def test_local_outliers_are_common_in_each_column_but_not_together(cars):
    normal = cars.kind == "normal"
    capacity, reach = cars.table[CAPACITY], cars.table[RANGE]
    for row in cars.rows("local outlier"):
        near_capacity = normal & (abs(capacity - capacity[row]) < 1.5)
        near_range = normal & (abs(reach - reach[row]) < 10)
        assert near_capacity.sum() > 50
        assert near_range.sum() > 15
        assert (near_capacity & near_range).sum() == 0


def test_the_accidental_inlier_shares_factory_and_days_with_defective_cars_only(cars):
    bad = (cars.kind == "defective") | (cars.kind == "accidental inlier")
    days, factory = cars.table[DATE], cars.table[FACTORY]
    there = (days >= np.datetime64("2021-03-01")) & (days <= np.datetime64("2021-03-08"))
    np.testing.assert_array_equal(there & (factory == "Ghent"), bad)
    (row,) = cars.rows("accidental inlier")
    expected = cars.table[CAPACITY][row] / cars.table["consumption (kWh/100 km)"][row] * 100
    assert cars.table[RANGE][row] == pytest.approx(expected, rel=0.05)


def test_some_values_are_missing(cars):
    assert sum(value is None for value in cars.table["colour"]) == 150
    assert np.isnan(cars.table["price (EUR)"]).sum() == 150


def test_same_seed_same_table():
    first, again, other = (make_electric_vehicles(seed, as_frame="pandas") for seed in (3, 3, 4))
    assert first.table.equals(again.table)
    assert not first.table.equals(other.table)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_library_holds_the_same_values(library):
    pytest.importorskip(library)
    plain = make_electric_vehicles(0, 300, as_frame="dict").table
    table = make_electric_vehicles(0, 300, as_frame=library).table
    assert type(table).__module__.startswith(library)
    assert len(table) == 300
    assert list(table[RANGE].to_numpy()) == plain[RANGE].tolist()
    prices = table["price (EUR)"]
    missing = prices.isna().sum() if library == "pandas" else prices.null_count
    missing = missing() if callable(missing) else missing
    assert missing == 45


def test_default_is_the_first_library_installed(monkeypatch):
    assert type(make_electric_vehicles(0, 300).table).__module__.startswith("pandas")
    monkeypatch.setattr("admercs.datasets.frames.find_spec", lambda name: None)
    assert isinstance(make_electric_vehicles(0, 300).table, dict)


def test_errors(monkeypatch):
    with pytest.raises(ValueError, match="n_cars must be at least 200"):
        make_electric_vehicles(n_cars=10)
    with pytest.raises(ValueError, match="as_frame must be one of"):
        make_electric_vehicles(as_frame="excel")
    monkeypatch.setattr("admercs.datasets.frames.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs polars, which is not installed"):
        make_electric_vehicles(as_frame="polars")


def test_no_frame_library_is_imported_without_need():
    import subprocess

    code = (
        "import sys; from admercs.datasets import make_electric_vehicles as m; "
        "m(as_frame='dict'); sys.exit('pandas' in sys.modules or 'pyod' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
