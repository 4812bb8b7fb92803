"""Working values on the axes of a picture."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from admercs.explanation.plain import Value
from admercs.explanation.values import ColumnVoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axis_values", "label_axis", "working_value"]


def axis_values(
    voice: ColumnVoice, x: NDArray[np.float64], jitter: int | None = None
) -> NDArray[Any]:
    """Return working values as they are drawn: dates as dates, codes spread a little."""
    column = voice.column
    if column.display in {"date", "datetime"}:
        whole = np.where(np.isnan(x), np.iinfo(np.int64).min + 1, np.floor(x))
        ticks = whole.astype(np.int64)
        dates = (ticks + column.origin).astype(f"datetime64[{column.unit or 's'}]")
        return np.where(np.isnan(x), np.datetime64("NaT"), dates)
    spread = x + column.origin
    if jitter is not None and (column.role == "nominal" or column.distinct):
        gap = 1.0 if len(column.distinct) < 2 else float(np.diff(column.distinct).min())
        # Always the same picture for the same table.
        noise = np.random.default_rng(jitter).uniform(-0.25, 0.25, len(x))
        spread = spread + gap * noise
    return spread


def working_value(voice: ColumnVoice, value: Value) -> float:
    """Return the working value behind a native one; NaN when it is missing."""
    if value is None or isinstance(value, str):
        return math.nan
    column = voice.column
    if isinstance(value, bool | int | float):
        return float(value - column.origin)
    if isinstance(value, dt.timedelta):
        value = dt.datetime(1970, 1, 1) + value
    elif isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value)
    elif isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    ticks = np.array([value], dtype=f"datetime64[{column.unit or 's'}]").astype(np.int64)
    return float(int(ticks[0]) - column.origin)


def label_axis(ax: Axes, voice: ColumnVoice, which: Literal["x", "y"]) -> None:
    """Name an axis, with its unit, and the categories on it."""
    label = f"{voice.name} ({voice.unit})" if voice.unit else voice.name
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(label)
    column = voice.column
    if column.role == "nominal":
        names = [voice.category(value) for value in column.categories[:12]]
        ticks = ax.set_xticks if which == "x" else ax.set_yticks
        ticks(range(1, len(names) + 1), names)
    if column.display in {"date", "datetime"} and which == "x":
        ax.tick_params(axis="x", rotation=30)
