"""The samples of the pages run and print what the pages show."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from tests.samples import run_samples, wrapped

ROOT = Path(__file__).parents[1]


def check(page: str, folder: Path) -> None:
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are set aside
        for sample in run_samples(ROOT / page, folder):
            sample.check()
            compared += bool(sample.shown)
    assert compared


@pytest.fixture
def cars(tmp_path: Path) -> Path:
    """Return a folder with the files that the README mentions."""
    table = make_electric_vehicles(random_state=0, as_frame="pandas").table
    table.to_parquet(tmp_path / "cars.parquet", index=False)
    table.tail(5).to_csv(tmp_path / "new.csv", index=False)
    ADMERCS().fit(pd.read_parquet(tmp_path / "cars.parquet")).save(tmp_path / "cars.admercs")
    return tmp_path


def test_readme(cars: Path) -> None:
    check("README.md", cars)


def test_explanations(data: Path) -> None:
    check("docs/explanations.md", data)


def test_command_line(data: Path, tmp_path: Path) -> None:
    for name in ("hypothyroid.csv", "patients.csv", "new.csv"):
        (tmp_path / name).write_bytes((data / "hypothyroid.csv").read_bytes())
    check("docs/cli.md", tmp_path)


def test_a_sample_that_prints_something_else_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```\n3\n```\n", encoding="utf-8")
    (sample,) = run_samples(page, tmp_path)
    with pytest.raises(AssertionError, match="line 1 prints"):
        sample.check()


def test_long_lines_are_wrapped_as_lists_are() -> None:
    lines = wrapped(f"  1. {'word ' * 40}").splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.startswith("     word") for line in lines[1:])
