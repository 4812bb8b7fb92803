"""A model survives its file bit for bit, and no file does harm."""

from __future__ import annotations

import json
import os
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs.facets import FACETS, prepare
from admercs.method.settings import LookAlikes, Method
from admercs.pipeline.model import Model
from admercs.pipeline.model_file import HEADER, ModelFileError, load_model, save_model
from admercs.pipeline.model_format import MEMBERS
from admercs.pipeline.score import score_cells
from admercs.table import read_frame
from tests.damaged_headers import WRITTEN, change_some, header_text
from tests.fuzz import (
    Damaged,
    Headers,
    make_extra,
    make_facets,
    make_model,
    make_table,
    pack,
    unpack,
)

STEPS = ("tail", "border", "ancestor", "feedback", "neighbours")


def crossed_table() -> pd.DataFrame:
    """Return rows of which a group, set apart only by two columns together, is anomalous."""
    rng = np.random.default_rng(0)
    load = rng.uniform(0, 10, 1000)
    heat = 3 * load + rng.normal(scale=0.5, size=1000)
    heat[:36] = 3 * ((load[:36] + 5) % 10) + rng.normal(size=36)
    corner = np.array([(0, 0), (0, 1), (1, 1)])[rng.integers(0, 3, 1000)]
    corner[:40] = (1, 0)
    east, north = (10 * corner + rng.normal(size=(1000, 2))).T
    return pd.DataFrame({"load": load, "heat": heat, "east": east, "north": north})


def parts(value: Any) -> list[Any]:
    """Return a model as a flat list; arrays as their type, shape and bytes."""
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tobytes()]
    if is_dataclass(value):
        return [part for each in fields(value) for part in parts(getattr(value, each.name))]
    if isinstance(value, tuple):
        return [part for each in value for part in parts(each)]
    return [value]


def check_round_trip(model: Model, table: Any, folder: Path) -> None:
    path, extra = folder / "model.admercs", make_extra()
    save_model(path, model, extra)
    again, found = load_model(path)
    assert parts(again) == parts(model)
    assert found == extra
    rows = prepare(read_frame(table), model.schema)
    assert np.array_equal(score_cells(again, rows), score_cells(model, rows))


@pytest.mark.parametrize("kind", ["number", "object", "bool", "datetime"])
def test_columns_of_one_kind(kind: str, tmp_path: Path) -> None:
    table = make_table().astype({"kind": object}).select_dtypes(kind)
    check_round_trip(make_model(table), table, tmp_path)


def test_discrete_columns(tmp_path: Path) -> None:
    table = np.random.default_rng(0).integers(0, 3, (200, 3)).astype(float)
    model = make_model(table)
    assert len(model.likelihoods.distinct) == 9
    check_round_trip(model, table, tmp_path)


def test_mixed_columns_with_contexts_and_references(tmp_path: Path) -> None:
    table = make_table()
    model = make_model(table)
    assert len(model.contexts.leaf)
    assert model.references is not None
    check_round_trip(model, table, tmp_path)


def test_range_contexts(tmp_path: Path) -> None:
    table = crossed_table()
    model = make_model(table)
    assert any(map(model.contexts.is_range, range(len(model.contexts.leaf))))
    check_round_trip(model, table, tmp_path)


@pytest.mark.parametrize("high", [1e308, 2.5, 4.0, 0.5, np.inf])
def test_ranges_of_categories_are_one_of_them(high: float, tmp_path: Path) -> None:
    table = make_table()
    model = make_model(table)
    # The order of columns differs where pandas counts dates in another unit.
    nominal = next(m for m, column in enumerate(model.schema.used) if column.role == "nominal")
    root = model.forest.root[nominal : nominal + 1].astype(np.int32)
    contexts = model.contexts._replace(leaf=root)
    low, inside = np.array([0.0]), np.array([1.0])
    one = {name: getattr(contexts, name)[:1] for name in ("n", "log_lambda", "redundant")}
    none = {"member_ptr": np.zeros(2, np.int64), "member": np.empty(0, np.int64)}
    contexts = contexts._replace(low=low, high=inside, **one, **none)
    save_model(tmp_path / "m", replace(model, contexts=contexts), make_extra())
    members = unpack(tmp_path / "m")
    pack(tmp_path / "m", members | {"contexts/high.npy": np.array([high])})
    refuse(tmp_path / "m", "contexts/high")


