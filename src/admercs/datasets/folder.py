"""Where the public data collections lie, and what to say when they do not."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DATA_VARIABLE", "DamagedFileError", "DataNotFoundError", "data_folder", "find_file"]

#: Environment variable that names the data folder.
DATA_VARIABLE = "ADMERCS_DATA"
# A checkout may stand beside a folder of shared data.
_BESIDE_CHECKOUT = Path(__file__).resolve().parents[4] / "shared" / "data"


class DataNotFoundError(FileNotFoundError):
    """A data folder or a set in it is absent.

    Examples
    --------
    >>> from admercs.datasets import load_hics
    >>> load_hics(10, 0, data="/nowhere")
    Traceback (most recent call last):
        ...
    admercs.datasets.folder.DataNotFoundError: the data folder /nowhere does not exist
    """


class DamagedFileError(ValueError):
    """A data file is there but cannot be read as what it should be."""


def data_folder(data: str | Path | None = None) -> Path:
    """Find the folder that holds the collections.

    Parameters
    ----------
    data : path, optional
        The folder. By default the environment variable ``ADMERCS_DATA`` names it; failing that, a
        folder ``shared/data`` beside the checkout is taken.

    Returns
    -------
    folder : Path
        An existing folder, laid out as ``campos/<set>/*.arff``, ``hics/*.arff`` and ``*.csv``.

    Examples
    --------
    >>> from admercs.datasets import data_folder
    >>> data_folder("/nowhere")
    Traceback (most recent call last):
        ...
    admercs.datasets.folder.DataNotFoundError: the data folder /nowhere does not exist
    """
    named = data or os.environ.get(DATA_VARIABLE)
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise DataNotFoundError(f"the data folder {folder} does not exist")
        return folder
    if not _BESIDE_CHECKOUT.is_dir():
        raise DataNotFoundError(
            f"no data folder: pass data=, or set the environment variable {DATA_VARIABLE} to a "
            "folder with campos/, hics/ and the tables"
        )
    return _BESIDE_CHECKOUT


def find_file(folder: Path, stem: str) -> Path:
    """Find a file by its name, plain or gzipped."""
    for name in (stem, f"{stem}.gz"):
        if (folder / name).is_file():
            return folder / name
    raise DataNotFoundError(f"{stem} is absent from {folder}")
