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
from typing import IO, TYPE_CHECKING, Any, Self

from admercs.atomic import atomic_write
from admercs.cli.errors import DISK_FULL, UsageError, UserError, os_error, os_errors

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson")
FileId = tuple[int, int]


def file_id(status: os.stat_result) -> FileId:
    """Return what two names of one file have in common."""
    return status.st_dev, status.st_ino


@contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file with `atomic_write`; an error says which file it is about.

    The temporary file is made at once: a place that cannot be written to is found out before the
    work, not after it.
    """
    with ExitStack() as stack:
        with os_errors(path):
            stream = stack.enter_context(atomic_write(path))
        yield stream
        with os_errors(path):
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


class _Sink:
    """Writes tables to a stream in the format of an ending."""

    def __init__(self, stream: IO[bytes], path: str, ending: str) -> None:
        self._stream, self._path, self._ending = stream, path, ending
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq
        from pyarrow import csv

        with os_errors(self._path):
            if self._ending not in (".csv", ".parquet"):
                self._stream.writelines(map(_json_line, table.to_pylist()))
                return
            if self._writer is None and self._ending == ".csv":
                options = csv.WriteOptions(quoting_style="needed")
                self._writer = csv.CSVWriter(self._stream, table.schema, write_options=options)
            elif self._writer is None:
                self._writer = pq.ParquetWriter(self._stream, table.schema, compression="zstd")
            self._writer.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # Closing writes a footer. With a full disk that fails again; the first error counts.
        ignored = () if kind is None else (UserError, OSError)
        with suppress(*ignored), os_errors(self._path):
            if self._writer is not None:
                self._writer.close()
            self._stream.flush()


def _json_line(row: dict[str, Any]) -> bytes:
    line = json.dumps(row, ensure_ascii=False, default=str)
    return line.encode("utf-8", "replace") + b"\n"


@dataclass(frozen=True)
class Outputs:
    """Files to be written, opened before the work starts."""

    sink: _Sink | None
    streams: dict[str, IO[bytes]]
    paths: dict[str, str]

    def write(self, what: str, content: bytes) -> None:
        """Write the whole content of one of the streams."""
        with os_errors(self.paths[what]):
            self.streams[what].write(content)

    def check(self, inputs: Collection[FileId]) -> None:
        """Refuse to replace a file that is read."""
        for what, path in self.paths.items():
            if os.path.isfile(path) and file_id(os.stat(path)) in inputs:
                raise UsageError(f"--{what} {path} is what is read: choose another name.")


@contextmanager
def open_outputs(out: str | None, **paths: str | None) -> Iterator[Outputs]:
    """Open all outputs; none of them takes its place unless the work succeeds.

    `out` is where the scores go, in the format of its ending; ``-`` is CSV on standard output. The
    others are streams of bytes.
    """
    is_file = out not in (None, "-")
    ending = Path(out).suffix.lower() if out and is_file else ".csv"
    if ending not in ENDINGS:
        raise UsageError(f"--out {out}: the name must end in {', '.join(ENDINGS)}, or be -.")
    given = {"out": out if is_file else None, **paths}
    wanted = {what: path for what, path in given.items() if path is not None}
    taken: dict[str, str] = {}
    for what, path in wanted.items():
        place = os.path.realpath(path)
        if place in taken and not (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(
                f"--{what} {path} is written by --{taken[place]} already: choose another name."
            )
        taken[place] = what
    with ExitStack() as stack:
        streams = {what: stack.enter_context(whole_file(path)) for what, path in wanted.items()}
        sink = None
        if is_file:
            sink = stack.enter_context(_Sink(streams["out"], wanted["out"], ending))
        elif out == "-":
            sink = stack.enter_context(_Sink(sys.stdout.buffer, "standard output", ending))
        yield Outputs(sink, streams, wanted)
