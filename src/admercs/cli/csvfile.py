"""CSV files: how to read one, and what is wrong with one that cannot be read.

DuckDB's own guessing drops leading lines or reads a whole line as one field when lines are ragged.
Here the header line decides, and every line after it has to agree.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import errno
import gzip
import io
import lzma
import os
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import duckdb
import pyarrow as pa

from admercs.cli.errors import UserError, listed
from admercs.table.number_texts import number_shape
from admercs.table.text_forms import shape_of

COMPRESSED = {".gz", ".zst", ".bz2", ".xz", ".zip"}
MAX_LINE = 1 << 25  # bytes
DELIMITERS = ",;\t|"
_FIRST_LINES = 50  # which show where a table begins


@dataclass(frozen=True)
class ReadOptions:
    """How the user wants a table to be read."""

    table_name: str | None = None  # of a database; a workbook's sheet, by name or number
    delimiter: str | None = None  # CSV; by default what the header line uses
    encoding: str | None = None  # of text files; None: UTF-8, or UTF-16 if a file begins like it
    missing: Sequence[str] = ()  # what stands for a missing value, besides the usual texts
    no_header: bool = False  # CSV: the first line is a row already
    # Columns, as named on the command line.
    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ignore: Sequence[str] = ()
    id: Sequence[str] = ()
    # The kind of values a model was learned from: a file of a few new rows alone does not show
    # that a column of codes is text.
    expected: Mapping[str, str] = field(default_factory=dict)


class CsvLayout(NamedTuple):
    """How a CSV file is laid out."""

    delimiter: str
    encoding: str
    skip: int = 0  # lines before the header


@dataclass(frozen=True)
class Source:
    """A source made ready for DuckDB."""

    name: str  # of the table in messages and reports
    sql: str  # reads it
    layouts: Mapping[Path, CsvLayout] = field(default_factory=dict)  # of the CSV files behind it
    is_query: bool = False  # written by the user
    notes: tuple[str, ...] = ()  # what the user should know of how it is read

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
                for path, layout in self.layouts.items():
                    _check_csv(path, layout)
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


def check_encoding(name: str) -> None:
    """Raise a UserError unless there is an encoding of this name, and it is one of texts."""
    try:
        "a".encode(name)
    except (LookupError, ValueError):
        raise UserError(
            f"there is no encoding {name!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip archive."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == ZIP


def names_in_zip(path: Path) -> list[str]:
    """Return the names of the files in a zip archive."""
    with unpacking(path, UnicodeError), zipfile.ZipFile(path) as archive:
        return [each.filename for each in archive.infolist() if not each.is_dir()]


def only_member(path: Path) -> str:
    """Return the name of the only file in a zip archive, or say what else it holds."""
    names = names_in_zip(path)
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise UserError(
            f"{path} holds {len(names)} files ({listed(names, 5)}), and it is not known which one "
            "is the table: unpack it and name one."
        )
    return names[0]


def _open_zip(path: Path, _: str) -> IO[bytes]:
    with unpacking(path, UnicodeError):
        return zipfile.ZipFile(path).open(only_member(path))


# What unpacking raises on arbitrary bytes; RuntimeError: a password, or an unknown compression.
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    OSError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
ZIP, GZIP, ZSTD = b"PK\x03\x04", b"\x1f\x8b", b"(\xb5/\xfd"
# What opens a compressed file, by its first bytes.
_UNPACKERS: dict[bytes, Any] = {
    GZIP: gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    ZSTD: lambda path, _: pa.CompressedInputStream(pa.OSFile(os.fsencode(path)), "zstd"),
    ZIP: _open_zip,
}
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # at the beginning of a file in UTF-16


def open_binary(path: Path) -> IO[bytes]:
    """Open a file, compressed or not, by what its first bytes say."""
    opened: IO[bytes] = _UNPACKERS.get(_packed_as(path), open)(path, "rb")
    return opened


def _packed_as(path: Path) -> bytes:
    """Return the first bytes that tell how a file is compressed; none if it is not."""
    with path.open("rb") as start:
        magic = start.read(6)
    return next(filter(magic.startswith, _UNPACKERS), b"")


@contextmanager
def open_text(
    path: Path, encoding: str = "utf-8", errors: str = "strict"
) -> Iterator[io.TextIOWrapper]:
    """Open a text file, compressed or not; say what is wrong in it."""
    # A byte order mark is no part of the first column's name.
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        with (
            unpacking(path),
            open_binary(path) as raw,
            io.TextIOWrapper(raw, codec, errors, newline="") as text,
        ):
            yield text
    except UnicodeError as error:
        advice = "Say how it is encoded: --encoding latin-1."
        raise UserError(f"{path} is not {encoding} ({error}). {advice}") from error


@contextmanager
def unpacking(path: Path, *more: type[Exception]) -> Iterator[None]:
    """Say what is wrong with a compressed file while it is read."""
    try:
        yield
    except _DAMAGE + more as error:
        # An error of the system; but one of seeking before the start is the archive's.
        if getattr(error, "errno", None) not in (None, errno.EINVAL):
            raise
        raise UserError(f"{path} is damaged or was cut short: {error}.") from error


def prepare_csv(
    name: str, paths: Sequence[Path], reading: ReadOptions, copies: Iterator[Path]
) -> tuple[list[Path], dict[Path, CsvLayout]]:
    """Return files that DuckDB can read, and how they are laid out: all as the first one."""
    encodings = [_encoding_of(path, reading.encoding) for path in paths]
    plain = [_plain_csv(*each, copies) for each in zip(paths, encodings, strict=True)]
    delimiter = reading.delimiter
    if delimiter is None and ending(plain[0]) in (".tsv", ".tab"):
        delimiter = "\t"
    header, skip = [""], 0
    # What is wrong otherwise the reader will find out, and say where.
    with suppress(UserError, csv.Error, OSError), open_text(plain[0]) as stream:
        lines = [line for _ in range(_FIRST_LINES) if (line := stream.readline(MAX_LINE))]
        delimiter, header, skip = _find_header(lines, delimiter, reading.no_header)
    # DuckDB would rename the second column of a name silently.
    twice = [column for column, n in Counter(header).items() if column and n > 1]
    if twice and not reading.no_header:
        what = f"{name}: the header has the column {twice[0]!r} more than once"
        raise UserError(f"{what}. Give each column a name of its own.")
    if skip:
        plain = [_behind(path, skip, copies) for path in plain]
    layouts = [CsvLayout(delimiter or ",", encoding, skip) for encoding in encodings]
    return plain, dict(zip(paths, layouts, strict=True))


def _find_header(
    lines: Sequence[str], delimiter: str | None, no_header: bool
) -> tuple[str, list[str], int]:
    """Return what separates fields, the header, and how many lines stand before it."""

    def rows(separator: str) -> list[list[str]]:
        return list(csv.reader(lines, delimiter=separator))

    outside_quotes = "".join(lines[0].split('"')[::2]) if lines else ""
    first = delimiter or max(DELIMITERS, key=outside_quotes.count)
    found = rows(first)
    if not found:
        return first, [""], 0
    if not no_header and not _belongs(found[0], _usual_width(found)[1]):
        best = delimiter or max(DELIMITERS, key=lambda each: _usual_width(rows(each)))
        if place := header_row(rows(best)):
            reader = csv.reader(lines, delimiter=best)
            for _ in range(place):
                next(reader)
            before = reader.line_num
            return best, next(reader), before
    return first, found[0], 0


def header_row(rows: Sequence[list[str]]) -> int:
    """Return the place of the header of a table; 0 if no other row looks like one.

    Before it there may be rows that are shorter than most, or have only one field that is not
    empty.
    """
    width = _usual_width(rows)[1]
    for place, fields in enumerate(rows):
        # A header that lacks one name is an error of the table.
        if len(fields) == width - 1 > 1 and not fields[0].startswith("#"):
            break
        if _belongs(fields, width):
            named = all(fields) and len(set(fields)) == width > 1
            return place if named and not any(map(_is_number, fields)) else 0
    return 0


def _usual_width(rows: Iterable[list[str]]) -> tuple[int, int]:
    """Return how many rows have the most usual number of fields, if that is not one, and it."""
    widths = Counter(len(fields) for fields in rows if fields)
    return max(((n if width > 1 else 0, width) for width, n in widths.items()), default=(0, 0))


def _belongs(fields: Sequence[str], width: int) -> bool:
    """Return whether a line may be one of a table and not of what stands before it."""
    return len(fields) == width and (width < 3 or sum(map(bool, fields)) > 1)


def _is_number(text: str) -> bool:
    return number_shape(shape_of(text)) is not None


def _encoding_of(path: Path, given: str | None) -> str:
    if given is None:
        # What is wrong with the file will be found out later.
        with suppress(UserError, *_DAMAGE), open_binary(path) as stream:
            return "utf-16" if stream.read(2) in _MARKS else "utf-8"
    return given or "utf-8"


def ending(path: Path) -> str:
    """Return how a file's name ends, before the ending of a compressed file."""
    if is_zip(path):
        path = Path(only_member(path))
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


