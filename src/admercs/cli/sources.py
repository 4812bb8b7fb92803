"""Finding out what the user means by a source: a file, a folder, a query, standard input."""

from __future__ import annotations

import codecs
import csv
import glob
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from admercs.cli.complaints import explained
from admercs.cli.csvfile import MISSING, delimiter_of, open_text, read_csv_sql, sql_text
from admercs.cli.databases import create_view, table_in_duckdb, table_in_sqlite
from admercs.cli.errors import UsageError, UserError, os_error
from admercs.cli.queries import Named, named_files, quoted

__all__ = ["Reading", "Recognised", "recognise"]

_QUERY = re.compile(r"[\s(]*(select|with|from|values|pivot|unpivot)\b", re.IGNORECASE)
_COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}
_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".arff": "arff",
}
_DATABASES = {".db", ".duckdb", ".ddb", ".sqlite", ".sqlite3"}
_IN_FOLDERS = ("*.parquet", "*.csv", "*.csv.gz", "*.csv.zst", "*.tsv", "*.jsonl", "*.ndjson")
# Types are found by reading a file once before it is read; only the start of a larger one.
_WHOLE_FILE_BYTES, _SAMPLE_LINES = 256 << 20, 1_000_000


@dataclass(frozen=True)
class Reading:
    """How the user wants sources to be read.

    Attributes
    ----------
    table : str, optional
        The table of a database.
    delimiter : str, optional
        CSV: what separates fields; by default what the header line uses.
    encoding : str
        Of text files.
    missing : sequence of str
        CSV: what stands for a missing value.
    header : bool
        CSV: whether the first line names the columns.
    text : collection of str
        CSV: columns known to hold text, though a few rows of codes may look like numbers.
    """

    table: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    missing: Sequence[str] = MISSING
    header: bool = True
    text: Collection[str] = ()


@dataclass(frozen=True)
class Recognised:
    """A source made ready for DuckDB.

    Attributes
    ----------
    name : str
        What the table is called in messages and reports.
    sql : str
        The query that reads it.
    delimiters : mapping of Path to str
        The CSV files behind it, with what separates their fields.
    is_query : bool
        Whether the user wrote the query.
    """

    name: str
    sql: str
    delimiters: Mapping[Path, str] = field(default_factory=dict)
    is_query: bool = False


def recognise(
    sources: Sequence[str], reading: Reading, connection: Any, scratch: Path
) -> Recognised:
    """Find out what a source is and how to read it.

    Parameters
    ----------
    sources : sequence of str
        A path, a pattern, a folder, an SQL query, or ``-``; several are files of one kind, as a shell makes them of
        a pattern.
    reading : Reading
        The user's corrections.
    connection : duckdb connection
        Where databases are attached and tables are registered.
    scratch : Path
        A temporary folder.
    """
    source = sources[0]
    if len(sources) > 1:
        return _recognise_list(sources, reading, connection, scratch)
    path = Path(source).expanduser()
    if _QUERY.match(source) and not _exists(path):
        return _recognise_query(source.strip().rstrip(";"), reading, connection, scratch)
    return _recognise_path(source, reading, connection, scratch)


def _recognise_query(query: str, reading: Reading, connection: Any, scratch: Path) -> Recognised:
    """Give each file that a query names a view of the same name.

    So a file is read in a query as it is read alone, not by DuckDB's guessing.
    """
    if reading.table is not None:
        raise UsageError("--table is not for queries: write 'shop.sqlite'.orders in the query.")
    delimiters: dict[Path, str] = {}
    places = [named for named in named_files(query) if _means_a_file(named)]
    for number, (file, parts) in enumerate(dict.fromkeys((n.file, n.table) for n in places)):
        folder = scratch / f"{number}"
        folder.mkdir()
        of_this = replace(reading, table=".".join(parts) or None)
        read = _recognise_path(file, of_this, connection, folder)
        with explained(read.name, read.delimiters, reading.encoding):
            create_view(connection, file, parts, read.sql)
        delimiters |= read.delimiters
    for named in reversed(places):
        # A text may be a table to DuckDB, but not a database.
        query = f"{query[: named.start]}{quoted(named.file)}{query[named.end :]}"
    return Recognised("query", query, delimiters, is_query=True)


