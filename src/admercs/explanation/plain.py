"""Values as the user knows them, for comparing and for JSON."""

from __future__ import annotations

import datetime as dt
import math
from numbers import Integral
from typing import Any

import numpy as np

__all__ = ["Value", "is_count", "like_bound", "plain"]

Value = str | bool | int | float | dt.date | dt.datetime | dt.time | dt.timedelta | None


def plain(value: Any) -> Any:
    """Return ``value`` as something JSON knows: dates as ISO text, durations in seconds.

    Examples
    --------
    >>> plain(dt.date(2021, 3, 1)), plain(dt.timedelta(minutes=2)), plain(0.5)
    ('2021-03-01', 120.0, 0.5)
    """
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)


def like_bound(value: Any, bound: Value) -> Any:
    """Return a date or time from a table in the form of the bound it is compared with."""
    if isinstance(bound, str | int | float | None):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    elif hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, dt.datetime) and not isinstance(bound, dt.datetime):
        return value.date()
    return value


def is_count(number: object) -> bool:
    """Tell whether something is a number of things, 0 or more.

    Examples
    --------
    >>> is_count(0), is_count(-1), is_count(1.5), is_count(True)
    (True, False, False, False)
    """
    if isinstance(number, bool) or not isinstance(number, Integral):
        return False
    return int(number) >= 0
