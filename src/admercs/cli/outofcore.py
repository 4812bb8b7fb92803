"""Learning from a table that does not fit into memory: through files on disk and worker processes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admercs.cli.errors import UserError, os_error
from admercs.cli.scoring import blamed, without
from admercs.cli.sinks import scratch_folder
from admercs.cli.tables import Table

if TYPE_CHECKING:
    from admercs import ADMERCS

__all__ = ["dask_is_installed", "fit_out_of_core"]


def dask_is_installed() -> bool:
    """Say whether tables can be learned from out of core."""
    return find_spec("distributed") is not None


def fit_out_of_core(
    detector: ADMERCS, table: Table, memory: str, jobs: int, told: Callable[[int], None]
) -> tuple[ADMERCS, int]:
    """Fit a detector to all rows of a table within a limit of memory.

    The table is written to a temporary folder first, a stretch of rows at a time: workers need pieces that they
    can read by themselves, and so every source that can be read will do.

    Parameters
    ----------
    detector : ADMERCS
        To be fitted.
    table : Table
        The source.
    memory : str
        What all workers together may use, such as ``"4GB"``, or ``"auto"``.
    jobs : int
        Worker processes.
    told : callable
        Told how many rows are read.

    Returns
    -------
    detector : ADMERCS
        Fitted.
    n_rows : int
        Rows of the table.
    """
    try:
        import dask.dataframe as dd

        from admercs.distributed import ClusterError, PartitionError, local_cluster
    except ImportError:
        raise UserError("--dask needs Dask: pip install 'admercs[dask]'.") from None
    with scratch_folder() as folder:
        n_rows = spool(table, folder, told)
        try:
            with local_cluster(memory, jobs), blamed(table.name):
                # Columns stay in Arrow's types, which are those that scoring reads.
                detector.fit(dd.read_parquet(folder, dtype_backend="pyarrow"))
        except (ClusterError, PartitionError) as error:
            raise UserError(f"{table.name}: {error}") from error
    # It would refer to files that are gone.
    del detector.scores_
    return detector, n_rows


def spool(table: Table, folder: Path, told: Callable[[int], None]) -> int:
    """Write a table to Parquet files, one for each stretch of rows; return the number of rows."""
    import pyarrow.parquet as pq

    n_rows = 0
    for number, batch in enumerate(table.batches()):
        rows: Any = without(batch, table.id)
        path = folder / f"{number:06d}.parquet"
        try:
            pq.write_table(rows, path, compression="lz4")
        except OSError as error:
            raise os_error(error, path, "write a temporary copy of the table to") from error
        n_rows += len(batch)
        told(n_rows)
    if not n_rows:
        raise UserError(f"{table.name} has no rows.")
    return n_rows