@pytest.mark.parametrize("step", STEPS)
def test_each_step_left_out(step: str, tmp_path: Path) -> None:
    table = make_table()
    model = make_model(table, replace(Method(), **{step: None}))
    check_round_trip(model, table, tmp_path)


@pytest.mark.parametrize("benchmark", ["HiCS", "Synth-I"])
def test_paper(benchmark: str, tmp_path: Path) -> None:
    table = make_table()
    check_round_trip(make_model(table, Method.paper(benchmark)), table, tmp_path)


@pytest.fixture(scope="module")
def model() -> Model:
    return make_model(make_table())


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    path = tmp_path / "model.admercs"
    save_model(path, model, make_extra())
    return path


def test_numbers_of_numpy_become_plain(model: Model, tmp_path: Path) -> None:
    extra = make_extra()
    extra["offset"] = np.float32(-0.5)
    extra["parameters"] |= {
        "max_depth": np.int64(5),
        "min_samples_leaf": np.float64(0.25),
        "nominal": np.array(["kind"]),
    }
    method = model.method.change({"border.zone": np.int32(2), "density.ordinary": np.float64(0.5)})
    save_model(tmp_path / "m", replace(model, method=method), extra)
    again, found = load_model(tmp_path / "m")
    assert again.method == model.method
    assert type(found["parameters"]["max_depth"]) is int
    assert found["parameters"]["nominal"] == ["kind"]
    assert found["offset"] == -0.5


@pytest.mark.parametrize("name", ["\udcff", "\ud800\udc00", "\U00010000", "é\x00"])
def test_lone_surrogates_survive(model: Model, tmp_path: Path, name: str) -> None:
    first, *others = model.schema.columns
    schema = replace(model.schema, columns=(replace(first, name=name), *others))
    extra = make_extra()
    save_model(tmp_path / "m", replace(model, schema=schema), extra)
    again, found = load_model(tmp_path / "m")
    assert again.schema.names[0] == name
    assert found == extra


def test_the_file_depends_on_the_model_only(model: Model, path: Path, tmp_path: Path) -> None:
    save_model(tmp_path / "again", model, make_extra())
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_what_could_not_be_read_is_not_written(model: Model, path: Path) -> None:
    before = path.read_bytes()
    method = model.method.change({"border.zone": 2.5})
    with pytest.raises(ModelFileError, match=r"cannot be saved: method\.border\.zone is 2\.5"):
        save_model(path, replace(model, method=method), make_extra())
    with pytest.raises(ModelFileError, match=r"cannot be saved: header\.extra"):
        save_model(path, model, {})
    with pytest.raises(ModelFileError, match="cannot be saved: <object"):
        save_model(path, model, make_extra() | {"offset": object()})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def refuse(path: Path, what: str, then: str = "Save the model again.") -> None:
    with pytest.raises(ModelFileError, match=what) as raised:
        load_model(path)
    assert str(raised.value).startswith(str(path))
    assert str(raised.value).endswith(then)


def test_other_files(path: Path) -> None:
    path.write_bytes(b"")
    refuse(path, "not an admercs model")
    pack(path, {"other.npy": np.zeros(3)})
    refuse(path, "not an admercs model", "not an admercs model.")
    pack(path, {HEADER: {"format": "other"}})
    refuse(path, "not an admercs model", "not an admercs model.")


def test_other_versions(path: Path) -> None:
    members = unpack(path)
    members[HEADER] |= {"format_version": 2, "admercs_version": "9.1"}
    pack(path, members)
    refuse(path, "admercs '9.1' in format 2", "fit the model again and save it.")


def test_members_that_are_missing_unknown_or_there_twice(path: Path) -> None:
    members = unpack(path)
    pack(path, {name: each for name, each in members.items() if name != "forest/n.npy"})
    refuse(path, "forest/n.npy is missing")
    pack(path, members | {"more.npy": np.zeros(1)})
    refuse(path, "more.npy is not known")
    pack(path, members)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("redundant.npy", b"")
    refuse(path, "twice")


@pytest.mark.parametrize("nesting", [10_000, 1_000_000])
def test_deep_json(path: Path, nesting: int) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, "[" * nesting)
    refuse(path, "damaged")


