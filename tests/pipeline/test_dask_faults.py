"""Faults of a cluster end in the same model or a clear error, and leave nothing behind."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.pipeline.cluster_run import ClusterError, PartitionError
from tests.pipeline.dask_tables import cut, differences, make_table

pytestmark = pytest.mark.filterwarnings("ignore:This column is set aside")


@pytest.fixture
def table() -> pd.DataFrame:
    return make_table(1500)[["a", "b", "kind", "few", "skewed"]]


def once(wanted: str, act: Callable[[], None]) -> Callable[[str, int, int], None]:
    """Return a listener to progress that acts the first time that it is told of a phase."""
    acted = []

    def listen(phase: str, done: int, total: int) -> None:
        if phase == wanted and not acted:
            acted.append(phase)
            act()

    listen.acted = acted  # type: ignore[attr-defined]
    return listen


def tasks_left(client: Any) -> list[str]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left: list[str] = client.run_on_scheduler(
            lambda dask_scheduler: [
                key for key in map(str, dask_scheduler.tasks) if "admercs" in key
            ]
        )
        if not left:
            return []
        time.sleep(0.1)
    return left


def test_a_worker_that_dies_is_survived(client: Any, table: pd.DataFrame) -> None:
    def kill() -> None:
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    # Late in a fit: codes, trees, densities and evidence are lost together.
    listener = once("feedback", kill)
    model = ADMERCS(n_iter=4, verbose=listener).fit(cut(table, [500, 500]))
    assert listener.acted  # type: ignore[attr-defined]
    assert differences(ADMERCS(n_iter=4).fit(table).model_, model.model_) == []
    client.wait_for_workers(2, timeout=60)


def test_an_interrupted_fit_leaves_no_tasks_behind(client: Any, table: pd.DataFrame) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    model = ADMERCS(verbose=once("densities", interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(cut(table, [500, 500]))
    assert not hasattr(model, "model_")
    assert tasks_left(client) == []


def test_a_finished_fit_leaves_no_tasks_behind(client: Any, table: pd.DataFrame) -> None:
    ADMERCS(n_iter=2).fit(cut(table, [900]))
    assert tasks_left(client) == []


def test_a_column_of_another_type_is_named_with_its_partition(
    client: Any, table: pd.DataFrame
) -> None:
    def read(number: int) -> pd.DataFrame:
        part = table[number * 300 : number * 300 + 300]
        return part.assign(b=part["b"].astype(str)) if number == 0 else part

    lazy = dd.from_map(read, range(5), meta=table.iloc[:0])
    with pytest.raises(ValueError, match=r"Column 'b' of partition 0 .*text"):
        ADMERCS().fit(lazy)


def test_a_lacking_column_is_named_with_its_partition(client: Any, table: pd.DataFrame) -> None:
    def read(number: int) -> pd.DataFrame:
        part = table[number * 300 : number * 300 + 300]
        return part.drop(columns="few") if number == 3 else part

    lazy = dd.from_map(read, range(5), meta=table.iloc[:0])
    with pytest.raises(ValueError, match=r"Partition 3 lacks \['few'\]"):
        ADMERCS().fit(lazy)


def test_a_value_that_cannot_be_used_is_named_with_its_partition(
    client: Any, table: pd.DataFrame
) -> None:
    table.loc[1200, "skewed"] = float("inf")
    with pytest.raises(ValueError, match=r"Partition 2: Column 'skewed' contains infinity"):
        ADMERCS().fit(cut(table, [500, 500]))


def test_a_full_disk_is_an_error_that_names_the_partition(client: Any, table: pd.DataFrame) -> None:
    def read(number: int) -> pd.DataFrame:
        if number == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return table

    lazy = dd.from_map(read, range(2), meta=table.iloc[:0])
    with pytest.raises(PartitionError, match=r"Partition 1 failed: OSError.*No space left"):
        ADMERCS().fit(lazy)
    assert tasks_left(client) == []


def lone_worker(*, processes: bool) -> distributed.LocalCluster:
    """Return a cluster of one worker that says nothing of its end."""
    return distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=processes, dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )  # fmt: skip


def test_a_partition_that_kills_its_worker_is_a_clear_error(table: pd.DataFrame) -> None:
    def read(number: int) -> pd.DataFrame:
        if number == 1:
            os._exit(1)  # as the system does where memory is short
        return table

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        lone_worker(processes=True) as cluster,
        distributed.Client(cluster) as active,
    ):
        model = ADMERCS()
        with pytest.raises(ClusterError, match=r"died again and again.*memory"):
            model.fit(dd.from_map(read, range(2), meta=table.iloc[:0]))
        assert tasks_left(active) == []
    assert not hasattr(model, "model_")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def limit_memory(dask_worker: Any) -> None:
    """Let a worker have 60 MB more than it has now until it is paused."""
    manager = dask_worker.memory_manager
    used = dask_worker.monitor.get_process_memory()
    manager.memory_limit = int((used + 60e6) / manager.memory_pause_fraction)


def test_memory_that_does_not_fit_on_a_full_disk_is_a_clear_error(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"column {k}" for k in range(40)]

    def read(number: int) -> pd.DataFrame:
        return pd.DataFrame(np.random.default_rng(number).normal(size=(8000, 40)), columns=names)

    monkeypatch.setattr("admercs.pipeline.cluster_run.PATIENCE", 2.0)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, memory_limit="4GB",
            local_directory=str(small_disk), dashboard_address=":0", silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as active,
    ):  # fmt: skip
        active.run(limit_memory)
        model = ADMERCS()
        # The summaries of the partitions are larger than the memory, and far larger than the disk.
        with pytest.raises(
            ClusterError, match=r"cannot be moved to disk \(\d MB are free in .*disk"
        ):
            model.fit(dd.from_map(read, range(40), meta=read(0)[:0]))
        assert tasks_left(active) == []
    assert not hasattr(model, "model_")


def test_workers_that_are_gone_for_good_are_a_clear_error(
    table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admercs.pipeline.cluster_run.PATIENCE", 1.0)
    with (
        lone_worker(processes=False) as cluster,
        distributed.Client(cluster) as active,
    ):
        model = ADMERCS(verbose=once("trees", lambda: cluster.scale(0)))
        with pytest.raises(ClusterError, match="All workers are gone"):
            model.fit(cut(table, [900]))
        assert tasks_left(active) == []
    assert not hasattr(model, "model_")


def test_no_rows_at_all(client: Any, table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        ADMERCS().fit(cut(table[:0], [0, 0]))


def test_a_lost_scheduler_is_a_clear_error(table: pd.DataFrame) -> None:
    with (
        lone_worker(processes=False) as cluster,
        distributed.Client(cluster),
    ):  # fmt: skip
        model = ADMERCS(verbose=once("trees", cluster.close))
        with pytest.raises(ClusterError, match=r"scheduler was lost.* There is no result"):
            model.fit(cut(table, [900]))
    assert not hasattr(model, "model_")


def test_cancelled_tasks_are_a_clear_error(client: Any, table: pd.DataFrame) -> None:
    def cancel() -> None:
        mine = [key for key in client.futures if "admercs" in str(key)]
        client.cancel([distributed.Future(key) for key in mine], force=True)

    model = ADMERCS(verbose=once("trees", cancel))
    with pytest.raises(ClusterError, match="cancelled"):
        model.fit(cut(table, [500, 500]))
    assert not hasattr(model, "model_")
    assert tasks_left(client) == []


def test_workers_that_can_neither_work_nor_spill_are_a_clear_error(
    table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(dask_worker: Any) -> None:
        dask_worker.status = distributed.Status.paused

    monkeypatch.setattr("admercs.pipeline.cluster_run.PATIENCE", 1.0)
    with (
        # Without a limit of memory nobody but us pauses workers, and nobody wakes them.
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, memory_limit=0,
            dashboard_address=":0", silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        model = ADMERCS(verbose=once("trees", lambda: client.run(pause)))
        with pytest.raises(ClusterError, match="cannot be moved to disk"):
            model.fit(cut(table, [900]))
        assert tasks_left(client) == []
    assert not hasattr(model, "model_")
