"""Compiled kernels: one decorator, so that all of them are cached the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numpy.typing import NDArray


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to machine code that releases the interpreter lock.

    The code is cached on disk. Where neither the package folder nor the user's cache folder can be
    written, numba refuses to cache at all; the kernel is then compiled in each process instead.
    """
    # numpy's error model: no check before each division, less to compile.
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(nogil=True, error_model="numpy")(function)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to.

    pandas hands out such arrays, and a kernel is compiled anew for each kind of argument: giving it
    nothing else keeps it at one.
    """
    view = array.view()
    view.flags.writeable = False
    return view
