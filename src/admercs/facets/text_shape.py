"""Parts of texts: their shape, with all punctuation kept, their length, how they begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Bytes, Ints
from admercs.table.text_cells import (
    DIGIT,
    LETTER,
    LOWER,
    MORE,
    NUMERAL,
    SPACE,
    UPPER,
    TextCells,
    texts_in,
)
from admercs.table.values import RawColumn

E_MAIL = "an e-mail address"  # the shape of one, whatever letters and digits it has
_NUMBER, _LONGEST = "a number", 20  # characters of a beginning or an end that may repeat
_E_MAIL, _A_NUMBER = (np.frombuffer(text.encode(), np.uint8) for text in (E_MAIL, _NUMBER))
_FEW = 4096
TEXT_PARTS = ("shape", "length", "first", "last")


@kernel
def write_text_shapes(
    data: Bytes, start: Ints, types: Bytes, e_mail: Bytes, out: Bytes, stop: Ints
) -> None:
    """Write the shape of each text: `e_mail` for an address, else 9 for a digit, A, Aa and a."""
    to = 0
    for k in range(len(stop)):
        first, last = start[k], start[k + 1]
        at = first
        while at < last and data[at] != 64:
            at += 1
        # An address is a name, @ and labels with points between them, the last one of letters.
        is_address, is_word, n_labels, n_in_label = first < at < last, True, 0, 0
        for i in range(first, last if is_address else first):
            c, what = data[i], types[i]
            if what == MORE or i == at or not is_address:
                continue
            if i < at:  # no "(),:;<>
                is_sign = c in (34, 40, 41, 44, 58, 59, 60, 62)
                is_address = not (is_sign or what & SPACE)
            elif c == 46:
                is_address = n_in_label > 0
                n_labels, n_in_label, is_word = n_labels + 1, 0, True
            else:
                is_address = what & (LETTER | DIGIT) != 0 or c in (95, 45)
                n_in_label, is_word = n_in_label + 1, is_word and what & LETTER != 0
        if is_address and n_labels > 0 and n_in_label > 1 and is_word:
            for j in range(len(e_mail)):
                out[to + j] = e_mail[j]
            to += len(e_mail)
            stop[k] = to
            continue
        i = first
        while i < last:
            what = types[i]
            if what & LETTER:
                any_upper, any_lower = False, False
                while i < last and types[i] & (LETTER | MORE):
                    any_upper |= types[i] & UPPER != 0
                    any_lower |= types[i] & LOWER != 0
                    i += 1
                is_upper = any_upper and not any_lower
                if is_upper or what & UPPER:
                    out[to] = 65
                    to += 1
                if not is_upper:
                    out[to] = 97
                    to += 1
                continue
            out[to] = 57 if what & DIGIT else 32 if what & SPACE else data[i]
            to += 1
            i += 1
            # The rest of a digit, and more spaces.
            skip = MORE if what & DIGIT else SPACE | MORE if what & SPACE else 0
            while i < last and types[i] & skip:
                i += 1
        stop[k] = to


@kernel
def write_tokens(
    data: Bytes, start: Ints, types: Bytes, number: Bytes, at_end: bool, longest: int,
    out: Bytes, stop: Ints,
) -> None:  # fmt: skip
    """Write the first or the last word of each text with the punctuation around it.

    What has digits only is a `number`. Words are looked for among the first or last characters,
    twice as many as a word may have.
    """
    to = 0
    for k in range(len(stop)):
        first, last = start[k], start[k + 1]
        n_characters = 0
        if at_end:
            i = last
            while i > first and n_characters < 2 * longest:
                i -= 1
                n_characters += types[i] != MORE
            first = i
        else:
            i = first
            while i < last and (n_characters < 2 * longest or types[i] == MORE):
                n_characters += types[i] != MORE
                i += 1
            last = i
        # The word, letters or digits, is from `begin` to `end`. Behind `solid` are only spaces.
        begin, end, solid, kind = first, first, first, 0
        for i in range(first, last):
            what = types[i] & (LETTER | DIGIT)
            if types[i] == MORE:
                end, solid = end + (end == i), solid + (solid == i)
                continue
            solid = solid if types[i] & SPACE else i + 1
            if what != 0 and (what != kind or end < i):
                if kind != 0 and not at_end:
                    break
                begin, kind = i, what
            if what != 0:
                end = i + 1
        if kind == 0:
            stop[k] = to
            continue
        if at_end:
            end = solid
        else:
            begin = first
            while types[begin] & (SPACE | MORE):
                begin += 1
        is_number, n_characters = True, 0
        for i in range(begin, end):
            is_number &= types[i] & (NUMERAL | MORE) != 0
        if is_number:
            for j in range(len(number)):
                out[to + j] = number[j]
            to += len(number)
        else:
            for i in range(begin, end):
                n_characters += types[i] != MORE
                if n_characters > longest:
                    break
                out[to] = data[i]
                to += 1
        stop[k] = to


def shapes_of(texts: TextCells) -> TextCells:
    """Return the shapes of texts: 9 for a digit, A and a for runs of capitals and of letters.

    Examples
    --------
    >>> shapes_of(TextCells.of(["+32 471 23 45", "John  Smith-Doe", "ann.lee7@mail.com"])).values
    ['+99 999 99 99', 'Aa Aa-Aa', 'an e-mail address']
    """
    return texts.derive(write_text_shapes, _E_MAIL, longer=len(_E_MAIL))


def has_many_shapes(texts: TextCells, most: int) -> bool:
    """Say whether texts have more than so many shapes, as some of them tell already."""
    some = (_FEW, 2 * most)  # few tell whether it is worth while to look at more
    return len(texts) > some[-1] and all(2 * len(shapes_of(texts.head(n))) > n for n in some)


def tokens_of(texts: TextCells, kind: str) -> TextCells:
    """Return the first (or last) words of texts, and what stands for any number.

    >>> tokens_of(TextCells.of(["BE-2041", "Dr. Who", "+32 471 2", "471"]), "first").values
    ['BE', 'Dr', '+32', 'a number']
    >>> tokens_of(TextCells.of(["4 Main Street", "BE-2041"]), "last").values
    ['Street', 'a number']
    """
    return texts.derive(write_tokens, _A_NUMBER, kind == "last", _LONGEST, longer=len(_A_NUMBER))


def tokens_repeat(tokens: TextCells, counts: Sequence[int], most: float, repeats: int) -> bool:
    """Say whether the beginnings or ends of texts, which occur so often, say something.

    There are several, and at most a share of the rows has a rare one: fewer rows than `repeats`
    have it.
    """
    found, n = np.bincount(tokens.code, counts, len(tokens)), sum(counts)
    rare = found[found < repeats].sum()
    return 1 < len(found) <= max(2.0, most * n) and bool(rare <= most * n)


def text_part(kind: str, _: str, texts: TextCells | RawColumn) -> TextCells:
    """Return the shape, the beginning or the end of each text."""
    make = shapes_of if kind == "shape" else partial(tokens_of, kind=kind)
    made: TextCells = texts_in(texts).once(kind, make)
    return made


def text_length(name: str, texts: TextCells | RawColumn) -> RawColumn:
    """Return the number of characters of each text."""
    cells = texts_in(texts)
    missing = cells.is_missing()
    lengths = np.append(cells.sizes[0], 0)[cells.code]
    return RawColumn(name, "integer", lengths, missing if missing.any() else None)
