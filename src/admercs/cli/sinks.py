"""The files that a command writes: all are complete, or none is there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from admercs.atomic import atomic_write
from admercs.cli.errors import DISK_FULL, UsageError, UserError, os_error, writing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FileId",
    "Outputs",
    "file_id",
    "open_outputs",
    "open_sink",
    "scratch_folder",
    "whole_file",
]

ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson")
FileId = tuple[int, int]


def file_id(status: os.stat_result) -> FileId:
    """Return what two names of one file have in common."""
    return status.st_dev, status.st_ino


@contextmanager
def whole_file(path: str, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file with `atomic_write`; an error says which file it is about.

    The temporary file is made at once: a place that cannot be written to is found out before the
    work, not after it.
    """
    with ExitStack() as stack:
        with writing(path):
            stream = stack.enter_context(atomic_write(path, mode))
        yield stream
        with writing(path):
            stack.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a temporary folder, and say so when there is no room in it."""
    with tempfile.TemporaryDirectory(prefix="admercs-") as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            place = f"to the temporary folder {tempfile.gettempdir()}"
            message = os_error(error, place, "write")
            raise UserError(f"{message} TMPDIR=/another/folder says where.") from error


class _JsonWriter:
    """Writes JSON lines, as pyarrow's writers write their formats."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write_table(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            line = json.dumps(row, ensure_ascii=False, default=str)
            self._stream.write(line.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        pass


class _Sink:
    """Writes tables to a stream in the format of an ending."""

    def __init__(self, stream: IO[bytes], path: str, ending: str) -> None:
        self._stream, self._path, self._ending = stream, path, ending
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        with writing(self._path):
            if self._writer is None:
                self._writer = self._make_writer(table.schema)
            self._writer.write_table(table)

    def _make_writer(self, schema: pa.Schema) -> Any:
        import pyarrow.parquet as pq
        from pyarrow import csv

        if self._ending == ".csv":
            options = csv.WriteOptions(quoting_style="needed")
            return csv.CSVWriter(self._stream, schema, write_options=options)
        if self._ending == ".parquet":
            return pq.ParquetWriter(self._stream, schema, compression="zstd")
        return _JsonWriter(self._stream)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._stream.flush()


@contextmanager
def open_sink(path: str | None) -> Iterator[_Sink | None]:
    """Open a file of scores, its format chosen by its ending; ``-`` is CSV on standard output."""
    if path is None:
        yield None
        return
    ending = Path(path).suffix.lower()
    if path != "-" and ending not in ENDINGS:
        raise UsageError(f"--out {path}: the name must end in {', '.join(ENDINGS)}, or be -.")
    with ExitStack() as stack:
        if path == "-":
            sink = _Sink(sys.stdout.buffer, "standard output", ".csv")
        else:
            sink = _Sink(stack.enter_context(whole_file(path)), path, ending)
        try:
            yield sink
        except BaseException:
            # Closing writes a footer; with a full disk that fails again, and the first error counts.
            with suppress(OSError):
                sink.close()
            raise
        with writing("standard output" if path == "-" else path):
            sink.close()


@dataclass(frozen=True)
class Outputs:
    """Files to be written, opened before the work starts."""

    sink: _Sink | None
    streams: dict[str, IO[Any]]
    paths: dict[str, str]

    def check(self, inputs: Collection[FileId]) -> None:
        """Refuse to replace a file that is read."""
        for what, path in self.paths.items():
            if os.path.isfile(path) and file_id(os.stat(path)) in inputs:
                raise UsageError(f"--{what} {path} is what is read: choose another name.")


@contextmanager
def open_outputs(out: str | None, **paths: str | None) -> Iterator[Outputs]:
    """Open all outputs; none of them takes its place unless the work succeeds.

    Parameters
    ----------
    out : str or None
        Where the scores go.
    **paths : str or None
        Where other things go; each is a stream of bytes.
    """
    wanted = {what: path for what, path in {"out": out, **paths}.items() if path not in (None, "-")}
    taken: dict[str, str] = {}
    for what, path in wanted.items():
        place = os.path.realpath(path)
        if place in taken and not (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(
                f"--{what} {path} is written by --{taken[place]} already: choose another name."
            )
        taken[place] = what
    with ExitStack() as stack:
        streams = {
            what: stack.enter_context(whole_file(path))
            for what, path in paths.items()
            if path is not None
        }
        yield Outputs(stack.enter_context(open_sink(out)), streams, wanted)
