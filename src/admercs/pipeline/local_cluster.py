"""A cluster on this machine, for those who have none."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import dask
from distributed import Client, LocalCluster, default_client


@contextmanager
def some_client() -> Iterator[Client]:
    """Use the active client; without one, a local cluster for as long as it takes.

    The local one works in threads of this process: that needs no ``if __name__ == "__main__"`` in
    the user's script, and compiled code and Parquet readers run in parallel in threads. Use
    `local_cluster` for worker processes with a memory limit each.
    """
    with ExitStack() as stack:
        try:
            client = default_client()
        except ValueError:
            workers = {"n_workers": 1, "threads_per_worker": os.cpu_count(), "processes": False}
            cluster = stack.enter_context(LocalCluster(**workers, dashboard_address=":0"))
            client = stack.enter_context(Client(cluster))
        yield client


_SETTINGS = {
    # Nobody watches these workers: what a dashboard would show need not be sampled a hundred times
    # a second.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # By default workers give every freed piece of memory back to the system at once, so does
    # Arrow's allocator, and a third of their time goes into getting it again. One allocator for all
    # threads keeps what is kept small.
    "distributed.nanny.pre-spawn-environ": {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": 1,
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1),
    },
}


@contextmanager
def local_cluster(
    memory_limit: str | int = "auto", n_workers: int | None = None
) -> Iterator[Client]:
    """Start worker processes on this machine within a memory limit; they end with the context.

    What does not fit into a worker's memory goes to disk, so that a table may be larger than the
    machine's memory. As in every script that starts processes, call it under
    ``if __name__ == "__main__"``.

    Parameters
    ----------
    memory_limit : str or int, default="auto"
        What all workers together may use, such as ``"4GB"``; "auto" is the machine's memory.
    n_workers : int, optional
        Worker processes of one thread each; by default one per processor.

    Yields
    ------
    distributed.Client
        The active client: ``ADMERCS().fit(table)`` uses it.
    """
    n = n_workers or os.cpu_count() or 1
    limit = "auto" if memory_limit == "auto" else dask.utils.parse_bytes(memory_limit) // n
    workers = {"n_workers": n, "threads_per_worker": 1, "processes": True, "memory_limit": limit}
    quiet = {"dashboard_address": ":0", "silence_logs": logging.ERROR}
    with (
        dask.config.set(_SETTINGS),
        LocalCluster(**workers, **quiet) as cluster,
        Client(cluster) as client,
    ):
        yield client
