"""Settings: every step can be left out, and every constant changed, saved and read again."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.method.settings import (
    Ancestor,
    Border,
    Density,
    Feedback,
    Neighbours,
    NoisyOr,
    Odds,
    Tail,
    Trees,
)

# Every step that can be left out, and the value that leaves it out.
OPTIONAL: dict[str, Any] = {
    "facets": None,
    "facets.calendar": None,
    "facets.keys": None,
    "facets.look_alikes": None,
    "facets.determined": None,
    "tail": None,
    "border": None,
    "discount": None,
    "ancestor": None,
    "feedback": None,
    "feedback.candidates": None,
    "feedback.ranges": None,
    "feedback.effective_size": None,
    "feedback.spread": None,
    "feedback.centred": False,
    "feedback.most": None,
    "neighbours": None,
    "neighbours.isolation": None,
    "relations": None,
    "credit": None,
    "marginal": False,
    "purest": True,
    "trees.price": None,
    "density.heavy_share": 0.0,
    "density.area": False,
    "evidence": NoisyOr(),
}


def optional_fields(settings: Any, prefix: str = "") -> set[str]:
    """Return the names of all settings that None leaves out."""
    found = set()
    for each in fields(settings):
        name, value = prefix + each.name, getattr(settings, each.name)
        if "None" in str(each.type):
            found.add(name)
        if is_dataclass(value):
            found |= optional_fields(value, f"{name}.")
    return found


def shops(n: int = 1500) -> pd.DataFrame:
    """Numbers and words, some missing; (nearly) every step changes something.

    A corner of the table holds rows that break a relation, and so does most of a large batch.
    """
    rng = np.random.default_rng(0)
    load, batch = rng.uniform(0, 10, n), rng.random(n)
    heat = 3 * load + rng.normal(scale=0.5, size=n)
    corner = np.array([(0, 0), (0, 1), (1, 1)])[rng.integers(0, 3, n)]
    corner[:40] = (1, 0)
    wrong = np.flatnonzero((np.arange(n) < 36) | ((batch > 0.95) & (rng.random(n) < 0.7)))
    heat[wrong] = 3 * ((load[wrong] + 5) % 10) + rng.normal(size=len(wrong))
    east, north = (10 * corner + rng.normal(size=(n, 2))).T
    table = pd.DataFrame({"load": load, "heat": heat, "east": east, "north": north, "batch": batch})
    table["town"] = rng.choice(["Linz", "Graz", "Wien"], n)
    table["post"] = table["town"].map({"Linz": 4020, "Graz": 8010, "Wien": 1010}) + rng.integers(
        0, 40, n
    )
    table.loc[70:72, "post"], table.loc[90, "town"] = 9020, "Lintz"
    table.loc[rng.random(n) < 0.05, "north"] = np.nan
    numbers = rng.permutation(10 * n)[:n]
    table["phone"] = [f"0{k} home {k + 100}" if k % 300 else f"{k}" for k in numbers]
    table.loc[200, "phone"] = "0200 hoem 300"
    hours = np.minimum(rng.integers(7, 24, n), 20)
    table["at"] = np.datetime64("2024-01-01T00", "h") + 24 * rng.integers(0, 50, n) + hours
    table["at"] = table["at"].astype("datetime64[s]")
    table.loc[60, "phone"] = table.loc[50, "phone"]
    return table


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return shops()


@pytest.fixture(scope="module")
def default(table: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(table)


def test_the_list_of_optional_steps_is_complete() -> None:
    assert optional_fields(Method()) <= set(OPTIONAL)


@pytest.mark.parametrize("name", OPTIONAL)
def test_without_a_step_tables_are_fitted_scored_explained_saved_and_loaded(
    name: str, table: pd.DataFrame, default: ADMERCS, tmp_path: Path
) -> None:
    method = Method().change({name: OPTIONAL[name]})
    model = ADMERCS(method=method).fit(table)
    evidence = -model.score_samples(table)
    assert np.all(np.isfinite(evidence))
    assert np.all(evidence >= 0)
    np.testing.assert_array_equal(-np.expm1(-evidence), model.scores_)
    np.testing.assert_allclose(model.score_cells(table).sum(axis=1), evidence, rtol=1e-9)
    # The step matters here: to scores of rows, or at least to those of contexts.
    contexts = [each.model_.contexts.log_lambda for each in (model, default)]
    same = np.array_equal(model.scores_, default.scores_) and np.array_equal(*contexts)
    # No context here has more than 50 rows, and credit is about cells only.
    assert same == (name in ("feedback.effective_size", "credit"))
    cells = model.score_cells(table), default.score_cells(table)
    assert np.array_equal(*cells) == (name == "feedback.effective_size")
    for row in model.explain(table.head(30), top=None):
        assert sum(r.evidence for r in row.reasons) == pytest.approx(row.evidence, abs=1e-9)
    assert isinstance(model.contexts_, list)
    model.save(tmp_path / "model")
    again = ADMERCS.load(tmp_path / "model")
    assert again.method == method
    assert again.model_.method == method
    np.testing.assert_array_equal(-again.score_samples(table), evidence)
    assert str(again.explain(table.head(3))) == str(model.explain(table.head(3)))


def test_with_nothing_but_trees_and_densities(table: pd.DataFrame, tmp_path: Path) -> None:
    method = replace(
        Method(), marginal=False, tail=None, border=None, discount=None, ancestor=None,
        feedback=None, neighbours=None,
    )  # fmt: skip
    model = ADMERCS(method=method).fit(table)
    model.save(tmp_path / "model")
    found = ADMERCS.load(tmp_path / "model").anomaly_score(table)
    np.testing.assert_array_equal(found, model.scores_)
    assert model.contexts_ == []
    assert len(model.explain(table.head(3))) == 3


def test_change() -> None:
    changed = Method().change({"border.zone": 3, "density.rho": 0.8, "neighbours": None})
    assert changed.border == Border(zone=3)
    assert changed.density == Density(rho=0.8)
    assert changed.neighbours is None
    assert replace(changed, border=Border(), density=Density(), neighbours=Neighbours()) == Method()
    assert Method().change({}) == Method()


@pytest.mark.parametrize(
    "name", ["bordr", "border.zones", "feedback.ranges.least", "border.zone.rows", "", "trees."]
)
def test_unknown_names_are_errors(name: str) -> None:
    with pytest.raises(ValueError, match="has no setting"):
        Method().change({name: 1})


def test_a_setting_of_a_step_that_is_left_out_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no setting"):
        replace(Method(), border=None).change({"border.zone": 3})


METHODS = {
    "default": Method(),
    "nothing": replace(
        Method(),
        tail=None,
        border=None,
        discount=None,
        ancestor=None,
        feedback=None,
        neighbours=None,
    ),
    "other": Method(
        trees=Trees(price=0.3, min_samples_leaf=20, max_bins="exact"),
        tail=Tail(power=2.0),
        ancestor=Ancestor(odds=0.3),
        evidence=Odds(0.2),
        feedback=Feedback(candidates=None),
        neighbours=Neighbours(isolation=None),
    ),
    **{name: Method.paper(name) for name in ("Campos", "HiCS", "Synth-I")},
}


@pytest.mark.parametrize("name", METHODS)
def test_settings_survive_json(name: str) -> None:
    method = METHODS[name]
    again = Method.from_dict(json.loads(json.dumps(method.to_dict())))
    assert again == method
    assert repr(again) == repr(method)


def test_numbers_of_numpy_become_plain_ones() -> None:
    method = Method().change({"density.rho": np.float64(0.8), "border.zone": np.int64(3)})
    assert json.dumps(method.to_dict()) == json.dumps(
        Method().change({"density.rho": 0.8, "border.zone": 3}).to_dict()
    )


def broken(**changes: Any) -> dict[str, Any]:
    return {**Method().to_dict(), **changes}


@pytest.mark.parametrize(
    "values",
    [
        broken(more=1),
        {key: value for key, value in broken().items() if key != "tail"},
        broken(tail={**Tail().__dict__, "type": "Tail", "more": 1}),
        broken(tail={"type": "Tail"}),
        broken(type="Tail"),
        Border().__dict__ | {"type": "Border"},
    ],
)
def test_settings_that_do_not_fit_are_errors(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"do not fit|not a method"):
        Method.from_dict(values)


@pytest.mark.parametrize(
    ("benchmark", "leaf", "decrease", "rho", "gamma_lambda", "gamma_delta"),
    [
        ("Campos", 0.05, 0.05, 0.9, 0.5, 0.7),
        ("CamposHD", 0.1, 0.2, 0.7, 1.0, 0.7),
        ("HiCS", 0.02, 0.5, 0.9, 1.0, 1.0),
        ("Synth-C", 0.02, 0.001, 0.7, 0.5, 0.2),
        ("Synth-C&S", 0.05, 0.001, 0.9, 1.0, 1.0),
        ("Synth-I", 0.005, 0.001, 0.9, 0.5, 0.9),
    ],
)
def test_the_papers_settings(
    benchmark: str, leaf: float, decrease: float, rho: float, gamma_lambda: float,
    gamma_delta: float,
) -> None:  # fmt: skip
    method = Method.paper(benchmark)
    assert (method.trees.min_samples_leaf, method.trees.min_impurity_decrease) == (leaf, decrease)
    assert (method.trees.price, method.trees.max_bins) == (None, "exact")
    assert method.density == Density(heavy_share=0.0, area=False, rho=rho)
    assert method.evidence == NoisyOr(gamma_delta)
    assert method.feedback is not None
    assert method.feedback.gamma_lambda == gamma_lambda
    assert method.feedback.candidates is method.feedback.ranges is method.feedback.most is None
    steps = (method.tail, method.border, method.discount, method.ancestor, method.neighbours)
    assert not any(steps)
    assert (method.marginal, method.purest) == (False, True)
    assert ADMERCS.paper(benchmark).method == method


def test_an_unknown_benchmark_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown benchmark 'Zoo'; the paper has Campos, "):
        Method.paper("Zoo")


def test_parameters_of_the_detector_come_before_the_method() -> None:
    table = shops(n=300)
    detector = ADMERCS(max_depth=2, min_samples_leaf=0.1, max_bins=20, n_iter=3).fit(table)
    method = detector.model_.method
    assert method.trees == Trees(max_depth=2, min_samples_leaf=0.1, max_bins=20)
    assert method.feedback == Feedback(n_iter=3)
    assert ADMERCS(n_iter=1).fit(table).model_.method == replace(
        Method(), feedback=None, neighbours=None
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("tail.middle", -1, "above 0 and below 1"),
        ("tail.far", 0.2, "between method.tail.far and method.tail.middle"),
        ("density.ordinary", 0.0, "above 0 and below 1"),
        ("evidence.odds", -0.1, "0 or more"),
        ("feedback.gamma_lambda", 1.5, "between 0 and 1"),
        ("feedback.spread", 1, "above 0 and below 1"),
        ("feedback.ranges.min_rows", -1, "0 or more"),
        ("neighbours.isolation.power", float("inf"), "finite"),
        ("flagging.middle", 0.9, "above method.flagging.middle"),
        ("density.heavy_width", float("nan"), "above 0"),
        ("border.zone", "wide", "a number"),
        ("border", Tail(), "Border or None"),
        ("trees", None, "Trees"),
        ("trees.max_bins", "all", "a number or 'exact'"),
        ("feedback.spread", "0.9", "a number or None"),
        ("evidence", None, "Odds or NoisyOr"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(name: str, value: Any, allowed: str) -> None:
    method = Method().change({name: value})
    with pytest.raises(ValueError, match=rf"^method\.[a-z_.]+ is .*; it must be .*{allowed}"):
        ADMERCS(method=method).fit(np.random.default_rng(0).normal(size=(50, 3)))


def test_all_methods_that_come_with_the_package_make_sense() -> None:
    Method().change({"marginal": np.True_, "border.zone": np.int8(2)}).check()
    for benchmark in ("Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I"):
        Method.paper(benchmark).check()
    Method().check()
    Method().for_novelty().check()


def names_and_values(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Return all settings by their dotted names."""
    found = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value):
            found |= names_and_values(value, f"{prefix}{each.name}.")
        else:
            found[prefix + each.name] = value
    return found


def shown(text: str) -> Any:
    """Return a default as the page shows it."""
    if text in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[text]
    above, _, below = text.replace(",", "").partition("/")
    return float(above) / float(below or 1)


def test_the_page_tells_every_setting_and_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "method.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| ([^|]+) \|", page, re.M))
    # The switches of the paper are told in words and in the page's last table.
    values = names_and_values(Method())
    told = {name: shown(text.strip()) for name, text in rows.items() if name in values}
    missing = values.keys() - told.keys()
    assert missing <= {"purest", "trees.min_impurity_decrease"}
    assert told == {name: value for name, value in values.items() if name not in missing}
