"""Turning the reader's complaints into messages for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from admercs.cli.csvfile import diagnose
from admercs.cli.errors import UserError

__all__ = ["explained"]


@contextmanager
def explained(
    name: str, delimiters: Mapping[Path, str], encoding: str, is_query: bool = False
) -> Iterator[None]:
    """Say what is wrong with a source, and where.

    Parameters
    ----------
    name : str
        What the source is called.
    delimiters : mapping of Path to str
        The CSV files behind it, with what separates their fields.
    encoding : str
        Of the CSV files.
    is_query : bool, default=False
        Whether the source is a query: then all of the message helps, it shows the place.
    """
    import duckdb
    import pyarrow as pa

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
        for path, delimiter in () if isinstance(error, in_sql) else delimiters.items():
            found = diagnose(path, delimiter, encoding)
            if found is not None:
                raise found from error
        raise UserError(_message(name, str(error), is_query)) from error


def _message(name: str, text: str, is_query: bool) -> str:
    """Keep what helps of a message from DuckDB: what is wrong and where, not its settings."""
    if is_query:
        return f"the query cannot be run.\n{text.strip()}"
    for advice in ("\nPossible", "\n  file =", "\nIf you are trying"):
        text = text.partition(advice)[0]
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    # "Invalid Input Error: CSV Error on Line: 3" → "CSV Error on Line: 3"
    head = lines[0].split(" Error: ", 1)[-1] if lines else "unknown error"
    return f"cannot read {name}: {'. '.join([head, *lines[1:3]])}."
