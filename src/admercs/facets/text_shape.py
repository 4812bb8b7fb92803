"""The shape of texts: runs of digits, capitals and letters, with all punctuation kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from admercs.arrays import Array
from admercs.table.values import RawColumn

_DIGITS, _CAPITALS, _LETTERS = re.compile(r"\d"), re.compile(r"[^\W\d_]+"), re.compile(r"a{2,}")
_SPACES = re.compile(r"\s+")


def shape_of(text: str) -> str:
    """Return the shape of a text: 9 for a digit, A and a for runs of capitals and of letters.

    Examples
    --------
    >>> shape_of("+32 471 23 45"), shape_of("John  Smith-Doe"), shape_of("A7-120")
    ('+99 999 99 99', 'Aa Aa-Aa', 'A9-999')
    """
    text = _CAPITALS.sub(_letters, _DIGITS.sub("9", text))
    return _SPACES.sub(" ", text)


def _letters(match: re.Match[str]) -> str:
    word = match[0]
    if word.isupper():
        return "A"
    return "Aa" if word[0].isupper() else "a"


def text_shape(name: str, texts: RawColumn) -> RawColumn:
    """Return the shape of each text."""
    return _of_distinct(name, texts, shape_of, "text", object)


def text_length(name: str, texts: RawColumn) -> RawColumn:
    """Return the number of characters of each text."""
    return _of_distinct(name, texts, len, "integer", np.int64)


def _of_distinct(
    name: str, texts: RawColumn, function: Callable[[str], Any], kind: Any, dtype: Any
) -> RawColumn:
    """Call a function once for each distinct text."""
    missing = texts.is_missing()
    known: dict[Any, Any] = {}
    values: Array = np.zeros(len(missing), dtype)
    given = texts.values.tolist()
    for row in np.flatnonzero(~missing).tolist():
        text = given[row]
        if text not in known:
            known[text] = function(str(text))
        values[row] = known[text]
    return RawColumn(name, kind, values, missing if missing.any() else None)