def _plain_csv(path: Path, encoding: str, copies: Iterator[Path]) -> Path:
    """Return the file itself, or a copy in UTF-8 with a compression that DuckDB can read."""
    suffix = path.suffix.lower()
    # DuckDB tells a compressed file by its ending, and knows two kinds.
    expected = {".gz": GZIP, ".zst": ZSTD}.get(suffix, b"" if suffix not in COMPRESSED else None)
    if codecs.lookup(encoding).name == "utf-8" and _packed_as(path) == expected:
        if expected:
            # DuckDB ignores the check sum, and takes half a file for a whole: look for damage.
            with open_text(path, "latin-1") as text:
                while text.read(1 << 20):
                    pass
        return path
    copy = next(copies)
    with open_text(path, encoding) as text, copy.open("w", -1, "utf-8", newline="") as out:
        shutil.copyfileobj(text, out, 1 << 20)
    return copy


def _behind(path: Path, n_lines: int, copies: Iterator[Path]) -> Path:
    """Return a copy of a file without its first lines."""
    copy = next(copies)
    with open_text(path) as text, copy.open("w", -1, "utf-8", newline="") as out:
        for _ in range(n_lines):
            text.readline()
        shutil.copyfileobj(text, out, 1 << 20)
    return copy


def _check_csv(path: Path, layout: CsvLayout) -> None:
    """Say what is wrong with a CSV file, with the line, if anything obvious is."""
    delimiter, encoding, skip = layout
    with path.open("rb") as binary:
        head = binary.read(4096)
    # UTF-16 has zeros, too.
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff", *_UNPACKERS)):
        is_named_text = path.suffix.lower() in (".csv", ".tsv", ".txt")
        raise UserError(f"{path} is not a text file{', though its name says so' * is_named_text}.")
    csv.field_size_limit(MAX_LINE)
    with open_text(path, encoding, "surrogateescape") as stream:
        lines = islice(_decoded(stream, path, encoding), skip, None)
        reader, start = csv.reader(lines, delimiter=delimiter, strict=True), 1
        try:
            width, start = len(next(reader, [])), reader.line_num + 1
            for fields in reader:
                if fields and len(fields) != width:
                    unclosed = " Is there an unclosed quote?" if reader.line_num > start else ""
                    raise UserError(
                        f"{path}, line {start + skip}: {len(fields)} "
                        f"field{'s' * (len(fields) != 1)} where the header has "
                        f"{width}.{unclosed} Put the line right, or say which delimiter separates "
                        "the fields (--delimiter)."
                    )
                start = reader.line_num + 1
            if isinstance(stream.newlines, tuple):
                ends = " and ".join(map(repr, stream.newlines))
                raise UserError(f"{path} has lines that end in {ends}: give all the same end.")
        except csv.Error as error:
            what = "a quote is not closed" if "end of data" in str(error) else str(error)
            raise UserError(f"{path}, line {start + skip}: {what}. Put the line right.") from error


def _decoded(lines: Iterable[str], path: Path, encoding: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if bad := re.search("[\udc80-\udcff]", line):
            raise UserError(
                f"{path}, line {number}: byte 0x{ord(bad[0]) - 0xDC00:02x} is not {encoding}. "
                "Say how the file is encoded, for example --encoding latin-1."
            )
        yield line
