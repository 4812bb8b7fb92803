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
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from admercs.cli.errors import UserError

__all__ = ["MISSING", "delimiter_of", "diagnose", "open_text", "read_csv_sql", "sql_text"]

DELIMITERS = ",;\t|"
# What stands for a missing value in text files, unless the user says otherwise.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")


def sql_text(text: str) -> str:
    """Quote a text for SQL.

    Examples
    --------
    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def open_text(path: Path, encoding: str = "utf-8") -> IO[str]:
    """Open a text file, compressed or not, by what its first bytes say."""
    with path.open("rb") as stream:
        magic = stream.read(6)
    unpacked = _unpacked(path, magic)
    opened: Any = (
        path.open("rb") if unpacked is None else io.BufferedReader(_Packed(path, unpacked), 1 << 20)
    )
    # A byte order mark is no part of the first column's name.
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    return io.TextIOWrapper(opened, encoding=encoding, newline="")


def _unpacked(path: Path, magic: bytes) -> Any:
    """Open a compressed file; return None for one that is not."""
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(path)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(path)
    if magic.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(path)
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
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
    paths: Sequence[str],
    delimiter: str,
    *,
    missing: Sequence[str] = MISSING,
    header: bool = True,
    sample: int = -1,
    text: Sequence[str] = (),
) -> str:
    """Return the SQL that reads CSV files which all have one delimiter, some columns as text."""
    files = "[" + ", ".join(sql_text(path) for path in paths) + "]"
    nulls = "[" + ", ".join(sql_text(text) for text in missing) + "]"
    options = {
        "delim": sql_text(delimiter),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "header": str(header).lower(),
        "skip": "0",
        "nullstr": nulls,
        "allow_quoted_nulls": "true",
        "null_padding": "false",
        "ignore_errors": "false",
        "sample_size": str(sample),
        "max_line_size": str(1 << 25),
    }
    if text:
        options["types"] = "{" + ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in text) + "}"
    listed = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"select * from read_csv({files}, {listed})"


def diagnose(path: Path, delimiter: str, encoding: str = "utf-8") -> UserError | None:
    """Return what is wrong with a CSV file, with the line; None if nothing obvious is."""
    try:
        return _ragged(path, delimiter, encoding)
    except UnicodeDecodeError as error:
        line = _line_of_bad_byte(path, encoding)
        byte = error.object[error.start]
        if _looks_binary(path):
            return _binary(path)
        return UserError(
            f"{path}, line {line}: byte 0x{byte:02x} is not {encoding}. "
            "Say how the file is encoded, for example --encoding latin-1."
        )
    except csv.Error as error:
        return UserError(f"{path}: {error}.")


def _ragged(path: Path, delimiter: str, encoding: str) -> UserError | None:
    if _looks_binary(path):
        return _binary(path)
    csv.field_size_limit(1 << 25)
    with open_text(path, encoding) as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        width = len(next(reader, []))
        start = reader.line_num + 1
        for fields in reader:
            if fields and len(fields) != width:
                unclosed = " Is there an unclosed quote?" if reader.line_num > start else ""
                return UserError(
                    f"{path}, line {start}: {len(fields)} fields where the header has {width}."
                    f"{unclosed} Put the line right, or say which delimiter separates the fields "
                    "(--delimiter)."
                )
            start = reader.line_num + 1
    return None


def _binary(path: Path) -> UserError:
    though = ", though its name says so" if path.suffix.lower() in (".csv", ".tsv", ".txt") else ""
    return UserError(f"{path} is not a text file{though}.")


def _looks_binary(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(4096)
    compressed = start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"))
    return b"\x00" in start and not compressed and not start.startswith((b"\xff\xfe", b"\xfe\xff"))


def _line_of_bad_byte(path: Path, encoding: str) -> int:
    for number, line in enumerate(_binary_lines(path), start=1):
        try:
            line.decode(encoding)
        except UnicodeDecodeError:
            return number
    return 1


def _binary_lines(path: Path) -> Iterator[bytes]:
    with open_text(path, "latin-1") as stream:
        for line in stream:
            yield line.encode("latin-1")
