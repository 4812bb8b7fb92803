"""Reading a source as Arrow tables: the whole of it, a sample, or stretch by stretch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from admercs.cli.complaints import explained
from admercs.cli.errors import UserError
from admercs.cli.sinks import scratch_folder
from admercs.cli.sources import Reading, Recognised, recognise

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Roles", "Table", "open_table"]

_CASTS = {"HUGEINT": "DOUBLE", "UHUGEINT": "DOUBLE", "UUID": "VARCHAR", "BIT": "VARCHAR",
          "TIME WITH TIME ZONE": "TIME"}  # fmt: skip
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

Told = Callable[[int], None]


@dataclass(frozen=True)
class Roles:
    """What the user says about columns, and what a model expects of them.

    Attributes
    ----------
    numeric, nominal, ignore, id : sequence of str
        Columns, as named on the command line.
    expected : mapping of str to str
        The kind of values a model was learned from: a file of a few new rows alone does not
        show that a column of codes is text.
    """

    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ignore: Sequence[str] = ()
    id: Sequence[str] = ()
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A source that can be read more than once.

    Attributes
    ----------
    name : str
        What it is called.
    columns : list of str
        Its attributes and label columns, without those to be ignored.
    id : list of str
        The columns that label rows.
    nominal : list of str
        The columns to be treated as nominal.
    """

    name: str
    columns: list[str]
    id: list[str]
    nominal: list[str]
    _connection: Any
    _sql: str
    _origin: Recognised
    _encoding: str

    @property
    def stretch(self) -> int:
        """Rows that are in memory at a time."""
        return int(min(_MOST, max(_FEWEST, _CELLS // max(1, len(self.columns)))))

    def count(self) -> int:
        """Return the number of rows where that is quickly known; else 0."""
        if self._origin.is_query:
            return 0
        with self._explained():
            found = self._connection.execute("select count(*) from admercs_source").fetchall()
        return int(found[0][0])

    def batches(self) -> Iterator[pa.Table]:
        """Read all rows in order, a bounded number at a time."""
        import pyarrow as pa

        with self._explained():
            reader = self._connection.sql(self._sql).to_arrow_reader(self.stretch)
        while True:
            with self._explained():
                batch = next(reader, None)
            if batch is None:
                return
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def read(self, limit: int, seed: int = 0, told: Told | None = None) -> tuple[pa.Table, int]:
        """Read all rows, or an even sample of ``limit`` of them; also return how many there are.

        Which rows are drawn depends on their number and the seed only.
        """
        import numpy as np
        import pyarrow as pa

        random = np.random.default_rng(seed)
        kept: list[tuple[Any, pa.Table]] = []
        total = 0
        for batch in self.batches():
            kept.append((random.random(len(batch)), batch))
            total += len(batch)
            if sum(len(part) for _, part in kept) > 2 * limit:
                kept = [_lowest(kept, limit)]
            if told is not None:
                told(total)
        if not kept:
            raise UserError(f"{self.name} has no rows, only the columns {_listed(self.columns)}.")
        if total > limit:
            kept = [_lowest(kept, limit)]
        return pa.concat_tables([part for _, part in kept]), total

    @contextmanager
    def _explained(self) -> Iterator[None]:
        origin = self._origin
        with explained(origin.name, origin.delimiters, self._encoding, origin.is_query):
            yield


def _lowest(kept: list[tuple[Any, pa.Table]], limit: int) -> tuple[Any, pa.Table]:
    """Keep the rows that drew the lowest numbers, in their order."""
    import numpy as np
    import pyarrow as pa

    drawn = np.concatenate([part for part, _ in kept])
    rows = pa.concat_tables([part for _, part in kept])
    chosen = np.sort(np.argpartition(drawn, limit - 1)[:limit])
    return drawn[chosen], rows.take(pa.array(chosen))


@contextmanager
def open_table(sources: Sequence[str], reading: Reading, roles: Roles) -> Iterator[Table]:
    """Open a source for reading.

    Parameters
    ----------
    sources : sequence of str
        A path, a pattern, a folder, an SQL query, or ``-`` for standard input; or several files of one kind.
    reading : Reading
        How files are to be read.
    roles : Roles
        What the user says about columns.
    """
    try:
        import duckdb
    except ImportError:
        raise UserError(
            "reading tables needs DuckDB and pyarrow: pip install 'admercs[cli]'."
        ) from None
    with scratch_folder() as folder:
        # Nothing is fetched from the network, and what does not fit into memory goes to the
        # temporary folder instead of the user's.
        settings: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": str(folder),
        }
        connection = duckdb.connect(":memory:", config=settings)
        try:
            connection.execute("set enable_progress_bar = false")
            codes = [name for name, kind in roles.expected.items() if kind == "text"]
            reading = replace(reading, text=codes)
            recognised = recognise(sources, reading, connection, folder)
            yield _table(connection, recognised, roles, reading.encoding)
        finally:
            connection.close()


def _table(connection: Any, origin: Recognised, roles: Roles, encoding: str) -> Table:
    with explained(origin.name, origin.delimiters, encoding, origin.is_query):
        relation = connection.sql(origin.sql)
        if relation is None:
            raise UserError("the query returns no table: it must be a select.")
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        relation.create_view("admercs_source")
    numeric, nominal, ignore, label = (
        _known(origin.name, given, list(types), flag)
        for given, flag in (
            (roles.numeric, "--numeric"),
            (roles.nominal, "--nominal"),
            (roles.ignore, "--ignore"),
            (roles.id, "--id"),
        )
    )
    columns = [name for name in types if name not in ignore]
    _check_types(origin.name, {name: types[name] for name in columns if name not in label})
    if set(columns) <= set(label):
        raise UserError(f"{origin.name} has no columns left to look at.")
    kinds = {**roles.expected, **dict.fromkeys(numeric, "float")}
    picked = [
        _projection(connection, origin.name, name, types[name], kinds.get(name)) for name in columns
    ]
    sql = f"select {', '.join(picked)} from admercs_source"
    return Table(origin.name, columns, label, nominal, connection, sql, origin, encoding)


def _known(source: str, given: Sequence[str], columns: list[str], flag: str) -> list[str]:
    """Resolve column names; one argument may hold several, separated by commas."""
    names: list[str] = []
    for text in given:
        for name in [text] if text in columns else text.split(","):
            stripped = name if name in columns else name.strip()
            if stripped not in columns:
                raise UserError(
                    f"{flag}: {source} has no column {stripped!r}; it has {_listed(columns)}."
                )
            names.append(stripped)
    return names


def _listed(columns: Sequence[str], most: int = 12) -> str:
    more = f" and {len(columns) - most:,} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more


def _check_types(source: str, types: dict[str, str]) -> None:
    """Refuse columns that hold no plain values."""
    nested = [
        name
        for name, kind in types.items()
        if kind == "BLOB" or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION"))
    ]
    if nested:
        raise UserError(
            f"{source}: {_listed(nested)} hold{'s' if len(nested) == 1 else ''} nested or binary "
            "values, which cannot be compared. Leave out with --ignore, or unpack with a query."
        )


def _projection(connection: Any, source: str, name: str, kind: str, expected: str | None) -> str:
    """Return the SQL for one column, in a type that can be used and that is expected."""
    quoted = '"' + name.replace('"', '""') + '"'
    if kind == "INTERVAL":
        return f"extract(epoch from {quoted}) as {quoted}"
    target = _CASTS.get(kind)
    if kind.startswith("DECIMAL"):
        target = "DOUBLE"
    elif kind.startswith("ENUM") or (expected == "text" and kind != "VARCHAR"):
        target = "VARCHAR"
    elif kind == "VARCHAR" and expected in _EXPECTED:
        target, what = _EXPECTED[expected]
        _check_cast(connection, source, name, quoted, target, what)
    elif kind == "BOOLEAN" and expected == "float":
        target = "DOUBLE"
    return quoted if target is None else f"cast({quoted} as {target}) as {quoted}"


def _check_cast(
    connection: Any, source: str, name: str, quoted: str, target: str, what: str
) -> None:
    """Refuse text that is not what it should be."""
    bad = connection.execute(
        f"select {quoted} from admercs_source "
        f"where {quoted} is not null and try_cast({quoted} as {target}) is null limit 1"
    ).fetchall()
    if bad:
        raise UserError(
            f"{source}: column {name!r} holds {bad[0][0]!r}, which is no {what}. "
            "If it stands for a missing value, say so with --missing."
        )
