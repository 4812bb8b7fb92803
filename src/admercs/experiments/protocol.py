"""The paper's protocol: choose one parameter point per algorithm and benchmark, then run it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from admercs.experiments.algorithms import Point
from admercs.experiments.benchmarks import BenchmarkSet, available, edition, list_sets
from admercs.experiments.published import ALGORITHMS, DEFAULTS, GRIDS, SELECTED
from admercs.experiments.run import Say, plan, run_tasks
from admercs.experiments.store import Result, Store, encode_point

__all__ = ["Outcome", "Scope", "best_point", "chosen", "run_protocol"]

#: How much is run: a search for parameters as in the paper, all sets with the published parameters,
#: or one set per group with these.
Scope = Literal["search", "published", "quick"]


@dataclass(frozen=True)
class Outcome:
    """What a run consisted of.

    Attributes
    ----------
    benchmarks : tuple of str
        The benchmarks that were run.
    algorithms : tuple of str
        The algorithms that were run.
    selected : dict of (str, str) to dict
        Parameters chosen for each algorithm and benchmark.
    absent : list of str
        Sets that could not be run because their files are absent.
    quick : bool
        Whether only a part of the sets was run, with the published parameters.
    """

    benchmarks: tuple[str, ...]
    algorithms: tuple[str, ...]
    selected: dict[tuple[str, str], Point]
    absent: list[str]
    quick: bool


def best_point(
    results: Iterable[Result], points: Sequence[Point], sets: Sequence[BenchmarkSet]
) -> Point:
    """Choose the first of the points with the highest average AUC over the sets."""
    wanted = {(item.name, item.version) for item in sets}
    found: dict[str, list[float]] = defaultdict(list)
    for result in results:
        if (result.name, result.version) in wanted:
            found[result.parameters].append(result.auc)
    complete = {key: np.mean(v) for key, v in found.items() if len(v) == len(wanted)}
    if not complete:
        raise ValueError("no parameter point has been run on all of the sample")
    return max(points, key=lambda point: complete.get(encode_point(point), -np.inf))


def run_protocol(
    store: Store,
    benchmarks: Sequence[str],
    *,
    scope: Scope = "search",
    defaults: bool = False,
    data: str | Path | None = None,
    jobs: int = 1,
    say: Say | None = None,
) -> Outcome:
    """Run everything that is not in the store yet."""
    algorithms = ALGORITHMS + ((DEFAULTS,) if defaults else ())
    sets, absent = {}, []
    for benchmark in benchmarks:
        store.renew(benchmark, edition(benchmark))
        sets[benchmark], missing = available(list_sets(benchmark, quick=scope == "quick"), data)
        absent += missing
    if scope == "search":
        tasks = [
            task
            for benchmark in benchmarks
            for algorithm in ALGORITHMS
            for task in plan(algorithm, _sample(sets[benchmark]), GRIDS[algorithm], store)
        ]
        run_tasks(tasks, store, data=data, jobs=jobs, say=say)
    selected: dict[tuple[str, str], Point] = {}
    for benchmark in benchmarks:
        known = [r for r in store.all() if r.benchmark == benchmark]
        for algorithm in algorithms:
            selected[algorithm, benchmark] = _choose(
                algorithm, benchmark, known, _sample(sets[benchmark]), scope == "search"
            )
    tasks = [
        task
        for (algorithm, benchmark), point in selected.items()
        for task in plan(algorithm, sets[benchmark], [point], store)
    ]
    run_tasks(tasks, store, data=data, jobs=jobs, say=say)
    return Outcome(tuple(benchmarks), algorithms, selected, sorted(set(absent)), scope == "quick")


def _sample(sets: Sequence[BenchmarkSet]) -> list[BenchmarkSet]:
    return [item for item in sets if item.in_sample]


def _choose(
    algorithm: str,
    benchmark: str,
    known: Sequence[Result],
    sample: Sequence[BenchmarkSet],
    search: bool,
) -> Point:
    """Return the parameters to run an algorithm with."""
    if algorithm == DEFAULTS:
        return {}
    if not search or not sample:
        return SELECTED[algorithm, benchmark]
    mine = [result for result in known if result.algorithm == algorithm]
    return best_point(mine, GRIDS[algorithm], sample)


def chosen(results: Iterable[Result], outcome: Outcome) -> list[Result]:
    """Keep the results with the chosen parameters, on the sets of the outcome."""
    points = {key: encode_point(point) for key, point in outcome.selected.items()}
    wanted = {
        (item.benchmark, item.name, item.version)
        for benchmark in outcome.benchmarks
        for item in list_sets(benchmark, quick=outcome.quick)
    }
    return [
        r
        for r in results
        if points.get((r.algorithm, r.benchmark)) == r.parameters
        and (r.benchmark, r.name, r.version) in wanted
    ]
