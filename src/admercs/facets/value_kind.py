"""What a cell holds where nearly all of a column's texts are numbers, dates or times."""

from __future__ import annotations

import numpy as np

from admercs.table.text_cells import TextCells
from admercs.table.values import Kind, RawColumn

KIND_WORDS: dict[Kind, str] = {
    **dict.fromkeys(("float", "integer"), "a number"),
    **dict.fromkeys(("date", "datetime"), "a date"),
    "time": "a time",
}
OTHER = "another text"


def value_kind(_: str, column: RawColumn | TextCells) -> TextCells:
    """Return whether each cell is what nearly all of its column are."""
    if isinstance(column, TextCells):  # as it is: nothing was read
        return TextCells.of([OTHER]).coded(np.minimum(column.code, 0))
    missing, other = column.is_missing(), column.unread
    code = -missing.astype(np.int32)
    if other is not None:
        code[other] = 1
    return TextCells.of([KIND_WORDS.get(column.kind, OTHER), OTHER]).coded(code)
