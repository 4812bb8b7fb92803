"""Finds anomalies in tables and says why, in plain words (AD-MERCS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admercs._version import __version__

if TYPE_CHECKING:
    from admercs.estimator import ADMERCS
    from admercs.method.settings import Method

__all__ = ["ADMERCS", "Method", "__version__"]


def __getattr__(name: str) -> object:
    # The detector drags in numba and scikit-learn; a script that only asks for the version,
    # or a shell that completes a command line, should not wait for them.
    if name == "ADMERCS":
        from admercs.estimator import ADMERCS

        return ADMERCS
    if name == "Method":
        from admercs.method.settings import Method

        return Method
    raise AttributeError(f"module 'admercs' has no attribute {name!r}")