def declare_size(path: Path, name: str, size: int) -> None:
    """Let the directory of an archive say that a member has another size."""
    content = bytearray(path.read_bytes())
    place = content.rindex(name.encode()) - 46 + 24
    content[place : place + 4] = size.to_bytes(4, "little")
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo(name).file_size == size


def test_sizes_are_compared_before_anything_is_read(path: Path) -> None:
    declare_size(path, "redundant.npy", 2**32 - 2)
    refuse(path, "more than any model")


@pytest.mark.parametrize("name", [HEADER, "likelihoods/table.npy"])
def test_no_more_is_unpacked_than_declared(name: str, path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    size = len(members[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(each, content + bytes(10**8) if each == name else content)
    declare_size(path, name, size)
    tracemalloc.start()
    refuse(path, "CRC")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7


def changed(array: np.ndarray, place: int, value: Any) -> np.ndarray:
    array = array.copy()
    array[place] = value
    return array


DAMAGE: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "subset of a numeric split": ("forest/subset", np.zeros_like),
    "marks as numbers": ("forest/missing_left", lambda a: a.astype(np.int64)),
    "marks of 255": ("forest/missing_left", lambda a: np.full(a.shape, 255, "u1").view(bool)),
    "unsigned pointers": ("likelihoods/segment_ptr", lambda a: a.astype(np.uint64)),
    "distinct values": ("likelihoods/distinct", lambda a: np.append(a, 9.0)),
    "short bandwidth": ("likelihoods/bandwidth", lambda a: a[:-1]),
    "short segments": ("likelihoods/table_ptr", lambda a: changed(a, 1, a[0] + 3)),
    "descending edges": ("ranks/edges", lambda a: a[::-1]),
    "children": ("forest/right", lambda a: np.where(a >= 0, a - 1, a)),
    "trees": ("forest/root", lambda a: changed(a, 1, a[1] + 1)),
    "parents": ("forest/parent", lambda a: changed(a, 1, 1)),
    "columns": ("forest/feature", lambda a: changed(a, 0, 99)),
    "scoring nodes": ("scoring/own", np.zeros_like),
    "slots": ("likelihoods/slot", lambda a: np.full_like(a, -1)),
    "main": ("likelihoods/main", lambda a: a + 50),
    "values": ("likelihoods/log_value", lambda a: np.full_like(a, np.nan)),
    "no present values": ("likelihoods/log_present", lambda a: np.full_like(a, -1e308)),
    "certain contexts": ("contexts/log_lambda", np.zeros_like),
    "infinite excess": ("references/excess", lambda a: np.full_like(a, 1e308)),
    "steps": ("likelihoods/step", np.zeros_like),
    "contexts": ("contexts/leaf", np.zeros_like),
    "members": ("contexts/member", lambda a: a + 10**6),
    "redundant": ("redundant", lambda a: ~a),
    "two dimensions": ("redundant", lambda a: a[None]),
    "no dimension": ("evidence_quantiles", lambda a: np.array(0.0)),
    "columns first": ("references/excess", lambda a: a.T),
    "one reference": ("references/profile", lambda a: a[:, :1]),
    "facets that are compared": ("references/profile", lambda a: changed(a, -1, 9)),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_arrays_that_do_not_fit(what: str, path: Path) -> None:
    name, change = DAMAGE[what]
    members = unpack(path)
    members[f"{name}.npy"] = change(members[f"{name}.npy"])
    pack(path, members)
    refuse(path, name.split("/")[0])


def test_contexts_are_told_by_a_node_with_a_distribution(model: Model, path: Path) -> None:
    members = unpack(path)
    leaf, slot = (members[name] for name in ("contexts/leaf.npy", "likelihoods/slot.npy"))
    others = np.flatnonzero(slot[model.scoring.own] < 0)
    others = others[others > leaf[-1]] if len(leaf) > 1 else others
    pack(path, members | {"contexts/leaf.npy": changed(leaf, -1, others[0])})
    refuse(path, "contexts/leaf")


@pytest.mark.parametrize("member", [member.name for member in MEMBERS])
def test_every_member_has_its_size_and_type(member: str, path: Path) -> None:
    members = unpack(path)
    array = members[f"{member}.npy"]
    for other in (array[1:], array.astype(">f4"), np.append(array, array[:1], axis=0)):
        pack(path, members | {f"{member}.npy": other})
        refuse(path, "damaged")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("n_rows",), 2.5),
        (("n_rows",), 0),
        (("extra", "offset"), "a"),
        (("extra", "offset"), float("nan")),
        (("extra", "offset"), float("-inf")),
        (("extra", "offset"), 1.0),
        (("extra", "suspicious_line"), -1.0),
        (("extra", "value_line"), -1.0),
        (("extra", "value_line"), float("inf")),
        (("extra", "parameters", "contamination"), {}),
        (("extra", "parameters", "contamination"), {"evidence": float("inf")}),
        (("extra", "parameters", "contamination"), {"score": 1.5}),
        (("extra", "parameters"), {}),
        (("extra", "parameters", "max_depth"), True),
        (("extra", "parameters", "method"), {"type": "Trees"}),
        (("method", "type"), "other"),
        (("method", "density", "ordinary"), 2),
        (("method", "evidence", "odds"), "0.1"),
        (("method", "evidence", "odds"), 2**63),
        (("method", "evidence"), {"type": "NoisyOr", "gamma_delta": 2}),
        (("method", "feedback", "gamma_lambda"), 1.5),
        (("schema", "order", 0), 1),
        (("method", "tail", "slack"), 1e999),
        (("method", "tail", "slack"), 1e300),
        (("method", "border", "zone"), 2**40),
        (("references", "weight"), 1e300),
        (("references", "weight"), "1"),
        (("references", "typical"), None),
        (("schema", "kinds", 0), "text"),
        (("schema", "columns", 0, "role"), "nominal"),
        (("schema", "columns", 0, "position"), 1),
        (("schema", "columns", 0, "origin"), 10**30),
        (("schema", "columns", 0, "distinct"), [2.0, 1.0]),
        (("schema", "columns", 3, "categories"), ["a", "a", "b"]),
        (("schema", "columns", 5, "unit"), "weeks"),
        (("schema", "columns", 5, "time_zone"), "../x"),
    ],
)
def test_headers_that_do_not_fit(place: tuple[Any, ...], value: Any, path: Path) -> None:
    members = unpack(path)
    owner = members[HEADER]
    for key in place[:-1]:
        owner = owner[key]
    assert json.dumps(owner[place[-1]]) != json.dumps(value)
    owner[place[-1]] = value
    pack(path, members)
    refuse(path, "damaged")


