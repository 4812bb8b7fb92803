"""Working values on the axes of a picture."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from admercs.explain.column_words import ColumnWords
from admercs.explain.records import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axis_values", "label_axis", "show_missing", "working_value"]

MAX_TICKS = 30  # categories named on an axis
_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SPANS = ((86400, "days"), (3600, "h"), (60, "min"))


def axis_values(
    words: ColumnWords, x: NDArray[np.float64], jitter: int | None = None
) -> NDArray[Any]:
    """Return working values as they are drawn: dates as dates, codes spread a little."""
    column = words.column
    if column.display in {"date", "datetime"}:
        whole = np.where(np.isnan(x), np.iinfo(np.int64).min + 1, np.floor(x))
        ticks = whole.astype(np.int64)
        dates = (ticks + column.origin).astype(f"datetime64[{column.unit or 's'}]")
        return np.where(np.isnan(x), np.datetime64("NaT"), dates)
    spread = (x + column.origin) / _scale(words)[0]
    if jitter is not None and (column.role == "nominal" or column.distinct):
        gap = 1.0 if len(column.distinct) < 2 else float(np.diff(column.distinct).min())
        # Always the same picture for the same table.
        noise = np.random.default_rng(jitter).uniform(-0.25, 0.25, len(x))
        spread = spread + gap * noise
    return spread


def show_missing(words: ColumnWords, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give missing values a place: category 0, or a little below the least number."""
    if words.column.role == "nominal":
        return np.nan_to_num(x)
    if np.isnan(x).all():
        return np.zeros(len(x))
    low, high = np.nanmin(x), np.nanmax(x)
    return np.where(np.isnan(x), low - 0.08 * (high - low), x)


def _scale(words: ColumnWords) -> tuple[float, str]:
    """Return how many working units a unit of the axis has, and what it is called."""
    column = words.column
    second = float(_TICKS_PER_SECOND.get(column.unit, 1))
    if column.display == "time":
        return 3600 * second, "hour of the day"
    if column.display == "duration":
        for seconds, name in _SPANS:
            if words.step * 50 >= 2 * seconds * second:  # most values lie within fifty steps
                return seconds * second, name
        return second, "s"
    return 1.0, words.unit


def working_value(words: ColumnWords, value: Value) -> float:
    """Return the working value behind a native one; NaN when it is missing."""
    if value is None or isinstance(value, str):
        return math.nan
    column = words.column
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


def label_axis(
    ax: Axes, words: ColumnWords, which: Literal["x", "y"], *, missing: bool = False
) -> None:
    """Name an axis, with its unit, and the categories on it.

    ``missing`` tells that missing values are shown, where `show_missing` puts them.
    """
    column, unit = words.column, _scale(words)[1]
    label = f"{words.name} ({unit})" if unit else words.name
    if missing and column.role != "nominal":
        label += f", missing values at the {'left' if which == 'x' else 'bottom'}"
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(label)
    if column.role == "nominal":
        names = [words.category(value) for value in column.categories[:MAX_TICKS]]
        first = ["missing"] if missing else []
        ticks = ax.set_xticks if which == "x" else ax.set_yticks
        places = range(1 - len(first), len(names) + 1)
        ticks(places, [*first, *names], fontsize=8 if len(names) <= 12 else 6)
    long = column.role == "nominal" and len(column.categories) > 6
    if which == "x" and (long or column.display in {"date", "datetime"}):
        ax.tick_params(axis="x", rotation=30)
