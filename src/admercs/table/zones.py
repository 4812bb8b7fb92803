"""Time zones by name: those of the IANA database, and fixed offsets such as ``+02:00``."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)")


def zone_of(name: str) -> dt.tzinfo:
    """Return the time zone that a column names."""
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    sign, hours, minutes = match.groups()
    offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
    return dt.timezone(-offset if sign == "-" else offset)


def zone_name(zone: dt.tzinfo | str) -> str:
    """Return a name that :func:`zone_of` understands; UTC for a zone that has none."""
    if isinstance(zone, str):
        name: str = zone
    else:  # ZoneInfo has a key, pytz a zone, and dateutil the file that it read
        path = re.search(r"zoneinfo/([\w/+-]+)", repr(zone))
        known = (getattr(zone, "key", None), getattr(zone, "zone", None), path and path[1])
        name = next(filter(None, known), "")
    offset = None if isinstance(zone, str) or name else zone.utcoffset(None)
    match = _OFFSET.fullmatch(name)
    if match:
        return f"{match[1]}{match[2]}:{match[3]}"
    if offset is not None:
        minutes = round(offset.total_seconds() / 60)
        return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    try:
        zone_of(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return "UTC"
    return name
