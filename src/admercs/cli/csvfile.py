"""CSV files: what the reader must be told about one, and what is wrong with a bad one.

DuckDB's own guessing drops leading lines or reads a whole line as one field when lines are ragged.
Here the header line decides, and every line after it has to agree.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from admercs.cli.errors import UserError
from admercs.cli.queries import sql_text

__all__ = ["MISSING", "delimiter_of", "open_text", "read_csv_sql", "reading_errors"]

DELIMITERS = ",;\t|"
# The first bytes of what gzip, bzip2, xz and Zstandard write.
_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
# What stands for a missing value in text files, unless the user says otherwise.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")


def open_text(path: Path, encoding: str = "utf-8") -> IO[str]:
    """Open a text file, compressed or not, by what its first bytes say."""
    with path.open("rb") as stream:
        unpacked = _unpacked(path, stream.read(6))
    opened: Any = (
        path.open("rb") if unpacked is None else io.BufferedReader(_Packed(path, unpacked), 1 << 20)
    )
    # A byte order mark is no part of the first column's name.
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    return io.TextIOWrapper(opened, encoding=encoding, newline="")


def _unpacked(path: Path, start: bytes) -> Any:
    """Open a compressed file; return None for one that is not."""
    gzipped, bzipped, xzipped, zstandard = map(start.startswith, _MAGIC)
    if gzipped:
        return gzip.GzipFile(path)
    if bzipped:
        return bz2.BZ2File(path)
    if xzipped:
        return lzma.LZMAFile(path)
    if zstandard:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(os.fsencode(path)), "zstd")
    return None


class _Packed(io.RawIOBase):
    """A compressed file that says so when it is damaged."""

    def __init__(self, path: Path, stream: Any) -> None:
        self._path = path
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._stream.read(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise UserError(f"{self._path} is damaged or was cut short: {error}.") from error
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._stream.close()
        super().close()


def delimiter_of(header: str) -> str:
    r"""Return the delimiter that a header line uses.

    Examples
    --------
    >>> delimiter_of('"a;b",c,d'), delimiter_of("a\tb"), delimiter_of("lonely")
    (',', '\t', ',')
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def read_csv_sql(
    files: Sequence[str],
    delimiter: str,
    *,
    missing: Sequence[str],
    header: bool,
    sample: int,
    text: Sequence[str] = (),
) -> str:
    """Return the SQL that reads CSV files of one delimiter, some columns as text.

    The files are given as SQL.
    """
    options = {
        "delim": sql_text(delimiter),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "header": str(header).lower(),
        "skip": "0",
        "nullstr": f"[{', '.join(map(sql_text, missing))}]",
        "allow_quoted_nulls": "true",
        "null_padding": "false",
        "ignore_errors": "false",
        "sample_size": str(sample),
        "max_line_size": str(1 << 25),
    }
    if text:
        options["types"] = "{" + ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in text) + "}"
    given = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"select * from read_csv([{', '.join(files)}], {given})"


@contextmanager
def reading_errors(
    name: str, delimiters: Mapping[Path, str], encoding: str, is_query: bool = False
) -> Iterator[None]:
    """Turn errors of DuckDB into messages that say what is wrong with a source, and where.

    Parameters
    ----------
    name : str
        What the source is called.
    delimiters : mapping of Path to str
        The CSV files behind it, with what separates their fields.
    encoding : str
        Of the CSV files.
    is_query : bool, default=False
        Whether the source is a query: then all of the message helps, it shows the place.
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
    if is_query:
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
    return b"\x00" in start and not is_utf_16 and not start.startswith(_MAGIC)


def _line_of_bad_byte(path: Path, encoding: str) -> int:
    with open_text(path, "latin-1") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.encode("latin-1").decode(encoding)
            except UnicodeDecodeError:
                return number
    return 1
