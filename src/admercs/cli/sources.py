"""Finding out what the user means by a source: a file, a folder, a query, standard input."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from admercs.cli import csvfile
from admercs.cli.csvfile import COMPRESSED, Reading, open_text, prepare_csv, read_csv_sql
from admercs.cli.errors import UsageError, UserError, os_errors, shown
from admercs.cli.queries import NamedFile, quoted, quoted_files, sql_text
from admercs.cli.sinks import FileId, file_id

_QUERY = re.compile(r"[\s(]*(select|with|from|values|pivot|unpivot)\b", re.IGNORECASE)
_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".arff": "arff",
}
_SEVERAL = {"csv", "parquet", "json"}  # of these, several files can be one table
_DATABASES = {".db", ".duckdb", ".ddb", ".sqlite", ".sqlite3"}
_IN_FOLDERS = (".parquet", ".csv", ".csv.gz", ".csv.zst", ".tsv", ".jsonl", ".ndjson")
# Types are found by reading a file once before it is read; only the start of a larger one.
_WHOLE_FILE_BYTES, _SAMPLE_LINES = 256 << 20, 1_000_000


@dataclass(frozen=True)
class Source:
    """A source made ready for DuckDB."""

    name: str  # of the table in messages and reports
    sql: str  # reads it
    # The CSV files behind it, with what separates their fields.
    delimiters: Mapping[Path, str] = field(default_factory=dict)
    encoding: str = "utf-8"  # of these files
    is_query: bool = False  # written by the user

    def errors(self) -> AbstractContextManager[None]:
        """Say what is wrong with the source, if DuckDB cannot read it."""
        return csvfile.reading_errors(self.name, self.delimiters, self.encoding, self.is_query)


class SourceFinder:
    """Finds out what a source is and how DuckDB, which it is given a connection to, can read it."""

    def __init__(self, connection: Any, scratch: Path) -> None:
        self._connection = connection
        self._copies = (scratch / f"{number}" for number in count())  # names for copies of files
        self.inputs: set[FileId] = set()  # the files that are read
        self.readable: set[str] = set()  # the names that DuckDB is given for them

    def find(self, sources: Sequence[str], reading: Reading) -> Source:
        """Find out what is meant: a path, a pattern, a folder, an SQL query, or ``-``.

        Several sources are files of one kind, as a shell makes them of a pattern.
        """
        if len(sources) > 1:
            return self._list(sources, reading)
        if _QUERY.match(sources[0]) and not os.path.exists(_path(sources[0])):
            return self._query(sources[0].strip().rstrip(";"), reading)
        return self._one(sources[0], reading)

    def _query(self, query: str, reading: Reading) -> Source:
        """Give each file that a query names a view of the same name.

        So a file is read in a query as it is read alone, not by DuckDB's guessing.
        """
        if reading.table is not None:
            raise UsageError("--table is not for queries: write 'shop.sqlite'.orders in the query.")
        if shown(query) != query:
            raise UserError("the query is not UTF-8. Give files in a query names that are.")
        named_files, arguments = quoted_files(query)
        places = [named for named in named_files if _means_a_file(named)]
        for named in reversed(places):
            # A text may be a table to DuckDB, but not a database.
            query = f"{query[: named.start]}{quoted(named.file)}{query[named.end :]}"
        self._check_statement(query)
        delimiters: dict[Path, str] = {}
        for file, parts in dict.fromkeys((named.file, named.table) for named in places):
            read = self._one(file, replace(reading, table=".".join(parts) or None))
            with read.errors():
                self._create_view(file, parts, read.sql)
            delimiters |= read.delimiters
        for text in arguments:
            self._add_readable(text)
        return Source("query", query, delimiters, reading.encoding, is_query=True)

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

        with Source("query", query, is_query=True).errors():
            found = self._connection.extract_statements(query)
        if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
            raise UserError(
                "a query must be one select statement, and nothing else. A pivot has to name its "
                "values: on year in (2024, 2025)."
            )

    def _add_readable(self, text: str) -> None:
        path = _path(text)
        names = [str(path)] if os.path.exists(path) else glob.glob(str(path), recursive=True)
        files = [name for name in names if os.path.isfile(name)]
        self.inputs |= {file_id(os.stat(name)) for name in files}
        # A pattern has to be readable, too.
        self.readable |= {os.path.abspath(name) for name in [*files, str(path)]}

    def _one(self, source: str, reading: Reading) -> Source:
        if source == "-":
            return self._file(self._spool(), "standard input", reading)
        path = _path(source)
        if os.path.isdir(path):
            return self._many(_in_folder(path), shown(path), reading)
        if not os.path.exists(path) and glob.has_magic(source):
            found = map(Path, glob.glob(str(path), recursive=True))
            files = sorted(name for name in found if name.is_file())
            if not files:
                raise UserError(f"no file matches {source}.")
            return self._many(files, source, reading)
        with os_errors(source, "read"), path.open("rb"):
            pass
        return self._file(path, shown(path.name), reading)

    def _list(self, sources: Sequence[str], reading: Reading) -> Source:
        paths = [_path(source) for source in sources]
        for source, path in zip(sources, paths, strict=True):
            if not os.path.isfile(path):
                raise UserError(f"{source} is no file: of several tables each must be one.")
        if reading.table is not None:
            raise UsageError("--table is for a single database: write a query over several.")
        return self._many(paths, f"{shown(paths[0].name)} and {len(paths) - 1} more", reading)

    def _spool(self) -> Path:
        """Copy standard input to a file, since tables are read more than once."""
        if sys.stdin is None:
            raise UserError("standard input is closed: give a file, or pipe one in.")
        if sys.stdin.isatty():
            raise UserError("nothing is piped to standard input: give a file, or pipe one in.")
        with suppress(OSError):  # it may have no number
            self.inputs.add(file_id(os.fstat(sys.stdin.fileno())))
        path = next(self._copies)
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
        return path

    def _file(self, path: Path, name: str, reading: Reading) -> Source:
        if path.stat().st_size == 0:
            raise UserError(f"{name} is empty.")
        form = _format(path)
        if form not in ("sqlite", "duckdb") and reading.table is not None:
            raise UserError(
                f"{name} has no table {reading.table!r}: it is neither a DuckDB nor an SQLite file."
            )
        if form in _SEVERAL:
            return self._many([path], name, reading)
        from admercs.cli.databases import table_in_duckdb, table_in_sqlite

        self.inputs.add(file_id(path.stat()))
        if form == "arff":
            # A name of its own: a query may read several.
            registered = f"admercs {shown(path.resolve())}"
            self._connection.register(registered, _read_arff(path, reading.encoding))
            return Source(name, f"select * from {quoted(registered)}")
        if form == "sqlite":
            table, sql = table_in_sqlite(path, reading.table, next(self._copies))
        else:
            path = self._for_duckdb(path)
            table, sql = table_in_duckdb(path, reading.table, self._connection)
        return Source(f"{name}, {table}", sql)

    def _many(self, paths: Sequence[Path], name: str, reading: Reading) -> Source:
        """Read files of one format."""
        full = [path for path in paths if path.stat().st_size]
        if not full:
            raise UserError(f"all files of {name} are empty.")
        self.inputs |= {file_id(path.stat()) for path in paths}
        forms = {_format(path) for path in full}
        if len(forms) > 1 or not forms <= _SEVERAL:
            raise UserError(
                f"{name} stands for files of several kinds ({', '.join(sorted(forms))}): "
                "name one kind, or write a query over them."
            )
        if forms == {"csv"}:
            return self._csv(full, name, reading)
        files = f"[{', '.join(map(self._in_sql, full))}]"
        if forms == {"json"}:
            files += ", sample_size = -1, ignore_errors = false"
        return Source(name, f"select * from read_{forms.pop()}({files})")

    def _csv(self, paths: Sequence[Path], name: str, reading: Reading) -> Source:
        plain, delimiter = prepare_csv(name, paths, reading, self._copies)
        size = sum(path.stat().st_size for path in plain)
        sample = -1 if size <= _WHOLE_FILE_BYTES else _SAMPLE_LINES
        files = list(map(self._in_sql, plain))
        sql = read_csv_sql(files, delimiter, reading, sample)
        source = Source(name, sql, dict.fromkeys(paths, delimiter), reading.encoding)
        if not reading.text:
            return source
        with source.errors():
            columns = self._connection.sql(sql).columns
        text = [column for column in columns if column in reading.text]
        return replace(source, sql=read_csv_sql(files, delimiter, reading, sample, text))

    def _in_sql(self, path: Path) -> str:
        """Return a file's name as DuckDB has to be given it, so that it is not a pattern."""
        path = self._for_duckdb(path)
        self.readable |= {os.path.abspath(path), os.path.abspath(glob.escape(str(path)))}
        return sql_text(glob.escape(str(path)))

    def _for_duckdb(self, path: Path) -> Path:
        """Return a path that DuckDB takes as it is; a link if its name is not UTF-8."""
        if shown(path) == str(path):
            return path.absolute() if str(path).startswith("~") else path
        # DuckDB tells a compressed file by its ending.
        link = next(self._copies).with_suffix(path.suffix if path.suffix in COMPRESSED else "")
        link.symlink_to(path.absolute())
        return link


def _path(text: str) -> Path:
    """Return a path; a ``~`` that is no user's folder is part of the name."""
    return Path(os.path.expanduser(text))


def _means_a_file(named: NamedFile) -> bool:
    """Tell a file from a name of another kind, such as that of a subquery."""
    if os.path.exists(_path(named.file)):
        return True
    path_like = named.table or named.file == "-" or glob.has_magic(named.file)
    known = Path(named.file).suffix.lower() in {*_FORMATS, *_DATABASES, *COMPRESSED}
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
    if ending in COMPRESSED:
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
    try:
        with open_text(path) as stream:
            text = stream.read(4096).lstrip()
    except (UnicodeDecodeError, OSError):
        return "csv"
    if text.startswith("{"):
        return "json"
    return "arff" if re.match(r"[@%]", text) and "@" in text else "csv"


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
    return pa.table(
        {
            name: pa.array(values, types[values.dtype.kind], from_pandas=True)
            for name, values in columns.items()
        }
    )
