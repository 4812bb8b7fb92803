"""OddBench (2026): real tables with a clean part to learn from and a labelled part to test on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from admercs.datasets.folder import DamagedFileError, DataNotFoundError, data_folder

__all__ = ["OddBenchSet", "list_oddbench", "load_oddbench"]

_PARTS = ("train", "test", "test_labels", "feature_names")


@dataclass(frozen=True)
class OddBenchSet:
    """One table of OddBench.

    Attributes
    ----------
    name : str
        Its name.
    train : ndarray of float, shape (n_train, n_columns)
        Normal rows.
    test : ndarray of float, shape (n_test, n_columns)
        Normal rows and anomalies.
    y : ndarray of bool, shape (n_test,)
        True where a row of ``test`` is an anomaly.
    columns : tuple of str
        Column names.
    """

    name: str
    train: np.ndarray
    test: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]


def list_oddbench(data: str | Path | None = None, max_bytes: int | None = None) -> list[str]:
    """List the sets at hand.

    Parameters
    ----------
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.
    max_bytes : int, optional
        Leave out files of this size and larger.

    Returns
    -------
    names : list of str

    Raises
    ------
    DataNotFoundError
        When there is no set at all.
    """
    folder = data_folder(data) / "oddbench"
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise DataNotFoundError(f"OddBench is absent: there is no .npz file in {folder}")
    return [f.stem for f in files if max_bytes is None or f.stat().st_size < max_bytes]


def load_oddbench(
    name: str, data: str | Path | None = None, *, max_rows: int | None = 10_000
) -> OddBenchSet:
    """Load a set of OddBench; columns that are constant in the training part are dropped.

    Parameters
    ----------
    name : str
        One of :func:`list_oddbench`.
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.
    max_rows : int or None, default=10_000
        Of a part with more rows so many are drawn, always the same ones.

    Returns
    -------
    data : OddBenchSet
    """
    path = data_folder(data) / "oddbench" / f"{name}.npz"
    if not path.is_file():
        raise DataNotFoundError(f"the OddBench set {name} is absent: there is no file {path}")
    try:
        with np.load(path, allow_pickle=False) as content:
            train, test, labels, names = (content[part] for part in _PARTS)
    except (BadZipFile, EOFError, KeyError, ValueError) as error:
        raise DamagedFileError(f"{path}: {error}") from error
    widths = {train.shape[1], test.shape[1], len(names)}
    if len(widths) > 1 or len(test) != len(labels):
        raise DamagedFileError(f"{path}: the parts differ in their columns or rows")
    chosen = _sample(len(train), max_rows), _sample(len(test), max_rows)
    train, test, y = train[chosen[0]], test[chosen[1]], labels[chosen[1]].astype(bool)
    varies = np.ptp(train, axis=0) > 0
    return OddBenchSet(
        name=name,
        train=train[:, varies].astype(float),
        test=test[:, varies].astype(float),
        y=y,
        columns=tuple(np.asarray(names)[varies].astype(str).tolist()),
    )


def _sample(n_rows: int, max_rows: int | None) -> slice | np.ndarray:
    if max_rows is None or n_rows <= max_rows:
        return slice(None)
    return np.random.default_rng(0).permutation(n_rows)[:max_rows]
