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
import shutil
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from admercs.cli.errors import UserError
from admercs.cli.queries import sql_text

COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}
DELIMITERS = ",;\t|"
# What stands for a missing value in text files, unless the user says otherwise.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")


@dataclass(frozen=True)
class Reading:
    """How the user wants sources to be read."""

    table: str | None = None  # of a database
    delimiter: str | None = None  # CSV; by default what the header line uses
    encoding: str = "utf-8"  # of text files
    missing: Sequence[str] = MISSING  # CSV: what stands for a missing value
    header: bool = True  # CSV: whether the first line names the columns
    # CSV: columns known to hold text, though a few rows of codes may look like numbers.
    text: Collection[str] = ()


def _open_zstandard(path: Path, _: str) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(os.fsencode(path)), "zstd")


# What opens a compressed file, by its first bytes.
_UNPACKERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _open_zstandard,
}


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Open a text file, compressed or not, by what its first bytes say; say if it is damaged."""
    with path.open("rb") as start:
        magic = start.read(6)
    unpack = next((_UNPACKERS[known] for known in _UNPACKERS if magic.startswith(known)), open)
    # A byte order mark is no part of the first column's name.
    encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        with unpack(path, "rb") as stream, io.TextIOWrapper(stream, encoding, newline="") as text:
            yield text
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the system
            raise
        raise UserError(f"{path} is damaged or was cut short: {error}.") from error


def _delimiter_in(header: str) -> str:
    """Return the delimiter that a header line uses."""
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def prepare_csv(
    name: str, paths: Sequence[Path], reading: Reading, copies: Iterator[Path]
) -> tuple[list[Path], str]:
    """Return files that DuckDB can read, and what separates their fields.

    A header with the same name twice is refused: DuckDB would rename the second one silently.
    """
    try:
        codecs.lookup(reading.encoding)
    except LookupError:
        raise UserError(
            f"there is no encoding {reading.encoding!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None
    plain = [_plain_csv(path, reading.encoding, copies) for path in paths]
    named = Path(plain[0].stem) if plain[0].suffix in COMPRESSED else plain[0]
    by_name = "\t" if named.suffix.lower() in (".tsv", ".tab") else ""
    delimiter, header = reading.delimiter or by_name, [""]
    # What is wrong otherwise the reader will find out, and say where.
    with suppress(UnicodeDecodeError, csv.Error, OSError), open_text(plain[0]) as stream:
        line = stream.readline(1 << 25)
        delimiter = delimiter or _delimiter_in(line)
        header = next(csv.reader(chain([line], stream), delimiter=delimiter), [])
    twice = [column for column, n in Counter(header).items() if column and n > 1]
    if twice and reading.header:
        raise UserError(
            f"{name}: the header has the column {twice[0]!r} more than once. Give each column a "
            "name of its own."
        )
    return plain, delimiter or ","


def _plain_csv(path: Path, encoding: str, copies: Iterator[Path]) -> Path:
    """Return the file itself, or a copy in UTF-8 with a compression that DuckDB can read."""
    plain = codecs.lookup(encoding).name == "utf-8"
    if plain and path.suffix.lower() in (".gz", ".zst"):
        # DuckDB leaves the check sum alone, and takes half a file for a whole: look for damage.
        with open_text(path, "latin-1") as stream:
            while stream.read(1 << 20):
                pass
    if plain and path.suffix.lower() not in (".bz2", ".xz"):
        return path
    copy = next(copies)
    try:
        with (
            open_text(path, encoding) as stream,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            shutil.copyfileobj(stream, out, 1 << 20)
    except UnicodeError as error:
        raise UserError(f"{path} is not {encoding}: {error}.") from error
    return copy


def read_csv_sql(
    files: Sequence[str], delimiter: str, reading: Reading, sample: int, text: Sequence[str] = ()
) -> str:
    """Return the SQL that reads CSV files, whose names are given as SQL, some columns as text."""
    types = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in text)
    types = f", types = {{{types}}}" if text else ""
    return f"""select * from read_csv(
        [{", ".join(files)}], delim = {sql_text(delimiter)}, quote = '"', escape = '"',
        comment = '', header = {reading.header}, skip = 0, null_padding = false,
        ignore_errors = false, sample_size = {sample}, max_line_size = {1 << 25},
        nullstr = [{", ".join(map(sql_text, reading.missing))}], allow_quoted_nulls = true{types})
    """


@contextmanager
def reading_errors(
    name: str, delimiters: Mapping[Path, str], encoding: str, is_query: bool = False
) -> Iterator[None]:
    """Turn errors of DuckDB into messages that say what is wrong with a source, and where.

    `delimiters` are those of the CSV files behind it, which may have to be looked into.
    """
    import duckdb
    import pyarrow as pa

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
        for path, delimiter in () if isinstance(error, in_sql) else delimiters.items():
            fault = _fault(path, delimiter, encoding)
            if fault is not None:
                raise UserError(fault) from error
        raise UserError(_message(name, str(error), is_query)) from error


def _message(name: str, text: str, is_query: bool) -> str:
    """Keep what helps of a message from DuckDB: what is wrong and where, not its settings."""
    if is_query:  # all of it helps
        return f"the query cannot be run.\n{text.strip()}"
    for advice in ("\nPossible", "\n  file =", "\nIf you are trying"):
        text = text.partition(advice)[0]
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    # "Invalid Input Error: CSV Error on Line: 3" → "CSV Error on Line: 3"
    head = lines[0].split(" Error: ", 1)[-1] if lines else "unknown error"
    return f"cannot read {name}: {'. '.join([head, *lines[1:3]])}."


def _fault(path: Path, delimiter: str, encoding: str) -> str | None:
    """Return what is wrong with a CSV file, with the line; None if nothing obvious is."""
    if _is_binary(path):
        is_named_text = path.suffix.lower() in (".csv", ".tsv", ".txt")
        return f"{path} is not a text file{', though its name says so' if is_named_text else ''}."
    try:
        return _ragged(path, delimiter, encoding)
    except UnicodeDecodeError as error:
        return (
            f"{path}, line {_line_of_bad_byte(path, encoding)}: byte "
            f"0x{error.object[error.start]:02x} is not {encoding}. "
            "Say how the file is encoded, for example --encoding latin-1."
        )
    except csv.Error as error:
        return f"{path}: {error}."


def _ragged(path: Path, delimiter: str, encoding: str) -> str | None:
    csv.field_size_limit(1 << 25)
    with open_text(path, encoding) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        width = len(next(reader, []))
        start = reader.line_num + 1
        for fields in reader:
            if fields and len(fields) != width:
                unclosed = " Is there an unclosed quote?" if reader.line_num > start else ""
                return (
                    f"{path}, line {start}: {len(fields)} fields where the header has {width}."
                    f"{unclosed} Put the line right, or say which delimiter separates the fields "
                    "(--delimiter)."
                )
            start = reader.line_num + 1
    return None


def _is_binary(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(4096)
    is_utf_16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    return b"\x00" in start and not is_utf_16 and not start.startswith(tuple(_UNPACKERS))


def _line_of_bad_byte(path: Path, encoding: str) -> int:
    with open_text(path, "latin-1") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.encode("latin-1").decode(encoding)
            except UnicodeDecodeError:
                return number
    return 1
