"""The values of a row as text, as the table holds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.explanation.voice import Voice
from admercs.table.columns import Column
from admercs.table.frame import Frame
from admercs.table.schema import Schema
from admercs.table.values import RawColumn

__all__ = ["cell_texts", "place_of", "raw_texts"]

LONGEST = 300  # characters of a cell; whole documents do not belong into a report


def cell_texts(
    voice: Voice, frame: Frame, values: NDArray[np.float64], chosen: NDArray[np.intp]
) -> list[list[str | None]]:
    """Return the values of some rows as text, None for missing ones.

    Parameters
    ----------
    voice : Voice
        Says the model's values.
    frame : Frame
        The table.
    values : ndarray of float64, one row per attribute
        The working values of the chosen rows.
    chosen : ndarray of int
        Which rows of the table they are.
    """
    schema = voice.model.schema
    attributes = {column.position: m for m, column in enumerate(schema.used)}
    columns = []
    for column in schema.columns:
        at = place_of(column, voice.model.schema, frame)
        m = attributes.get(column.position)
        if m is None:
            columns.append(raw_texts(frame.column(at), chosen))
        elif column.role == "numeric":
            columns.append([_number(voice, m, x) for x in values[m].tolist()])
        else:
            columns.append(_categories(voice, m, values[m], frame, at, chosen))
    return [[_shortened(column[k]) for column in columns] for k in range(len(chosen))]


def place_of(column: Column, schema: Schema, frame: Frame) -> int:
    """Return where a column stands in a table, which may have its columns in another order."""
    by_name = schema.named and frame.named
    return frame.names.index(column.name) if by_name else column.position


def _number(voice: Voice, attribute: int, x: float) -> str | None:
    column = voice.column(attribute)
    if math.isnan(x):
        return None
    return f"{column.native(x):.12g}" if column.column.display == "number" else column.say(x)


def _categories(
    voice: Voice,
    attribute: int,
    values: NDArray[np.float64],
    frame: Frame,
    at: int,
    chosen: NDArray[np.intp],
) -> list[str | None]:
    """Say categories by their names; those the model does not know as the table has them."""
    column = voice.column(attribute)
    unknown = values > len(column.column.categories)
    raw = raw_texts(frame.column(at), chosen[unknown]) if unknown.any() else []
    texts = iter(raw)
    return [
        None if math.isnan(x) else next(texts) if strange else column.category(column.native(x))
        for x, strange in zip(values.tolist(), unknown.tolist(), strict=True)
    ]


def raw_texts(column: RawColumn, chosen: NDArray[np.intp]) -> list[str | None]:
    """Return values of a column as text, without a model that knows it.

    Examples
    --------
    >>> import numpy as np
    >>> raw_texts(RawColumn("day", "date", np.array([0, 18687]), unit="D"), np.array([1]))
    ['2021-03-01']
    """
    missing = column.is_missing()[chosen].tolist()
    if column.kind in ("date", "datetime"):
        values: list[Any] = list(column.values[chosen].view(f"M8[{column.unit}]"))
    elif column.kind in ("time", "duration"):
        values = list(column.values[chosen].view(f"m8[{column.unit}]"))
    else:
        values = column.values[chosen].tolist() if column.kind != "empty" else missing
    return [
        None if absent else _plain(value) for value, absent in zip(values, missing, strict=True)
    ]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else text[: LONGEST - 1] + "…"
