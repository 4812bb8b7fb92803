"""What the columns of the training table are, and how a new table is matched with them."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast, get_args

from admercs.method.settings import Columns
from admercs.table.columns import Column, Display, Role
from admercs.table.frame import Frame, check_rows
from admercs.table.summary import NOMINAL_CAP, ColumnSummary, TableSummary
from admercs.table.values import TEMPORAL, Kind, describe

MAX_CATEGORIES = 253
"""Categories with a code of their own; "missing" and "any other" take two more of a byte's."""

EXACT = 2**53
"""Integers up to this size are exact in a float64."""

# How values are shown, where that is not called as their kind.
DISPLAY: dict[Kind, Display] = {"float": "number", "mixed": "text", "empty": "number"}


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, and the kind of values each of them held.

    If the table named its columns, new tables are matched by name. ``has_names`` says whether all
    those names were strings.
    """

    columns: tuple[Column, ...]
    kinds: tuple[Kind, ...]
    named: bool
    has_names: bool

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that were not set aside."""
        return tuple(column for column in self.columns if column.role != "set aside")

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def check(self, frame: Frame) -> tuple[int, ...]:
        """Find the used columns in a new table.

        Columns are matched by name, in any order, if both tables have names; else by position, with
        scikit-learn's warning if one of them has names. A missing or additional column raises a
        ValueError. Returns the position in ``frame`` of each used column.
        """
        by_name = self.named and frame.named
        if by_name and set(frame.names) != set(self.names):
            _refuse_names(self.names, frame.names)
        if frame.n_columns != len(self.columns):
            raise ValueError(
                f"X has {frame.n_columns} features, but ADMERCS is expecting {len(self.columns)} "
                "features as input."
            )
        if by_name:
            return tuple(frame.names.index(column.name) for column in self.used)
        if frame.has_names or self.has_names:  # but not both
            given = "has" if frame.has_names else "does not have valid"
            fitted = "with" if self.has_names else "without"
            warnings.warn(
                f"X {given} feature names, but ADMERCS was fitted {fitted} feature names",
                stacklevel=3,
            )
        return tuple(column.position for column in self.used)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain lists, numbers and texts, for JSON."""
        return {**asdict(self), "kinds": list(self.kinds)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Return the schema that :meth:`to_dict` was called on, or raise a ValueError."""
        try:
            columns = []
            for column in data["columns"]:
                lists = {key: tuple(column[key]) for key in ("categories", "distinct")}
                columns.append(Column(**{**column, **lists}))
            kinds = tuple(data["kinds"])
            named, has_names = bool(data["named"]), bool(data["has_names"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is not a description of columns: {error}") from error
        if len(kinds) != len(columns) or not set(kinds) <= set(get_args(Kind)):
            raise ValueError("The description of the table's columns is damaged.")
        return cls(tuple(columns), kinds, named, has_names)


def _refuse_names(expected: list[str], given: list[str]) -> None:
    # The wording is scikit-learn's.
    message = "The feature names should match those that were passed during fit.\n"
    for title, names in (
        ("Feature names unseen at fit time", sorted(set(given) - set(expected))),
        ("Feature names seen at fit time, yet now missing", sorted(set(expected) - set(given))),
    ):
        if names:
            more = "- ...\n" if len(names) > 5 else ""
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:5]) + more
    raise ValueError(message)


def learn_schema(
    summary: TableSummary, settings: Columns | None = None, *, warn: bool = True
) -> Schema:
    """Decide what each column is; one warning names the columns that are set aside.

    Set aside, because nothing can be learned from them, are columns without values, columns with
    one and the same value in every row, and identifiers: columns of text in which a value occurs
    less than twice on average. (If texts hardly repeat, no row tells anything about another; a tree
    could still split such a column as it likes, and would.) A column that is always the same *or
    missing* is used: where it is missing may be a pattern. A column that the user named in
    ``nominal`` is no identifier. A ValueError is raised if no column can be used.
    """
    check_rows(summary.n_rows, len(summary.columns))
    settings = settings or Columns()
    columns = tuple(_decide(column, j, settings) for j, column in enumerate(summary.columns))
    kinds = tuple(column.kind for column in summary.columns)
    schema = Schema(columns, kinds, summary.named, summary.has_names)
    aside = [column for column in columns if column.reason]
    reasons = "; ".join(f"{column.name!r} ({column.reason})" for column in aside)
    if not schema.used:
        one = " There is only 1 sample." if summary.n_rows == 1 else ""
        raise ValueError(f"No column can be used: {reasons}.{one}")
    if aside and warn:
        what = "This column is" if len(aside) == 1 else f"These {len(aside)} columns are"
        warnings.warn(f"{what} set aside: {reasons}.", UserWarning, stacklevel=2)
    return schema


def _decide(summary: ColumnSummary, position: int, settings: Columns) -> Column:
    reason = _reason_to_set_aside(summary, settings)
    display = DISPLAY.get(summary.kind, cast(Display, summary.kind))
    role: Role = "set aside" if reason else summary.role
    column = Column(summary.name, position, role, display, reason, summary.n_missing)
    if role == "nominal":
        counts = summary.counts or {}
        ranked = sorted(counts, key=lambda value: (-counts[value], str(value)))
        return replace(
            column,
            categories=tuple(ranked[:MAX_CATEGORIES]),
            n_grouped=max(0, len(ranked) - MAX_CATEGORIES),
            time_zone=summary.time_zone,
        )
    if role == "set aside" or summary.low is None or summary.high is None:
        return column
    low, high = summary.low, summary.high
    is_huge = isinstance(low, int) and isinstance(high, int) and max(abs(low), abs(high)) > EXACT
    origin = int(low) if is_huge else 0
    return replace(
        column,
        distinct=_discrete_values(summary, origin, settings),
        low=float(low - origin),
        high=float(high - origin),
        origin=origin,
        unit=summary.unit,
        time_zone=summary.time_zone,
    )


def _reason_to_set_aside(summary: ColumnSummary, settings: Columns) -> str:
    if summary.n_present == 0:
        return "no values"
    if summary.counts is not None and len(summary.counts) == 1 and summary.n_missing == 0:
        shown = "" if summary.kind in TEMPORAL else f": {describe(next(iter(summary.counts)))}"
        return f"the same value in every row{shown}"
    if summary.role == "numeric":
        return ""
    if summary.counts is None:
        return f"an identifier or free text, more than {NOMINAL_CAP:,} distinct values"
    n_distinct = len(summary.counts)
    looks_unique = n_distinct >= settings.identifier_from and 2 * n_distinct > summary.n_present
    if looks_unique and summary.kind in ("text", "mixed") and not summary.chosen:
        return f"an identifier, {n_distinct:,} distinct values in {summary.n_present:,} rows"
    return ""


def _discrete_values(summary: ColumnSummary, origin: int, settings: Columns) -> tuple[float, ...]:
    if summary.counts is None or len(summary.counts) > settings.max_distinct:
        return ()
    if len(summary.counts) > 1 and summary.n_present < settings.min_repeats * len(summary.counts):
        return ()
    # The values of a numeric column are numbers, whatever the type of categories in general says.
    numbers = [value for value in summary.counts if not isinstance(value, str)]
    return tuple(sorted(float(value - origin) for value in numbers))
