"""A table in an SQLite file, copied to Parquet in stretches of rows.

SQLite keeps a type per value, not per column, so the types are found by asking for them first.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from admercs.cli.errors import UserError
from admercs.cli.queries import quoted

__all__ = ["SqliteFile"]

STRETCH = 50_000


class SqliteFile:
    """An SQLite file opened for reading.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        self._connection.create_function("admercs_moment", 1, _is_moment, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()
        if isinstance(error, sqlite3.DatabaseError):
            raise UserError(f"cannot read {self._path}: {error}.") from error

    def tables(self) -> list[str]:
        """Return the names of its tables and views."""
        found = self._connection.execute(
            "select name from sqlite_master where type in ('table', 'view') "
            "and name not like 'sqlite\\_%' escape '\\' order by name"
        )
        return [row[0] for row in found]

    def copy(self, table: str, target: Path) -> None:
        """Copy a table to a Parquet file, a bounded number of rows at a time."""
        schema = self._schema(table)
        with pq.ParquetWriter(target, schema) as writer:
            cursor = self._connection.execute(f"select * from {quoted(table)}")
            while rows := cursor.fetchmany(STRETCH):
                writer.write_table(_arrow(rows, schema))

    def _schema(self, table: str) -> pa.Schema:
        columns = self._connection.execute(f"pragma table_info({quoted(table)})").fetchall()
        return pa.schema(
            [
                pa.field(name, self._column_type(table, name, str(declared).lower()))
                for _, name, declared, *_ in columns
            ]
        )

    def _column_type(self, table: str, column: str, declared: str) -> pa.DataType:
        """Choose a type; what a column is declared as counts only if all its values agree."""
        value, rows = quoted(column), quoted(table)
        found = self._connection.execute(f"select distinct typeof({value}) from {rows}")
        kinds = {row[0] for row in found} - {"null"}

        def none(condition: str) -> bool:
            """Tell whether no value of the column meets a condition."""
            asked = f"select exists (select 1 from {rows} where {condition.format(value)})"
            return not self._connection.execute(asked).fetchone()[0]

        if kinds == {"integer"}:
            flags = declared.startswith("bool") and none("{0} not in (0, 1)")
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


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=None)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


_CONVERTERS: dict[pa.DataType, Callable[[Any], Any]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): bool,
    pa.string(): str,
    pa.date32(): dt.date.fromisoformat,
    pa.timestamp("us"): _moment,
    pa.binary(): _bytes,
}


def _arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = []
    for field, values in zip(schema, zip(*rows, strict=True), strict=True):
        convert = _CONVERTERS[field.type]
        converted = [None if value is None else convert(value) for value in values]
        columns.append(pa.array(converted, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
