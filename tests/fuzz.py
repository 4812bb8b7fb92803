"""Damaged files and random tables: nothing crashes, reads out of bounds or raises in vain.

``python -m tests.fuzz --files 10000 --tables 10000`` runs them in child processes whose compiled
code checks its bounds; each case depends on its number only. A short part runs with the tests.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from admercs import ADMERCS, inspect
from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UserError
from admercs.cli.reader import open_table
from admercs.explain import RowExplanation
from admercs.explain.plots import plot_cells, plot_context, plot_row
from admercs.facets import prepare
from admercs.method.settings import Method
from admercs.pipeline.fit import fit_model
from admercs.pipeline.model import Model
from admercs.pipeline.model_file import HEADER, ModelFileError, save_model
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from tests.damaged_headers import all_changes, change_place, change_some, header_text
from tests.random_tables import in_another_library, other_rows, random_table
from tests.table_files import make_files

Members = dict[str, Any]  # arrays, and the header as a dict
BATCH = 500  # cases of a child process
MEMORY, LONGEST = 12 << 30, 600  # bytes of a child process, and seconds of a case, at most
CHILD = [sys.executable, "-m", "tests.fuzz"]


# ------------------------------------------------------------------------------- models and files


def make_table(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Return columns of all kinds, with gaps; the first rows break the pattern of the others."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "x": x,
            "y": 3 * x + rng.normal(scale=0.3, size=n),
            "z": x + 10 * kind + rng.normal(scale=0.2, size=n),
            "kind": np.array(["a", "b", "c"], object)[kind],
            "count": kind + rng.integers(0, 2, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta((x * 30).astype(int), unit="D"),
            "flag": kind == 1,
            "same": 1,
        }
    )
    table.loc[:24, "y"] -= 12
    table.loc[:24, "z"] = rng.uniform(0, 30, 25)
    for name in ("x", "kind"):
        table.loc[rng.random(n) < 0.1, name] = None
    return table


def make_facets(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return columns with facets of all kinds: texts, numbers and dates in texts, relations."""
    rng = np.random.default_rng(seed)
    net, owner = np.round(rng.lognormal(4, 1, n), 2), rng.integers(0, 70, n)
    city = owner % 8
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    shipped = ordered + pd.to_timedelta(rng.integers(0, 9, n), unit="D")
    # Three quarters of the calls are in the evening of a weekday, around the tenth of some months.
    called = pd.DatetimeIndex(rng.choice(pd.date_range("2022-01-03", "2024-12-30"), n))
    often = pd.date_range("2022-01-03", "2024-12-30").to_series()
    often = often[(often.dt.day_of_week < 3) & (abs(often.dt.day - 10) < 3) & (often.dt.month < 5)]
    called = called.where(rng.random(n) < 0.25, rng.choice(often, n))
    called += pd.to_timedelta(rng.choice([0, 18.5, 19, 20.25], n), unit="h")
    table = pd.DataFrame(
        {
            "net": net,
            "vat": np.round(0.21 * net, 2),
            "gross": np.round(1.21 * net, 2),
            "weight": 0.3 * net + rng.normal(size=n),
            "ordered": ordered,
            "shipped": shipped,
            "paid": [f"{each:,.2f} EUR" for each in net],
            "due": shipped.strftime("%d/%m/%Y"),
            "code": [f"{chr(65 + k % 26)}B-{k:04}" for k in rng.permutation(n)],
            "city": np.array([*"ABCDEFGH"])[city] + np.array("ntwerpen", object),
            "zip": [str(1000 + 10 * k) for k in city],
            "plate": [f"P{chr(65 + k // 26)}{chr(65 + k % 26)}" for k in owner],
            "owner": [f"{chr(65 + k % 26)} {'ABCDEF'[k // 26]}." for k in owner],
            "called": called,
            "number": rng.permutation(n) + 1000,
            "phone": [f"{'OHM'[k % 3]}. 32{k:05} {['home', 'work'][k % 2]}" for k in range(n)],
        }
    )
    for column, value in {"paid": "n.a.", "due": "later", "code": "B0", "gross": 1.0}.items():
        table.loc[rng.integers(0, n, 3), column] = value
    table.loc[rng.integers(0, n, 3), ["city", "owner"]] = ["Antwerpn", "Z F."]
    table.loc[rng.integers(0, n, 9), "zip"] = None
    table.loc[np.argsort(city, kind="stable")[:: n // 24], "plate"] = "none"
    table.loc[7, "number"] = table.loc[3, "number"]
    return table


def make_model(table: Any, method: Method | None = None) -> Model:
    """Fit a model, without the warnings about columns that are set aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_model(RowsInMemory(read_frame(table)), method or Method()).model


def make_extra() -> dict[str, Any]:
    """Return what a detector with default parameters keeps beside its model."""
    names = ("method", "max_depth", "min_samples_leaf", "max_bins", "n_iter", "n_jobs")
    parameters = dict.fromkeys((*names, "random_state"))
    parameters |= {
        "nominal": "auto",
        "contamination": "auto",
        "novelty": False,
        "missing": None,
        "decimal": None,
        "dayfirst": None,
        "verbose": 0,
    }
    lines = {"offset": -3.0, "suspicious_line": 2.5, "value_line": 2.0}
    return {"parameters": parameters, **lines, "n_iter": 2}


def full_extra() -> dict[str, Any]:
    """Return what a detector keeps whose parameters are all given."""
    extra = make_extra()
    extra["parameters"] |= {
        "method": Method().to_dict(),
        "max_depth": 5,
        "min_samples_leaf": 0.05,
        "max_bins": 50,
        "n_iter": 2,
        "n_jobs": 1,
        "nominal": ["kind"],
        "contamination": {"evidence": 3.0},
        "missing": ["-", "?"],
        "decimal": ".",
        "dayfirst": True,
    }
    return extra


def unpack(path: Path) -> Members:
    """Return the members of a model file."""
    with zipfile.ZipFile(path) as archive:
        return {
            name: json.loads(archive.read(name))
            if name == HEADER
            else np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
        }


def pack(path: Path, members: Members) -> None:
    """Write a file of these members, whatever they are."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if isinstance(content, np.ndarray):
                buffer = io.BytesIO()
                np.save(buffer, content, allow_pickle=False)
                archive.writestr(name, buffer.getvalue())
            else:
                archive.writestr(name, header_text(content))


def use(path: Path, table: Any, rng: np.random.Generator) -> str:
    """Load a file, score a table with it and explain the scores; to be refused is as good."""
    try:
        detector = ADMERCS.load(path)
    except ModelFileError:
        return "refused"
    model = detector.model_
    try:
        prepare(read_frame(table), model.schema)
    except ValueError:  # other columns
        return "loaded"
    evidence = -detector.score_samples(table)
    cells = detector.score_cells(table)
    assert evidence.shape == (len(table),)
    assert np.isfinite(evidence).all()
    assert (evidence >= 0).all()
    assert cells.shape == (len(table), len(model.schema.columns))
    explain(detector, table, rng)
    return "used"


def explain(detector: ADMERCS, table: Any, rng: np.random.Generator) -> None:
    """Say what can be said of a table, describe some contexts, and draw now and then."""
    # What is said again and again of the same rows is said now and then, by numbers of its own.
    by = deepcopy(rng)
    rows = detector.explain(some_rows(table, by))
    assert len(str(rows)) > 0
    assert len(json.dumps(rows.to_dict(), allow_nan=False)) > 0
    assert len(rows.to_frame()) == sum(len(row.reasons) for row in rows)
    if rng.random() < 0.02:
        draw(detector, [row for row in rows if row.reasons], table)
    if by.random() < 0.4:
        assert len(detector.report(table, rows=10).html()) > 1000
    elif by.random() < 0.5:
        repairs = detector.repair(table)
        assert len(repairs if isinstance(repairs, dict) else repairs.columns) > 5
        assert all(map(str, detector.top_cells(table, 5)))
    assert all(map(str, detector.patterns(5)))
    assert all(relation.text for relation in detector.relations_)
    n_rows = len(detector.score_samples(table))
    assert detector.predict_cells(table).shape == (n_rows, detector.n_features_in_)
    leaves = [node.number for node in inspect.tree_nodes(detector) if not node.children]
    some = rng.permutation(leaves)[:10].tolist()
    assert all(str(detector.describe_context(leaf)) for leaf in some)
    assert inspect.leaves(detector, table).shape == inspect.likelihoods(detector, table).shape


def some_rows(table: Any, rng: np.random.Generator) -> Any:
    """Return at most 60 rows of a table of pandas; all where some may have other types."""
    if not isinstance(table, pd.DataFrame) or "O" in {each.kind for each in table.dtypes}:
        return table
    return table.iloc[rng.permutation(len(table))[:60]]


def draw(detector: ADMERCS, rows: list[RowExplanation], table: Any) -> None:
    """Draw a row, the cells of some, and a context; what cannot be drawn is said."""
    pictures: list[tuple[Any, ...]] = [(plot_row, detector.model_, row) for row in rows[:1]]
    pictures += [(plot_cells, rows)] if rows else []
    pictures += [(plot_context, detector.model_, each, table) for each in detector.contexts_[:1]]
    for plot, *arguments in pictures:
        try:
            np.ravel(plot(*arguments))[0].figure.canvas.draw()
        except ValueError as error:
            if "cannot be drawn" not in str(error):
                raise
        plt.close("all")


# --------------------------------------------------------------------------------------- mutations


def change_array(array: np.ndarray, which: int, rng: np.random.Generator) -> np.ndarray:
    """Return another array in its place; `which` goes through all kinds of changes."""
    some = rng.integers(0, max(1, array.size), rng.integers(1, 4))
    flat = array.ravel()

    def with_values(values: Any) -> np.ndarray:
        changed = flat.copy()
        if flat.size:
            changed[some] = np.array(values).astype(array.dtype)
        return changed.reshape(array.shape)

    if array.dtype.kind == "f":
        odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1.0, 0.0, 1e30]
    else:
        info = np.iinfo(np.uint8 if array.dtype.kind == "b" else array.dtype)
        odd = [info.min, info.max, info.max // 2, 0, max(info.min, -1), len(array), len(array) + 1]
        odd = [min(max(int(each), int(info.min)), int(info.max)) for each in odd]
    moved = flat[some] if flat.size else 0
    others = (np.int8, np.int64, np.uint64, np.float32, np.float64, np.bool_, ">i4", "S3")
    changes: list[Callable[[], np.ndarray]] = [
        lambda: np.zeros_like(array),
        lambda: array[:-1],
        lambda: array[: len(array) // 2],
        lambda: array[:0],
        lambda: np.concatenate([array, array[-1:]]),
        lambda: np.concatenate([array, array]),
        lambda: array.astype(others[rng.integers(len(others))]),
        lambda: array[::-1],
        lambda: array.reshape(1, -1),
        lambda: array[..., None],
        lambda: np.asfortranarray(np.stack([array, array])),
        lambda: np.array(0, array.dtype),
        lambda: rng.permutation(flat).reshape(array.shape),
        lambda: with_values(rng.choice(flat, len(some))) if flat.size else array,
        lambda: np.roll(array, 1, axis=0) if array.ndim else array,
        lambda: np.full(array.shape, 255, np.uint8).astype(array.dtype),
        lambda: (
            array.view(np.uint8).reshape(-1)[: array.size].view(bool)
            if array.dtype.kind == "b"
            else ~array
            if array.dtype.kind in "iu"
            else -array
        ),
    ]
    for value in odd:
        changes.append(lambda value=value: with_values(value))
        changes.append(lambda value=value: np.full_like(array, value))
    for step in (-2, -1, 1, 2):
        changes.append(lambda step=step: with_values(moved + np.array(step).astype(array.dtype)))
    if array.dtype.kind == "b":
        changes.append(lambda: np.full(array.shape, 255, np.uint8).view(np.bool_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(changes[which % len(changes)]())


def change_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes of a file with some of them changed, missing, or there twice."""
    data = bytearray(content)
    at = int(rng.integers(len(data)))
    if rng.random() < 0.4:  # the directory of the archive is at its end
        at = len(data) - 1 - int(rng.integers(min(len(data), 4000)))
    kind = rng.integers(5)
    if kind == 0:
        data[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        data[at : at + 8] = rng.bytes(min(8, len(data) - at))
    elif kind == 2:
        del data[at : at + int(rng.integers(1, 64))]
    elif kind == 3:
        data[at:at] = rng.bytes(int(rng.integers(1, 64)))
    else:
        del data[at:]
    return bytes(data)


def damage(path: Path, original: bytes, members: Members, turn: int, rng: Any) -> None:
    """Write a damaged file: turns go through all members and all changes of each."""
    changed, kind = dict(members), turn % 8
    names = [name for name in members if name != HEADER]
    if kind == 0:
        path.write_bytes(change_bytes(original, rng))
        return
    if kind == 1:
        changed[HEADER] = change_some(members[HEADER], rng)
    else:
        step = turn // 8 * 6 + kind - 2
        name = names[step % len(names)]
        changed[name] = change_array(changed[name], step // len(names), rng)
        if rng.random() < 0.05:
            changed.pop(name)
        if rng.random() < 0.1:
            name = names[rng.integers(len(names))]
            changed[name] = change_array(members[name], rng.integers(1000), rng)
    pack(path, changed)


class Damaged:
    """Damaged files of some models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        table = make_table()
        methods = [Method(), Method(), replace(Method(), border=None, neighbours=None)]
        methods.append(Method.paper("HiCS"))
        tables = [make_facets(), table, table.iloc[::-1], table.select_dtypes("number")]
        self.samples = []
        for number, (method, own) in enumerate(zip(methods, tables, strict=True)):
            path = folder / f"{number}.admercs"
            model = make_model(own, method)
            save_model(path, model, make_extra())
            self.samples.append((path.read_bytes(), unpack(path), _odd_rows(own)))

    def run(self, number: int) -> str:
        """Damage a file and use it."""
        rng = np.random.default_rng(number)
        turn, sample = divmod(number, len(self.samples))
        original, members, table = self.samples[sample]
        path = self.folder / "damaged.admercs"
        damage(path, original, members, turn, rng)
        return use(path, table, rng)


class Headers:
    """Damaged headers of three models: successive numbers go through all changes of all values."""

    STEP = 1_000_003  # a prime: each run of numbers has changes of all parts of the headers

    def __init__(self, folder: Path) -> None:
        self.path = folder / "damaged.admercs"
        self.samples = []
        plain = make_table()
        cases = [(make_facets(), Method(), make_extra()), (plain, Method(), full_extra())]
        cases.append((plain.select_dtypes("number"), Method.paper("HiCS"), make_extra()))
        for table, method, extra in cases:
            save_model(self.path, make_model(table, method), extra)
            members = unpack(self.path)
            self.samples.append((members, all_changes(members[HEADER]), _odd_rows(table).iloc[::3]))
        self.n_changes = sum(len(changes) for _, changes, _ in self.samples)

    def run(self, number: int) -> str:
        """Change a value of a header and use the file."""
        place = number * self.STEP % self.n_changes
        sample = 0
        while place >= len(self.samples[sample][1]):
            place -= len(self.samples[sample][1])
            sample += 1
        members, changes, table = self.samples[sample]
        path, which = changes[place]
        pack(self.path, members | {HEADER: change_place(members[HEADER], path, which)})
        try:
            outcome = use(self.path, table, np.random.default_rng(number))
            if outcome == "used" and path[:2] == ("extra", "parameters"):
                fit_again(ADMERCS.load(self.path), table)
        except Exception as error:
            raise RuntimeError(f"change {which} of {path}: {error!r:.200}") from error
        return outcome


def fit_again(detector: ADMERCS, table: Any) -> None:
    """Fit a detector with the parameters of a file; they may not be for this table."""
    try:
        detector.fit(table)
    except (ValueError, TypeError) as error:
        if len(str(error)) < 20:
            raise


def _odd_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return some rows of a table, rows far outside of it, and rows that have never been seen."""
    far, rows = table.iloc[:6].copy(), table.iloc[:12]
    texts = ["never seen", "9e999 EUR", "31/02/2024", "", None, "Antwerpem"]
    for name in table.columns:
        if table[name].dtype.kind == "f":
            far[name] = np.resize([1e300, -1e300, 0.0, np.nan, 5e-324, -1e6], 6)
        elif not pd.api.types.is_numeric_dtype(table[name]) and table[name].dtype.kind != "M":
            far[name] = texts
    return pd.concat([rows, far], ignore_index=True)


# ------------------------------------------------------------------------------------------ tables


class Sources:
    """Damaged files of tables in all formats, as the command line reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.samples = [(path.name, path.read_bytes()) for path in make_files(folder)]

    def run(self, number: int) -> str:
        """Damage a file and read it."""
        rng = np.random.default_rng(number)
        turn, sample = divmod(number, len(self.samples))
        name, content = self.samples[sample]
        path = self.folder / f"damaged-{name}"
        for _ in range(rng.choice([1, 1, 2, 5]) if turn else 0):
            content = change_bytes(content, rng) if content else content
        path.write_bytes(content)
        try:
            with open_table([str(path)], ReadOptions()) as table:
                return "used" if table.read(10_000)[1] else "empty"
        except UserError:
            return "refused"


# What a table is refused with: the column is named, or there is none to name.
REFUSED = re.compile(r"Column '|column '|No column can be used|columns .* several types")


def random_parameters(table: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    """Return parameters of a detector; most are as they are by default."""
    some: dict[str, list[Any]] = {
        "method": [Method.paper("HiCS"), Method.paper("Synth-I"), replace(Method(), facets=None)],
        "contamination": [0.05, {"evidence": 3.0}, {"score": 0.9}],
        "novelty": [True],
        "missing": [["-999", "a"], [-999, 0]],
        "decimal": [",", "."],
        "dayfirst": [True, False],
        "max_bins": ["exact", 5],
        "min_samples_leaf": [1, 0.3],
        "nominal": [[table.columns[-1]]],
        "n_jobs": [2],
    }
    return {
        name: values[rng.integers(len(values))]
        for name, values in some.items()
        if rng.random() < 0.07
    }


class Random:
    """Random tables, fitted, saved, loaded, scored and explained, and other rows beside them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "random.admercs"

    def run(self, number: int) -> str:
        """Fit a table, score and explain it and other rows."""
        rng = np.random.default_rng(number)
        plain = random_table(rng)
        table = in_another_library(plain, rng)
        parameters = random_parameters(plain, rng)
        if "nominal" in parameters:  # polars gives a name to a column without one
            parameters["nominal"] = read_frame(table).names[-1:]
        try:
            detector = ADMERCS(**parameters).fit(table)
        except (ValueError, TypeError) as error:
            if REFUSED.search(str(error)):
                return "refused"
            raise
        detector.save(self.path)
        check_scores(detector, table, ADMERCS.load(self.path), rng)
        explain(detector, table, rng)
        if table is plain:
            check_orders(parameters, detector, plain, rng)
            try:
                others = other_rows(plain, rng)
                check_scores(detector, others, detector, rng)
            except (ValueError, TypeError) as error:
                if REFUSED.search(str(error)):
                    return "used"
                raise
            if rng.random() < 0.3:
                explain(detector, others, rng)
        return "used"


def check_scores(detector: ADMERCS, table: Any, again: ADMERCS, rng: np.random.Generator) -> None:
    """Check scores, their cells, those of a loaded model, and that of a row alone."""
    scores = detector.score_samples(table)
    assert np.isfinite(scores).all()
    assert (scores <= 0).all()
    assert np.array_equal(scores, again.score_samples(table))
    assert np.allclose(detector.score_cells(table).sum(axis=1), -scores)
    if isinstance(table, pd.DataFrame) and "O" not in {each.kind for each in table.dtypes}:
        row = int(rng.integers(len(table)))
        assert detector.score_samples(table.iloc[[row]])[0] == scores[row]


def check_orders(
    parameters: dict[str, Any], detector: ADMERCS, table: pd.DataFrame, rng: np.random.Generator
) -> None:
    """Check of some tables that neither the order of rows nor that of columns matters."""
    if rng.random() < 0.85:
        return
    by_column = table.iloc[:, rng.permutation(table.shape[1])]
    evidence, where = -detector.score_samples(table), rng.permutation(len(table))
    again = ADMERCS(**parameters).fit(by_column)
    assert np.array_equal(-again.score_samples(by_column), evidence), "order of columns"
    by_row = table.iloc[where]
    again = ADMERCS(**parameters).fit(by_row)
    assert np.allclose(-again.score_samples(by_row), evidence[where], 1e-6, 1e-9), "order of rows"


# ----------------------------------------------------------------------------------------- running

CASES: dict[str, Callable[[Path], Any]] = {
    "files": Damaged,
    "headers": Headers,
    "sources": Sources,
    "tables": Random,
}


def run_batch(kind: str, first: int, stop: int) -> None:
    """Run some cases in this process; a line each says what came of them."""
    warnings.simplefilter("ignore")
    mpl.use("Agg")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        cases = CASES[kind](Path(folder))
        for number in range(first, stop):
            print(number, end=" ", flush=True)
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            try:
                print(cases.run(number))
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(place.filename).name}:{place.lineno}"
                print(
                    f"raised {type(error).__name__} at {where}: {error!s:.150}".replace("\n", " ")
                )


def run_children(kind: str, first: int, stop: int) -> Counter[str]:
    """Run cases in child processes whose compiled code checks its bounds."""
    # Code that checks its bounds is cached elsewhere: numba does not tell the two apart.
    cache = Path(tempfile.gettempdir()) / "admercs-fuzz"
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    found: Counter[str] = Counter()
    while first < stop:
        last = min(first + BATCH, stop)
        arguments = ["--batch", kind, str(first), str(last)]
        child = subprocess.run(
            [*CHILD, *arguments], env=env, capture_output=True, text=True, check=False
        )
        lines = child.stdout.splitlines()
        for line in lines[: last - first]:
            number, _, outcome = line.partition(" ")
            if outcome.startswith("raised") or not outcome.strip():
                crash = f"crashed with {child.returncode}: {child.stderr[-300:]}"
                print(f"{kind} {number}: {outcome.strip() or crash}", flush=True)
            found[outcome.split(" ")[0] or "crashed"] += 1
        if not lines:
            raise SystemExit(f"A child process did not start: {child.stderr}")
        first = min(last, int(lines[-1].split(" ")[0]) + 1)
        print(f"{kind} up to {first - 1}: {_listed(found)}", flush=True)
    return found


def _listed(found: Counter[str]) -> str:
    return ", ".join(f"{n} {outcome}" for outcome, n in sorted(found.items()))


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind in CASES:
        parser.add_argument(f"--{kind}", type=int, default=500, help=f"number of {kind}")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        kind, first, stop = options.batch
        run_batch(kind, int(first), int(stop))
        return
    failed = 0
    for kind in CASES:
        start, count = time.monotonic(), getattr(options, kind)
        found = run_children(kind, options.first, options.first + count)
        failed += found["raised"] + found["crashed"]
        print(f"{count} {kind} in {time.monotonic() - start:.0f} s: {_listed(found)}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
