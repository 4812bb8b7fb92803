"""Finding out what the user means by a source: a file, a folder, a query, standard input."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from admercs.cli import csvfile, databases
from admercs.cli.csvfile import COMPRESSED, MAX_LINE, ReadOptions, Source, open_text
from admercs.cli.databases import NamedFile, quoted, quoted_files, sql_text
from admercs.cli.errors import UsageError, UserError, os_errors, shown
from admercs.cli.sinks import FileId, file_id
from admercs.cli.workbooks import SHEETS, is_workbook, read_feather, read_sheet
from admercs.table.readings import MISSING

_QUERY = re.compile(r"[\s(]*(select|with|from|values|pivot|unpivot)\b", re.IGNORECASE)
_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    ".arff": "arff",
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
    **dict.fromkeys(SHEETS, "workbook"),
}
_FIRST_BYTES = re.compile(
    rb"(?P<sqlite>SQLite format 3\0)|(?P<parquet>PAR1)|.{8}(?P<duckdb>DUCK)"
    rb"|(?P<feather>ARROW1)|(?P<workbook>\xd0\xcf\x11\xe0)",
    re.DOTALL,
)
# What files are that hold no table, or none that can be read, by their first bytes.
_OTHERS = {
    b"FEA1": "a Feather file of the first version",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"<!DOCTYPE": "a web page",
    b"<!doctype": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
    b"\x89HDF": "an HDF5 file",
    b"<stata_dta": "a Stata file",
    b"$FL2": "an SPSS file",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"RDX": "an R workspace",
}
_PLAIN = ("", ".csv", ".tsv", ".txt", ".tab")  # endings of CSV files
_SEVERAL = {"csv", "parquet", "json"}  # of these, several files can be one table
_DATABASES = {".db", ".duckdb", ".ddb", ".sqlite", ".sqlite3"}
_IN_FOLDERS = (".parquet", ".csv", ".csv.gz", ".csv.zst", ".tsv", ".jsonl", ".ndjson")
# Types are found by reading a file once before it is read; only the start of a larger one.
_WHOLE_FILE_BYTES, _SAMPLE_LINES = 256 << 20, 1_000_000


class SourceFinder:
    """Finds out what a source is and how DuckDB, which it is given a connection to, can read it."""

    def __init__(self, connection: Any, scratch: Path) -> None:
        self._connection = connection
        self._copies = (scratch / f"{number}" for number in count())  # names for copies of files
        self.inputs: set[FileId] = set()  # the files that are read
        self.readable: set[str] = set()  # the names that DuckDB is given for them

    def find(self, sources: Sequence[str], reading: ReadOptions) -> Source:
        """Find out what is meant: a path, a pattern, a folder, an SQL query, or ``-``."""
        if not all(sources):
            raise UsageError("the name of a table is empty.")
        csvfile.check_encoding(reading.encoding or "utf-8")
        if len(sources) == 1:
            if _QUERY.match(sources[0]) and not os.path.exists(_path(sources[0])):
                return self._query(sources[0].strip().rstrip(";"), reading)
            return self._one(sources[0], reading)
        # Files of one kind, as a shell makes them of a pattern.
        paths = [_path(source) for source in sources]
        for source, path in zip(sources, paths, strict=True):
            if not os.path.isfile(path):
                raise UserError(f"{source} is no file: of several tables each must be one.")
        if reading.table_name is not None:
            raise UsageError("--table is for a single database: write a query over several.")
        return self._many(paths, f"{shown(paths[0].name)} and {len(paths) - 1} more", reading)

    def _query(self, query: str, reading: ReadOptions) -> Source:
        # Each file gets a view of the same name: it is read as it is alone, not as DuckDB guesses.
        if reading.table_name is not None:
            raise UsageError("--table is not for queries: write 'shop.sqlite'.orders in the query.")
        if shown(query) != query:
            raise UserError("the query is not UTF-8. Give files in a query names that are.")
        named_files, arguments = quoted_files(query)
        places = [named for named in named_files if _means_a_file(named)]
        for named in reversed(places):
            # A text may be a table to DuckDB, but not a database.
            query = f"{query[: named.start]}{quoted(named.file)}{query[named.end :]}"
        source = Source("query", query, is_query=True)
        with source.errors():
            only_reads = databases.only_reads(self._connection, query)
        if not only_reads:
            raise UserError(
                "a query must be one select statement, and nothing else. A pivot has to name its "
                "values: on year in (2024, 2025)."
            )
        for file, parts in dict.fromkeys((named.file, named.table) for named in places):
            read = self._one(file, replace(reading, table_name=".".join(parts) or None))
            with read.errors():
                self._create_view(file, parts, read.sql)
            layouts = {**source.layouts, **read.layouts}
            source = replace(source, layouts=layouts, notes=(*source.notes, *read.notes))
        for path in map(_path, arguments):
            files = [path] if os.path.isfile(path) else _matching(path)
            self.inputs |= {file_id(file.stat()) for file in files}
            # A pattern has to be readable, too.
            self.readable |= {os.path.abspath(name) for name in (*files, path)}
        return source

    def _create_view(self, file: str, table: Sequence[str], sql: str) -> None:
        """Give a file, or a table of a database, the name that a query calls it by."""
        if table:
            self._connection.execute(f"attach if not exists ':memory:' as {quoted(file)}")
        for schema in table[:-1]:
            self._connection.execute(f"create schema if not exists {quoted(file)}.{quoted(schema)}")
        name = ".".join(map(quoted, (file, *table)))
        self._connection.execute(f"create view {name} as {sql}")

    def _one(self, source: str, reading: ReadOptions) -> Source:
        path = _path(source)
        name = shown(path.name)
        if source == "-":
            path, name = self._spool(), "standard input"
        elif os.path.exists(path) and path.is_fifo():  # of a shell, for instance: <(command)
            with os_errors(source, "read"), path.open("rb") as stream:
                path = self._copy(stream)
        elif os.path.isdir(path):
            return self._many(_in_folder(path), shown(path), reading)
        elif not os.path.exists(path) and glob.has_magic(source):
            if not (files := _matching(path)):
                raise UserError(f"no file matches {source}.")
            return self._many(files, source, reading)
        with os_errors(source, "read"), path.open("rb"):
            pass
        if path.stat().st_size == 0:
            raise UserError(f"{name} is empty.")
        self.inputs.add(file_id(path.stat()))
        path = self._unpacked(path)
        form = _format(path)
        if form not in ("sqlite", "duckdb", "workbook") and reading.table_name is not None:
            what = f"{name} has no table {reading.table_name!r}"
            raise UserError(f"{what}: it is neither a DuckDB nor an SQLite file, nor a workbook.")
        if form in _SEVERAL:
            return self._many([path], name, reading)
        if form in ("arff", "feather", "workbook"):
            return self._registered(path, name, form, reading)
        if form == "sqlite":
            table, sql = databases.table_in_sqlite(path, reading.table_name, next(self._copies))
        else:
            path = self._for_duckdb(path)
            table, sql = databases.table_in_duckdb(path, reading.table_name, self._connection)
        return Source(f"{name}, {table}", sql)

    def _unpacked(self, path: Path) -> Path:
        """Return a copy of the only file in a zip archive, if that is no CSV file."""
        if not csvfile.is_zip(path) or is_workbook(path) or csvfile.ending(path) in _PLAIN:
            return path
        folder = next(self._copies)
        folder.mkdir()
        copy = folder / Path(csvfile.only_member(path)).name[-60:]  # names have a longest length
        with csvfile.unpacking(path), csvfile.open_binary(path) as packed, copy.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
        return copy

    def _registered(self, path: Path, name: str, form: str, reading: ReadOptions) -> Source:
        """Read a file that DuckDB cannot read."""
        notes: tuple[str, ...] = ()
        if form == "workbook":
            sheet, table, notes = read_sheet(path, name, reading)
            name = f"{name}, {sheet}"
        elif form == "feather":
            table = read_feather(path)
        else:
            table = _read_arff(path, reading.encoding or "utf-8")
        # A name of its own: a query may read several.
        registered = f"admercs {name} {shown(path.resolve())}"
        source = Source(name, f"select * from {quoted(registered)}", notes=notes)
        with source.errors():
            self._connection.register(registered, table)
        return source

    def _spool(self) -> Path:
        """Copy standard input to a file, since tables are read more than once."""
        if sys.stdin is None or sys.stdin.isatty():
            what = "nothing is piped to standard input" if sys.stdin else "standard input is closed"
            raise UserError(f"{what}: give a file, or pipe one in.")
        with suppress(OSError):  # it may have no number
            self.inputs.add(file_id(os.fstat(sys.stdin.fileno())))
        return self._copy(sys.stdin.buffer)

    def _copy(self, stream: IO[bytes]) -> Path:
        """Copy what comes out of a pipe to a file."""
        path = next(self._copies)
        with path.open("wb") as out:
            shutil.copyfileobj(stream, out, 1 << 20)
        return path

    def _many(self, paths: Sequence[Path], name: str, reading: ReadOptions) -> Source:
        """Read files of one format."""
        full = [path for path in paths if path.stat().st_size]
        if not full:
            raise UserError(f"all files of {name} are empty.")
        self.inputs |= {file_id(path.stat()) for path in paths}
        full = [self._unpacked(path) for path in full]
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

    def _csv(self, paths: Sequence[Path], name: str, reading: ReadOptions) -> Source:
        plain, layouts = csvfile.prepare_csv(name, paths, reading, self._copies)
        delimiter, _, n_before = layouts[paths[0]]
        is_large = sum(path.stat().st_size for path in plain) > _WHOLE_FILE_BYTES
        sql = f"""select * from read_csv(
            [{", ".join(map(self._in_sql, plain))}], delim = {sql_text(delimiter)}, quote = '"',
            escape = '"', comment = '', header = {not reading.no_header}, skip = 0,
            null_padding = false, ignore_errors = false, max_line_size = {MAX_LINE},
            auto_type_candidates = ['BOOLEAN', 'BIGINT', 'DOUBLE', 'DATE', 'TIMESTAMP', 'TIME',
            'VARCHAR'], dateformat = '%Y-%m-%d', timestampformat = '%Y-%m-%d %H:%M:%S',
            sample_size = {_SAMPLE_LINES if is_large else -1}, allow_quoted_nulls = true,
            nullstr = [{", ".join(map(sql_text, (*MISSING, *reading.missing)))}])"""
        told = f"line {n_before + 1} was taken for the header, and {n_before} before it left out"
        source = Source(name, sql, layouts, notes=(f"{name}: {told}",) if n_before else ())
        if not {"text", "read"} & set(reading.expected.values()):
            return source
        with source.errors():
            columns = self._connection.sql(sql).columns
        # A few rows of codes may look like numbers.
        text = [each for each in columns if reading.expected.get(each) in ("text", "read")]
        types = ", ".join(f"{sql_text(column)}: 'VARCHAR'" for column in text)
        return replace(source, sql=f"{sql[:-1]}, types = {{{types}}})") if text else source

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
    # A ~ is part of the name of what exists, and where it is no user's folder.
    return Path(text if os.path.exists(text) else os.path.expanduser(text))


def _matching(pattern: Path) -> list[Path]:
    found = map(Path, glob.glob(str(pattern), recursive=True))
    return sorted(path for path in found if path.is_file())


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
    with path.open("rb") as stream:
        start = stream.read(16)
    if known := _FIRST_BYTES.match(start):
        return str(known.lastgroup)
    if csvfile.is_zip(path):
        if is_workbook(path):
            return "workbook"
        return "csv"
    if what := next((what for bytes, what in _OTHERS.items() if start.startswith(bytes)), None):
        raise UserError(f"{path} is {what}, not a table: save the table as CSV, Excel or Parquet.")
    if (name := csvfile.ending(path)) in _FORMATS:
        return _FORMATS[name]
    if name in _DATABASES:
        raise UserError(f"{path} is neither a DuckDB nor an SQLite file.")
    try:
        with open_text(path) as stream:
            text = stream.read(4096).lstrip()
    except (UserError, OSError):
        return "csv"
    if text.startswith("{"):
        return "json"
    return "arff" if re.match(r"[@%]", text) and "@" in text else "csv"


def _read_arff(path: Path, encoding: str) -> pa.Table:
    from admercs.datasets import DamagedFileError
    from admercs.datasets.arff import parse_arff

    try:
        with open_text(path, encoding) as stream:
            columns = parse_arff(path, stream).columns
    except DamagedFileError as error:
        raise UserError(str(error)) from error
    types = {"f": pa.float64(), "O": pa.string(), "M": pa.timestamp("us")}
    return pa.table(
        {k: pa.array(v, types[v.dtype.kind], from_pandas=True) for k, v in columns.items()}
    )
