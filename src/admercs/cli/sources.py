"""Finding out what the user means by a source: a file, a folder, a query, standard input."""

from __future__ import annotations

import codecs
import csv
import glob
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from admercs.cli.csvfile import MISSING, delimiter_of, open_text, read_csv_sql, reading_errors
from admercs.cli.errors import UsageError, UserError, os_error, shown
from admercs.cli.queries import NamedFile, named_files, quoted, reader_arguments, sql_text
from admercs.cli.sinks import FileId, file_id

__all__ = ["Reading", "Source", "SourceFinder"]

_QUERY = re.compile(r"[\s(]*(select|with|from|values|pivot|unpivot)\b", re.IGNORECASE)
_COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}
_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".arff": "arff",
}
_DATABASES = {".db", ".duckdb", ".ddb", ".sqlite", ".sqlite3"}
_IN_FOLDERS = (".parquet", ".csv", ".csv.gz", ".csv.zst", ".tsv", ".jsonl", ".ndjson")
# Types are found by reading a file once before it is read; only the start of a larger one.
_WHOLE_FILE_BYTES, _SAMPLE_LINES = 256 << 20, 1_000_000


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


@dataclass(frozen=True)
class Source:
    """A source made ready for DuckDB."""

    name: str  # of the table in messages and reports
    sql: str  # reads it
    # The CSV files behind it, with what separates their fields.
    delimiters: Mapping[Path, str] = field(default_factory=dict)
    is_query: bool = False  # written by the user


