"""The wheel with its core dependencies alone runs the README's example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
# What a user of the extras has and a plain installation has not.
EXTRAS = ("pandas", "polars", "pyarrow", "matplotlib", "duckdb", "rich")


def run(*command: object, cwd: Path) -> str:
    """Run a command outside of the checkout and return what it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment with nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("admercs-*.whl")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return python


@pytest.mark.timeout(900)
def test_the_readme_example_runs_without_extras(python: Path, tmp_path: Path) -> None:
    (example,) = EXAMPLE.findall((ROOT / "README.md").read_text())
    absent = f"from importlib.util import find_spec\nassert not any(map(find_spec, {EXTRAS}))\n"
    printed = run(python, "-c", absent + example, cwd=tmp_path)
    assert printed.startswith("row ")
    assert "more anomalous than all other rows of the table" in printed
    assert (tmp_path / "cars.html").stat().st_size > 10_000
    assert (tmp_path / "cars.admercs").is_file()
