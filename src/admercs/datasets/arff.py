"""A strict reader for ARFF files, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from admercs.datasets.folder import DamagedFileError

__all__ = ["Arff", "read_arff", "read_text"]

_ATTRIBUTE = re.compile(r"@attribute\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+))\s+(.+)$", re.IGNORECASE)
_NUMERIC = ("real", "numeric", "integer")


@dataclass(frozen=True)
class Arff:
    """The columns of an ARFF file: floats for numeric attributes, text for nominal ones.

    Attributes
    ----------
    columns : dict of str to ndarray
        Values by attribute, in the order of the file. A missing value is NaN or ``None``.
    """

    columns: dict[str, np.ndarray]


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
    """Read an ARFF file with numeric and nominal attributes.

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
    lines = read_text(path).splitlines()
    attributes: dict[str, tuple[str, ...] | None] = {}
    for number, line in enumerate(lines):
        text = line.strip()
        if text.lower().startswith("@attribute"):
            name, kind = _parse_attribute(path, number, text)
            attributes[name] = kind
        elif text.lower() == "@data":
            break
    else:
        raise DamagedFileError(f"{path}: there is no @data line")
    rows = _rows(path, lines, number + 1, len(attributes))
    by_column = zip(*rows, strict=True)
    return Arff(
        {
            name: _convert(path, name, kind, values)
            for (name, kind), values in zip(attributes.items(), by_column, strict=True)
        }
    )


def _parse_attribute(path: Path, number: int, text: str) -> tuple[str, tuple[str, ...] | None]:
    """Return an attribute's name and its values, None for a numeric one."""
    match = _ATTRIBUTE.match(text)
    if match:
        name = match[1] or match[2] or match[3]
        kind = match[4].strip()
        if kind.startswith("{") and kind.endswith("}"):
            values = next(csv.reader([kind[1:-1]], quotechar="'", skipinitialspace=True))
            return name, tuple(value.strip() for value in values)
        if kind.lower() in _NUMERIC:
            return name, None
    raise DamagedFileError(f"{path}: line {number + 1} is not an attribute: {text[:60]!r}")


def _rows(path: Path, lines: list[str], start: int, width: int) -> list[list[str]]:
    """Split the data lines and check that all are equally long."""
    data = [line for line in lines[start:] if line.strip() and not line.startswith("%")]
    rows = list(csv.reader(data, quotechar="'", skipinitialspace=True))
    if not rows:
        raise DamagedFileError(f"{path}: there are no rows after @data")
    for position, row in enumerate(rows):
        if len(row) != width:
            raise DamagedFileError(
                f"{path}: data row {position + 1} has {len(row)} values instead of {width}"
            )
    return rows


def _convert(
    path: Path, name: str, kind: tuple[str, ...] | None, values: tuple[str, ...]
) -> np.ndarray:
    """Turn one column's text into numbers, or check it against the declared values."""
    if kind is None:
        try:
            return np.array(["nan" if value == "?" else value for value in values], dtype=float)
        except ValueError as error:
            raise DamagedFileError(f"{path}: attribute {name!r}: {error}") from error
    stripped = [value.strip() for value in values]
    unknown = set(stripped) - set(kind) - {"?"}
    if unknown:
        raise DamagedFileError(f"{path}: attribute {name!r} has undeclared {min(unknown)!r}")
    return np.array([None if value == "?" else value for value in stripped], dtype=object)
