"""One fit on a Dask cluster: passes over the partitions, merging, and leaving nothing behind."""

from __future__ import annotations

import shutil
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import dask
from dask.dataframe import DataFrame
from distributed import Client, Future, as_completed
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from admercs.progress import Progress

FAN_IN = 8  # partial results that are merged at a time: few enough for a worker's memory
PATIENCE = 30.0  # seconds without any progress after which the state of the workers is checked

_STUCK = {
    "paused": "All workers are paused: their memory is full, and what they hold cannot be moved to "
    "disk{disk}. There is no result: make room on the disk of their local directory, give them "
    "more memory, or cut the table into smaller partitions.",
    "gone": "All workers are gone, and none came back. There is no result: try again when there "
    "are workers.",
}


class ClusterError(RuntimeError):
    """The cluster could not do the work; there is no result."""


class PartitionError(RuntimeError):
    """A partition could not be read or worked on; the message names it."""


class ClusterRun(AbstractContextManager["ClusterRun"]):
    """Passes over the partitions of a table on a cluster.

    Everything that a pass leaves on the cluster is forgotten at the end, however that comes about.
    All tasks are pure functions of their arguments and no data is placed on workers by hand, so
    that what a lost worker held can always be computed again.
    """

    def __init__(self, client: Client, table: DataFrame, progress: Progress | None = None) -> None:
        self.client, self._table, self._progress = client, table, progress
        self.n_parts = int(table.npartitions)
        self._futures: weakref.WeakValueDictionary[str, Future] = weakref.WeakValueDictionary()
        self._had_workers = bool(client.nthreads())

    def read(
        self, phase: str, function: Callable[..., Any], *args: Any,
        each: Sequence[Sequence[Any]] = (), columns: Sequence[int] | None = None,
    ) -> list[Future]:  # fmt: skip
        """Read the raw table once: call ``function(partition, *each[p], *args)`` per partition.

        Returns when all partitions are done; the results stay on the workers. `columns` are the
        positions of the columns to read, all by default. Futures among `args`, and among the
        arguments in `each` that differ between partitions, arrive as their values.
        """
        table = self._table if columns is None else self._table[list(self._table.columns[columns])]
        # Dask's full optimisation joins partitions where few columns are read. Each must stay as it
        # is, since what is known of its rows already belongs to it.
        parts = table.simplify().to_delayed(optimize_graph=False)
        name, task = _name(function), dask.delayed(function, pure=False)
        tasks = [
            task(part, *(column[p] for column in each), *args, dask_key_name=f"{name}-{p}")
            for p, part in enumerate(parts)
        ]
        futures: list[Future] = self.client.compute(tasks)
        self._futures.update({future.key: future for future in futures})
        self.wait(phase, futures)
        return futures

    def submit(self, function: Callable[..., Any], *args: Any) -> Future:
        """Run a function on a worker; futures among the arguments arrive as their values."""
        future: Future = self.client.submit(function, *args, key=_name(function))
        self._futures[future.key] = future
        return future

    def share(self, value: Any) -> Future:
        """Give workers a value once instead of with every task."""
        return self.submit(_itself, value)

    def reduce(self, function: Callable[..., Any], futures: Sequence[Future], *args: Any) -> Future:
        """Merge partial results in a tree of ``function(list, *args)``."""
        while True:
            futures = [
                self.submit(function, list(futures[i : i + FAN_IN]), *args)
                for i in range(0, max(1, len(futures)), FAN_IN)
            ]
            if len(futures) == 1:
                return futures[0]

    def result(self, future: Any) -> Any:
        """Bring a small result, or a list of them, to the client."""
        self.wait("", future if isinstance(future, list) else [future])
        return self.client.gather(future)

    def wait(self, phase: str, futures: Sequence[Future]) -> None:
        """Wait until all are done; say how far it is, and raise the first error."""
        waiting = {future.key: future for future in futures}
        stuck = ""
        while waiting:
            before = len(waiting)
            try:
                for future in as_completed(list(waiting.values()), timeout=PATIENCE):
                    if future.status != "finished":
                        _raise_error_of(future, futures)
                    del waiting[future.key]
                    if phase:
                        self.tell(phase, len(futures) - len(waiting), len(futures))
            except TimeoutError:
                was_stuck, stuck = stuck, self._standstill()
                if stuck and stuck == was_stuck and len(waiting) == before:
                    raise ClusterError(_STUCK[stuck].format(disk=self._fullest_disk())) from None

    def _standstill(self) -> str:
        """Say what keeps all workers from working, if anything does."""
        state: str = self.client.run_on_scheduler(_workers_state)
        if state == "gone" and not self._had_workers:
            return ""  # a cluster that is still starting
        self._had_workers = self._had_workers or state != "gone"
        return state

    def _fullest_disk(self) -> str:
        """Say how much room there is left where workers move data to."""
        rooms: dict[str, tuple[int, str]] = self.client.run(_room_on_disk, on_error="ignore")
        if not rooms:
            return ""
        worker, (room, folder) = min(rooms.items(), key=lambda item: item[1])
        return f" ({room / 1e6:,.0f} MB are free in {folder} of {worker})"

    def tell(self, phase: str, done: int, total: int) -> None:
        """Report progress."""
        if self._progress is not None:
            self._progress(phase, done, total)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        # Frames of a traceback may hold futures for long; without this their tasks would go on.
        for future in list(self._futures.values()):
            future.release()
        connected = self.client.status == "running"
        if isinstance(error, (CommClosedError, CancelledError, TimeoutError)) or (
            not connected and isinstance(error, Exception) and not isinstance(error, ClusterError)
        ):
            raise _lost(error) from error


def _workers_state(dask_scheduler: Any) -> str:
    """Say, on the scheduler, why no worker takes up any task; nothing if one does."""
    workers = dask_scheduler.workers.values()
    if not workers:
        return "gone"
    return "paused" if all(worker.status.name == "paused" for worker in workers) else ""


def _room_on_disk(dask_worker: Any) -> tuple[int, str]:
    """Return, on a worker, how many bytes are free where it moves data to, and where that is."""
    folder = dask_worker.local_directory
    return shutil.disk_usage(folder).free, folder


def _name(function: Callable[..., Any]) -> str:
    """Return a new name of a task; Dask's dashboard shows words with hyphens between them."""
    return f"admercs-{function.__name__.strip('_').replace('_', '-')}-{uuid.uuid4().hex}"


def _itself(value: Any) -> Any:
    return value


def _lost(error: BaseException) -> ClusterError:
    return ClusterError(
        f"The connection to the Dask scheduler was lost, or its tasks were cancelled ({error!r}). "
        "There is no result: try again when the cluster is there."
    )


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Say in errors which partition it was: all that the table's own checks cannot say."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if f"artition {number}" in str(error):
            raise
        raise type(error)(f"Partition {number}: {error}") from error


def _raise_error_of(future: Future, futures: Sequence[Future]) -> NoReturn:
    """Raise the error of a task in words that say what to do."""
    error = future.exception() if future.status == "error" else None
    if error is None:
        raise _lost(CancelledError(future.status))
    if isinstance(error, KilledWorker):
        raise ClusterError(
            f"Workers died again and again while working on the same task ({error}). The usual "
            "cause is memory: cut the table into smaller partitions, or give the workers more, and "
            "room on disk to move data to."
        ) from error
    if not future.key.rpartition("-")[2].isdigit():
        raise error
    number = [other.key for other in futures].index(future.key)
    if isinstance(error, ValueError | TypeError):
        with naming(number):
            raise error
    raise PartitionError(f"Partition {number} failed: {type(error).__name__}: {error}") from error
