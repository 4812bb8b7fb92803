"""Numbers that are written as text: separators, signs, currencies, units."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from admercs.arrays import Array, Bools
from admercs.table.text_forms import CURRENCIES, DIGIT, TextForm, TextsOfShape, whole_number

_CODES = "|".join(CURRENCIES)
_CURRENCY = rf"(?:US|CA|AU|NZ|HK|R|C|A)?\$|[€£¥₹₽₩₺฿₴₪]|(?:{_CODES})(?![A-Za-z])"
# A unit is one short word, such as kg, km/h, oz. or m².
_UNIT = rf"{_CURRENCY}|[%‰°]|°?[^\W\d_][^\W\d_./°²³·-]{{0,7}}(?:[./²³·-][^\W\d_²³]{{0,7}}){{0,2}}"
_NUMBER = re.compile(
    rf" *(?P<open>\()? *(?P<sign>[-+]?) *(?P<prefix>{_CURRENCY})? *(?P<inner>[-+]?)"
    r"(?P<body>9[9.,' ]*|[.,]9+)(?P<power>[eE][-+]?9{1,3})?"
    rf"(?P<minus>-)? *(?P<suffix>{_UNIT})? *(?P<close>\))? *"
)
# Which sign stands before the decimals, and which one groups digits by three, if there is one.
# What comes first is preferred if two conventions read a column equally well.
CONVENTIONS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "),
               (".", "'"), (",", "'"))  # fmt: skip
_MOST_DIGITS = 18  # of an integer of 64 bits
_EXACT_DIGITS = 15  # of a float
_FINITE_DIGITS = 300  # numbers of more may be beyond any float


class NumberShape(NamedTuple):
    """How a number of some shape is written; the places are those of its characters."""

    prefix: str
    suffix: str
    body: str
    start: int  # of the body
    stop: int  # of the body and its power
    negative: bool
    power: bool  # as in 1e-7
    conventions: tuple[int, ...]  # that read it


def _convention(decimal: str, group: str) -> re.Pattern[str]:
    d = re.escape(decimal)
    whole = "9+"
    if group:
        g = re.escape(group)
        # Lakhs and crores are grouped by two: 12,34,567.
        whole += rf"|9{{1,3}}(?:{g}9{{3}})+" + (rf"|9{{1,2}}(?:{g}99)+{g}999" * (group == ","))
    return re.compile(rf"(?:{whole})(?:{d}9*)?|{d}9+")


_PATTERNS = tuple(_convention(*each) for each in CONVENTIONS)


@lru_cache(4096)
def number_shape(shape: str) -> NumberShape | None:
    """Tell how the texts of a shape are read as numbers; None if they are none."""
    match = _NUMBER.fullmatch(shape)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    signs = [match["sign"], match["inner"], match["minus"] or "", match["open"] or ""]
    if sum(map(bool, signs)) > 1 or (match["prefix"] and match["suffix"]):
        return None
    body = match["body"].rstrip(" ")
    power = match["power"] or ""
    if power and body != match["body"]:
        return None
    # Groups behind a plus are a telephone number.
    fits = (bool(p.fullmatch(body)) and not ("+" in signs and " " in body) for p in _PATTERNS)
    return NumberShape(
        match["prefix"] or "", match["suffix"] or "", body, match.start("body"),
        match.start("body") + len(body + power),
        any(sign in ("-", "(") for sign in signs), bool(power),
        tuple(k for k, each in enumerate(fits) if each),
    )  # fmt: skip


def number_forms(shape: str) -> list[tuple[TextForm, bool]]:
    """Return the forms under which texts of a shape are numbers, and whether with decimals."""
    found = number_shape(shape)
    if found is None:
        return []
    in_detail = found.power or found.body.count(DIGIT) > _MOST_DIGITS
    conventions = (CONVENTIONS[k] for k in found.conventions)
    return [
        (
            TextForm("number", found.prefix, found.suffix, decimal, group),
            in_detail or decimal in found.body,
        )
        for decimal, group in conventions
    ]


def is_padded(texts: TextsOfShape) -> Bools:
    """Return which texts of a shape are whole numbers that begin with a zero, as codes do."""
    found = number_shape(texts.shape)
    if found is None or not re.match("99", found.body) or found.power:
        return np.zeros(len(texts), bool)
    padded: Bools = texts.characters([found.start])[:, 0] == ord("0")
    return padded


def is_finite(texts: TextsOfShape, form: TextForm) -> Bools:
    """Return which texts of a shape that a form reads are numbers that a float can hold."""
    found = number_shape(texts.shape)
    is_huge = found is not None and (found.power or found.body.count(DIGIT) > _FINITE_DIGITS)
    numbers = parse_numbers(texts, form) if is_huge else None
    return np.ones(len(texts), bool) if numbers is None else np.isfinite(numbers)


def parse_numbers(texts: TextsOfShape, form: TextForm) -> Array | None:
    """Return the numbers that texts of one shape are; None if the form does not read them.

    The result is of integers if no text of this shape has decimals.
    """
    shape, found = texts.shape, number_shape(texts.shape)
    if found is None or (found.prefix, found.suffix) != (form.prefix, form.suffix):
        return None
    decimal, group = form.decimal, form.group
    if CONVENTIONS.index((decimal, group)) not in found.conventions:
        return None
    sign, is_whole = -1 if found.negative else 1, decimal not in found.body
    places = [found.start + k for k, c in enumerate(found.body) if c == DIGIT]
    if found.power or len(places) > (_MOST_DIGITS if is_whole else _EXACT_DIGITS):
        kept = [k for k in range(found.start, found.stop) if not group or shape[k] != group]
        written = ("".join([text[k] for k in kept]).replace(decimal, ".") for text in texts.values)
        return sign * np.array([*map(float, written)])
    values = sign * whole_number(texts.digits(places))
    # Numerator and denominator are exact, so the quotient is the float next to what is written.
    return values if is_whole else values / 10.0 ** len(found.body.partition(decimal)[2])
