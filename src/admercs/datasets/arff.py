"""ARFF files: the format of Weka, with typed columns in a header and comma-separated rows."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from admercs.datasets.folder import DamagedFileError

__all__ = ["Arff", "parse_arff", "read_arff", "read_text"]

_ATTRIBUTE = re.compile(
    r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+))\s+(.+)$""", re.IGNORECASE
)
_JAVA_DATE = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_TYPES: dict[str, Any] = {"number": float, "text": object, "date": "datetime64[us]"}


@dataclass(frozen=True)
class Arff:
    """The columns of an ARFF file.

    Attributes
    ----------
    columns : dict of str to ndarray
        Values by attribute, in the order of the file: floats, text or times. A missing value is
        NaN, ``None`` or NaT.
    """

    columns: dict[str, np.ndarray]


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # "number", "text" or "date"
    values: tuple[str, ...] = ()  # of a nominal attribute
    date: str = ""  # the format of its values


def read_text(path: Path) -> str:
    """Read a text file, unpacking it where its name ends in ``.gz``.

    Raises
    ------
    DamagedFileError
        When the file is truncated, not a gzip file, or not text.
    """
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path}: {error}") from error


def read_arff(path: Path) -> Arff:
    """Read an ARFF file with at least one row, in which nominal values are those declared.

    Parameters
    ----------
    path : Path
        The file; gzipped where its name ends in ``.gz``.

    Returns
    -------
    content : Arff

    Raises
    ------
    DamagedFileError
        Names the file, the line and what is wrong with it.
    """
    content = parse_arff(path, read_text(path).splitlines(), declared=True)
    if not len(next(iter(content.columns.values()))):
        raise DamagedFileError(f"{path}: there are no rows after @data")
    return content


def parse_arff(path: Path, lines: Iterable[str], declared: bool = False) -> Arff:
    """Read the lines of an ARFF file.

    Parameters
    ----------
    path : Path
        What the file is called in errors.
    lines : iterable of str
        Its lines.
    declared : bool, default=False
        Refuse nominal values that the header does not declare.
    """
    stripped = ((number, line.strip()) for number, line in enumerate(lines, start=1))
    numbered = ((n, line) for n, line in stripped if line and not line.startswith("%"))
    attributes = _header(path, numbered)
    rows: list[list[Any]] = [[] for _ in attributes]
    for number, line in numbered:
        fields = _sparse(line, attributes) if line.startswith("{") else _fields(line)
        if len(fields) != len(attributes):
            raise DamagedFileError(
                f"{path}, line {number}: {len(fields)} values for {len(attributes)} attributes."
            )
        for column, attribute, field in zip(rows, attributes, fields, strict=True):
            try:
                column.append(_value(attribute, field, declared))
            except ValueError as error:
                raise DamagedFileError(f"{path}, line {number}: {error}.") from None
    return Arff(
        {
            attribute.name: np.array(values, _TYPES[attribute.kind])
            for attribute, values in zip(attributes, rows, strict=True)
        }
    )


def _header(path: Path, lines: Iterator[tuple[int, str]]) -> list[_Attribute]:
    """Read the lines up to ``@data``."""
    attributes: dict[str, _Attribute] = {}
    for number, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise DamagedFileError(f"{path}, line {number}: @data precedes any @attribute.")
            return list(attributes.values())
        if word == "@attribute":
            try:
                attribute = _attribute(line)
                if attribute.name in attributes:
                    raise ValueError(f"the attribute {attribute.name!r} is there already")
            except ValueError as error:
                raise DamagedFileError(f"{path}, line {number}: {error}.") from None
            attributes[attribute.name] = attribute
        elif word != "@relation":
            raise DamagedFileError(
                f"{path}, line {number}: expected @attribute or @data, found {word!r}."
            )
    raise DamagedFileError(f"{path} has no @data line: it is not an ARFF file, or it is cut short.")


def _attribute(line: str) -> _Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise ValueError("an @attribute needs a name and a type")
    name = re.sub(r"\\(.)", r"\1", next(part for part in match.groups()[:3] if part is not None))
    kind = match[4].strip()
    if kind.startswith("{"):
        return _Attribute(name, "text", tuple(_fields(kind.strip("{} \t"))))
    word = kind.split(None, 1)[0].lower()
    if word in ("numeric", "real", "integer"):
        return _Attribute(name, "number")
    if word == "string":
        return _Attribute(name, "text")
    if word == "date":
        date = kind[4:].strip().strip("\"'") or "yyyy-MM-dd'T'HH:mm:ss"
        for java, python in _JAVA_DATE.items():
            date = date.replace(java, python)
        return _Attribute(name, "date", date=date.replace("'", ""))
    raise ValueError(f"attributes of type {word!r} are not supported")


def _fields(line: str) -> list[str]:
    """Split a line at its commas, outside of quotes of either kind."""
    quote = "'" if "'" in line and '"' not in line else '"'
    reader = csv.reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [field.strip() for field in next(reader)]


def _sparse(line: str, attributes: list[_Attribute]) -> list[str]:
    """Fill in a row that lists only what is not zero: ``{3 1.5, 7 red}``."""
    # A nominal value that is left out is the first one declared.
    fields = ["0" if a.kind == "number" else (*a.values, "")[0] for a in attributes]
    for part in _fields(line.strip("{} ")):
        place, _, value = part.partition(" ")
        if place.isdigit() and int(place) < len(fields):
            fields[int(place)] = value.strip().strip("'\"")
    return fields


def _value(attribute: _Attribute, field: str, declared: bool) -> Any:
    if field == "?":
        return np.nan if attribute.kind == "number" else None
    if attribute.kind == "text":
        if declared and attribute.values and field not in attribute.values:
            raise ValueError(f"attribute {attribute.name!r} has undeclared {field!r}")
        return field
    try:
        if attribute.kind == "number":
            return float(field)
        return dt.datetime.strptime(field, attribute.date)
    except ValueError:
        raise ValueError(
            f"{field!r} is no {attribute.kind}, but the attribute {attribute.name!r} needs one"
        ) from None
