"""What a generated or loaded data set consists of: the table and the truth about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["NORMAL", "LabelledArray", "LabelledTable"]

NORMAL = "normal"


@dataclass(frozen=True)
class LabelledTable:
    """A table of mixed columns with the kind of every row.

    Attributes
    ----------
    table : data frame
        The rows, in the library asked for.
    kind : ndarray of str, shape (n_rows,)
        ``"normal"`` or the kind of anomaly each row is.
    odd_columns : dict of int to tuple of str
        For every anomalous row the columns that are together out of the ordinary.
    description : str
        What the table is about.
    clean : data frame or None
        The table before values were made wrong, where that is known.

    Examples
    --------
    >>> from admercs.datasets import make_electric_vehicles
    >>> cars = make_electric_vehicles(random_state=0)
    >>> cars.rows("accidental inlier").size
    1
    """

    table: Any
    kind: np.ndarray
    odd_columns: dict[int, tuple[str, ...]] = field(default_factory=dict)
    description: str = ""
    clean: Any = None

    @property
    def is_anomaly(self) -> np.ndarray:
        """True for every row that is not normal."""
        return np.asarray(self.kind != NORMAL)

    def rows(self, kind: str) -> np.ndarray:
        """Return the positions of the rows of one kind."""
        return np.flatnonzero(self.kind == kind)


@dataclass(frozen=True)
class LabelledArray:
    """A numeric benchmark set with its ground truth.

    Attributes
    ----------
    name : str
        The set's own name, such as ``"Glass"`` or ``"HiCS 010/0"``.
    X : ndarray of float, shape (n_rows, n_columns)
        The values.
    y : ndarray of bool, shape (n_rows,)
        True where the row is an anomaly.
    kind : ndarray of str, shape (n_rows,)
        ``"normal"`` or the kind of anomaly (``"outlier"`` where the source has one kind only).
    columns : tuple of str
        Column names.
    subspaces : tuple of tuple of int
        The column groups that carry structure, where known.
    odd_subspaces : dict of int to tuple of int
        For every anomalous row the positions in ``subspaces`` where it deviates, where known.
    group : str
        Sets of one group are versions of each other or alike (one dimensionality).
    version : int
        Which version of the set this is, counted from 1.
    origin : str
        Where the rows come from: a file, or the rule they were made by.

    Examples
    --------
    >>> from admercs.datasets import make_synth_c
    >>> data = make_synth_c(0)
    >>> data.X.shape, int(data.y.sum())
    ((1000, 2), 50)
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    kind: np.ndarray
    columns: tuple[str, ...]
    subspaces: tuple[tuple[int, ...], ...] = ()
    odd_subspaces: dict[int, tuple[int, ...]] = field(default_factory=dict)
    group: str = ""
    version: int = 1
    origin: str = ""

    def __post_init__(self) -> None:
        """Refuse parts that do not belong together."""
        n_rows, n_columns = self.X.shape
        if not len(self.y) == len(self.kind) == n_rows:
            raise ValueError(f"{self.name}: {n_rows} rows but {len(self.y)} labels")
        if len(self.columns) != n_columns:
            raise ValueError(f"{self.name}: {n_columns} columns but {len(self.columns)} names")
