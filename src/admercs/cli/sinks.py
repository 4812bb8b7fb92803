"""The files that a command writes: all are complete, or none is there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from admercs.atomic import atomic_write
from admercs.cli.errors import DISK_FULL, UsageError, UserError, os_error, os_errors

if TYPE_CHECKING:
    from admercs.explain import SummedTable

ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson")
EXPLAINED_AT_ONCE = 2_000
FileId = tuple[int, int]
Texts = tuple[str | None, str | None]


def file_id(status: os.stat_result) -> FileId:
    """Return what two names of one file have in common."""
    return status.st_dev, status.st_ino


@contextmanager
def whole_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file with `atomic_write`; an error, before the work or after, names the file."""
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
            message = os_error(error, f"to the temporary folder {tempfile.gettempdir()}", "write")
            raise UserError(f"{message} TMPDIR=/another/folder says where.") from error


class Sink:
    """Writes tables to a stream in the format of an ending."""

    def __init__(self, stream: IO[bytes], path: str, ending: str) -> None:
        self._stream, self._path, self._ending = stream, path, ending
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Write some rows."""
        with os_errors(self._path):
            if self._ending not in (".csv", ".parquet"):
                columns = map(plain_values, table.columns)
                for values in zip(*columns, strict=True):
                    row = dict(zip(table.column_names, values, strict=True))
                    line = json.dumps(row, ensure_ascii=False, default=str)
                    self._stream.write(line.encode("utf-8", "replace") + b"\n")
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


@dataclass(frozen=True)
class Outputs:
    """Files to be written, opened before the work starts."""

    sink: Sink | None  # for the scores
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
    """Open a place for the scores, and others; none is replaced unless the work succeeds."""
    ending = ".csv" if out in (None, "-", "") else Path(str(out)).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"--out {out}: the name must end in {', '.join(ENDINGS)}, or be -.")
    given = {"out": None if out == "-" else out, **paths}
    wanted = {what: path for what, path in given.items() if path is not None}
    taken: dict[str, str] = {}
    for what, path in wanted.items():
        other = taken.setdefault(os.path.realpath(path), what)
        # A device can be written to by several.
        if other != what and (os.path.isfile(path) or not os.path.exists(path)):
            raise UsageError(
                f"--{what} {path} is written by --{other} already: choose another name."
            )
    with ExitStack() as stack:
        streams = {what: stack.enter_context(whole_file(path)) for what, path in wanted.items()}
        sink = None
        if out == "-":
            sink = stack.enter_context(Sink(sys.stdout.buffer, "standard output", ending))
        elif out is not None:
            sink = stack.enter_context(Sink(streams["out"], out, ending))
        yield Outputs(sink, streams, wanted)


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Python's, or as texts where Python has no such dates."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = column.cast(pa.string()).to_pylist()
    return values


def results(
    piece: SummedTable, batch: pa.Table, id_columns: list[str], threshold: float, options: Namespace
) -> pa.Table:
    """Return the lines of the file of scores for a batch of rows."""
    flagged = piece.evidence > threshold
    texts, details = zip(*_reasons(piece, flagged, options), strict=True)
    ours = {
        "row": pa.array(range(piece.first, piece.first + len(batch))),
        "score": pa.array(-np.expm1(-piece.evidence)),
        "evidence": pa.array(piece.evidence),
        "anomaly": pa.array(flagged),
        "by_association": pa.array(piece.association),
        "reasons": pa.array(texts, pa.string()),
        "reasons_json": pa.array(details, pa.string()),
    }
    kept = {name: batch.column(name) for name in batch.column_names if options.keep}
    labels = {name: batch.column(name) for name in id_columns if not options.keep}
    row, *rest = ((_free_name(name, {*kept, *labels}), column) for name, column in ours.items())
    return pa.table(dict([row, *labels.items(), *rest, *kept.items()]))


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name of one of our columns; a column of the table keeps its own."""
    return _free_name(f"{name}_", taken) if name in taken else name


def _reasons(piece: SummedTable, flagged: Any, options: Namespace) -> list[Texts]:
    """Return the reasons of each row as text and as JSON; None for rows that get none."""
    wanted = {"none": np.zeros_like(flagged), "all": np.ones_like(flagged), "flagged": flagged}
    chosen = np.flatnonzero(wanted[options.reasons])
    found: list[Texts] = [(None, None)] * len(flagged)
    for start in range(0, len(chosen), EXPLAINED_AT_ONCE):
        some = chosen[start : start + EXPLAINED_AT_ONCE]
        rows = piece.rows(some).explain(piece.model, options.why, options.noun)
        for k, row in zip(some.tolist(), rows, strict=True):
            details = json.dumps([reason.to_dict() for reason in row.reasons], ensure_ascii=False)
            found[k] = " | ".join(reason.text for reason in row.reasons), details
    return found
