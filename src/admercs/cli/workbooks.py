"""Sheets of Excel and OpenDocument workbooks, and Feather files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from admercs.cli.csvfile import ReadOptions, header_row, names_in_zip
from admercs.cli.errors import UserError, listed
from admercs.table.readings import MISSING

SHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_MIDNIGHT = dt.time()


def is_workbook(path: Path) -> bool:
    """Return whether a zip archive is a workbook, whatever its name."""
    try:
        names = names_in_zip(path)
    except UserError:  # it is damaged
        return path.suffix.lower() in SHEETS
    return "content.xml" in names or any(name.startswith("xl/") for name in names)


def read_feather(path: Path) -> pa.Table:
    """Read a Feather file."""
    try:
        with pa.memory_map(str(path)) as stream:
            table = ipc.open_file(stream).read_all()
        table.validate(full=True)  # else a damaged file would be read out of bounds
        # DuckDB has no numbers of half precision.
        types = (pa.float32() if pa.types.is_float16(each) else each for each in table.schema.types)
        return table.cast(pa.schema(zip(table.column_names, types, strict=True)))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: {error}. It is damaged or was cut short.") from error


def read_sheet(
    path: Path, name: str, reading: ReadOptions
) -> tuple[str, pa.Table, tuple[str, ...]]:
    """Return the name of the sheet that is meant, its table, and what is to be said of it."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise UserError("workbooks need python-calamine: pip install 'admercs[excel]'.") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        filled = {each: book.get_sheet_by_name(each).to_python() for each in book.sheet_names}
    except (CalamineError, OSError, ValueError) as error:
        raise UserError(
            f"cannot read {path}: {error}. If it has a password, save it without one."
        ) from error
    sheet = _choose_sheet(path, filled, reading.table_name)
    rows = filled[sheet]
    if not rows:
        raise UserError(f"{path}: the sheet {sheet!r} is empty.")
    first = 0 if reading.no_header else header_row([_fields(row) for row in rows[:50]])
    names = [] if reading.no_header else _fields(rows[first])
    width = max(map(len, rows))
    names += [f"column{k}" for k in range(len(names), width)]
    names = [each or f"column{k}" for k, each in enumerate(names)]
    if twice := [each for k, each in enumerate(names) if each in names[:k]]:
        what = f"{name}: the header has the column {twice[0]!r} more than once"
        raise UserError(f"{what}. Give each column a name of its own.")
    cells = rows[first + (not reading.no_header) :]
    tokens = {*MISSING, *reading.missing}
    columns = {
        each: _column([row[k] if k < len(row) else None for row in cells], tokens)
        for k, each in enumerate(names)
    }
    told = f"{name}: row {first + 1} was taken for the header, and {first} before it left out"
    return sheet, pa.table(columns), (told,) if first else ()


def _choose_sheet(path: Path, sheets: dict[str, list[Any]], wanted: str | None) -> str:
    """Return the sheet the user means, by its name or number, or say which ones there are."""
    names = list(sheets)
    if wanted in sheets:
        return str(wanted)
    if wanted is not None:
        if wanted.isdigit() and 1 <= int(wanted) <= len(names):
            return names[int(wanted) - 1]
        raise UserError(f"{path} has no sheet {wanted!r}; it has {listed(names, 20)}.")
    filled = [name for name, rows in sheets.items() if rows]
    if len(filled) != 1:
        raise UserError(
            f"{path} holds {len(filled)} sheets: {listed(filled, 20)}. Choose one with --table, by "
            "its name or its number."
            if filled
            else f"{path} holds no table: all of its sheets are empty."
        )
    return filled[0]


def _fields(row: Sequence[Any]) -> list[str]:
    """Return the cells of a row as text, without the empty ones at its end."""
    fields = [_text(cell) or "" for cell in row]
    while fields and not fields[-1]:
        fields.pop()
    return fields


def _text(cell: Any) -> str | None:
    """Return a cell as text; None if it is empty."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, dt.datetime):
        return str(cell.date() if cell.time() == _MIDNIGHT else cell)
    return str(cell)


def _column(cells: list[Any], tokens: set[str]) -> pa.Array:
    """Return a column in the type that all of its cells have, or as text."""
    cells = [None if (text := _text(cell)) is None or text in tokens else cell for cell in cells]
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds and kinds <= {int, float}:
        # A workbook knows no integers.
        whole = all(
            cell is None or (float(cell).is_integer() and abs(cell) < 2**53) for cell in cells
        )
        return pa.array([cell and (int(cell) if whole else float(cell)) for cell in cells])
    if kinds and kinds <= {dt.datetime, dt.date}:
        moments = [_moment(cell) for cell in cells]
        is_day = all(moment is None or moment.time() == _MIDNIGHT for moment in moments)
        return pa.array(moments, pa.timestamp("us")).cast(
            pa.date32() if is_day else pa.timestamp("us")
        )
    if len(kinds) == 1:
        return pa.array(cells)
    return pa.array(list(map(_text, cells)), pa.string())


def _moment(cell: Any) -> dt.datetime | None:
    if cell is None or isinstance(cell, dt.datetime):
        return cell
    return dt.datetime.combine(cell, _MIDNIGHT)
