"""Tables with wrong cells, beside their clean versions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from admercs.datasets.folder import DamagedFileError, DataNotFoundError, data_folder

__all__ = ["DirtyTable", "list_dirty", "load_dirty"]

_DIRTY, _CLEAN = "dirty.csv.gz", "clean.csv.gz"


@dataclass(frozen=True)
class DirtyTable:
    """A table with errors.

    Attributes
    ----------
    name : str
        The set, and for a set of several tables also the table: ``"dgov-fd/LA-County-..."``.
    table : pandas.DataFrame
        The dirty file as :func:`pandas.read_csv` reads it.
    texts : ndarray of str, shape (n_rows, n_columns)
        The same cells as they are written in the file.
    wrong : ndarray of bool, shape (n_rows, n_columns)
        True where a cell differs from the clean file.
    """

    name: str
    table: Any
    texts: np.ndarray
    wrong: np.ndarray


def list_dirty(data: str | Path | None = None) -> list[str]:
    """List the tables at hand by the names that :func:`load_dirty` takes."""
    folder = data_folder(data) / "dirty"
    files = sorted(folder.rglob(_DIRTY))
    if not files:
        raise DataNotFoundError(f"the dirty tables are absent: there is no {_DIRTY} in {folder}")
    return [path.parent.relative_to(folder).as_posix() for path in files]


def load_dirty(name: str, data: str | Path | None = None) -> DirtyTable:
    """Load a table with errors and find them by comparing it with its clean version.

    A cell is wrong where the two files differ; 486.0 for 486 is no difference.

    Parameters
    ----------
    name : str
        One of :func:`list_dirty`.
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.

    Returns
    -------
    data : DirtyTable
    """
    import pandas as pd

    folder = data_folder(data) / "dirty" / name
    for path in (folder / _DIRTY, folder / _CLEAN):
        if not path.is_file():
            raise DataNotFoundError(f"the dirty table {name} is absent: there is no file {path}")
    dirty, clean = (
        pd.read_csv(folder / file, dtype=str, keep_default_na=False) for file in (_DIRTY, _CLEAN)
    )
    if dirty.shape != clean.shape:
        raise DamagedFileError(
            f"{folder}: the dirty file is {dirty.shape[0]} x {dirty.shape[1]}, "
            f"the clean one {clean.shape[0]} x {clean.shape[1]}"
        )
    texts, right = dirty.to_numpy(object), clean.to_numpy(object)
    wrong = np.asarray(texts != right)
    for row, column in np.argwhere(wrong):
        wrong[row, column] = not _same_number(texts[row, column], right[row, column])
    return DirtyTable(name, pd.read_csv(folder / _DIRTY), texts.astype(str), wrong)


def _same_number(first: str, second: str) -> bool:
    """Say whether two texts are the same number, written differently."""
    try:
        return float(first) == float(second)
    except ValueError:
        return False
