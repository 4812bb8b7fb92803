"""Generated columns as a table of whichever data frame library is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

__all__ = ["FRAMES", "to_frame"]

FRAMES = ("pandas", "polars", "pyarrow", "dict")


def to_frame(columns: Mapping[str, np.ndarray], as_frame: str | None = None) -> Any:
    """Turn named numpy columns into a table.

    Text columns are object arrays in which ``None`` is a missing value; numeric columns use
    NaN; dates are ``datetime64[D]``.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.datasets.frames import to_frame
    >>> to_frame({"size": np.array([1.0, 2.0])}, as_frame="dict")
    {'size': array([1., 2.])}
    """
    if as_frame is None:
        as_frame = next((name for name in FRAMES[:-1] if find_spec(name)), "dict")
    if as_frame == "dict":
        return dict(columns)
    if as_frame not in FRAMES:
        raise ValueError(f"as_frame must be one of {', '.join(FRAMES)}; got {as_frame!r}")
    if find_spec(as_frame) is None:
        raise ImportError(
            f"as_frame={as_frame!r} needs {as_frame}, which is not installed; "
            f"install it or use as_frame='dict'"
        )
    library = import_module(as_frame)
    if as_frame == "pandas":
        return library.DataFrame(dict(columns))
    return _columnar(library, as_frame, columns)


def _columnar(library: Any, name: str, columns: Mapping[str, np.ndarray]) -> Any:
    """Build a polars or pyarrow table, with NaN as null, as these libraries have it."""
    plain = {key: _with_none(values) for key, values in columns.items()}
    return library.table(plain) if name == "pyarrow" else library.DataFrame(plain)


def _with_none(values: np.ndarray) -> list[Any]:
    """Python values of a column, missing ones as None."""
    # Only NaN differs from itself.
    return [None if item != item else item for item in values.tolist()]  # noqa: PLR0124
