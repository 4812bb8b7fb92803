"""Tables of DuckDB and SQLite files, and the files that a query names."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from admercs.cli.csvfile import Source
from admercs.cli.errors import UserError, listed, shown

BATCH_ROWS = 50_000
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<dollars> \$(?P<tag>\w*)\$ .*? \$(?P=tag)\$ )
      | (?P<text> ' (?:[^']|'')* ' )
      | (?P<name> " (?:[^"]|"")* " )
      | (?P<word> \w+ )
      | (?P<sign> \S )""",
    re.VERBOSE | re.DOTALL,
)
# What a table may stand behind, and what ends a list of tables.
_BEFORE_TABLES = {"FROM", "JOIN", "PIVOT", "UNPIVOT", "SUMMARIZE", "DESCRIBE"}
_AFTER_TABLES = {"SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT",
                 "UNION", "EXCEPT", "INTERSECT", "VALUES", "SET"}  # fmt: skip
# How the parser calls queries, and those that only read.
_QUERY_TYPE = re.compile(r'"type":"(\w+_NODE)"')
_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_READER = re.compile(r"read_\w+|\w+_scan|parquet_\w+|sniff_csv|glob", re.IGNORECASE)


class NamedFile(NamedTuple):
    """A file in a query."""

    file: str  # as written, without its quotes
    table: tuple[str, ...]  # of a database, its schema before it if that is written; or empty
    is_text: bool  # written as a text, 'a.csv', not as a name, "a.csv"
    start: int  # where the file's name stands in the query, quotes included
    end: int


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_files(query: str) -> tuple[list[NamedFile], list[str]]:
    """Find the files that a query names as tables, and those it gives to ``read_csv`` and such."""
    tokens = [match for match in _TOKEN.finditer(query) if match.lastgroup != "comment"]
    named: list[NamedFile] = []
    arguments: list[str] = []
    # Per open parenthesis: whether we are in a list of tables there, or in the call of a reader.
    places = [(False, False)]
    before = ""
    for k, token in enumerate(tokens):
        text = token[0].upper()
        in_list, in_call = places[-1]
        expected = before in _BEFORE_TABLES or (before in ("(", ",") and in_list)
        if token.lastgroup in ("text", "name"):
            if expected:
                named.append(_named_file(tokens, k))
            elif token.lastgroup == "text" and in_call and before != "=":
                arguments.append(_unquoted(token))
        elif text == "(":
            places.append((expected, in_call or _READER.fullmatch(before) is not None))
        elif text == ")":
            places = places[:-1] or [(False, False)]
        elif text in _BEFORE_TABLES and before != "DISTINCT":  # "is distinct from" compares
            places[-1] = (True, in_call)
        elif text in _AFTER_TABLES:
            places[-1] = (False, in_call)
        before = "" if text == "FROM" and before == "DISTINCT" else text
    return named, arguments


def _named_file(tokens: list[re.Match[str]], k: int) -> NamedFile:
    token, parts = tokens[k], []
    while k + 2 < len(tokens) and tokens[k + 1][0] == ".":
        parts.append(_unquoted(tokens[k + 2]))
        k += 2
    is_text = token.lastgroup == "text"
    return NamedFile(_unquoted(token), tuple(parts), is_text, token.start(), token.end())


def _unquoted(token: re.Match[str]) -> str:
    text = token[0]
    is_quoted = token.lastgroup in ("text", "name")
    return text[1:-1].replace(text[0] * 2, text[0]) if is_quoted else text


def only_reads(connection: Any, query: str) -> bool:
    """Say whether a query is one select, with nothing but selects inside it (no COPY or INSERT)."""
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return False
    parsed = connection.execute("select json_serialize_sql(?)", [query]).fetchall()[0][0]
    # Quotes within texts are escaped, so that nothing else looks like this.
    found = set(_QUERY_TYPE.findall(parsed))
    return bool(found) and found <= _READING