class SourceFinder:
    """Finds out what a source is and how to read it.

    Parameters
    ----------
    connection : duckdb connection
        Where databases are attached and tables are registered.
    scratch : Path
        A temporary folder.

    Attributes
    ----------
    inputs : set of (int, int)
        The files that are read.
    readable : set of str
        The names by which DuckDB has to be able to read them.
    """

    def __init__(self, connection: Any, scratch: Path) -> None:
        self._connection = connection
        self._scratch = scratch
        self.inputs: set[FileId] = set()
        self.readable: set[str] = set()

    def find(self, sources: Sequence[str], reading: Reading) -> Source:
        """Find out what is meant.

        Parameters
        ----------
        sources : sequence of str
            A path, a pattern, a folder, an SQL query, or ``-``; several are files of one kind, as
            a shell makes them of a pattern.
        reading : Reading
            The user's corrections.
        """
        if len(sources) > 1:
            return self._list(sources, reading)
        if _QUERY.match(sources[0]) and not _exists(_path(sources[0])):
            return self._query(sources[0].strip().rstrip(";"), reading)
        return self._one(sources[0], reading, self._scratch)

    def _query(self, query: str, reading: Reading) -> Source:
        """Give each file that a query names a view of the same name.

        So a file is read in a query as it is read alone, not by DuckDB's guessing.
        """
        if reading.table is not None:
            raise UsageError("--table is not for queries: write 'shop.sqlite'.orders in the query.")
        if shown(query) != query:
            raise UserError("the query is not UTF-8. Give files in a query names that are.")
        places = [named for named in named_files(query) if _means_a_file(named)]
        arguments = reader_arguments(query)
        for named in reversed(places):
            # A text may be a table to DuckDB, but not a database.
            query = f"{query[: named.start]}{quoted(named.file)}{query[named.end :]}"
        self._check_statement(query)
        delimiters: dict[Path, str] = {}
        for number, (file, parts) in enumerate(dict.fromkeys((n.file, n.table) for n in places)):
            folder = self._scratch / f"{number}"
            folder.mkdir()
            read = self._one(file, replace(reading, table=".".join(parts) or None), folder)
            with reading_errors(read.name, read.delimiters, reading.encoding):
                self._create_view(file, parts, read.sql)
            delimiters |= read.delimiters
        for text in arguments:
            self._add_readable(text)
        return Source("query", query, delimiters, is_query=True)

    def _create_view(self, file: str, table: Sequence[str], sql: str) -> None:
        """Give a file, or a table of a database, the name that a query calls it by."""
        if table:
            self._connection.execute(f"attach if not exists ':memory:' as {quoted(file)}")
        for schema in table[:-1]:
            self._connection.execute(f"create schema if not exists {quoted(file)}.{quoted(schema)}")
        name = ".".join(map(quoted, (file, *table)))
        self._connection.execute(f"create view {name} as {sql}")

    def _check_statement(self, query: str) -> None:
        """Refuse all but one select, before anything is run."""
        import duckdb

        with reading_errors("query", {}, "", is_query=True):
            found = self._connection.extract_statements(query)
        if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
            raise UserError(
                "a query must be one select statement, and nothing else. A pivot has to name its "
                "values: on year in (2024, 2025)."
            )

    def _add_readable(self, text: str) -> None:
        path = _path(text)
        names = [str(path)] if _exists(path) else glob.glob(str(path), recursive=True)
        files = [name for name in names if os.path.isfile(name)]
        self.inputs |= {file_id(os.stat(name)) for name in files}
        # A pattern has to be readable, too.
        self.readable |= {os.path.abspath(name) for name in [*files, str(path)]}

    def _one(self, source: str, reading: Reading, scratch: Path) -> Source:
        if source == "-":
            return self._file(self._spool(scratch), "standard input", reading, scratch)
        path = _path(source)
        if _exists(path) and path.is_dir():
            return self._many(_in_folder(path), shown(path), reading, scratch)
        if not _exists(path) and glob.has_magic(source):
            found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
            files = [name for name in found if name.is_file()]
            if not files:
                raise UserError(f"no file matches {source}.")
            return self._many(files, source, reading, scratch)
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise os_error(error, source, "read") from error
        return self._file(path, shown(path.name), reading, scratch)

    def _list(self, sources: Sequence[str], reading: Reading) -> Source:
        paths = [_path(source) for source in sources]
        for source, path in zip(sources, paths, strict=True):
            if not (_exists(path) and path.is_file()):
                raise UserError(f"{source} is no file: of several tables each must be one.")
        if reading.table is not None:
            raise UsageError("--table is for a single database: write a query over several.")
        name = f"{shown(paths[0].name)} and {len(paths) - 1} more"
        return self._many(paths, name, reading, self._scratch)

    def _spool(self, scratch: Path) -> Path:
        """Copy standard input to a file, since tables are read more than once."""
        if sys.stdin is None:
            raise UserError("standard input is closed: give a file, or pipe one in.")
        if sys.stdin.isatty():
            raise UserError("nothing is piped to standard input: give a file, or pipe one in.")
        with suppress(OSError):  # it may have no number
            self.inputs.add(file_id(os.fstat(sys.stdin.fileno())))
        path = scratch / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        return path

    def _file(self, path: Path, name: str, reading: Reading, scratch: Path) -> Source:
        if path.stat().st_size == 0:
            raise UserError(f"{name} is empty.")
        form = _format(path)
        if form not in ("sqlite", "duckdb") and reading.table is not None:
            raise UserError(
                f"{name} has no table {reading.table!r}: it is neither a DuckDB nor an SQLite file."
            )
        if form not in ("sqlite", "duckdb", "arff"):
            return self._many([path], name, reading, scratch)
        from admercs.cli.databases import table_in_duckdb, table_in_sqlite

        self.inputs.add(file_id(path.stat()))
        if form == "arff":
            # A name of its own: a query may read several.
            registered = f"admercs {shown(path.resolve())}"
            self._connection.register(registered, _read_arff(path, reading.encoding))
            return Source(name, f"select * from {quoted(registered)}")
        if form == "sqlite":
            table, sql = table_in_sqlite(path, reading.table, scratch)
        else:
            path = self._for_duckdb(path, scratch)
            table, sql = table_in_duckdb(path, reading.table, self._connection)
        return Source(f"{name}, {table}", sql)

    def _many(self, paths: Sequence[Path], name: str, reading: Reading, scratch: Path) -> Source:
        """Read files of one format."""
        full = [path for path in paths if path.stat().st_size]
        if not full:
            raise UserError(f"all files of {name} are empty.")
        self.inputs |= {file_id(path.stat()) for path in paths}
        forms = {_format(path) for path in full}
        if len(forms) > 1 or not forms <= {"csv", "parquet", "json"}:
            raise UserError(
                f"{name} stands for files of several kinds ({', '.join(sorted(forms))}): "
                "name one kind, or write a query over them."
            )
        form = forms.pop()
        if form == "csv":
            return self._csv(full, name, reading, scratch)
        files = f"[{', '.join(self._in_sql(path, scratch) for path in full)}]"
        if form == "parquet":
            return Source(name, f"select * from read_parquet({files})")
        return Source(
            name, f"select * from read_json({files}, sample_size = -1, ignore_errors = false)"
        )

    def _csv(self, paths: Sequence[Path], name: str, reading: Reading, scratch: Path) -> Source:
        try:
            codecs.lookup(reading.encoding)
        except LookupError:
            raise UserError(
                f"there is no encoding {reading.encoding!r}. Common ones: utf-8, latin-1, utf-16."
            ) from None
        plain = [_plain_csv(path, k, reading.encoding, scratch) for k, path in enumerate(paths)]
        delimiter = reading.delimiter or _delimiter(plain[0])
        if reading.header:
            _check_header(name, plain[0], delimiter)
        size = sum(path.stat().st_size for path in plain)
        files = [self._in_sql(path, scratch) for path in plain]
        options: dict[str, Any] = {
            "missing": reading.missing,
            "header": reading.header,
            "sample": -1 if size <= _WHOLE_FILE_BYTES else _SAMPLE_LINES,
        }
        sql = read_csv_sql(files, delimiter, **options)
        delimiters = dict.fromkeys(paths, delimiter)
        if reading.text:
            with reading_errors(name, delimiters, reading.encoding):
                columns = self._connection.sql(sql).columns
            text = [column for column in columns if column in reading.text]
            sql = read_csv_sql(files, delimiter, text=text, **options)
        return Source(name, sql, delimiters)

    def _in_sql(self, path: Path, scratch: Path) -> str:
        """Return a file's name as DuckDB has to be given it, so that it is not taken for a pattern."""
        path = self._for_duckdb(path, scratch)
        self.readable |= {os.path.abspath(path), os.path.abspath(glob.escape(str(path)))}
        return sql_text(glob.escape(str(path)))

    def _for_duckdb(self, path: Path, scratch: Path) -> Path:
        """Return a path that DuckDB takes as it is; a link if its name is not UTF-8."""
        if shown(path) == str(path):
            return path.absolute() if str(path).startswith("~") else path
        # DuckDB tells a compressed file by its ending.
        ending = path.suffix if path.suffix in _COMPRESSED else ""
        link = scratch / f"link-{len(self.readable)}{ending}"
        link.symlink_to(path.absolute())
        return link


