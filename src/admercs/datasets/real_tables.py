"""Well-known tables of mixed columns: animals, passengers, thyroid patients, adults."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from admercs.datasets.arff import read_text
from admercs.datasets.folder import DamagedFileError, data_folder, find_file
from admercs.datasets.frames import to_frame

__all__ = ["TABLES", "load_table"]

TABLES = ("zoo", "titanic", "hypothyroid", "adult")

_MISSING = ("", "?")
_ANIMAL_CLASSES = ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate")


def load_table(name: str, data: str | Path | None = None, *, as_frame: str | None = None) -> Any:
    """Load one of the example tables, every column in its natural type.

    A column of ``True`` and ``False`` is boolean, a column of numbers is numeric (integer where no
    value is missing and all are whole), anything else is text. Empty and ``?`` mean missing. In the
    zoo, the attributes that are 0 or 1 are booleans and the class has its name.

    Parameters
    ----------
    name : {"zoo", "titanic", "hypothyroid", "adult"}
        Which table.
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.
    as_frame : {"pandas", "polars", "pyarrow", "dict"}, optional
        Kind of table; by default the first of these libraries that is installed.

    Returns
    -------
    table : data frame
    """
    if name not in TABLES:
        raise ValueError(f"unknown table {name!r}; there are {', '.join(TABLES)}")
    path = find_file(data_folder(data), f"{name}.csv")
    header, *rows = csv.reader(read_text(path).splitlines())
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise DamagedFileError(
                f"{path}: line {number} has {len(row)} values instead of {len(header)}"
            )
    columns = {key: _typed([row[i] for row in rows]) for i, key in enumerate(header)}
    return to_frame(_animals(columns) if name == "zoo" else columns, as_frame)


def _typed(values: list[str]) -> np.ndarray:
    """Give a column of text its natural type."""
    present = [value for value in values if value not in _MISSING]
    if present and set(present) <= {"True", "False"} and len(present) == len(values):
        return np.array([value == "True" for value in values])
    try:
        numbers = np.array([float(value) if value not in _MISSING else np.nan for value in values])
    except ValueError:
        return np.array([None if v in _MISSING else v for v in values], dtype=object)
    if len(present) == len(values) and (numbers == np.round(numbers)).all():
        return numbers.astype(np.int64)
    return numbers


def _animals(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Name the animals' classes and say yes and no instead of 1 and 0."""
    out = {}
    for key, values in columns.items():
        if key == "class_type":
            out[key] = np.array([_ANIMAL_CLASSES[v - 1] for v in values], dtype=object)
        elif values.dtype == np.int64 and set(values.tolist()) <= {0, 1}:
            out[key] = values.astype(bool)
        else:
            out[key] = values
    return out
