"""Planning and running: what is not in the store yet is computed and stored at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs.experiments.algorithms import REGISTRY, Point
from admercs.experiments.benchmarks import BenchmarkSet, load_set
from admercs.experiments.store import Result, Store, encode_point

__all__ = ["Task", "plan", "run_tasks"]

Say = Callable[[str], None]
#: Rough seconds of a run: fixed, per thousand cells, and the power of the number of points it
#: grows with (less than 1 where points share work). For the estimate of the time left only.
_COST = {
    "AD-MERCS": (0.01, 0.03, 0.5),
    "ADMERCS()": (0.05, 0.05, 1.0),
    "ALSO": (0.05, 0.1, 0.35),
    "HBOS": (0.01, 0.001, 1.0),
    "HiCS": (0.1, 0.02, 0.2),
    "iForest": (0.4, 0.004, 0.8),
    "kNN": (0.01, 0.002, 0.3),
    "LOF": (0.01, 0.002, 0.6),
}
#: Seconds that the estimate is trusted before anything has been measured.
_TRUST = 20.0


@dataclass(frozen=True)
class Task:
    """One algorithm on one set, for all parameter points still missing."""

    algorithm: str
    item: BenchmarkSet
    points: tuple[Point, ...]

    @property
    def cost(self) -> float:
        """Roughly how many seconds it takes."""
        fixed, per_thousand, power = _COST.get(self.algorithm, (1.0, 0.01, 1.0))
        return (fixed + per_thousand * self.item.cells / 1000) * len(self.points) ** power


def plan(
    algorithm: str, sets: Iterable[BenchmarkSet], points: Sequence[Point], store: Store
) -> list[Task]:
    """List what is missing in the store."""
    known = store.keys()
    tasks = []
    for item in sets:
        key = (item.benchmark, item.name, item.version)
        missing = tuple(p for p in points if (algorithm, encode_point(p), *key) not in known)
        if missing:
            tasks.append(Task(algorithm, item, missing))
    return tasks


def evaluate(task: Task, data: str | Path | None, store: Store) -> int:
    """Run a task, writing every result as soon as it is known; return how many there were."""
    loaded = load_set(task.item, data)
    count = 0
    for scored in REGISTRY[task.algorithm](loaded.X, task.points):
        # Infinite scores are possible where rows coincide, and ties must stay ties.
        scores = np.nan_to_num(scored.scores, nan=-1e300, posinf=1e300, neginf=-1e300)
        result = Result(
            algorithm=task.algorithm,
            parameters=encode_point(scored.point),
            benchmark=task.item.benchmark,
            name=task.item.name,
            version=task.item.version,
            auc=float(roc_auc_score(loaded.y, scores)),
            ap=float(average_precision_score(loaded.y, scores)),
            seconds=scored.seconds,
        )
        store.add([result])
        count += 1
    return count


def _in_process(task: Task, data: str | Path | None, path: Path) -> int:
    with Store(path) as store:
        return evaluate(task, data, store)


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    data: str | Path | None = None,
    jobs: int = 1,
    say: Say | None = None,
) -> None:
    """Run tasks, the cheap ones first, and tell how it goes."""
    progress = _Progress(tasks, say or _to_stderr)
    ordered = sorted(tasks, key=lambda task: task.cost)
    if jobs == 1:
        for task in ordered:
            evaluate(task, data, store)
            progress.done(task)
        return
    # Forked processes would share the store's connection and the threads of compiled code.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_in_process, task, data, store.path): task for task in ordered}
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = waiting.pop(future)
                    future.result()
                    progress.done(task)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Progress:
    """Counts what is done and estimates the time left from the cost so far."""

    def __init__(self, tasks: Sequence[Task], say: Say) -> None:
        self._say = say
        self._n, self._done = len(tasks), 0
        self._cost, self._total = 0.0, sum(task.cost for task in tasks)
        self._start = time.monotonic()

    def done(self, task: Task) -> None:
        """Note that a task is finished and say so."""
        self._done += 1
        self._cost += task.cost
        spent = time.monotonic() - self._start
        pace = (spent + _TRUST) / (self._cost + _TRUST)
        left = pace * max(0.0, self._total - self._cost)
        item, n = task.item, len(task.points)
        self._say(
            f"[{self._done}/{self._n}] {item.benchmark} {item.name} v{item.version}: "
            f"{task.algorithm}, {n} setting{'s' * (n != 1)}; about {duration(left)} left"
        )


def duration(seconds: float) -> str:
    """Write a time span for people.

    Examples
    --------
    >>> from admercs.experiments.run import duration
    >>> duration(42), duration(600), duration(8000)
    ('42 s', '10 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
