"""Explanations of tables whose oddities are known."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import load_hics, make_electric_vehicles
from admercs.explain import Context
from tests.explain.truth import Table, check_all, check_told_once, each, with_facets
from tests.pipeline.test_find_contexts import corners


@pytest.fixture(scope="module")
def zoo(data: Path) -> pd.DataFrame:
    animals = pd.read_csv(data / "zoo.csv").set_index("animal_name")
    return animals.drop(columns="class_type")


@pytest.fixture(scope="module")
def animals(zoo: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(zoo)


def test_zoo_names_the_odd_animals(animals, zoo) -> None:
    top = [row.label for row in animals.top(zoo, 5)]
    assert {"scorpion", "platypus", "seasnake"} <= set(top)


def test_zoo_reads_the_same_with_yes_and_no(zoo) -> None:
    flags = zoo.astype({name: bool for name in zoo if zoo[name].nunique() == 2})
    top = [row.label for row in ADMERCS().fit(flags).top(flags, 5)]
    assert {"scorpion", "platypus", "seasnake"} <= set(top)


def test_zoo_says_what_is_odd_about_the_scorpion(animals, zoo) -> None:
    scorpion = animals.explain(zoo.loc[["scorpion"]], top=None, noun="animals")[0]
    named = [set(reason.attributes) for reason in each(scorpion.reasons)]
    assert any({"tail", "backbone"} <= names for names in named)
    assert any("eggs" in names and names & {"toothed", "milk"} for names in named)
    check_all(animals.explain(zoo, top=None), zoo.reset_index(drop=True), zoo)


def check_hairy_fliers(context: Context, zoo: pd.DataFrame) -> None:
    assert context.text.startswith(
        "Rows with airborne = 1 and hair = 1 (n = 6) are nearly all anomalous"
    )
    members = {zoo.index[row] for row in context.members}
    assert members == {"honeybee", "housefly", "wasp", "moth", "vampire", "fruitbat"}


def test_zoo_finds_the_hairy_animals_that_fly(animals, zoo) -> None:
    contexts = animals.contexts_
    scores = [context.score for context in contexts]
    assert scores == sorted(scores, reverse=True)
    attributes = [{c.attribute for c in context.conditions} for context in contexts[:3]]
    check_hairy_fliers(contexts[attributes.index({"airborne", "hair"})], zoo)


def test_zoo_finds_the_hairy_animals_that_fly_first_with_the_papers_settings(zoo) -> None:
    check_hairy_fliers(ADMERCS.paper("HiCS").fit(zoo).contexts_[0], zoo)


def test_hypothyroid_says_that_nobody_is_455_years_old(data) -> None:
    patients = pd.read_csv(data / "hypothyroid.csv")
    model = ADMERCS().fit(patients)
    old = patients[patients["age"] == 455]
    assert model.predict(old).tolist() == [-1]
    row = model.top(patients, 1, noun="patients")[0]
    assert row.label == old.index[0]
    first = row.reasons[0]
    assert first.target == "age"
    assert first.conditions == ()
    assert first.text.startswith("All patients typically have age ")
    assert first.text.endswith(", but this patient has 455.")


def test_titanic_reasons_are_true(data) -> None:
    passengers = pd.read_csv(data / "titanic.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ADMERCS().fit(passengers)
    top = model.top(passengers, 10, top=None, noun="passengers")
    told = with_facets(passengers, model)
    check_all(top, told.loc[[row.label for row in top]], told)


def test_adult_reasons_are_true(data) -> None:
    people = pd.read_csv(data / "adult.csv.gz").head(4000)
    model = ADMERCS().fit(people)
    top = model.top(people, 20)
    check_all(top, people.loc[[row.label for row in top]], people)


def test_first_reasons_on_hics_name_a_true_subspace(data) -> None:
    hits = total = 0
    for n_dims in (10, 20):
        sets = load_hics(n_dims, 1, data)
        rows = np.flatnonzero(sets.y)
        model = ADMERCS().fit(sets.X)
        for row, explanation in zip(rows, model.explain(sets.X[rows], top=1), strict=True):
            named = {int(name[1:]) for name in explanation.reasons[0].attributes}
            spaces = [set(sets.subspaces[k]) for k in sets.odd_subspaces[int(row)]]
            hits += any(named <= space for space in spaces)
            total += 1
    assert hits >= 0.97 * total


def test_durations_are_said_with_few_digits_and_never_past_the_row() -> None:
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, 1500)
    seconds = np.where(kind == 0, rng.normal(780, 60, 1500), rng.exponential(600, 1500)).clip(1)
    waits = pd.DataFrame({"wait": pd.to_timedelta(seconds, unit="s"), "kind": kind.astype(str)})
    texts = []
    for row in ADMERCS().fit(waits).explain(waits, top=None):
        for reason in each(row.reasons):
            texts.append(reason.text)
            found = re.search(
                r"wait ([\d.]+) min to ([\d.]+) min, but .* has ([\d.]+) min", reason.text
            )
            if found:
                low, high, own = map(float, found.groups())
                assert not low <= own <= high, reason.text
    regions = [text.partition(", but")[0] for text in texts]
    assert any("min to" in region for region in regions)
    assert not any(re.search(r"\.\d{3,} (min|s)", region) for region in regions)


def test_durations_counted_in_days_are_durations() -> None:
    days = np.random.default_rng(0).integers(20, 40, (300, 2)).astype("m8[D]")
    days[0, 0] = np.timedelta64(400, "D")
    first = ADMERCS().fit(days).explain(days[:1])[0].reasons[0]
    assert first.value == dt.timedelta(days=400)
    assert "this row has 400 days" in first.text


def planted_cause(kind: str, odd: tuple[str, ...]) -> set[str]:
    """Return the columns of which a reason for a planted car must name one."""
    if kind == "defective":  # faults in a batch; model and battery only tell what to expect
        faults = set(odd) - {"model", "battery capacity (kWh)"}
        return faults | {"factory", "production date"}
    return set(odd)


def test_cars_are_explained_by_what_was_planted() -> None:
    first, total = 0, 0
    for seed in range(20):
        cars = make_electric_vehicles(seed, as_frame="pandas")
        rows = sorted(cars.odd_columns)
        model = ADMERCS().fit(cars.table)
        for row, explanation in zip(rows, model.explain(cars.table.iloc[rows]), strict=True):
            cause = planted_cause(str(cars.kind[row]), cars.odd_columns[row])
            named = [
                {*reason.attributes, *(other.target for other in reason.also)}
                for reason in explanation.reasons
            ]
            first += bool(named and named[0] & cause)
            total += 1
    assert first == total


def test_what_is_odd_about_a_car_is_told_once() -> None:
    cars = make_electric_vehicles(as_frame="pandas").table
    check_told_once(ADMERCS().fit(cars).explain(cars, top=None))


@pytest.mark.parametrize("kind", ["numbers", "missing", "categories"])
def test_reasons_about_narrow_contexts_are_true(kind: str) -> None:
    table = corners(kind)
    model = ADMERCS().fit(table)
    check_all(model.explain(table, top=None), table, table)
    told = Table(table)
    forest = model.model_.forest
    for leaf in np.flatnonzero(forest.feature < 0):
        context = model.describe_context(leaf)
        inside = told.members(context.conditions)
        assert len(inside) == context.n
        assert not context.members or list(context.members) == inside


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_reasons_of_new_rows_beside_narrow_contexts_are_true(kind: str) -> None:
    table = corners(kind)
    values = ["right", "unseen", None] if kind == "categories" else [10.0, 4.0, 999.0, np.nan]
    others = ["below", "unseen", None] if kind == "categories" else [0.0, 5.0, -999.0, np.nan]
    pairs = [(5.0, 15.0, east, north) for east in values for north in others]
    new = pd.DataFrame(pairs, columns=table.columns)
    check_all(ADMERCS().fit(table).explain(new, top=None), new, table)
