"""What a cell holds where nearly all of a column's texts are numbers, dates or times."""

from __future__ import annotations

import numpy as np

from admercs.table.values import Kind, RawColumn

KIND_WORDS: dict[Kind, str] = {
    **dict.fromkeys(("float", "integer"), "a number"),
    **dict.fromkeys(("date", "datetime"), "a date"),
    "time": "a time",
}
OTHER = "another text"


def value_kind(name: str, column: RawColumn) -> RawColumn:
    """Return whether each cell is what nearly all of its column are."""
    missing, other = column.is_missing(), column.unread
    values = np.full(len(missing), KIND_WORDS.get(column.kind, OTHER), object)
    if other is not None:
        values[other] = OTHER
        missing = missing & ~other
    return RawColumn(name, "text", values, missing if missing.any() else None)
