"""Compiled kernels: one decorator, so that all of them are cached the same way."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.compiler import Compiler
from numpy.typing import NDArray


class KernelCache(FunctionCache):
    """Compiled code on disk, and no error where it cannot be read or written."""

    _warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code, or None if there is none that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling arbitrary bytes raises all kinds of errors
            self.warn(error)
        with suppress(OSError):
            self.flush()  # so that it can be saved again
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled code if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self.warn(error)

    @classmethod
    def warn(cls, error: Exception) -> None:
        """Warn once in a process."""
        if not cls._warned:
            cls._warned = True
            warnings.warn(
                f"Compiled code cannot be read from the cache or saved there ({error!r:.200}), so "
                "it is compiled in this process. If that happens again, make the folder writable, "
                "free some space, or set NUMBA_CACHE_DIR to another folder.",
                stacklevel=2,
            )


class KernelCompiler(Compiler):
    """Numba's own compiler, which need not wait for the garbage collector."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function."""
        # Numba makes so many objects that looking for garbage among them, and among those of all
        # imported libraries, takes a sixth of the time.
        if not gc.isenabled():
            return super().compile_extra(func)
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            gc.enable()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to machine code that is kept on disk and releases the interpreter lock."""
    # Less to compile: no check before each division (numpy's error model), and no wrapper for C.
    to_machine_code: Any = numba.njit  # its types do not know all options
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    compiled = to_machine_code(pipeline_class=KernelCompiler, **options)(function)
    try:
        compiled._cache = KernelCache(function)
    except RuntimeError as error:  # neither the package nor the user has a folder for it
        KernelCache.warn(error)
    return compiled


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to."""
    # pandas hands out such arrays. A kernel is compiled anew for each kind of argument, so this is
    # the only kind it is given.
    view = array.view()
    view.flags.writeable = False
    return view
