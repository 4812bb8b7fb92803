"""What the columns of the training table are, and how a new table is matched with them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, cast, get_args

from admercs.method.settings import Columns
from admercs.table.columns import Column, Display, Facet, Role
from admercs.table.frame import Frame, check_shape
from admercs.table.reading_frame import TableReading
from admercs.table.readings import Reading, ReadingRules
from admercs.table.summary import NOMINAL_CAP, ColumnSummary, TableSummary
from admercs.table.values import TEMPORAL, Kind, describe

MAX_CATEGORIES = 253  # with a code of their own, beside those for "missing" and "any other"
_HOURS = 24
EXACT = 2**53  # integers up to this size are exact in a float64
# How values are shown, where that is not called as their kind.
DISPLAY: dict[Kind, Display] = {"float": "number", "mixed": "text", "empty": "number"}


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, their facets, and the kind of values each of them held."""

    columns: tuple[Column, ...]
    facets: tuple[Column, ...]
    kinds: tuple[Kind, ...]  # of the columns and of the facets
    named: bool  # if so, new tables are matched by name
    has_names: bool  # whether all names were strings
    order: tuple[int, ...]  # positions of the used columns and facets, as the method takes them
    rules: ReadingRules = field(default_factory=ReadingRules)  # by which all tables are read

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns and facets whose values are used, in the method's order."""
        known = self.columns + self.facets
        return tuple(known[position] for position in self.order)

    @cached_property
    def is_stated(self) -> tuple[bool, ...]:
        """Whether the values of each used column are log ω of their cells."""
        return tuple(c.facet is not None and c.facet.is_stated for c in self.used)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def check(self, frame: Frame) -> tuple[int, ...]:
        """Return the position in a new table of each column, or raise a ValueError."""
        # If one of the tables has no names, columns are taken as they come, as scikit-learn does.
        by_name = self.named and frame.named
        if by_name and set(frame.names) != set(self.names):
            _refuse_names(self.names, frame.names)
        if frame.n_columns != len(self.columns):
            raise ValueError(
                f"X has {frame.n_columns} features, but ADMERCS is expecting {len(self.columns)} "
                "features as input."
            )
        if by_name:
            place = {name: position for position, name in enumerate(frame.names)}
            return tuple(place[column.name] for column in self.columns)
        if frame.has_names or self.has_names:  # but not both
            given = "has" if frame.has_names else "does not have valid"
            fitted = "with" if self.has_names else "without"
            warnings.warn(
                f"X {given} feature names, but ADMERCS was fitted {fitted} feature names",
                stacklevel=3,
            )
        return tuple(range(len(self.columns)))

    def needed(self, some: Sequence[int]) -> list[int]:
        """Return the positions of the table's columns that some used columns are made of."""
        return sorted({source for m in some for source in self.used[m].sources})

    def part(self, some: Sequence[int]) -> Schema:
        """Return the schema of a table that has only the columns `needed` by some used columns."""
        needed, used = self.needed(some), [self.used[m] for m in some]
        place = {position: k for k, position in enumerate(needed)}
        facets = [column for column in used if column.facet is not None]
        place |= {column.position: len(needed) + k for k, column in enumerate(facets)}

        def renumbered(column: Column) -> Column:
            facet = column.facet
            if facet is not None:
                facet = replace(facet, sources=tuple(place[source] for source in facet.sources))
            return replace(column, position=place[column.position], facet=facet)

        columns = [renumbered(self.columns[position]) for position in needed]
        kinds = [self.kinds[position] for position in (*needed, *(f.position for f in facets))]
        order = tuple(place[column.position] for column in used)
        return replace(
            self, columns=tuple(columns), facets=tuple(map(renumbered, facets)),
            kinds=tuple(kinds), order=order,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain lists, numbers and texts, for JSON."""
        return {**asdict(self), "kinds": list(self.kinds), "order": list(self.order)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Return the schema that :meth:`to_dict` was called on, or raise a ValueError."""
        try:
            columns, facets = (
                tuple(_column_from_dict(each) for each in data[name])
                for name in ("columns", "facets")
            )
            kinds, order = tuple(data["kinds"]), tuple(data["order"])
            named, has_names = bool(data["named"]), bool(data["has_names"])
            rules = ReadingRules(**_tuples(data["rules"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is not a description of columns: {error}") from error
        known = columns + facets
        if len(kinds) != len(known) or not set(kinds) <= set(get_args(Kind)):
            raise ValueError("The description of the table's columns is damaged.")
        used = [j for j, each in enumerate(known) if each.role in ("numeric", "nominal")]
        if sorted(order) != used:
            raise ValueError("The order of the table's columns is damaged.")
        return cls(columns, facets, kinds, named, has_names, order, rules)


def _column_from_dict(data: dict[str, Any]) -> Column:
    facet = data["facet"] and Facet(**_tuples(data["facet"]))
    reading = data["reading"] and Reading.from_dict(data["reading"])
    return Column(**{**_tuples(data), "facet": facet, "reading": reading})


def _tuples(data: Any) -> Any:
    """Turn the lists of JSON into tuples."""
    if isinstance(data, dict):
        return {name: _tuples(each) for name, each in data.items()}
    return tuple(map(_tuples, data)) if isinstance(data, list | tuple) else data


def _refuse_names(expected: list[str], given: list[str]) -> None:
    # The wording is scikit-learn's.
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(given) - set(expected)), sorted(set(expected) - set(given))
    titles = ("Feature names unseen at fit time", "Feature names seen at fit time, yet now missing")
    for title, names in zip(titles, (unseen, missing), strict=True):
        if names:
            more = "- ...\n" if len(names) > 5 else ""
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:5]) + more
    raise ValueError(message)


def learn_schema(
    summary: TableSummary,
    settings: Columns | None = None,
    facets: Sequence[tuple[Facet, ColumnSummary]] = (),
    how: TableReading | None = None,
    keys: Sequence[int] = (),
) -> Schema:
    """Decide what each column is; one warning names the columns that are set aside."""
    n_columns = len(summary.columns)
    check_shape(summary.n_rows, n_columns)
    settings, how = settings or Columns(), how or TableReading()
    columns = tuple(
        replace(_decide(column, j, settings), reading=how.readings.get(j), n_unread=column.n_unread,
                is_key=j in keys)
        for j, column in enumerate(summary.columns)
    )  # fmt: skip
    made = tuple(
        replace(_decide(each, n_columns + k, _of_facet(each, settings), facet.is_condition),
                facet=facet)
        for k, (facet, each) in enumerate(facets)
    )  # fmt: skip
    kinds = tuple(column.kind for column in (*summary.columns, *(each for _, each in facets)))
    order = tuple(column.position for column in columns + made if not column.reason)
    schema = Schema(columns, made, kinds, summary.named, summary.has_names, order, how.rules)
    shaped = {facet.sources[0] for facet, _ in facets if facet.kind == "shape"}
    free = {
        j for j, column in enumerate(summary.columns)
        if j not in shaped and has_many_words(column, settings)
    }  # fmt: skip
    columns = tuple(
        replace(column, reason=f"free text{column.reason.partition('identifier')[2]}")
        if column.reason and column.position in free else column
        for column in columns
    )  # fmt: skip
    spoken = {source for column in schema.used for source in column.sources}
    columns = tuple(
        replace(column, role="text") if column.reason and column.position in spoken else column
        for column in columns
    )
    schema = replace(schema, columns=columns)
    aside = [column for column in columns if column.role == "set aside"]
    reasons = "; ".join(f"{column.name!r} ({column.reason})" for column in aside)
    if not schema.used:
        one = " There is only 1 sample." if summary.n_rows == 1 else ""
        raise ValueError(f"No column can be used: {reasons}.{one}")
    if aside:
        what = "This column is" if len(aside) == 1 else f"These {len(aside)} columns are"
        warnings.warn(f"{what} set aside: {reasons}.", UserWarning, stacklevel=2)
    return schema


def _of_facet(summary: ColumnSummary, settings: Columns) -> Columns:
    """Return by which settings a facet is taken: times of day that are made are hours."""
    return replace(settings, max_distinct=_HOURS) if summary.kind == "time" else settings


def _decide(
    summary: ColumnSummary, position: int, settings: Columns, is_condition: bool = True
) -> Column:
    # What a residual or a stated view is in every row may be something else in a new one.
    reason = _reason_to_set_aside(summary, settings) if is_condition else ""
    display = DISPLAY.get(summary.kind, cast(Display, summary.kind))
    role: Role = "set aside" if reason else summary.role
    column = Column(summary.name, position, role, display, reason, summary.n_missing)
    if role == "nominal":
        counts = summary.counts or {}
        ranked = sorted(counts, key=lambda value: (-counts[value], str(value)))
        kept, n_grouped = tuple(ranked[:MAX_CATEGORIES]), max(0, len(ranked) - MAX_CATEGORIES)
        return replace(column, categories=kept, n_grouped=n_grouped, time_zone=summary.time_zone)
    if role == "set aside" or summary.low is None or summary.high is None:
        return column
    low, high = summary.low, summary.high
    is_huge = isinstance(low, int) and isinstance(high, int) and max(abs(low), abs(high)) > EXACT
    origin = int(low) if is_huge else 0
    column = replace(column, origin=origin, unit=summary.unit, time_zone=summary.time_zone)
    distinct = _discrete_values(summary, origin, settings)
    return replace(column, distinct=distinct, low=float(low - origin), high=float(high - origin))


def _reason_to_set_aside(summary: ColumnSummary, settings: Columns) -> str:
    """Say why nothing can be learned from a column; empty for a column that is used."""
    if summary.n_present == 0:
        return "no values"
    # A column that is always the same or missing is used: where it is missing may be a pattern.
    if summary.counts is not None and len(summary.counts) == 1 and summary.n_missing == 0:
        shown = "" if summary.kind in TEMPORAL else f": {describe(next(iter(summary.counts)))}"
        return f"the same value in every row{shown}"
    if summary.role == "numeric":
        return ""
    if summary.counts is None:
        return f"an identifier or free text, more than {NOMINAL_CAP:,} distinct values"
    if is_identifier(summary, settings):
        n_distinct = len(summary.counts)
        return f"an identifier, {n_distinct:,} distinct values in {summary.n_present:,} rows"
    return ""


def is_identifier(summary: ColumnSummary, settings: Columns, fewest: int = 2) -> bool:
    """Say whether a column holds texts that hardly repeat: there is no splitting on its values.

    They hardly repeat if they occur less than `fewest` times on average.
    """
    if summary.kind not in ("text", "mixed") or summary.chosen:
        return False
    n_distinct = NOMINAL_CAP if summary.counts is None else len(summary.counts)
    repeats = summary.counts is not None and fewest * n_distinct <= summary.n_present
    return n_distinct >= settings.identifier_from and not repeats


def has_many_words(summary: ColumnSummary, settings: Columns) -> bool:
    """Say whether a column holds texts of many words that hardly repeat."""
    many = summary.n_words >= settings.free_words * max(1, summary.n_present)
    return many and is_identifier(summary, settings)


def _discrete_values(summary: ColumnSummary, origin: int, settings: Columns) -> tuple[float, ...]:
    if summary.counts is None or (n := len(summary.counts)) > settings.max_distinct:
        return ()
    if n > 1 and summary.n_present < settings.min_repeats * n:
        return ()
    # The values of a numeric column are numbers, whatever the type of categories in general says.
    numbers = [value for value in summary.counts if not isinstance(value, str)]
    return tuple(sorted(float(value - origin) for value in numbers))
