"""A table in a DuckDB or SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from admercs.cli.complaints import explained
from admercs.cli.csvfile import sql_text
from admercs.cli.errors import UserError
from admercs.cli.queries import quoted
from admercs.cli.sqlitefile import SqliteFile

__all__ = ["create_view", "table_in_duckdb", "table_in_sqlite"]


def table_in_duckdb(path: Path, wanted: str | None, connection: Any) -> tuple[str, str]:
    """Attach a DuckDB file; return the name of the table that is meant and the SQL to read it."""
    file = f"admercs {path.resolve()}"
    with explained(str(path), {}, ""):
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
    place = ".".join(map(quoted, (file, *names[chosen])))
    return chosen, f"select * from {place}"


def table_in_sqlite(path: Path, wanted: str | None, scratch: Path) -> tuple[str, str]:
    """Copy a table of an SQLite file; return its name and the SQL to read it.

    DuckDB could read such files with an extension, but that would have to be downloaded.
    """
    copy = scratch / "sqlite.parquet"
    with SqliteFile(path) as database:
        chosen = _choose(path, database.tables(), wanted)
        database.copy(chosen, copy)
    return chosen, f"select * from read_parquet({sql_text(str(copy))})"


def _choose(path: Path, found: list[str], wanted: str | None) -> str:
    """Return the table the user means, or say which ones there are."""
    if not found:
        raise UserError(f"{path} holds no table.")
    listed = ", ".join(found[:20]) + (f" and {len(found) - 20} more" if len(found) > 20 else "")
    if wanted is None:
        if len(found) == 1:
            return found[0]
        raise UserError(
            f"{path} holds {len(found)} tables: {listed}. Choose one with --table, or in a query "
            f"as '{path}'.{found[0] if found[0].isidentifier() else quoted(found[0])}."
        )
    if wanted in found:
        return wanted
    # SQL does not tell capitals from small letters.
    alike = [name for name in found if name.lower() == wanted.lower().removeprefix("main.")]
    if len(alike) == 1:
        return alike[0]
    raise UserError(f"{path} has no table {wanted!r}; it has {listed}.")


def create_view(connection: Any, file: str, table: Sequence[str], sql: str) -> None:
    """Give a file, or a table of a database, the name that a query calls it by."""
    if table:
        connection.execute(f"attach if not exists ':memory:' as {quoted(file)}")
        for schema in table[:-1]:
            connection.execute(f"create schema if not exists {quoted(file)}.{quoted(schema)}")
    place = ".".join(map(quoted, (file, *table)))
    connection.execute(f"create view {place} as {sql}")
