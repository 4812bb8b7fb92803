"""A table in a DuckDB or SQLite file."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from admercs.cli.csvfile import reading_errors
from admercs.cli.errors import UserError, listed, shown
from admercs.cli.queries import quoted, sql_text

BATCH_ROWS = 50_000


def table_in_duckdb(path: Path, wanted: str | None, connection: Any) -> tuple[str, str]:
    """Attach a DuckDB file; return the name of the table that is meant and the SQL to read it."""
    file = f"admercs {shown(path.resolve())}"
    with reading_errors(str(path), {}, ""):
        connection.execute(
            f"attach if not exists {sql_text(str(path))} as {quoted(file)} (read_only)"
        )
        found = connection.execute(
            "select table_schema, table_name from information_schema.tables "
            "where table_catalog = ? order by all",
            [file],
        ).fetchall()
    names = {table if schema == "main" else f"{schema}.{table}": (schema, table)
             for schema, table in found}  # fmt: skip
    chosen = _choose(path, list(names), wanted)
    return chosen, f"select * from {'.'.join(map(quoted, (file, *names[chosen])))}"


def table_in_sqlite(path: Path, wanted: str | None, copy: Path) -> tuple[str, str]:
    """Copy a table of an SQLite file; return its name and the SQL to read it.

    DuckDB could read such files with an extension, but that would have to be downloaded.
    """
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            found = connection.execute(
                "select name from sqlite_master where type in ('table', 'view') "
                "and name not like 'sqlite\\_%' escape '\\' order by name"
            )
            chosen = _choose(path, [row[0] for row in found], wanted)
            _copy(connection, quoted(chosen), copy)
    except sqlite3.DatabaseError as error:
        raise UserError(f"cannot read {path}: {error}.") from error
    return chosen, f"select * from read_parquet({sql_text(str(copy))})"


def _copy(connection: sqlite3.Connection, table: str, copy: Path) -> None:
    connection.create_function("admercs_moment", 1, _is_moment, deterministic=True)
    columns = connection.execute(f"pragma table_info({table})").fetchall()
    schema = pa.schema(
        (name, _sqlite_type(connection, table, quoted(name), str(declared)))
        for _, name, declared, *_ in columns
    )
    with pq.ParquetWriter(copy, schema) as writer:
        cursor = connection.execute(f"select * from {table}")
        while rows := cursor.fetchmany(BATCH_ROWS):
            writer.write_table(_arrow(rows, schema))


def _choose(path: Path, found: list[str], wanted: str | None) -> str:
    """Return the table the user means, or say which ones there are."""
    if not found:
        raise UserError(f"{path} holds no table.")
    if wanted is None:
        if len(found) == 1:
            return found[0]
        raise UserError(
            f"{path} holds {len(found)} tables: {listed(found, 20)}. Choose one with --table, or "
            f"in a query as '{path}'.{found[0] if found[0].isidentifier() else quoted(found[0])}."
        )
    if wanted in found:
        return wanted
    # SQL does not tell capitals from small letters.
    alike = [name for name in found if name.lower() == wanted.lower().removeprefix("main.")]
    if len(alike) == 1:
        return alike[0]
    raise UserError(f"{path} has no table {wanted!r}; it has {listed(found, 20)}.")


def _sqlite_type(
    connection: sqlite3.Connection, table: str, column: str, declared: str
) -> pa.DataType:
    """Choose a column's type.

    SQLite keeps a type per value, so what is declared counts only if all values agree.
    """
    found = connection.execute(f"select distinct typeof({column}) from {table}")
    kinds = {row[0] for row in found} - {"null"}

    def none(condition: str) -> bool:
        """Tell whether no value of the column meets a condition."""
        question = f"select exists (select 1 from {table} where {condition.format(column)})"
        return not connection.execute(question).fetchone()[0]

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
    """Tell whether a text is a date, or a date and a time of day."""
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


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = []
    for kind, values in zip(schema.types, zip(*rows, strict=True), strict=True):
        convert = _CONVERTERS[kind]
        columns.append([None if value is None else convert(value) for value in values])
    return pa.table(columns, schema=schema)
