"""Damaged headers of model files: each value there is removed, or exchanged for others."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

Json = Any  # a value of a header
# What JSON's writer cannot make: the text of the header has them in the place of these marks.
WRITTEN = {
    "@deep list": "[" * 3000 + "]" * 3000,
    "@deep dict": '{"a":' * 3000 + "1" + "}" * 3000,
    "@many digits": "9" * 5000,
    "@long text": '"' + "a" * 10**6 + '"',
    "@long list": "[" + "1," * 10**5 + "1]",
    "@beyond float": "-1e999",
    "@no number": "NaN",
}
OTHER_TYPES: list[Json] = [None, True, 1, 0.5, "x", [], {}, [1], {"a": 1}, [[[]]], *WRITTEN]
NUMBERS: list[Json] = [
    0, -1, 1, 2, 3, 12, 64, 255, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400,
    0.0, -0.0, -0.5, 1e-320, 1e30, 1e308, -1e308, float("inf"), float("nan"),
]  # fmt: skip
TEXTS: list[Json] = [
    "", " ", "\x00", "\udcff", "auto", "../../x", "(a+)+$", "<b>", "{0}", "%s", "9" * 400,
    "numeric", "nominal", "text", "set aside", "float", "integer", "date", "empty", "number",
    "ymd", ",", "D", "ns", "UTC", "+25:00", "Europe/Brussels",
    "shape", "spelling", "relation", "determined", "linear", "quotient", "order", "NoisyOr",
]  # fmt: skip


def all_places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all values inside a JSON value; some of each list of plain values."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        n = len(value)
        is_plain = n > 3 and not isinstance(value[0], dict)
        keys = sorted({0, n // 2, n - 1}) if is_plain else list(range(n))
    for key in keys:
        yield (*path, key)
        yield from all_places(value[key], (*path, key))


def _like_it(value: Json) -> list[Json]:
    """Return values of the same type as a value: near it, and odd ones."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int) and abs(value) > sys.float_info.max:  # damaged before
        return [value + 1, -value, str(value), *NUMBERS]
    if isinstance(value, int | float):
        near = [value + 1, value - 1, -value, 2 * value, value * 10**6, str(value)]
        if abs(value) < 2**1023:  # what is larger may be exchanged a second time, as it is
            near += [value / 2, float(value), math.nextafter(value, math.inf)]
        return [*near, *NUMBERS]
    if isinstance(value, str):
        cut = [value[:-1], value[1:], value + "x", value.upper(), value * 50, value + "\x00"]
        return [*cut, value[::-1], *TEXTS]
    if isinstance(value, list):
        moved = [value[::-1], value[1:] + value[:1], sorted(value, key=repr)]
        sizes = [value * 2, value * 100, value[:-1], value[1:], value[:1], [*value, None]]
        return [*moved, *sizes, [value], dict(enumerate(value)), [*value, value], value[:1] * 2]
    if isinstance(value, dict):
        values = list(value.values())
        moved = dict(zip(value, values[1:] + values[:1], strict=True))
        return [moved, values, list(value), {"more": 1, **value}, {"a": value}, [value], dict(
            list(value.items())[::-1]
        )]  # fmt: skip
    return [*NUMBERS[:8], *TEXTS[:8]]


def all_changes(header: Json) -> list[tuple[tuple[Any, ...], int]]:
    """Return all places of a header with the numbers of their changes."""
    places = all_places(header)
    return [(path, k) for path in places for k in range(1 + len(_others(header, path)))]


def _others(header: Json, path: tuple[Any, ...]) -> list[Json]:
    """Return what a value is exchanged for."""
    value, *owners = [_value_at(header, path[:n]) for n in range(len(path), -1, -1)]
    found = [*_like_it(value), *OTHER_TYPES]
    if isinstance(owners[0], list):
        found += [owners[0][(path[-1] + step) % len(owners[0])] for step in (1, 2)]
    elif len(path) > 1 and isinstance(owners[1], list):  # the same field of others in a list
        others = [owners[1][(path[-2] + step) % len(owners[1])] for step in (1, 2, 3)]
        found += [other.get(path[-1]) for other in others if isinstance(other, dict)]
    distinct = {json.dumps(other): other for other in found}
    distinct.pop(json.dumps(value), None)
    return list(distinct.values())


def _value_at(header: Json, path: tuple[Any, ...]) -> Json:
    for key in path:
        header = header[key]
    return header


def change_place(header: Json, path: tuple[Any, ...], which: int) -> Json:
    """Return the header with another value at a place, or none: one of `all_changes`."""
    others = _others(header, path)
    header = deepcopy(header)
    owner = _value_at(header, path[:-1])
    if which == len(others):
        del owner[path[-1]]
    else:
        owner[path[-1]] = deepcopy(others[which])
    return header


def change_some(header: Json, rng: np.random.Generator) -> Json:
    """Return the header with one or two values that are others, or missing."""
    for _ in range(rng.integers(1, 3)):
        places = list(all_places(header))
        path = places[rng.integers(len(places))]
        header = change_place(header, path, rng.integers(1 + len(_others(header, path))))
    return header


def header_text(header: Json) -> str:
    """Return a header as it is written, with what stands for the marks in it."""
    text = json.dumps(header)
    for mark, written in WRITTEN.items():
        text = text.replace(json.dumps(mark), written)
    return text
