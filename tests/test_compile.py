"""Compiled code whose cache on disk is damaged or full: a warning, and the same result."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from admercs._compile import KernelCache, kernel


def twice(x: float) -> float:
    return 2 * x


def half(x: float) -> float:
    return x / 2


def element(array: Any, place: Any) -> float:
    return array[place]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that calls a kernel as a new process would; it returns the warnings."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def call() -> list[str]:
        monkeypatch.setattr(KernelCache, "_warned", False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert kernel(twice)(1.5) == 3
        return [str(each.message) for each in caught]

    return call


def only_file(folder: Path, ending: str) -> Path:
    (path,) = folder.rglob(f"*.{ending}")
    return path


def change_index(path: Path, change: Callable[[dict], object]) -> None:
    """Replace the entries of an index."""
    with open(path, "rb") as stream:
        version = pickle.load(stream)
        stamp, entries = pickle.load(stream)
    path.write_bytes(pickle.dumps(version) + pickle.dumps((stamp, change(entries))))


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 4096, b"garbage", pickle.dumps(numba.__version__) + pickle.dumps("else")],
)
def test_damaged_files_are_replaced(
    call: Callable[[], list[str]], tmp_path: Path, ending: str, content: bytes
) -> None:
    assert call() == []
    path = only_file(tmp_path, ending)
    path.write_bytes(content)
    (warned,) = call()
    assert "NUMBA_CACHE_DIR" in warned
    assert path.read_bytes() != content
    assert call() == []


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_truncated_files_are_replaced(
    call: Callable[[], list[str]], tmp_path: Path, ending: str
) -> None:
    call()
    path = only_file(tmp_path, ending)
    path.write_bytes(path.read_bytes()[:-20])
    assert len(call()) == 1
    assert call() == []


@pytest.mark.parametrize(
    "change",
    [list, lambda entries: dict.fromkeys(entries, 3)],
    ids=["a list", "numbers"],
)
def test_an_index_of_something_else_is_replaced(
    call: Callable[[], list[str]], tmp_path: Path, change: Callable[[dict], object]
) -> None:
    call()
    change_index(only_file(tmp_path, "nbi"), change)
    assert len(call()) == 1
    assert call() == []


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_files_that_cannot_be_read_or_written(
    call: Callable[[], list[str]], tmp_path: Path, ending: str
) -> None:
    call()
    path = only_file(tmp_path, ending)
    path.unlink()
    path.mkdir()  # permissions would not stop root
    for _ in range(2):
        assert len(call()) == 1


def test_no_folder(call: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCache._impl_class, "_locator_classes", [])
    (warned,) = call()
    assert "no locator" in warned


CHILD = """
import resource, sys, warnings
from admercs._compile import kernel
from tests.test_compile import half, twice

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
warnings.simplefilter("always")
assert kernel(twice)(1.5) == 3
assert kernel(half)(1.5) == 0.75
"""


@pytest.mark.parametrize("n_bytes", [0, 2000])  # no index can be written; no code
def test_a_full_disk(tmp_path: Path, n_bytes: int) -> None:
    pytest.importorskip("resource")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(n_bytes)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stderr.count("Compiled code cannot be") == 1
    assert not list(tmp_path.rglob("*.nbc"))
    assert len(list(tmp_path.rglob("*.nbi"))) == 2 * (n_bytes > 0)


BEYOND = """
import numpy as np
from admercs._compile import kernel
from tests.test_compile import element

try:
    kernel(element)(np.zeros(3), np.uint64(3))
except IndexError:
    print("out of bounds")
"""


def test_bounds_are_checked_where_that_is_asked_for(tmp_path: Path) -> None:
    """Fuzzing finds what compiled code reads outside of its arrays."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_BOUNDSCHECK": "1"}
    child = [sys.executable, "-c", BEYOND]
    assert subprocess.check_output(child, env=env, text=True) == "out of bounds\n"


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_collected_again_after_compiling(is_enabled: bool) -> None:
    (gc.enable if is_enabled else gc.disable)()
    try:
        assert kernel(half)(3.0) == 1.5
        assert gc.isenabled() == is_enabled
        with pytest.raises(numba.core.errors.TypingError):
            kernel(element)(1.0, 2.0)  # what cannot be compiled
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