@pytest.fixture(scope="module")
def with_facets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("facets") / "model.admercs"
    save_model(path, make_model(make_facets()), make_extra())
    return path


def test_facets_survive(with_facets: Path, tmp_path: Path) -> None:
    model = load_model(with_facets)[0]
    kinds = {column.facet.kind for column in model.schema.facets if column.facet is not None}
    assert kinds == set(FACETS)
    check_round_trip(model, make_facets(), tmp_path)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        *(
            (kind, *change)
            for kind in FACETS
            for change in (
                ("kind", "other"),
                ("sources", []),
                ("sources", [0, 0]),
                ("sources", [-1]),
                ("sources", [16]),
                ("sources", [99]),
                ("sources", [10**400]),
                ("sources", 0),
                ("settings", [[]]),
                ("settings", None),
                ("is_condition", None),
            )
        ),
        ("shape", "is_stated", True),
        ("length", "is_stated", True),
        ("length", "settings", [1.0]),
        ("spelling", "is_stated", False),
        ("determined", "is_condition", True),
        ("relation", "is_condition", True),
    ],
)
def test_facets_that_make_no_sense(
    kind: str, field: str, value: Any, with_facets: Path, tmp_path: Path
) -> None:
    change_facet(with_facets, tmp_path / "model", kind, field, value)
    refuse(tmp_path / "model", "schema|Facet|damaged")


def change_facet(path: Path, to: Path, kind: str, field: str, value: Any) -> None:
    """Write a model file whose facet of a kind has another value in a field."""
    members = unpack(path)
    facets = members[HEADER]["schema"]["facets"]
    found = next(each["facet"] for each in facets if each["facet"]["kind"] == kind)
    found[field] = value
    pack(to, members)


