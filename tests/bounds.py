"""The tests at the lowest declared and at the newest versions of all dependencies.

``python tests/bounds.py [tests]`` makes an environment for each with uv, on Python 3.11 and on the
newest one that can be had, runs the tests there and prints a table. ``--python 3.14`` tries that
one only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = [sys.executable, "-m", "uv"]
FOLDER = ROOT / ".bounds"
# A version without a wheel for a Python is not for it; PyYAML needs no compiler.
WHEELS = ("--only-binary", ":all:", "--no-binary", "pyyaml")
RESOLUTIONS = {"newest": "highest", "lowest": "lowest-direct"}
LOWEST, NEWEST = ("3.11",), ("3.15", "3.14", "3.13", "3.12")  # the first that can be had
SHOWN = ("numpy", "scikit-learn", "numba", "pandas", "polars", "pyarrow", "dask", "duckdb")


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in the project's folder."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, cwd=ROOT, text=True, check=False, **options
    )


def make_environment(folder: Path, python: str, which: str) -> str:
    """Install the package with all that its tests use; return what went wrong."""
    pinned = folder / "pinned.txt"
    to = ("--quiet", "--python", folder / "bin" / "python")
    resolution = (*WHEELS, "--resolution", RESOLUTIONS[which])
    steps = [
        ("venv", "--quiet", "--clear", "--seed", "--python", python, folder),
        ("pip", "compile", *to, *resolution, "--extra", "test", "-o", pinned, "pyproject.toml"),
        ("pip", "install", *to, "--requirements", pinned),
        ("pip", "install", *to, "--no-deps", "--editable", "."),
    ]
    for step in steps:
        done = run(*UV, *step, capture_output=True)
        if done.returncode:
            return done.stderr
    return ""


def make_first(pythons: list[str], which: str) -> Path:
    """Make an environment of the first Python that can be used; others before it are dropped."""
    while pythons:
        folder = FOLDER / f"{pythons[0]}-{which}"
        wrong = make_environment(folder, pythons[0], which)
        if not wrong:
            return folder
        print(f"Python {pythons.pop(0)} cannot be used: {wrong.splitlines()[0]}", flush=True)
    sys.exit("No environment could be made.")


def run_tests(folder: Path, tests: list[str]) -> str:
    """Run the tests in an environment; return the last line of what they print."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONPATH", None)
    command = (folder / "bin" / "python", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
    done = run(*command, *tests, env=environment, stdout=subprocess.PIPE)
    if done.returncode:
        print(done.stdout, flush=True)
    return (done.stdout.splitlines() or ["nothing printed"])[-1].strip("= ")


def versions(folder: Path) -> list[str]:
    """Return the installed versions of the packages that matter most."""
    lines = (folder / "pinned.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    return [pinned[name] for name in SHOWN]


def main() -> None:
    """Make one environment after the other and run the tests there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="files or folders with tests (default: all)")
    parser.add_argument("--python", help="the only version of Python to try, such as 3.14")
    options = parser.parse_args()
    tests = options.tests
    rows = [["Python", "versions", *SHOWN, "tests"], ["---"] * (3 + len(SHOWN))]
    for pythons in ((options.python,),) if options.python else (NEWEST, LOWEST):
        usable = list(pythons)
        for which in RESOLUTIONS:
            folder = make_first(usable, which)
            rows.append([usable[0], which, *versions(folder), run_tests(folder, tests)])
            print(f"Python {usable[0]}, {which}: {rows[-1][-1]}", flush=True)
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    sys.exit(not all(" passed" in row[-1] and "failed" not in row[-1] for row in rows[2:]))


if __name__ == "__main__":
    main()
