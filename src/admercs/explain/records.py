"""What an explanation consists of: frozen records that carry their own words.

Everything is worked out before a record is made: showing one computes nothing.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from html import escape
from numbers import Integral
from typing import Any, Literal

import numpy as np

from admercs.explain import rendering

ConditionKind = Literal["interval", "values", "excluded", "missing", "recorded"]
TypicalKind = Literal["intervals", "values", "missing", "recorded"]
ReasonKind = Literal["pattern", "context", "isolation", "neighbours"]
Value = str | bool | int | float | dt.date | dt.datetime | dt.time | dt.timedelta | None


def plain(value: Any) -> Any:
    """Return ``value`` as something JSON knows: dates as ISO text, durations in seconds."""
    if isinstance(value, Record):
        return value.to_dict()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else str(value)


def is_count(number: object) -> bool:
    """Tell whether something is a number of things, 0 or more."""
    return not isinstance(number, bool) and isinstance(number, Integral) and int(number) >= 0


def _like_bound(value: Any, bound: Value) -> Any:
    """Return a date or time from a table in the form of the bound it is compared with."""
    if isinstance(bound, str | int | float | None):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    elif hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, dt.datetime) and not isinstance(bound, dt.datetime):
        return value.date()
    return value


@dataclass(frozen=True)
class Record:
    """A part of an explanation."""

    def __str__(self) -> str:
        return str(getattr(self, "text", ""))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the page on explanations describes its fields."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}

    def _repr_html_(self) -> str:
        return f"<div>{escape(str(self))}</div>"


@dataclass(frozen=True)
class Condition(Record):
    """What holds for one attribute in a context.

    Attributes
    ----------
    attribute : str
        Name of the column.
    kind : {"interval", "values", "excluded", "missing", "recorded"}
        Between bounds, one of some values, none of them, no value at all, or any value.
    low, high : number, date, … or None
        The bounds of an interval, ``low < x <= high``; None where it is open.
    values : tuple
        The categories of the kinds ``"values"`` and ``"excluded"``.
    missing : bool
        Whether a missing value satisfies the condition too.
    text : str
        The condition in words.

    Examples
    --------
    >>> Condition("age", "interval", low=17.5, high=30.5, text="age 18 to 30").holds(30)
    True
    >>> Condition("job", "excluded", values=("clerk",), text="job ≠ clerk").holds("clerk")
    False
    """

    attribute: str
    kind: ConditionKind
    low: Value = None
    high: Value = None
    values: tuple[Value, ...] = ()
    missing: bool = False
    text: str = ""

    def holds(self, value: Any) -> bool:
        """Tell whether a value, given as in the table (None or NaN when missing), satisfies it."""
        if value is None or value != value:  # noqa: PLR0124 (NaN and NaT differ from themselves)
            return self.missing or self.kind == "missing"
        if self.kind == "interval":
            value = _like_bound(value, self.high if self.low is None else self.low)
            above = self.low is None or value > self.low
            return bool(above and (self.high is None or value <= self.high))
        if self.kind == "values":
            return value in self.values
        if self.kind == "excluded":
            return value not in self.values
        return self.kind == "recorded"


@dataclass(frozen=True)
class Typical(Record):
    """What is typical for the target of a context.

    Attributes
    ----------
    kind : {"intervals", "values", "missing", "recorded"}
        Regions of highest density, values with their shares, usually no value, or usually one.
    intervals : tuple of (low, high)
        The regions, both ends included.
    shares : tuple of (value, share)
        The typical values, most frequent first.
    share : float
        The share of the recorded values (of ``"missing"`` and ``"recorded"``: all rows) it covers.
    text : str
        The same in words.
    """

    kind: TypicalKind
    intervals: tuple[tuple[Value, Value], ...] = ()
    shares: tuple[tuple[Value, float], ...] = ()
    share: float = 1.0
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the page on explanations describes its fields."""
        shares = [{"value": plain(value), "share": share} for value, share in self.shares]
        return super().to_dict() | {"shares": shares}


