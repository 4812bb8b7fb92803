"""A generated table of electric cars with anomalies of every kind the method knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admercs.datasets.frames import to_frame
from admercs.datasets.labelled import NORMAL, LabelledTable

__all__ = ["make_electric_vehicles"]

MODEL = "model"
FACTORY = "factory"
DATE = "production date"
CAPACITY = "battery capacity (kWh)"
CONSUMPTION = "consumption (kWh/100 km)"
RANGE = "range (km)"
CHARGING = "charging power (kW)"
WEIGHT = "weight (kg)"
PRICE = "price (EUR)"
COLOUR = "colour"
HEAT_PUMP = "heat pump"

# Production goes from factory to factory: who builds from which day on. Cars leave the line in
# batches, on Mondays, Wednesdays and Fridays.
_RUNS = (
    ("Turin", "2020-06-01"),
    ("Graz", "2020-08-01"),
    ("Brno", "2020-10-05"),
    ("Ghent", "2020-12-01"),
    ("Turin", "2021-01-11"),
    ("Ghent", "2021-03-01"),
    ("Graz", "2021-03-10"),
    ("Brno", "2021-05-17"),
    ("Ghent", "2021-07-26"),
    ("Turin", "2021-09-20"),
    ("Graz", "2021-11-08"),
)
_BAD_RUN = 5
_END = np.datetime64("2022-01-01")  # of the last run
_COLOURS = ("white", "black", "grey", "blue", "red")
_COLOUR_SHARES = (0.3, 0.24, 0.2, 0.14, 0.12)
_FAULTY = (RANGE, CONSUMPTION, CHARGING, PRICE, WEIGHT)
_N_LOCAL, _DEFECTIVE_SHARE = 6, 0.024
_FEWEST_CARS = 200
_SHORT_RANGE = 200.0


@dataclass(frozen=True)
class _Model:
    name: str
    capacities: tuple[float, ...]
    charging: tuple[float, ...]
    consumption: float
    base_weight: float
    base_price: float


_MODELS = (
    _Model("City", (42.0, 52.0), (50.0, 100.0), 13.6, 1180, 17_500),
    _Model("Sedan", (60.0, 78.0), (120.0, 150.0), 15.4, 1420, 24_000),
    _Model("Estate", (60.0, 78.0), (120.0, 150.0), 16.6, 1500, 26_500),
    _Model("SUV", (78.0, 96.0), (150.0, 200.0), 19.2, 1680, 32_000),
)
_MODEL_SHARES = (0.34, 0.26, 0.16, 0.24)


def make_electric_vehicles(
    random_state: int | np.random.Generator | None = 0,
    n_cars: int = 1000,
    *,
    as_frame: str | None = None,
) -> LabelledTable:
    """Generate a table of electric cars with known anomalies.

    The cars follow simple rules: the model decides which batteries there are and what the car
    weighs and uses; capacity and consumption decide the range; price and charging power follow
    from model and battery; the factories take turns. Planted into that are

    - one *global outlier*: a range of 200 km, which no other car has;
    - six *local outliers*: capacity and range are both common, but not together;
    - *defective* cars (24 in a thousand), made in Ghent from 1 to 8 March 2021, each with two or
      three values that do not fit the rest: range, consumption, charging power, price, weight;
    - one *accidental inlier*: made there and then, yet nothing about it looks wrong. All other
      cars of that production run are defective.

    Some colours and prices are missing.

    Parameters
    ----------
    random_state : int, Generator or None, default=0
        Seed. The same seed gives the same table.
    n_cars : int, default=1000
        Number of rows, at least 200.
    as_frame : {"pandas", "polars", "pyarrow", "dict"}, optional
        Kind of table; by default the first of these libraries that is installed.

    Returns
    -------
    cars : LabelledTable
        The table, the kind of every row and the columns that give each anomaly away.

    Examples
    --------
    >>> from admercs.datasets import make_electric_vehicles
    >>> cars = make_electric_vehicles(random_state=0, as_frame="dict")
    >>> row = cars.rows("global outlier")[0]
    >>> float(cars.table["range (km)"][row])
    200.0
    >>> cars.odd_columns[int(row)]
    ('range (km)',)
    """
    if n_cars < _FEWEST_CARS:
        raise ValueError(f"n_cars must be at least {_FEWEST_CARS}, to keep anomalies rare")
    rng = np.random.default_rng(random_state)
    columns = _ordinary_cars(rng, n_cars)
    kind = np.full(n_cars, NORMAL, dtype=object)
    odd: dict[int, tuple[str, ...]] = {}
    chosen = rng.permutation(n_cars)
    _plant_batch(rng, columns, kind, odd)
    free = [int(row) for row in chosen if kind[row] == NORMAL]
    for row in free[:1]:
        columns[RANGE][row] = _SHORT_RANGE
        kind[row], odd[row] = "global outlier", (RANGE,)
    _plant_local(rng, columns, kind, odd, free[1:])
    _lose_values(rng, columns, kind)
    return LabelledTable(
        table=to_frame(columns, as_frame),
        kind=kind.astype(str),
        odd_columns=odd,
        description="Generated electric cars with planted anomalies",
    )


def _ordinary_cars(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Draw cars that follow all the rules, none of them from the faulty batch's days."""
    model = rng.choice(len(_MODELS), n, p=_MODEL_SHARES)
    battery = rng.integers(0, 2, n)
    run, date = _production(rng, n)
    pump = rng.random(n) < 0.55
    capacity = _per_car(model, battery, "capacities")
    base = np.array([m.consumption for m in _MODELS])[model]
    consumption = base * np.where(pump, 0.93, 1.03) * rng.normal(1, 0.015, n)
    weight = np.array([m.base_weight for m in _MODELS])[model] + 6.2 * capacity + 15 * pump
    price = np.array([m.base_price for m in _MODELS])[model] + 190 * capacity + 950 * pump
    return {
        MODEL: np.array([_MODELS[m].name for m in model], object),
        FACTORY: np.array([_RUNS[r][0] for r in run], object),
        DATE: date,
        CAPACITY: capacity,
        CONSUMPTION: consumption.round(1),
        RANGE: (capacity / consumption * 100 * rng.normal(1, 0.01, n)).round(),
        CHARGING: _per_car(model, battery, "charging"),
        WEIGHT: weight.round(),
        PRICE: price.round(-1),
        COLOUR: rng.choice(np.array(_COLOURS, object), n, p=_COLOUR_SHARES),
        HEAT_PUMP: pump,
    }


