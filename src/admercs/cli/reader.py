"""ReadOptions a source as Arrow tables: the whole of it, a sample, or in batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from admercs.cli.csvfile import ReadOptions, Source
from admercs.cli.databases import quoted
from admercs.cli.errors import UserError, listed
from admercs.cli.sinks import FileId, scratch_folder
from admercs.cli.sources import SourceFinder

_CASTS = {"HUGEINT": "DOUBLE", "UHUGEINT": "DOUBLE", "UUID": "VARCHAR", "BIT": "VARCHAR",
          "TIME WITH TIME ZONE": "TIME"}  # fmt: skip
_NESTED = re.compile(r"^(STRUCT|MAP|UNION|BLOB$)|\]$")  # types without plain values
# What text has to become where something else is expected, and what that is called.
_EXPECTED = {
    "float": ("DOUBLE", "number"),
    "integer": ("DOUBLE", "number"),
    "boolean": ("BOOLEAN", "true or false"),
    "date": ("DATE", "date"),
    "datetime": ("TIMESTAMP", "date"),
    "time": ("TIME", "time of day"),
}
_CELLS, _FEWEST, _MOST = 4_000_000, 1_000, 200_000
_DRAW = 0x5A3B1E  # with the seed: where the draw of a sample begins


@dataclass(frozen=True)
class SourceTable:
    """A source that can be read more than once."""

    name: str
    columns: list[str]  # attributes and label columns, without those to be ignored
    id: list[str]  # the columns that label rows
    nominal: list[str]  # the columns to be treated as nominal
    inputs: Collection[FileId]  # the files that are read
    _connection: Any
    _sql: str
    _source: Source

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of how the source is read."""
        return self._source.notes

    @property
    def batch_rows(self) -> int:
        """Rows that are in memory at a time."""
        return min(_MOST, max(_FEWEST, _CELLS // max(1, len(self.columns))))

    def count(self) -> int:
        """Return the number of rows where that is quickly known; else 0."""
        if self._source.is_query:
            return 0
        with self._source.errors():
            found = self._connection.execute("select count(*) from admercs_source").fetchall()
        return int(found[0][0])

    def batches(self) -> Iterator[pa.Table]:
        """Read all rows in order, a bounded number at a time."""
        with self._source.errors():
            reader = self._connection.sql(self._sql).to_arrow_reader(self.batch_rows)
        while True:
            with self._source.errors():
                batch = next(reader, None)
            if batch is None:
                return
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def read(
        self, limit: int, seed: int = 0, on_read: Callable[[int], None] = lambda _: None
    ) -> tuple[pa.Table, int]:
        """Read all rows, or an even sample of ``limit`` of them; also return how many there are."""
        # Which rows are drawn depends on their number and the seed only. A table may have been
        # generated with the same seed: its values must not decide.
        random, total = np.random.default_rng([_DRAW, seed]), 0
        kept: list[tuple[Any, pa.Table]] = []
        for batch in self.batches():
            kept.append((random.random(len(batch)), batch))
            total += len(batch)
            if sum(len(part) for _, part in kept) > 2 * limit:
                kept = [_lowest(kept, limit)]
            on_read(total)
        if not kept:
            raise UserError(f"{self.name} has no rows, only the columns {listed(self.columns)}.")
        if total > limit:
            kept = [_lowest(kept, limit)]
        return pa.concat_tables([part for _, part in kept]), total


def _lowest(kept: list[tuple[Any, pa.Table]], limit: int) -> tuple[Any, pa.Table]:
    """Keep the rows that drew the lowest numbers, in their order."""
    drawn = np.concatenate([part for part, _ in kept])
    rows = pa.concat_tables([part for _, part in kept])
    chosen = np.sort(np.argpartition(drawn, limit - 1)[:limit])
    return drawn[chosen], rows.take(pa.array(chosen))


@contextmanager
def open_table(sources: Sequence[str], reading: ReadOptions) -> Iterator[SourceTable]:
    """Open a source for reading; see `SourceFinder.find` for what it can be."""
    with scratch_folder() as folder:
        # Nothing is fetched from the network, and what does not fit into memory goes to the
        # temporary folder instead of the user's.
        settings: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": str(folder),
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("set enable_progress_bar = false")
            finder = SourceFinder(connection, folder)
            source = finder.find(sources, reading)
            # From here on the files that were named can be read, and none can be written.
            connection.execute("set allowed_paths = ?", [sorted(finder.readable)])
            connection.execute("set allowed_directories = ?", [[str(folder)]])
            connection.execute("set enable_external_access = false")
            connection.execute("set lock_configuration = true")
            yield _table(connection, source, reading, finder.inputs)


def _table(
    connection: Any, source: Source, reading: ReadOptions, inputs: Collection[FileId]
) -> SourceTable:
    with source.errors():
        relation = connection.sql(source.sql)
        names = Counter(name.lower() for name in relation.columns)
        if twice := [name for name in relation.columns if names[name.lower()] > 1]:
            raise UserError(
                f"{source.name}: there is more than one column {twice[0]!r}. Give each column a "
                "name of its own, such as b in select a as b."
            )
        if odd := [name for name in relation.columns if "\0" in name]:
            raise UserError(
                f"{source.name}: a column is called {odd[0]!r}. Take NUL out of its name."
            )
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        relation.create_view("admercs_source")
    numeric, nominal, ignore, label = (
        list(_known(source.name, getattr(reading, role), list(types), f"--{role}"))
        for role in ("numeric", "nominal", "ignore", "id")
    )
    columns = [name for name in types if name not in ignore]
    if nested := [name for name in columns if name not in label and _NESTED.search(types[name])]:
        raise UserError(
            f"{source.name}: {listed(nested)} hold{'s' if len(nested) == 1 else ''} nested or "
            "binary values, which cannot be compared. Leave out with --ignore, or unpack with a "
            "query."
        )
    if set(columns) <= set(label):
        raise UserError(f"{source.name} has no columns left to look at.")
    kinds = {**reading.expected, **dict.fromkeys(numeric, "float")}
    pick = partial(_projection, connection, source.name)
    picked = ", ".join(pick(name, types[name], kinds.get(name)) for name in columns)
    sql = f"select {picked} from admercs_source"
    return SourceTable(source.name, columns, label, nominal, inputs, connection, sql, source)


def _known(source: str, given: Sequence[str], columns: list[str], flag: str) -> Iterator[str]:
    """Resolve column names; one argument may hold several, separated by commas."""
    for text in given:
        for part in [text] if text in columns else text.split(","):
            name = part if part in columns else part.strip()
            if name not in columns:
                raise UserError(
                    f"{flag}: {source} has no column {name!r}; it has {listed(columns)}."
                )
            yield name


def _projection(connection: Any, source: str, name: str, kind: str, expected: str | None) -> str:
    """Return the SQL for one column, in a type that can be used and that is expected."""
    column = quoted(name)
    if kind == "INTERVAL":
        return f"extract(epoch from {column}) as {column}"
    target = _CASTS.get(kind)
    if kind.startswith("DECIMAL") or (kind == "BOOLEAN" and expected == "float"):
        target = "DOUBLE"
    elif kind.startswith("ENUM") or (expected == "text" and kind != "VARCHAR"):
        target = "VARCHAR"
    elif kind == "VARCHAR" and expected in _EXPECTED:
        target, what = _EXPECTED[expected]
        bad = connection.execute(
            f"select {column} from admercs_source "
            f"where {column} is not null and try_cast({column} as {target}) is null limit 1"
        ).fetchall()
        if bad:
            raise UserError(
                f"{source}: column {name!r} holds {bad[0][0]!r}, which is no {what}. "
                "If it stands for a missing value, say so with --missing."
            )
    return column if target is None else f"cast({column} as {target}) as {column}"
