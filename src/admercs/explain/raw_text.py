"""Values as text, exactly as a table holds them."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from admercs.table.values import RawColumn


def raw_texts(column: RawColumn, chosen: NDArray[np.intp]) -> list[str | None]:
    """Return some values of a column as text; None for missing ones."""
    missing = column.is_missing()[chosen].tolist()
    values: list[Any] = missing if column.kind == "empty" else list(column.values[chosen])
    return [
        None if absent else _text(value, column)
        for value, absent in zip(values, missing, strict=True)
    ]


def _text(value: Any, column: RawColumn) -> str:
    if column.kind in ("date", "datetime"):
        return _moment_text(value.view(f"M8[{column.unit}]"), column.time_zone)
    if column.kind in ("time", "duration"):
        span = value.view(f"m8[{column.unit}]").astype("m8[us]").item()
        return str(span if column.kind == "duration" else (dt.datetime.min + span).time())
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return text.removesuffix(".0") if isinstance(value, float | np.floating) else text


def _moment_text(moment: np.datetime64, time_zone: str) -> str:
    """Write a date, with its time of day unless that is midnight."""
    if time_zone:
        utc = dt.datetime.fromisoformat(f"{moment.astype('M8[us]')}+00:00")
        return str(utc.astimezone(ZoneInfo(time_zone)))
    day, _, time = str(moment).partition("T")
    seconds, _, fraction = time.partition(".")
    time = f"{seconds}.{fraction.rstrip('0')}".rstrip(".")
    return day if not time.strip("0:") else f"{day} {time}"
