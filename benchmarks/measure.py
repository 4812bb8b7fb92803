"""What the benchmark scripts share: sets, figures, results on disk, tables, progress."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from admercs.datasets import (
    DataNotFoundError,
    insert_errors,
    list_oddbench,
    load_oddbench,
)
from admercs.experiments.benchmarks import BenchmarkSet, available, list_sets, load_set
from admercs.experiments.document import Table
from admercs.experiments.published import BENCHMARKS as PAPER
from admercs.experiments.run import duration

RESULTS = Path(__file__).parent / "results"
CLEAN, CONTAMINATED, EXCHANGED = "OddBench, clean", "OddBench, contaminated", "exchanged values"
BENCHMARKS = (*PAPER, CLEAN, CONTAMINATED, EXCHANGED)
HALVES = ("choose", "confirm")

# Of the paper's benchmarks: one version of each set, and none so large that a run takes minutes.
MAX_VERSION, MAX_CELLS = 1, 200_000
# Exchanged values: files of less than 400 KB, and what is left of them.
MAX_BYTES, MAX_ROWS, MIN_ROWS, MIN_COLUMNS, MAX_COLUMNS = 400_000, 2000, 300, 4, 30


class Case(NamedTuple):
    """Rows to learn from, rows to score, and which of these are anomalous."""

    fit: np.ndarray
    score: np.ndarray
    y: np.ndarray
    wrong: np.ndarray | None = None  # per cell, where that is known
    right: np.ndarray | None = None  # the rows without errors, where these are known


Load = Callable[[], Case]


def half_of(name: str) -> str:
    """Return the half that a set is in: by the last bit of the MD5 hash of its name."""
    return HALVES[int(hashlib.md5(name.encode()).hexdigest(), 16) % 2]


def list_cases(
    benchmark: str, half: str | None = None, cells: int = MAX_CELLS, rows: int = 10_000
) -> dict[str, Load]:
    """Return the sets at hand by name, to be loaded one by one.

    `half` restricts the sets of OddBench; the paper's sets are no blind test anyway. `cells` is
    the size of the paper's largest sets, `rows` the most rows of a set of OddBench.
    """
    if benchmark in PAPER:
        present, _ = available(list_sets(benchmark), None)
        if not present:
            raise DataNotFoundError(f"no file of {benchmark} is at hand")
        return {
            item.name: partial(_load_paper, item)
            for item in present
            if item.version <= MAX_VERSION and item.cells <= cells
        }
    cases: dict[str, Load]
    if benchmark == EXCHANGED:
        cases = {name: partial(load_wrong, name) for name in list_plain_rows()}
    else:
        cases = {name: partial(load_odd, name, benchmark, rows) for name in list_oddbench()}
    return {name: load for name, load in cases.items() if half in (None, half_of(name))}


def _load_paper(item: BenchmarkSet) -> Case:
    data = load_set(item)
    return Case(data.X, data.X, data.y)


def load_odd(name: str, protocol: str, rows: int = 10_000) -> Case:
    """Load a set of OddBench for one of the two protocols."""
    data = load_oddbench(name, max_rows=rows)
    return Case(data.train if protocol == CLEAN else data.test, data.test, data.y)


def load_plain_rows(name: str) -> np.ndarray:
    """Return up to 2,000 normal rows of a set of OddBench, without constant columns."""
    rows = load_oddbench(name, max_rows=None).train
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]]
    return rows[:, np.ptp(rows, axis=0) > 0]


def list_plain_rows() -> list[str]:
    """List the sets of OddBench that wrong values are put into."""
    return [name for name in list_oddbench(max_bytes=MAX_BYTES) if _fits(load_plain_rows(name))]


def _fits(X: np.ndarray) -> bool:
    return len(X) >= MIN_ROWS and MIN_COLUMNS <= X.shape[1] <= MAX_COLUMNS


def load_wrong(name: str, error: str = "exchange") -> Case:
    """Load normal rows of a set of OddBench and put errors into them."""
    rows = load_plain_rows(name)
    data = insert_errors(rows, error)
    return Case(data.X, data.X, data.y, data.wrong, rows)


def auc_ap(y: np.ndarray, scores: np.ndarray) -> list[float]:
    """Return AUC and average precision; scores may be infinite, and ties stay ties."""
    finite = np.nan_to_num(scores, nan=-1e300, posinf=1e300, neginf=-1e300)
    return [float(roc_auc_score(y, finite)), float(average_precision_score(y, finite))]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep advice about columns, which is meant for users, out of a benchmark."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Results:
    """Results in a JSON file, by the parts of a key; each is written as soon as it is known."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def __contains__(self, key: Sequence[str]) -> bool:
        return "|".join(key) in self._known

    def __getitem__(self, key: Sequence[str]) -> Any:
        return self._known["|".join(key)]

    def __setitem__(self, key: Sequence[str], value: Any) -> None:
        self._known["|".join(key)] = value
        self._write()

    def forget(self, part: str) -> None:
        """Remove all results that have this part in their key."""
        self._known = {k: v for k, v in self._known.items() if part not in k.split("|")}
        self._write()

    def _write(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        # The file is replaced at once, so an interrupted run leaves a whole one.
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self._known, indent=0, sort_keys=True) + "\n")
        os.replace(new, self.path)


def run(
    results: Results,
    tasks: dict[tuple[str, ...], Load],
    methods: dict[str, Callable[[Case], Any]],
) -> None:
    """Compute what is not known yet, each method on each case, and print how it goes.

    The key of a result is the key of its case and the name of the method.
    """
    missing = {
        key: todo
        for key in tasks
        if (todo := [name for name in methods if (*key, name) not in results])
    }
    start = time.monotonic()
    for done, (key, names) in enumerate(missing.items(), start=1):
        case = tasks[key]()
        for name in names:
            # One thread each: on small tables several only wait for each other.
            with quiet(), threadpool_limits(1):
                results[*key, name] = methods[name](case)
        left = (time.monotonic() - start) / done * (len(missing) - done)
        print(f"[{done}/{len(missing)}] {': '.join(key)}; about {duration(left)} left", flush=True)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return Table(tuple(header), tuple(map(tuple, rows))).markdown() + "\n"


def new_parser(description: str | None, methods: Iterable[str]) -> argparse.ArgumentParser:
    """Return a parser with the options that choose sets and drop results."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=HALVES, help="only this half of the sets, by a hash")
    parser.add_argument("--first", type=int, help="only so many sets")
    parser.add_argument("--again", choices=list(methods), help="compute its results again")
    return parser


def open_results(name: str, again: str | None) -> Results:
    """Open the results of a script, without those that are to be computed again."""
    results = Results(RESULTS / f"{name}.json")
    if again:
        results.forget(again)
    return results


def publish(name: str, options: argparse.Namespace, text: str) -> None:
    """Print a summary, and write it beside the results unless it is of a few sets only."""
    if options.first is None:
        part = f"-{options.half}" if options.half else ""
        (RESULTS / f"{name}{part}.md").write_text(text)
    print(text)


def stop_without_data(main: Callable[[], None]) -> None:
    """Run a script; where its data are absent say so instead of showing a traceback."""
    try:
        main()
    except DataNotFoundError as error:
        sys.exit(f"{error}. Set ADMERCS_DATA to the folder that holds the data.")
    except KeyboardInterrupt:
        sys.exit("Stopped; run the same command again to go on.")
