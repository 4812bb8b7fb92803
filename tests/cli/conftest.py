"""Small tables in files of every kind, and a way to run the command line in this process."""

import numpy as np
import pyarrow as pa
import pytest

from admercs.cli import main


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Run the command line; return exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def runner(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return runner


def make_people(n=300, seed=0):
    """Return a table with a clear dependency, a planted row 18 (counted from 1) and labels."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    income = 1000 + 50 * age + rng.normal(0, 40, n)
    income[17] = 1000 + 50 * 70.0
    age[17] = 21
    day = np.datetime64("2024-01-01") + rng.integers(0, 365, n)
    return pa.table(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": age,
            "income": income.round(2),
            "job": rng.choice(["clerk", "baker", "smith"], n),
            "member": rng.random(n) < 0.5,
            "since": day,
        }
    )


@pytest.fixture(scope="session")
def people():
    return make_people()


@pytest.fixture(scope="session")
def people_csv(tmp_path_factory, people):
    from pyarrow import csv

    path = tmp_path_factory.mktemp("people") / "people.csv"
    csv.write_csv(people, path)
    return path