@dataclass(frozen=True)
class Reason(Record):
    """One reason for a row's score.

    Attributes
    ----------
    kind : {"pattern", "context", "isolation", "neighbours"}
        The row breaks a pattern, is in an anomalous context, or is like rows that are anomalous.
    target : str
        The unusual attribute; of a context: the one it was found for.
    value, value_text : number, text, date, … or None; str
        The row's own value of the target, None when it is missing, and the same in words.
    conditions : tuple of Condition
        What the row has in common with the rows it is compared with. Empty: the whole table.
    typical : Typical or None
        What is typical among those rows; only of a pattern.
    n : int
        Training rows that satisfy the conditions.
    likelihood : float or None
        How likely the row's value is there, from 0 to 1 (typical); only of a pattern.
    evidence, share : float
        The part of the row's evidence due to this reason and those in ``also``; its fraction.
    context : int
        The row's leaf in the target's tree, for ``describe_context``.
    node : int
        The node of that tree whose rows the row is compared with: the leaf, or a node above it.
    also : tuple of Reason
        The same finding seen from the other attributes of the relation.
    rows, labels : tuple of int, tuple of str
        Of ``"neighbours"``: the training rows that contribute most, by number from 0 and by name.
    text : str
        The reason as a sentence.
    """

    kind: ReasonKind
    target: str
    value: Value
    value_text: str
    conditions: tuple[Condition, ...]
    typical: Typical | None
    n: int
    likelihood: float | None
    evidence: float
    share: float
    context: int
    node: int
    also: tuple[Reason, ...] = ()
    rows: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    text: str = ""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it is about: those of conditions, and the target unless of a context."""
        names = () if self.kind == "context" else (self.target,)
        return (*names, *(condition.attribute for condition in self.conditions))

    def __str__(self) -> str:
        return f"{self.text}   ({self.share:.0%} of the evidence)"


@dataclass(frozen=True)
class RowExplanation(Record):
    """Why a row got its score.

    Attributes
    ----------
    label : hashable
        The row's label in the table that was given, or its number.
    score, evidence : float
        How anomalous the row is: ``score = 1 - exp(-evidence)``. Reasons and ``rest`` add up to it.
    percentile : float
        Percentage of the training rows that are less anomalous.
    reasons : tuple of Reason
        The strongest reasons, strongest first; those about other rows (``"isolation"`` and
        ``"neighbours"``) come last.
    rest, n_rest : float, int
        The evidence and the number of the reasons that are not listed.
    by_association : bool
        Whether more than half of the evidence comes from anomalous contexts and similar rows.
    cells : dict of str to float
        The evidence per attribute; it adds up to ``evidence`` as well.
    """

    label: Any
    score: float
    evidence: float
    percentile: float
    reasons: tuple[Reason, ...]
    rest: float = 0.0
    n_rest: int = 0
    by_association: bool = False
    cells: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return rendering.row_text(self)

    def _repr_html_(self) -> str:
        return rendering.row_html(self)


@dataclass(frozen=True)
class Context(Record):
    """A group of similar rows: a leaf of one of the trees.

    Attributes
    ----------
    leaf : int
        Its number, as in ``Reason.context``.
    target : str
        The attribute whose tree it belongs to.
    conditions : tuple of Condition
        What its rows have in common.
    n : int
        Training rows in it.
    score : float
        λ: near 1 when nearly all of its rows are anomalous.
    members : tuple of int
        Numbers of those training rows (the first 1,000); empty for a normal context.
    typical : Typical
        What is typical for the target among the rows that its rows are compared with.
    also : tuple of Context
        Contexts found for other attributes that hold nearly the same rows.
    text : str
        The context as a sentence.
    """

    leaf: int
    target: str
    conditions: tuple[Condition, ...]
    n: int
    score: float
    members: tuple[int, ...]
    typical: Typical
    also: tuple[Context, ...] = ()
    text: str = ""

    def _repr_html_(self) -> str:
        return rendering.context_html(self)


@dataclass(frozen=True)
class Pattern(Record):
    """What is normal: rows with …, typically have ….

    Attributes
    ----------
    node : int
        The node whose rows follow the pattern.
    target : str
        The attribute it is about.
    conditions : tuple of Condition
        For which rows.
    typical : Typical
        What is typical there.
    n : int
        Training rows in it.
    strength : float
        The information about the target, in nats, averaged over all rows.
    also : tuple of Pattern
        The same relation seen from its other attributes.
    text : str
        The pattern as a sentence.
    """

    node: int
    target: str
    conditions: tuple[Condition, ...]
    typical: Typical
    n: int
    strength: float
    also: tuple[Pattern, ...] = ()
    text: str = ""
