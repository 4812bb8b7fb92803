"""What a column of text can turn out to be, and the shapes by which texts are told apart."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Array, Bytes, Ints
from admercs.table.text_cells import TextCells

DIGIT = "9"
LONGEST = 48  # characters of a number or a date; a longer text is neither
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CURRENCIES = (
    "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK", "DKK",
    "PLN", "CZK", "HUF", "RON", "TRY", "RUB", "UAH", "ZAR", "BRL", "MXN", "KRW", "SGD", "HKD",
    "THB", "ILS", "AED",
)  # fmt: skip
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


_E, _T = ord("e"), ord("t")
_MOST_BETWEEN = 2  # words that stand between two digits, as in 3Mar2021T12:30
_NAMES = np.array([int.from_bytes(n.lower().encode()) for n in (*MONTHS, *WEEKDAYS, *CURRENCIES)])
# What is written for each byte: nothing for what is in neither numbers nor dates.
_BYTES = np.arange(256, dtype=np.uint8)
_BYTES[:128] = 0
for _sign in (*string.ascii_letters, *"$%'()+,-./: "):
    _BYTES[ord(_sign)] = ord(_sign)
_BYTES[48:58], _BYTES[[9, 10, 13]] = ord("9"), ord(" ")


@kernel
def write_shapes(
    data: Bytes, start: Ints, shapes: Bytes, names: Ints, out: Bytes, stop: Ints
) -> None:
    """Write 9 for each digit of the texts that may be numbers or dates, and nothing for all others.

    Those have a digit and few characters but letters. Words before the first digit begin with one
    of some `names`, three letters each, or belong to a dollar sign. Right between two digits stand
    a T, the E of a power of ten, or a longer word.
    """
    to = 0
    for k in range(len(stop)):
        begin, n_letters, n_between, n_characters, word = to, 0, 0, 0, 0
        has_digit, is_between, is_ascii, may_be = False, False, True, True
        for i in range(start[k], start[k + 1]):
            c: Any = np.int64(data[i])
            is_digit = 48 <= c <= 57
            if 97 <= c | 32 <= 122:
                if n_letters == 0:
                    is_between = i > start[k] and 48 <= data[i - 1] <= 57
                n_letters += 1
                word = word << 8 | c | 32 if n_letters <= 3 else word
            elif n_letters:  # a word has come to its end
                if is_ascii and not has_digit:
                    may_be = n_letters < 3 and c == 36
                    for j in range(len(names) if n_letters > 2 else 0):
                        may_be |= names[j] == word
                if is_between and is_digit:
                    n_between += 1
                    is_word = n_letters > 2 or word in (_E, _T)
                    may_be &= is_word and n_between <= _MOST_BETWEEN
                n_letters, word = 0, 0
            is_ascii &= c < 128
            has_digit |= is_digit
            n_characters += c & 192 != 128
            out[to] = shapes[c]
            if out[to] == 0 or not may_be or n_characters > LONGEST:
                may_be = False
                break
            to += 1
        if not (may_be and has_digit):
            to = begin
        stop[k] = to


def by_shape(texts: TextCells) -> list[TextsOfShape]:
    """Return the distinct texts of each shape, of those that may be numbers or dates."""
    shapes = texts.coded(np.arange(len(texts))).derive(write_shapes, _BYTES, _NAMES, typed=False)
    # Numbers of 16 bits are sorted in a tenth of the time.
    code = shapes.code.astype(np.uint16) if len(shapes) < 1 << 16 else shapes.code
    order = np.argsort(code, kind="stable")
    found: defaultdict[str, list[Ints]] = defaultdict(list)
    groups = np.split(order, np.cumsum(shapes.n)[:-1])
    for shape, places in zip(shapes.values, groups, strict=False):
        found[shape.translate(SHAPES)].append(places)
    found.pop("", None)
    return [TextsOfShape(s, texts, np.sort(np.concatenate(found[s]))) for s in found]
