"""ARFF files: the format of Weka, with typed columns in a header and comma-separated rows."""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from admercs.cli.csvfile import open_text
from admercs.cli.errors import UserError

__all__ = ["read_arff"]

_ATTRIBUTE = re.compile(
    r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s+(.+)$""", re.IGNORECASE
)
_JAVA_DATE = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # "number", "text" or a date's format
    values: frozenset[str] = frozenset()


def read_arff(path: Path, encoding: str = "utf-8") -> pa.Table:
    """Read an ARFF file, compressed or not.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, default="utf-8"
        Its encoding.

    Returns
    -------
    table : pyarrow.Table
        Numbers as float64, nominal and string attributes as text, dates as timestamps; ``?`` is
        missing.
    """
    try:
        with open_text(path, encoding) as stream:
            lines = enumerate(stream, start=1)
            attributes = _header(path, lines)
            columns = _rows(path, lines, attributes)
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not {encoding} ({error.reason}). Say how it is encoded: --encoding latin-1."
        ) from error
    types = {"number": pa.float64(), "text": pa.string()}
    arrays = [
        pa.array(values, types.get(attribute.kind, pa.timestamp("us")))
        for attribute, values in zip(attributes, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[attribute.name for attribute in attributes])


def _header(path: Path, lines: Iterable[tuple[int, str]]) -> list[_Attribute]:
    attributes: list[_Attribute] = []
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise UserError(f"{path}, line {number}: @data comes before any @attribute.")
            return attributes
        if word == "@attribute":
            attributes.append(_attribute(path, number, text))
        elif word != "@relation":
            raise UserError(f"{path}, line {number}: expected @attribute or @data, found {word!r}.")
    raise UserError(f"{path} has no @data line: it is not an ARFF file, or it was cut short.")


def _attribute(path: Path, number: int, text: str) -> _Attribute:
    match = _ATTRIBUTE.match(text)
    if match is None:
        raise UserError(f"{path}, line {number}: an @attribute needs a name and a type.")
    name = next(part for part in match.groups()[:3] if part is not None)
    name = re.sub(r"\\(.)", r"\1", name)
    kind = match[4].strip()
    if kind.startswith("{"):
        return _Attribute(name, "text", frozenset(_fields(kind.strip("{} \t"))))
    word = kind.split(None, 1)[0].lower()
    if word in ("numeric", "real", "integer"):
        return _Attribute(name, "number")
    if word == "string":
        return _Attribute(name, "text")
    if word == "date":
        pattern = kind[4:].strip().strip("\"'") or "yyyy-MM-dd'T'HH:mm:ss"
        return _Attribute(name, _date_format(pattern))
    raise UserError(f"{path}, line {number}: attributes of type {word!r} are not supported.")


def _date_format(pattern: str) -> str:
    for java, python in _JAVA_DATE.items():
        pattern = pattern.replace(java, python)
    return pattern.replace("'", "")


def _fields(line: str) -> list[str]:
    """Split a line at its commas, outside of quotes of either kind."""
    quote = "'" if "'" in line and '"' not in line else '"'
    reader = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def _rows(
    path: Path, lines: Iterable[tuple[int, str]], attributes: list[_Attribute]
) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in attributes]
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        fields = _sparse(text, attributes) if text.startswith("{") else _fields(text)
        if len(fields) != len(attributes):
            raise UserError(
                f"{path}, line {number}: {len(fields)} values for {len(attributes)} attributes."
            )
        for column, attribute, field in zip(columns, attributes, fields, strict=True):
            column.append(_value(path, number, attribute, field))
    return columns


def _sparse(text: str, attributes: list[_Attribute]) -> list[str]:
    """Fill in a row that lists only what is not zero: ``{3 1.5, 7 red}``."""
    fields = ["0" if a.kind == "number" else next(iter(sorted(a.values)), "") for a in attributes]
    for part in _fields(text.strip("{} ")):
        place, _, value = part.partition(" ")
        if place.isdigit() and int(place) < len(fields):
            fields[int(place)] = value.strip().strip("'\"")
    return fields


def _value(path: Path, number: int, attribute: _Attribute, field: str) -> Any:
    if field == "?":
        return None
    if attribute.kind == "text":
        return field
    try:
        if attribute.kind == "number":
            return float(field)
        return dt.datetime.strptime(field, attribute.kind)
    except ValueError:
        what = "number" if attribute.kind == "number" else "date"
        raise UserError(
            f"{path}, line {number}: {field!r} is no {what}, but the attribute "
            f"{attribute.name!r} needs one."
        ) from None
