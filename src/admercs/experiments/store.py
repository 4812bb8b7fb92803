"""Results on disk: one row per algorithm, parameters and set, written as soon as it is known."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from admercs.datasets import DamagedFileError

__all__ = ["Result", "Store", "encode_point"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    algorithm TEXT NOT NULL,
    parameters TEXT NOT NULL,
    benchmark TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    auc REAL NOT NULL,
    ap REAL NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (algorithm, parameters, benchmark, name, version)
);
CREATE TABLE IF NOT EXISTS editions (
    benchmark TEXT PRIMARY KEY,
    edition INTEGER NOT NULL
)
"""


class Result(NamedTuple):
    """How one algorithm with one set of parameters did on one set."""

    algorithm: str
    parameters: str
    benchmark: str
    name: str
    version: int
    auc: float
    ap: float
    seconds: float

    @property
    def point(self) -> dict[str, Any]:
        """The parameters as a dict."""
        point: dict[str, Any] = json.loads(self.parameters)
        return point


def encode_point(point: dict[str, Any]) -> str:
    """Write parameters as text that is the same for the same values.

    Examples
    --------
    >>> from admercs.experiments.store import encode_point
    >>> encode_point({"rho": 0.9, "depth": 10})
    '{"depth": 10, "rho": 0.9}'
    """
    return json.dumps(point, sort_keys=True)


class Store:
    """A file of results that several processes may write to; safe to interrupt at any time.

    Parameters
    ----------
    path : Path
        The file; made where it does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from admercs.experiments.store import Result, Store
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     store.add([Result("kNN", '{"k": 3}', "HiCS", "010/0", 1, 0.9, 0.5, 0.1)])
    ...     [result.auc for result in store.all()]
    [0.9]
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # Several processes write: each waits for its turn.
        self._connection = sqlite3.connect(path, timeout=120)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(f"{path} is not a store of results: {error}") from error
        # Survives the end of the process at any time; a power cut may cost the last few results.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        with self._connection:
            self._connection.executescript(_SCHEMA)

    def add(self, results: Iterable[Result]) -> None:
        """Write results at once; a result already there is replaced."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", list(results)
            )

    def forget(self, algorithm: str) -> None:
        """Remove all results of an algorithm."""
        with self._connection:
            self._connection.execute("DELETE FROM results WHERE algorithm = ?", (algorithm,))

    def renew(self, benchmark: str, edition: int) -> None:
        """Remove the results on a benchmark if they come from another edition of its sets."""
        known = dict(self._connection.execute("SELECT benchmark, edition FROM editions"))
        if known.get(benchmark, 1) == edition:
            return
        with self._connection:
            self._connection.execute("DELETE FROM results WHERE benchmark = ?", (benchmark,))
            self._connection.execute(
                "INSERT OR REPLACE INTO editions VALUES (?, ?)", (benchmark, edition)
            )

    def all(self) -> list[Result]:
        """Return every result, in a fixed order."""
        rows = self._connection.execute(
            "SELECT * FROM results ORDER BY benchmark, name, version, algorithm, parameters"
        )
        return [Result(*row) for row in rows]

    def keys(self) -> set[tuple[str, str, str, str, int]]:
        """Return algorithm, parameters, benchmark, name and version of what is known."""
        rows = self._connection.execute(
            "SELECT algorithm, parameters, benchmark, name, version FROM results"
        )
        return set(rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