def _means_a_file(named: Named) -> bool:
    """Tell a file from a name of another kind, such as that of a subquery."""
    if _exists(Path(named.file).expanduser()):
        return True
    path_like = named.table or named.file == "-" or glob.has_magic(named.file)
    known = Path(named.file).suffix.lower() in {*_FORMATS, *_DATABASES, *_COMPRESSED}
    return named.is_text and bool(path_like or known) and "://" not in named.file


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a path
        return False


def _recognise_path(source: str, reading: Reading, connection: Any, scratch: Path) -> Recognised:
    if source == "-":
        return _recognise_file(_spool(scratch), "standard input", reading, connection, scratch)
    path = Path(source).expanduser()
    if _exists(path) and path.is_dir():
        return _recognise_many(_in_folder(path), str(path), reading, connection, scratch)
    if not _exists(path) and glob.has_magic(source):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
        files = [name for name in found if name.is_file()]
        if not files:
            raise UserError(f"no file matches {source}.")
        return _recognise_many(files, source, reading, connection, scratch)
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise os_error(error, source, "read") from error
    return _recognise_file(path, path.name, reading, connection, scratch)


def _recognise_list(
    sources: Sequence[str], reading: Reading, connection: Any, scratch: Path
) -> Recognised:
    paths = [Path(source).expanduser() for source in sources]
    for source, path in zip(sources, paths, strict=True):
        if not (_exists(path) and path.is_file()):
            raise UserError(f"{source} is no file: of several tables each must be one.")
    if reading.table is not None:
        raise UsageError("--table is for a single database: write a query over several.")
    name = f"{paths[0].name} and {len(paths) - 1} more"
    return _recognise_many(paths, name, reading, connection, scratch)


def _spool(scratch: Path) -> Path:
    """Copy standard input to a file, since tables are read more than once."""
    if sys.stdin.isatty():
        raise UserError("nothing is piped to standard input: give a file, or pipe one in.")
    path = scratch / "stdin"
    with path.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
    return path


def _in_folder(folder: Path) -> list[Path]:
    for pattern in _IN_FOLDERS:
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
        if found:
            return found
    raise UserError(f"the folder {folder} holds no Parquet, CSV or JSON lines files.")


def _format(path: Path) -> str:
    """Tell what a file is, by its name or, failing that, by its first bytes."""
    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        ending = Path(path.stem).suffix.lower()
    with path.open("rb") as stream:
        start = stream.read(16)
    if start.startswith(b"SQLite format 3\x00"):
        return "sqlite"
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start.startswith(b"PAR1"):
        return "parquet"
    if ending in _FORMATS:
        return _FORMATS[ending]
    if ending in _DATABASES:
        raise UserError(f"{path} is neither a DuckDB nor an SQLite file.")
    return _format_of_text(path)


def _format_of_text(path: Path) -> str:
    try:
        with open_text(path) as stream:
            start = stream.read(4096).lstrip()
    except (UnicodeDecodeError, OSError):
        return "csv"
    if start.startswith("{"):
        return "json"
    return "arff" if re.match(r"[@%]", start) and "@" in start else "csv"


def _recognise_file(
    path: Path, name: str, reading: Reading, connection: Any, scratch: Path
) -> Recognised:
    if path.stat().st_size == 0:
        raise UserError(f"{name} is empty.")
    form = _format(path)
    if form == "sqlite":
        table, sql = table_in_sqlite(path, reading.table, scratch)
        return Recognised(f"{name}, {table}", sql)
    if form == "duckdb":
        table, sql = table_in_duckdb(path, reading.table, connection)
        return Recognised(f"{name}, {table}", sql)
    if reading.table is not None:
        raise UserError(
            f"{name} has no table {reading.table!r}: it is neither a DuckDB nor an SQLite file."
        )
    if form == "arff":
        from admercs.cli.arff import read_arff

        # A name of its own: a query may read several.
        registered = f"admercs {path.resolve()}"
        connection.register(registered, read_arff(path, reading.encoding))
        return Recognised(name, f"select * from {quoted(registered)}")
    return _recognise_many([path], name, reading, connection, scratch)


