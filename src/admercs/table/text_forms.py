"""What a column of text can turn out to be, and the shapes by which texts are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from admercs.arrays import Array, Ints
from admercs.table.text_cells import TextCells

DIGIT = "9"
LONGEST = 48  # characters of a number or a date; a longer text is neither
# All digits count as one character, and what looks alike as the one on the keyboard.
SHAPES = str.maketrans(
    dict.fromkeys("0123456789", DIGIT)
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\t\n\r", " ")
    | {"\u2212": "-", "\u2019": "'"}
)


@dataclass(frozen=True)
class TextForm:
    """How texts have to be written to be read as numbers, dates or times of day."""

    kind: Literal["number", "date", "time"]
    prefix: str = ""  # numbers: a currency before them
    suffix: str = ""  # or a unit behind them
    decimal: str = "."  # stands before the decimals
    group: str = ""  # stands between groups of three digits
    order: str = ""  # dates: of year, month and day; "name" if the month has its name
    separator: str = ""  # between them
    year_digits: int = 4
    zoned: bool = False  # times have a zone


def shape_of(text: str) -> str:
    """Return a text with all of its digits taken for the same; empty if it is too long to be read.

    >>> shape_of("EUR 1 234,56")
    'EUR 9 999,99'
    """
    return text.translate(SHAPES) if len(text) <= LONGEST else ""


@dataclass(frozen=True)
class TextsOfShape:
    """Some distinct texts of one shape."""

    shape: str
    texts: TextCells
    places: Ints  # of the texts

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.places)

    @cached_property
    def values(self) -> list[str]:
        """The texts."""
        return self.texts.decode(self.places)

    def characters(self, places: Sequence[int]) -> Array:
        """Return the numbers of some characters, texts x places."""
        start, length = self.texts.start[self.places], len(self.shape)
        if (self.texts.start[self.places + 1] - start == length).all():  # a byte for each
            return self.texts.data[start[:, None] + np.array(places)]
        letters = np.array(self.values, dtype=f"U{length}").view(np.uint32)
        return letters.reshape(len(self), length)[:, list(places)]

    def digits(self, places: Sequence[int]) -> Array:
        """Return the digits at some places, texts x places."""
        return self.characters(places).astype(np.int64) - ord("0")


def whole_number(digits: Array) -> Ints:
    """Return the whole numbers that have these digits."""
    total = np.zeros(len(digits), np.int64)
    for digit in digits.T:
        total = 10 * total + digit
    return total
