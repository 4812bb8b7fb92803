"""The synthetic benchmark of HiCS (Keller et al. 2012) with its true subspaces."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from admercs.datasets.arff import read_arff, read_text
from admercs.datasets.folder import DamagedFileError, data_folder, find_file
from admercs.datasets.labelled import NORMAL, LabelledArray

__all__ = ["HICS_DIMENSIONS", "HICS_VERSIONS", "load_hics"]

HICS_DIMENSIONS = (10, 20, 30, 40, 50, 75, 100)
HICS_VERSIONS = (0, 1, 2)

_SUBSPACE = re.compile(r"subspace\s+(\d+)\s+dimensions = (\d+)\s+\[([\d, ]+)\]")


def load_hics(n_dims: int, version: int = 0, data: str | Path | None = None) -> LabelledArray:
    """Load one set of the HiCS benchmark: dense clusters in low-dimensional subspaces.

    Parameters
    ----------
    n_dims : {10, 20, 30, 40, 50, 75, 100}
        Number of attributes.
    version : {0, 1, 2}, default=0
        Which of the three sets of that size.
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.

    Returns
    -------
    data : LabelledArray
        1000 rows. ``subspaces`` are the true ones, ``odd_subspaces`` says in which of them each
        outlier deviates.
    """
    if n_dims not in HICS_DIMENSIONS or version not in HICS_VERSIONS:
        raise ValueError(
            f"no HiCS set of {n_dims} attributes and version {version}; there are "
            f"{HICS_DIMENSIONS} attributes in versions {HICS_VERSIONS}"
        )
    folder = data_folder(data) / "hics"
    stem = f"synth_multidim_{n_dims:03d}_{version:03d}"
    path = find_file(folder, f"{stem}.arff")
    columns = dict(read_arff(path).columns)
    label = columns.pop("class", None)
    if label is None or len(columns) != n_dims:
        raise DamagedFileError(f"{path}: expected {n_dims} attributes and 'class'")
    try:
        mask = np.array([int(value) for value in label])
    except (TypeError, ValueError) as error:
        raise DamagedFileError(f"{path}: a class is not a bit mask") from error
    y = mask != 0
    return LabelledArray(
        name=f"HiCS {n_dims:03d}/{version}",
        X=np.column_stack(list(columns.values())),
        y=y,
        kind=np.where(y, "outlier", NORMAL),
        columns=tuple(columns),
        subspaces=_subspaces(find_file(folder, f"{stem}.info"), n_dims),
        odd_subspaces={int(row): _bits(int(mask[row])) for row in np.flatnonzero(y)},
        group=f"{n_dims} dims",
        version=version + 1,
        origin=path.name,
    )


def _bits(mask: int) -> tuple[int, ...]:
    """Positions of the bits that are set."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _subspaces(path: Path, n_dims: int) -> tuple[tuple[int, ...], ...]:
    """Read the list of true subspaces."""
    found: list[tuple[int, ...]] = []
    for number, size, listed in _SUBSPACE.findall(read_text(path)):
        dims = tuple(int(d) for d in listed.split(","))
        if int(number) != len(found) or int(size) != len(dims) or max(dims) >= n_dims:
            raise DamagedFileError(f"{path}: subspace {number} does not fit the rest")
        found.append(dims)
    if not found:
        raise DamagedFileError(f"{path}: there are no subspaces")
    return tuple(found)