def _recognise_many(
    paths: Sequence[Path], name: str, reading: Reading, connection: Any, scratch: Path
) -> Recognised:
    """Recognise files of one format."""
    full = [path for path in paths if path.stat().st_size]
    if not full:
        raise UserError(f"all files of {name} are empty.")
    forms = {_format(path) for path in full}
    if len(forms) > 1 or not forms <= {"csv", "parquet", "json"}:
        raise UserError(
            f"{name} stands for files of several kinds ({', '.join(sorted(forms))}): "
            "name one kind, or write a query over them."
        )
    form = forms.pop()
    if form == "parquet":
        return Recognised(name, _parquet_sql(full))
    if form == "json":
        return Recognised(name, _json_sql(full))
    return _recognise_csv(full, name, reading, connection, scratch)


def _parquet_sql(paths: Sequence[Path]) -> str:
    return f"select * from read_parquet([{', '.join(sql_text(str(path)) for path in paths)}])"


def _json_sql(paths: Sequence[Path]) -> str:
    files = ", ".join(sql_text(str(path)) for path in paths)
    return f"select * from read_json([{files}], sample_size = -1, ignore_errors = false)"


def _recognise_csv(
    paths: Sequence[Path], name: str, reading: Reading, connection: Any, scratch: Path
) -> Recognised:
    try:
        codecs.lookup(reading.encoding)
    except LookupError:
        raise UserError(
            f"there is no encoding {reading.encoding!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None
    readable = [_readable(path, k, reading.encoding, scratch) for k, path in enumerate(paths)]
    delimiter = reading.delimiter or _delimiter(readable[0])
    if reading.header:
        _check_header(name, readable[0], delimiter)
    size = sum(path.stat().st_size for path in readable)
    options: dict[str, Any] = {
        "missing": reading.missing,
        "header": reading.header,
        "sample": -1 if size <= _WHOLE_FILE_BYTES else _SAMPLE_LINES,
    }
    sql = read_csv_sql([str(path) for path in readable], delimiter, **options)
    delimiters = dict.fromkeys(paths, delimiter)
    if reading.text:
        with explained(name, delimiters, reading.encoding):
            columns = connection.sql(sql).columns
        text = [column for column in columns if column in reading.text]
        sql = read_csv_sql([str(path) for path in readable], delimiter, text=text, **options)
    return Recognised(name, sql, delimiters)


def _delimiter(path: Path) -> str:
    plain = Path(path.stem) if path.suffix in _COMPRESSED else path
    if plain.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    try:
        with open_text(path) as stream:
            return delimiter_of(stream.readline(1 << 20))
    except (UnicodeDecodeError, OSError):
        return ","


def _check_header(name: str, path: Path, delimiter: str) -> None:
    """Refuse a header with the same name twice: DuckDB would rename the second one silently."""
    try:
        with open_text(path) as stream:
            header = next(csv.reader(stream, delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error, OSError):
        return  # the reader will find out, and say where
    twice = [column for column, n in Counter(header).items() if column and n > 1]
    if twice:
        raise UserError(
            f"{name}: the header has the column {twice[0]!r} more than once. Give each column a "
            "name of its own."
        )


def _readable(path: Path, k: int, encoding: str, scratch: Path) -> Path:
    """Return the file itself, or a copy in UTF-8 with a compression that DuckDB can read."""
    plain = codecs.lookup(encoding).name == "utf-8"
    if plain and path.suffix.lower() in (".gz", ".zst"):
        _check_whole(path)
    if plain and path.suffix.lower() not in (".bz2", ".xz"):
        return path
    copy = scratch / f"{k}-{Path(path.name).stem if not plain else path.stem}.csv"
    try:
        with (
            open_text(path, encoding) as stream,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            shutil.copyfileobj(stream, out, 1 << 20)
    except UnicodeError as error:
        raise UserError(f"{path} is not {encoding}: {error}.") from error
    return copy


def _check_whole(path: Path) -> None:
    """Refuse a damaged file: DuckDB leaves its check sum alone, and takes half a file for a whole."""
    with open_text(path, "latin-1") as stream:
        while stream.read(1 << 20):
            pass
