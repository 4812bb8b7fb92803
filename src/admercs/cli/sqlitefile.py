"""A table in an SQLite file, copied to Parquet in stretches of rows.

SQLite keeps a type per value, not per column, so the types are found by asking for them first.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from admercs.cli.errors import UserError

__all__ = ["choose_table", "copy_sqlite"]

STRETCH = 50_000


def copy_sqlite(path: Path, table: str | None, target: Path) -> str:
    """Copy one table of an SQLite file to a Parquet file and return the table's name."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        name = _choose(path, connection, table)
        schema = _schema(path, connection, name)
        with pq.ParquetWriter(target, schema) as writer:
            cursor = connection.execute(f"select * from {_quoted(name)}")
            while rows := cursor.fetchmany(STRETCH):
                writer.write_table(_arrow(rows, schema))
    except sqlite3.DatabaseError as error:
        raise UserError(f"cannot read {path}: {error}.") from error
    finally:
        connection.close()
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _choose(path: Path, connection: sqlite3.Connection, table: str | None) -> str:
    found = [
        row[0]
        for row in connection.execute(
            "select name from sqlite_master where type in ('table', 'view') "
            "and name not like 'sqlite_%' order by name"
        )
    ]
    return choose_table(path, found, table)


def choose_table(path: Path, found: list[str], wanted: str | None) -> str:
    """Return the table the user means, or say which ones there are."""
    if wanted is not None and wanted in found:
        return wanted
    if wanted is None and len(found) == 1:
        return found[0]
    if not found:
        raise UserError(f"{path} holds no table.")
    listed = ", ".join(found[:20])
    if wanted is not None:
        raise UserError(f"{path} has no table {wanted!r}; it has {listed}.")
    raise UserError(f"{path} holds {len(found)} tables: {listed}. Choose one with --table.")


def _schema(path: Path, connection: sqlite3.Connection, name: str) -> pa.Schema:
    fields = []
    for column, declared in (
        (row[1], str(row[2]).lower())
        for row in connection.execute(f"pragma table_info({_quoted(name)})")
    ):
        kinds = {
            row[0]
            for row in connection.execute(
                f"select distinct typeof({_quoted(column)}) from {_quoted(name)}"
            )
        } - {"null"}
        if "blob" in kinds:
            raise UserError(
                f"{path}: column {column!r} holds binary data, which cannot be used. "
                "Leave it out with a view or a query."
            )

        def none(condition: str, column: str = column) -> bool:
            """Tell whether no value of the column meets a condition."""
            filled = condition.format(_quoted(column))
            return not connection.execute(
                f"select exists (select 1 from {_quoted(name)} where {filled})"
            ).fetchone()[0]

        fields.append(pa.field(column, _type(kinds, declared, none)))
    return pa.schema(fields)


def _type(kinds: set[str], declared: str, none: Callable[[str], bool]) -> pa.DataType:
    """Choose a type; what a column is declared as counts only if all its values agree."""
    if kinds == {"integer"}:
        return (
            pa.bool_() if declared.startswith("bool") and none("{0} not in (0, 1)") else pa.int64()
        )
    if kinds and kinds <= {"integer", "real"}:
        return pa.float64()
    if kinds == {"text"} and declared.startswith(("date", "timestamp")):
        if none("{0} is not null and {0} not glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'"):
            return pa.date32()
        if none("{0} is not null and (datetime({0}) is null or {0} not glob '????-??-??[ T]*')"):
            return pa.timestamp("us")
    return pa.string()


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = []
    for field, values in zip(schema, zip(*rows, strict=True), strict=True):
        if field.type == pa.string():
            converted: list[Any] = [None if value is None else str(value) for value in values]
        elif field.type == pa.bool_():
            converted = [None if value is None else bool(value) for value in values]
        elif field.type == pa.date32():
            converted = [
                None if value is None else dt.date.fromisoformat(value) for value in values
            ]
        elif field.type == pa.timestamp("us"):
            converted = [
                None if value is None else dt.datetime.fromisoformat(value).replace(tzinfo=None)
                for value in values
            ]
        else:
            converted = list(values)
        columns.append(pa.array(converted, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