def _path(text: str) -> Path:
    """Return a path; a ``~`` that is no user's folder is part of the name."""
    return Path(os.path.expanduser(text))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a path
        return False


def _means_a_file(named: NamedFile) -> bool:
    """Tell a file from a name of another kind, such as that of a subquery."""
    if _exists(_path(named.file)):
        return True
    path_like = named.table or named.file == "-" or glob.has_magic(named.file)
    known = Path(named.file).suffix.lower() in {*_FORMATS, *_DATABASES, *_COMPRESSED}
    return named.is_text and bool(path_like or known) and "://" not in named.file


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {end: [path for path in files if path.name.endswith(end)] for end in _IN_FOLDERS}
    kinds = [end for end, paths in found.items() if paths]
    if not kinds:
        raise UserError(f"the folder {folder} holds no Parquet, CSV or JSON lines files.")
    if len(kinds) > 1:
        raise UserError(
            f"the folder {folder} holds files of several kinds ({', '.join(kinds)}): "
            f"choose one with a pattern, such as '{folder / ('*' + kinds[0])}'."
        )
    return found[kinds[0]]


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


def _read_arff(path: Path, encoding: str) -> Any:
    import pyarrow as pa

    from admercs.datasets import DamagedFileError
    from admercs.datasets.arff import parse_arff

    try:
        with open_text(path, encoding) as stream:
            columns = parse_arff(path, stream).columns
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not {encoding} ({error.reason}). Say how it is encoded: --encoding latin-1."
        ) from error
    except DamagedFileError as error:
        raise UserError(str(error)) from error
    types = {"f": pa.float64(), "O": pa.string(), "M": pa.timestamp("us")}
    arrays = {
        name: pa.array(values, types[values.dtype.kind], from_pandas=True)
        for name, values in columns.items()
    }
    return pa.table(arrays)


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


def _plain_csv(path: Path, k: int, encoding: str, scratch: Path) -> Path:
    """Return the file itself, or a copy in UTF-8 with a compression that DuckDB can read."""
    plain = codecs.lookup(encoding).name == "utf-8"
    if plain and path.suffix.lower() in (".gz", ".zst"):
        # DuckDB leaves the check sum alone, and takes half a file for a whole: look for damage.
        with open_text(path, "latin-1") as stream:
            while stream.read(1 << 20):
                pass
    if plain and path.suffix.lower() not in (".bz2", ".xz"):
        return path
    copy = scratch / f"{k}.csv"
    try:
        with (
            open_text(path, encoding) as stream,
            copy.open("w", encoding="utf-8", newline="") as out,
        ):
            shutil.copyfileobj(stream, out, 1 << 20)
    except UnicodeError as error:
        raise UserError(f"{path} is not {encoding}: {error}.") from error
    return copy