def _per_car(model: np.ndarray, battery: np.ndarray, field: str) -> np.ndarray:
    """Look up a model's value for the small or the large battery."""
    return np.array([getattr(m, field) for m in _MODELS], float)[model, battery]


def _run_days(run: int) -> np.ndarray:
    """List the days of one production run."""
    first = np.datetime64(_RUNS[run][1])
    after = np.datetime64(_RUNS[run + 1][1]) if run + 1 < len(_RUNS) else _END
    days = np.arange(first, after)
    return days[np.is_busday(days, weekmask="Mon Wed Fri")]


def _production(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw production run and day of each car, leaving the faulty run empty."""
    days = [_run_days(run) for run in range(len(_RUNS))]
    days[_BAD_RUN] = days[_BAD_RUN][:0]
    run_of_day = np.repeat(np.arange(len(_RUNS)), [d.size for d in days])
    drawn = rng.integers(0, run_of_day.size, n)
    return run_of_day[drawn], np.concatenate(days)[drawn]


def _plant_batch(
    rng: np.random.Generator,
    columns: dict[str, np.ndarray],
    kind: np.ndarray,
    odd: dict[int, tuple[str, ...]],
) -> None:
    """Fill the faulty run with cars from elsewhere and break all but one of them."""
    # A third off a long range is still a common range: no fault is visible in one column alone.
    suited = np.flatnonzero(columns[RANGE] > 400)
    batch = rng.permutation(suited)[: round(_DEFECTIVE_SHARE * kind.size) + 1]
    columns[FACTORY][batch] = _RUNS[_BAD_RUN][0]
    columns[DATE][batch] = rng.choice(_run_days(_BAD_RUN), batch.size)
    for row in batch[1:].tolist():
        faults = rng.permutation(_FAULTY)[: rng.integers(2, 4)].tolist()
        for fault in faults:
            columns[fault][row] = _faulty(rng, columns, row, fault)
        kind[row], odd[row] = "defective", (MODEL, CAPACITY, *faults)
    inlier = int(batch[0])
    kind[inlier], odd[inlier] = "accidental inlier", (FACTORY, DATE)


def _faulty(
    rng: np.random.Generator, columns: dict[str, np.ndarray], row: int, fault: str
) -> float:
    """Draw a value that is common in the column but wrong for this car."""
    if fault == RANGE:
        return float(np.round(columns[RANGE][row] * rng.uniform(0.66, 0.72)))
    if fault == CONSUMPTION:
        low, high = (12.9, 14.2) if columns[MODEL][row] == "SUV" else (18.2, 20.0)
        return float(np.round(rng.uniform(low, high), 1))
    # A value that cars of a quite different weight have.
    other = np.abs(columns[WEIGHT] - columns[WEIGHT][row]) > 200
    return float(rng.choice(columns[fault][other]))


def _plant_local(
    rng: np.random.Generator,
    columns: dict[str, np.ndarray],
    kind: np.ndarray,
    odd: dict[int, tuple[str, ...]],
    free: list[int],
) -> None:
    """Give small batteries a long range and big ones a short range, both common alone."""
    capacity = columns[CAPACITY]
    small = [row for row in free if capacity[row] < 55][: _N_LOCAL // 2]
    large = [row for row in free if capacity[row] > 75][: _N_LOCAL // 2]
    for row in small:
        columns[RANGE][row] = np.round(rng.uniform(478, 500))
    for row in large:
        columns[RANGE][row] = np.round(rng.uniform(322, 342))
    for row in small + large:
        kind[row], odd[row] = "local outlier", (CAPACITY, RANGE)


def _lose_values(
    rng: np.random.Generator, columns: dict[str, np.ndarray], kind: np.ndarray
) -> None:
    """Blank values of two columns, so many that a missing one is nothing special."""
    ordinary = np.flatnonzero(kind == NORMAL)
    for name, share in ((COLOUR, 0.15), (PRICE, 0.15)):
        rows = rng.choice(ordinary, max(1, round(share * kind.size)), replace=False)
        columns[name][rows] = None if name == COLOUR else np.nan