def table_in_duckdb(path: Path, wanted: str | None, connection: Any) -> tuple[str, str]:
    """Attach a DuckDB file; return the name of the table that is meant and the SQL to read it."""
    file = f"admercs {shown(path.resolve())}"
    attach = f"attach if not exists {sql_text(str(path))} as {quoted(file)} (read_only)"
    with Source(str(path), attach).errors():
        connection.execute(attach)
        found = connection.execute(
            "select table_schema, table_name from information_schema.tables "
            "where table_catalog = ? order by all",
            [file],
        ).fetchall()
    names = {".".join(name).removeprefix("main."): name for name in found}
    chosen = _choose(path, list(names), wanted)
    return chosen, f"select * from {'.'.join(map(quoted, (file, *names[chosen])))}"


def table_in_sqlite(path: Path, wanted: str | None, copy: Path) -> tuple[str, str]:
    """Copy a table of an SQLite file; return its name and the SQL to read it."""
    # DuckDB could read such files with an extension, but that would have to be downloaded.
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("pragma trusted_schema = off")  # the file may be a stranger's
            found = connection.execute(
                "select name from sqlite_master where type in ('table', 'view') "
                "and name not like 'sqlite\\_%' escape '\\' order by name"
            )
            chosen = _choose(path, [name for (name,) in found], wanted)
            _copy(connection, quoted(chosen), copy)
    except (sqlite3.DatabaseError, UnicodeError) as error:
        raise UserError(f"cannot read {path}: {error}.") from error
    return chosen, f"select * from read_parquet({sql_text(str(copy))})"


def _copy(connection: sqlite3.Connection, table: str, copy: Path) -> None:
    connection.create_function("admercs_moment", 1, _is_moment, deterministic=True)
    columns = connection.execute(f"pragma table_info({table})").fetchall()
    type_of = partial(_sqlite_type, connection, table)
    schema = pa.schema((name, type_of(quoted(name), declared)) for _, name, declared, *_ in columns)
    with pq.ParquetWriter(copy, schema) as writer:
        cursor = connection.execute(f"select * from {table}")
        while rows := cursor.fetchmany(BATCH_ROWS):
            arrays = [
                pa.array(
                    [None if cell is None else _CONVERTERS[kind](cell) for cell in cells], kind
                )
                for kind, *cells in zip(schema.types, *rows, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=schema))


def _choose(path: Path, found: list[str], wanted: str | None) -> str:
    """Return the table the user means, or say which ones there are."""
    if not found:
        raise UserError(f"{path} holds no table.")
    if wanted is None and len(found) > 1:
        raise UserError(
            f"{path} holds {len(found)} tables: {listed(found, 20)}. Choose one with --table, or "
            f"in a query as '{path}'.{found[0] if found[0].isidentifier() else quoted(found[0])}."
        )
    if wanted is None or wanted in found:
        return wanted or found[0]
    # SQL does not tell capitals from small letters.
    alike = [name for name in found if name.lower() == wanted.lower().removeprefix("main.")]
    if len(alike) == 1:
        return alike[0]
    raise UserError(f"{path} has no table {wanted!r}; it has {listed(found, 20)}.")


def _sqlite_type(connection: sqlite3.Connection, table: str, column: str, declared: str) -> Any:
    # SQLite keeps a type per value, so what is declared counts only if all values agree.
    found = connection.execute(f"select distinct typeof({column}) from {table}")
    kinds = {kind for (kind,) in found} - {"null"}

    def none(condition: str) -> bool:
        question = f"select exists (select 1 from {table} where {condition.format(column)})"
        return not connection.execute(question).fetchall()[0][0]

    if kinds == {"integer"}:
        flags = declared.lower().startswith("bool") and none("{0} not in (0, 1)")
        return pa.bool_() if flags else pa.int64()
    if kinds and kinds <= {"integer", "real"}:
        return pa.float64()
    # SQLite has no type for dates: they are text, whatever the column is declared as.
    if kinds == {"text"} and none("{0} is not null and not admercs_moment({0})"):
        days = none("{0} is not null and length({0}) != 10")
        return pa.date32() if days else pa.timestamp("us")
    return pa.binary() if "blob" in kinds else pa.string()


def _is_moment(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return text[4:5] == "-"  # nor 20240229, which is more likely a number


_CONVERTERS: dict[pa.DataType, Callable[[Any], Any]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): bool,
    pa.string(): str,
    pa.date32(): dt.date.fromisoformat,
    pa.timestamp("us"): lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=None),
    pa.binary(): lambda value: value if isinstance(value, bytes) else str(value).encode(),
}
