"""Texts in groups of one shape, those aside that can be neither numbers nor dates."""

from __future__ import annotations

import string
from collections import defaultdict
from typing import Any

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Bytes, Ints
from admercs.table.date_texts import MONTHS, WEEKDAYS
from admercs.table.number_texts import CURRENCIES
from admercs.table.text_cells import TextCells
from admercs.table.text_forms import LONGEST, SHAPES, TextsOfShape

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
    data: Bytes, _: Bytes, start: Ints, shapes: Bytes, names: Ints, out: Bytes, stop: Ints
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
    shapes = texts.coded(np.arange(len(texts))).derive(write_shapes, _BYTES, _NAMES)
    # Numbers of 16 bits are sorted in a tenth of the time.
    code = shapes.code.astype(np.uint16) if len(shapes) < 1 << 16 else shapes.code
    order = np.argsort(code, kind="stable")
    found: defaultdict[str, list[Ints]] = defaultdict(list)
    groups = np.split(order, np.cumsum(shapes.n)[:-1])
    for shape, places in zip(shapes.values, groups, strict=False):
        found[shape.translate(SHAPES)].append(places)
    found.pop("", None)
    return [TextsOfShape(s, texts, np.sort(np.concatenate(found[s]))) for s in found]
