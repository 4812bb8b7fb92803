"""The outlier benchmark of Campos et al. (2016) at 5% contamination, and its noisy twin."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from admercs.datasets.arff import read_arff
from admercs.datasets.folder import DamagedFileError, DataNotFoundError, data_folder
from admercs.datasets.labelled import NORMAL, LabelledArray

__all__ = ["CAMPOS", "CAMPOS_HD", "N_VERSIONS", "load_campos", "load_campos_hd"]

#: Rows and attributes of every set at 5% contamination.
CAMPOS: dict[str, tuple[int, int]] = {
    "ALOI": (30160, 27),
    "Annthyroid": (6942, 21),
    "Arrhythmia": (256, 259),
    "Cardiotocography": (1734, 21),
    "Glass": (180, 7),
    "HeartDisease": (157, 13),
    "Hepatitis": (70, 19),
    "InternetAds": (1682, 1555),
    "Ionosphere": (237, 32),
    "KDDCup99": (4000, 40),
    "Lymphography": (120, 18),
    "PageBlocks": (5139, 10),
    "Parkinson": (50, 22),
    "PenDigits": (400, 16),
    "Pima": (526, 8),
    "Shuttle": (260, 9),
    "SpamBase": (2661, 57),
    "Stamps": (325, 9),
    "WBC": (200, 9),
    "WDBC": (200, 30),
    "WPBC": (159, 33),
    "Waveform": (2000, 21),
    "Wilt": (4819, 5),
}

#: The sets that also come with irrelevant attributes; two have too many attributes already.
CAMPOS_HD = tuple(name for name in CAMPOS if name not in ("Arrhythmia", "InternetAds"))

N_VERSIONS = 10

_SEED = 20160125
_NOISE_PER_ATTRIBUTE = 4
_PUBLISHED = re.compile(r"_norm_05(?:_v(\d+))?\.arff(?:\.gz)?$")
# Several encodings of one set: the one with as many attributes as the paper lists.
_ENCODING = {"Lymphography": "norm_idf"}


@dataclass(frozen=True)
class _Source:
    """A file of a set: as published at 5% (then with its version), or larger."""

    path: Path
    version: int | None


def load_campos(name: str, version: int = 1, data: str | Path | None = None) -> LabelledArray:
    """Load one version of a Campos set: normalised, no duplicates, 5% outliers.

    A version published at 5% is taken as it is. Otherwise it is drawn from the full file: all
    inliers and as many random outliers as make 5%, or, where outliers are too few for that, all
    outliers and random inliers; then every attribute is scaled to [0, 1] again. The draw depends on
    the set and the version only.

    Parameters
    ----------
    name : str
        One of ``CAMPOS``.
    version : int, default=1
        1 to 10; Wilt has one version only.
    data : path, optional
        Data folder, see :func:`admercs.datasets.data_folder`.

    Returns
    -------
    data : LabelledArray
        The ``origin`` says which file the rows come from and whether they were drawn.
    """
    if name not in CAMPOS:
        raise ValueError(f"unknown Campos set {name!r}; there are {', '.join(CAMPOS)}")
    if not 1 <= version <= N_VERSIONS:
        raise ValueError(f"version must be between 1 and {N_VERSIONS}, got {version}")
    sources = _sources(data_folder(data) / "campos" / name, name)
    published = {source.version: source for source in sources if source.version is not None}
    if version in published:
        X, y, columns = _read(published[version].path)
        origin = published[version].path.name
    elif name == "Wilt":
        raise ValueError("Wilt exists in one version only")
    else:
        path = _source_for(version, [s.path for s in sources if s.version is None], name)
        X, y, columns = _read(path)
        X, y = _draw(X, y, CAMPOS[name][0], np.random.default_rng(_seed(name, version)))
        origin = f"drawn from {path.name}"
    _check_size(name, X, origin)
    return LabelledArray(
        name=name,
        X=X,
        y=y,
        kind=np.where(y, "outlier", NORMAL),
        columns=columns,
        group=name,
        version=version,
        origin=origin,
    )


def load_campos_hd(name: str, version: int = 1, data: str | Path | None = None) -> LabelledArray:
    """Load a Campos set with four irrelevant attributes added for each of its own.

    The added attributes are uniform on [0, 1] and depend on the set and the version only.

    Parameters
    ----------
    name : str
        One of ``CAMPOS_HD``.
    version : int, default=1
        As for :func:`load_campos`.
    data : path, optional
        Data folder.

    Returns
    -------
    data : LabelledArray
        ``subspaces`` holds the attributes that are not noise.
    """
    if name not in CAMPOS_HD:
        raise ValueError(f"unknown CamposHD set {name!r}; there are {', '.join(CAMPOS_HD)}")
    base = load_campos(name, version, data)
    rows, width = base.X.shape
    rng = np.random.default_rng([*_seed(name, version), _NOISE_PER_ATTRIBUTE])
    noise = rng.random((rows, _NOISE_PER_ATTRIBUTE * width))
    added = tuple(f"noise{i}" for i in range(noise.shape[1]))
    return replace(
        base,
        X=np.hstack([base.X, noise]),
        columns=base.columns + added,
        subspaces=(tuple(range(width)),),
    )


def _seed(name: str, version: int) -> list[int]:
    return [_SEED, list(CAMPOS).index(name), version]


def _sources(folder: Path, name: str) -> list[_Source]:
    """List the files of a set, those published at 5% with their version."""
    if not folder.is_dir():
        raise DataNotFoundError(f"the Campos set {name} is absent: there is no folder {folder}")
    wanted = _ENCODING.get(name, "")
    paths = sorted(p for p in folder.iterdir() if ".arff" in p.suffixes and wanted in p.name)
    if not paths:
        raise DataNotFoundError(f"the Campos set {name} is absent: no ARFF file in {folder}")
    sources = []
    for path in paths:
        match = _PUBLISHED.search(path.name)
        sources.append(_Source(path, int(match[1] or 1) if match else None))
    return sources


def _source_for(version: int, full: list[Path], name: str) -> Path:
    """Choose the file to draw from; published versions of other sizes take turns."""
    if not full:
        raise DataNotFoundError(f"version {version} of the Campos set {name} is absent")
    same = [path for path in full if f"_v{version:02d}." in path.name]
    return same[0] if same else full[(version - 1) % len(full)]


@lru_cache(maxsize=8)
def _read(path: Path) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Read attributes and labels of a Campos file."""
    columns = dict(read_arff(path).columns)
    label = columns.pop("outlier", None)
    columns.pop("id", None)
    if label is None or not set(label.tolist()) <= {"yes", "no"}:
        raise DamagedFileError(
            f"{path}: there is no attribute 'outlier' with the values yes and no"
        )
    if any(values.dtype == object for values in columns.values()):
        raise DamagedFileError(f"{path}: an attribute is not numeric")
    X = np.column_stack(list(columns.values()))
    y = np.asarray(label == "yes")
    # Shared between calls, so nobody may change it.
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y, tuple(columns)


def _draw(
    X: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``size`` rows with 5% outliers, in the order of the file, scaled to [0, 1]."""
    inliers, outliers = np.flatnonzero(~y), np.flatnonzero(y)
    n_outliers = size - inliers.size if inliers.size < size else round(0.05 * size)
    n_outliers = min(n_outliers, outliers.size)
    chosen = np.concatenate(
        [
            rng.permutation(outliers)[:n_outliers],
            rng.permutation(inliers)[: size - n_outliers],
        ]
    )
    chosen.sort()
    rows = X[chosen]
    low, high = rows.min(axis=0), rows.max(axis=0)
    scale = np.where(high > low, high - low, 1.0)
    return (rows - low) / scale, y[chosen]


def _check_size(name: str, X: np.ndarray, origin: str) -> None:
    if X.shape != CAMPOS[name]:
        raise DamagedFileError(
            f"{name} should be {CAMPOS[name][0]} x {CAMPOS[name][1]} at 5%, but {origin} gives "
            f"{X.shape[0]} x {X.shape[1]}"
        )
