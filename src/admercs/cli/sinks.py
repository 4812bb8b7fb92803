"""Writing files that are either complete or not there."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admercs.cli.errors import DISK_FULL, UsageError, UserError, os_error

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_ending", "open_sink", "scratch_folder", "whole_file", "writing"]

ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson")


def check_ending(path: str) -> None:
    """Refuse a file of scores whose ending says nothing about its format."""
    if path != "-" and Path(path).suffix.lower() not in ENDINGS:
        raise UsageError(f"--out {path}: the name must end in {', '.join(ENDINGS)}, or be -.")


@contextmanager
def whole_file(path: str) -> Iterator[Path]:
    """Give a temporary name to write to; it takes the place of ``path`` when all went well.

    The temporary file lies in the same folder and is made at once: a place that cannot be written
    to is found out before the work, not after it.
    """
    if _is_device(path):
        with _handed_over(path) as temporary:
            yield temporary
        return
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "is a directory")
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
        os.close(handle)
    except OSError as error:
        raise os_error(error, path, "write") from error
    temporary = Path(name)
    try:
        yield temporary
        with writing(path):
            with temporary.open("r+b") as stream:
                os.fsync(stream.fileno())
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _is_device(path: str) -> bool:
    """Tell a device or a pipe, which cannot be replaced by a file, from a place for one."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _handed_over(path: str) -> Iterator[Path]:
    """Give a temporary file; what it holds goes to a device or a pipe when all went well."""
    with scratch_folder() as folder:
        temporary = folder / "file"
        temporary.touch()
        yield temporary
        with writing(path), temporary.open("rb") as content, open(path, "wb") as device:
            shutil.copyfileobj(content, device)


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
            told = os_error(error, place, "write")
            raise UserError(f"{told} TMPDIR=/another/folder says where.") from error


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Say which file could not be written, and why."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise os_error(error, path, "write") from error


class _CsvSink:
    """Also used for standard output, so it only needs something to write bytes to."""

    def __init__(self, where: Any) -> None:
        self._where = where
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        from pyarrow import csv

        if self._writer is None:
            options = csv.WriteOptions(quoting_style="needed")
            self._writer = csv.CSVWriter(self._where, table.schema, write_options=options)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _ParquetSink:
    def __init__(self, where: Any) -> None:
        self._where = where
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._where, table.schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _JsonSink:
    def __init__(self, where: Any) -> None:
        self._where = where

    def write(self, table: pa.Table) -> None:
        for row in table.to_pylist():
            line = json.dumps(row, ensure_ascii=False, default=str)
            self._where.write(line.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        pass


@contextmanager
def open_sink(path: str | None) -> Iterator[Any]:
    """Open a file of scores, its format chosen by its ending; ``-`` is CSV on standard output.

    Yields something with a ``write(table)``, or None without a path.
    """
    if path is None:
        yield None
        return
    check_ending(path)
    if path == "-":
        yield from _fed(_CsvSink(sys.stdout.buffer), sys.stdout.buffer, "standard output")
        return
    kinds = {".csv": _CsvSink, ".parquet": _ParquetSink}
    kind = kinds.get(Path(path).suffix.lower(), _JsonSink)
    with whole_file(path) as temporary, _opened(temporary) as stream:
        yield from _fed(kind(stream), stream, path)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file; what it still holds back when writing has failed is of no use any more."""
    stream = path.open("wb", buffering=1 << 20)
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


def _fed(sink: Any, stream: Any, path: str) -> Iterator[Any]:
    class Guarded:
        """A sink that says which file it could not write to."""

        def write(self, table: pa.Table) -> None:
            with writing(path):
                sink.write(table)

    try:
        yield Guarded()
    except BaseException:
        # Closing writes a footer; with a full disk that fails again, and the first error counts.
        with suppress(OSError):
            sink.close()
            stream.flush()
        raise
    with writing(path):
        sink.close()
        stream.flush()
