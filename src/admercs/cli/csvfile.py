"""CSV files: how to read one, and what is wrong with one that cannot be read.

DuckDB's own guessing drops leading lines or reads a whole line as one field when lines are ragged.
Here the header line decides, and every line after it has to agree.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

import duckdb
import pyarrow as pa

from admercs.cli.errors import UserError

COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}
MAX_LINE = 1 << 25  # bytes
DELIMITERS = ",;\t|"
# What stands for a missing value in text files, unless the user says otherwise.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")


@dataclass(frozen=True)
class ReadOptions:
    """How the user wants a table to be read."""

    table_name: str | None = None  # of a database
    delimiter: str | None = None  # CSV; by default what the header line uses
    encoding: str = "utf-8"  # of text files
    missing: Sequence[str] | None = None  # CSV: what stands for a missing value, if not MISSING
    no_header: bool = False  # CSV: the first line is a row already
    # Columns, as named on the command line.
    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ignore: Sequence[str] = ()
    id: Sequence[str] = ()
    # The kind of values a model was learned from: a file of a few new rows alone does not show
    # that a column of codes is text.
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A source made ready for DuckDB."""

    name: str  # of the table in messages and reports
    sql: str  # reads it
    # The CSV files behind it, with what separates their fields.
    delimiters: Mapping[Path, str] = field(default_factory=dict)
    encoding: str = "utf-8"  # of these files
    is_query: bool = False  # written by the user

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say what is wrong with the source, and where, if DuckDB cannot read it."""
        try:
            yield
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            # While rows are fetched, DuckDB's errors come by way of Arrow, as errors of many kinds.
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from None
            if isinstance(error, RuntimeError) and not isinstance(error, duckdb.Error):
                raise
            in_sql = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
            # If the query itself is wrong, there is no need to look into the files.
            if not isinstance(error, in_sql):
                for path, delimiter in self.delimiters.items():
                    _check_csv(path, delimiter, self.encoding)
            raise UserError(self._message(str(error))) from error

    def _message(self, text: str) -> str:
        """Keep what helps of a message from DuckDB: what is wrong and where, not its settings."""
        if self.is_query:  # all of it helps
            return f"the query cannot be run.\n{text.strip()}"
        text = re.split(r"\n(?:Possible|  file =|If you are trying)", text)[0]
        lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
        # "Invalid Input Error: CSV Error on Line: 3" → "CSV Error on Line: 3"
        head = lines[0].split(" Error: ", 1)[-1] if lines else "unknown error"
        return f"cannot read {self.name}: {'. '.join([head, *lines[1:3]])}."


# What opens a compressed file, by its first bytes.
_UNPACKERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"(\xb5/\xfd": lambda path, _: pa.CompressedInputStream(pa.OSFile(os.fsencode(path)), "zstd"),
}


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> Iterator[IO[str]]:
    """Open a text file, compressed or not, by what its first bytes say; say what is wrong in it."""
    with path.open("rb") as start:
        magic = start.read(6)
    unpack = next((_UNPACKERS[known] for known in _UNPACKERS if magic.startswith(known)), open)
    # A byte order mark is no part of the first column's name.
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        with unpack(path, "rb") as raw, io.TextIOWrapper(raw, codec, errors, newline="") as text:
            yield text
    except UnicodeError as error:
        advice = "Say how it is encoded: --encoding latin-1."
        raise UserError(f"{path} is not {encoding} ({error}). {advice}") from error
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the system
            raise
        raise UserError(f"{path} is damaged or was cut short: {error}.") from error


def _delimiter_in(header: str) -> str:
    outside_quotes = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside_quotes.count)


def prepare_csv(
    name: str, paths: Sequence[Path], reading: ReadOptions, copies: Iterator[Path]
) -> tuple[list[Path], str]:
    """Return files that DuckDB can read, and what separates their fields."""
    try:
        codecs.lookup(reading.encoding)
    except LookupError:
        raise UserError(
            f"there is no encoding {reading.encoding!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None
    plain = [_plain_csv(path, reading.encoding, copies) for path in paths]
    delimiter, header = reading.delimiter, [""]
    if delimiter is None and ending(plain[0]) in (".tsv", ".tab"):
        delimiter = "\t"
    # What is wrong otherwise the reader will find out, and say where.
    with suppress(UserError, csv.Error, OSError), open_text(plain[0]) as stream:
        line = stream.readline(MAX_LINE)
        delimiter = delimiter or _delimiter_in(line)
        header = next(csv.reader(chain([line], stream), delimiter=delimiter), [])
    # DuckDB would rename the second column of a name silently.
    twice = [column for column, n in Counter(header).items() if column and n > 1]
    if twice and not reading.no_header:
        what = f"{name}: the header has the column {twice[0]!r} more than once"
        raise UserError(f"{what}. Give each column a name of its own.")
    return plain, delimiter or ","


def ending(path: Path) -> str:
    """Return how a file's name ends, before the ending of a compressed file."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


def _plain_csv(path: Path, encoding: str, copies: Iterator[Path]) -> Path:
    """Return the file itself, or a copy in UTF-8 with a compression that DuckDB can read."""
    if codecs.lookup(encoding).name == "utf-8" and path.suffix.lower() not in (".bz2", ".xz"):
        if path.suffix.lower() in COMPRESSED:
            # DuckDB ignores the check sum, and takes half a file for a whole: look for damage.
            with open_text(path, "latin-1") as text:
                while text.read(1 << 20):
                    pass
        return path
    copy = next(copies)
    with open_text(path, encoding) as text, copy.open("w", -1, "utf-8", newline="") as out:
        shutil.copyfileobj(text, out, 1 << 20)
    return copy


def _check_csv(path: Path, delimiter: str, encoding: str) -> None:
    """Say what is wrong with a CSV file, with the line, if anything obvious is."""
    with path.open("rb") as binary:
        head = binary.read(4096)
    # UTF-16 has zeros, too.
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff", *_UNPACKERS)):
        is_named_text = path.suffix.lower() in (".csv", ".tsv", ".txt")
        raise UserError(f"{path} is not a text file{', though its name says so' * is_named_text}.")
    csv.field_size_limit(MAX_LINE)
    with open_text(path, encoding, "surrogateescape") as stream:
        reader = csv.reader(_decoded(stream, path, encoding), delimiter=delimiter, strict=True)
        try:
            width, start = len(next(reader, [])), reader.line_num + 1
            for fields in reader:
                if fields and len(fields) != width:
                    unclosed = " Is there an unclosed quote?" if reader.line_num > start else ""
                    raise UserError(
                        f"{path}, line {start}: {len(fields)} fields where the header has {width}."
                        f"{unclosed} Put the line right, or say which delimiter separates the "
                        "fields (--delimiter)."
                    )
                start = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{path}: {error}.") from error


def _decoded(lines: Iterable[str], path: Path, encoding: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if bad := re.search("[\udc80-\udcff]", line):
            raise UserError(
                f"{path}, line {number}: byte 0x{ord(bad[0]) - 0xDC00:02x} is not {encoding}. "
                "Say how the file is encoded, for example --encoding latin-1."
            )
        yield line