SETTINGS: dict[str, list[Any]] = {
    "spelling": [[["a", 1]], [], *astuple(LookAlikes())],
    "relation": ["linear", [1.0], 0.0, 0.0, True, 1.0, [], 9, 9],
}


def test_counts_in_facets_are_numbers_of_rows(with_facets: Path, tmp_path: Path) -> None:
    members = unpack(with_facets)
    facets = [column["facet"] for column in members[HEADER]["schema"]["facets"]]
    (_, (plain, *_)) = next(each["settings"] for each in facets if each["kind"] == "determined")
    plain[2][0][2] = 2**64
    pack(tmp_path / "model", members)
    refuse(tmp_path / "model", "does not fit")


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("spelling", 0, [["a", 10**400]]),
        ("spelling", 0, [["a", 0]]),
        ("spelling", 0, [["a" * 90, 1]] * 140_000),
        ("spelling", 4, 10**6),
        ("spelling", 5, float("nan")),
        ("spelling", 8, 0),
        ("spelling", 8, 2**70),
        ("relation", 0, "order"),
        ("relation", 1, [1e999]),
        ("relation", 5, float("nan")),
        ("relation", 7, 8),
    ],
)
def test_settings_of_facets_that_make_no_sense(
    kind: str, place: int, value: Any, with_facets: Path, tmp_path: Path
) -> None:
    settings = list(SETTINGS[kind])
    change_facet(with_facets, tmp_path / "model", kind, "settings", settings)
    load_model(tmp_path / "model")
    settings[place] = value
    change_facet(with_facets, tmp_path / "model", kind, "settings", settings)
    refuse(tmp_path / "model", "schema|Facet|damaged")


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [
        ("facets", "reading", "of a column"),
        ("facets", "facet", None),
        ("facets", "n_missing", 10**9),
        ("columns", "facet", "of a facet"),
        ("columns", "reading", {}),
    ],
)
def test_columns_and_facets_stay_apart(
    place: str, field: str, value: Any, with_facets: Path, tmp_path: Path
) -> None:
    members = unpack(with_facets)
    schema = members[HEADER]["schema"]
    others = {
        "of a column": next(each["reading"] for each in schema["columns"] if each["reading"]),
        "of a facet": schema["facets"][0]["facet"],
    }
    schema[place][0][field] = others.get(value, value) if isinstance(value, str) else value
    pack(tmp_path / "model", members)
    refuse(tmp_path / "model", "schema|damaged")


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("weekday", "categories", ["Someday"]),
        ("kind", "categories", ["a joke"]),
        ("repeats", "origin", -(10**15)),
        ("clock", "unit", "D"),
        ("length", "origin", 0.5),
    ],
)
def test_facets_have_the_values_of_their_kind(
    kind: str, field: str, value: Any, with_facets: Path, tmp_path: Path
) -> None:
    members = unpack(with_facets)
    facets = members[HEADER]["schema"]["facets"]
    found = next(each for each in facets if each["facet"]["kind"] == kind)
    rest = found[field][len(value) :] if isinstance(value, list) else []
    found[field] = value + rest if isinstance(value, list) else value
    pack(tmp_path / "model", members)
    refuse(tmp_path / "model", "does not fit|origin")


def test_relations_are_about_columns_that_are_used(with_facets: Path, tmp_path: Path) -> None:
    members = unpack(with_facets)
    schema = members[HEADER]["schema"]
    schema["columns"][1]["role"] = "set aside"
    schema["order"].remove(1)
    pack(tmp_path / "model", members)
    refuse(tmp_path / "model", "schema|damaged")


def test_damaged_headers_hold_what_no_writer_makes() -> None:
    for mark, written in WRITTEN.items():
        assert header_text({"a": mark}) == '{"a": ' + written + "}"
    header, rng = {"a": [1, 10**400], "b": "x"}, np.random.default_rng(0)
    texts = {header_text(change_some(header, rng)) for _ in range(1000)}
    assert all(any(written in text for text in texts) for written in WRITTEN.values())


@pytest.mark.parametrize(("kind", "n"), [(Damaged, 200), (Headers, 300)])
def test_random_damage(kind: type[Damaged] | type[Headers], n: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        damaged = kind(tmp_path)
        found = Counter(damaged.run(number) for number in range(n))
    assert found["refused"] > n / 2
    assert found["used"] > n / 10
