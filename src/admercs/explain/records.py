"""What an explanation consists of: frozen records that carry their own words.

Everything is worked out before a record is made: showing one computes nothing.
"""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from numbers import Integral
from typing import Any, Literal, overload

import numpy as np

ConditionKind = Literal["interval", "values", "excluded", "missing", "recorded"]
TypicalKind = Literal["intervals", "values", "missing", "recorded"]
ReasonKind = Literal["pattern", "relation", "context", "isolation", "neighbours"]
FrameKind = Literal["pandas", "polars"]
Value = str | bool | int | float | dt.date | dt.datetime | dt.time | dt.timedelta | None

SCHEMA_VERSION = 1
_MUTED = "opacity:.65"
_FRAMES = ("pandas", "polars")
_FRAME_COLUMNS = (
    *("label", "score", "percentile", "by_association", "rank", "kind", "target"),
    *("value", "conditions", "typical", "n", "likelihood", "evidence", "share", "context", "text"),
)
_PROPOSED = (
    *("label", "column", "value", "expected", "typical", "slip"),
    *("evidence", "evidence_removed", "text"),
)


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


def label_text(label: object) -> str:
    """Name a row: by its label, or by its number."""
    return label if isinstance(label, str) else f"row {label}"


def score_text(score: float) -> str:
    """Write a score so that it does not look perfect."""
    if score > 0.9999:
        return "> 0.9999"
    if score < 0.99:
        return f"{score:.2f}"
    decimals = 3 if score < 0.999 else 4
    return f"{int(score * 10**decimals) / 10**decimals:.{decimals}f}".rstrip("0")


def rank_text(row: Any) -> str:
    """Compare a row with the training table."""
    if row.beyond_training:
        return "more anomalous than all training rows"
    if row.percentile >= 100:
        return "more anomalous than all other rows of the table"
    if row.percentile < 1:
        return "among the least anomalous rows of the table"
    shown = int(row.percentile * 10) / 10 if row.percentile > 99 else int(row.percentile)
    return f"more anomalous than {shown:g}% of the table"


def association_text(row: Any) -> str:
    """Mark rows that are anomalous mainly by association."""
    return "mainly by association" if row.by_association else ""


def _like_bound(value: Any, bound: Value) -> Any:
    """Return a date or time from a table in the form of the bound it is compared with."""
    if isinstance(bound, str | int | float | None):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]").item()
    elif hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    is_moment = isinstance(value, dt.datetime) and not isinstance(bound, dt.datetime)
    return value.date() if is_moment else value


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

    Examples
    --------
    >>> Condition("age", "interval", low=17.5, high=30.5, text="age 18 to 30").holds(30)
    True
    >>> Condition("job", "excluded", values=("clerk",), text="job ≠ clerk").holds("clerk")
    False
    """

    attribute: str  # name of the column or facet
    kind: ConditionKind  # between bounds, one of some values, none of them, no value, any value
    low: Value = None  # the bounds of an interval, low < x <= high; None where it is open
    high: Value = None
    values: tuple[Value, ...] = ()  # the categories of the kinds "values" and "excluded"
    missing: bool = False  # whether a missing value satisfies the condition too
    text: str = ""  # the condition in words

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
        return self.kind == "recorded" or (self.kind == "excluded" and value not in self.values)


@dataclass(frozen=True)
class Typical(Record):
    """What is typical for the target of a context."""

    # regions of highest density, values with their shares, usually no value, or usually one
    kind: TypicalKind
    intervals: tuple[tuple[Value, Value], ...] = ()  # the regions, both ends included
    shares: tuple[tuple[Value, float], ...] = ()  # values and shares, most frequent first
    share: float = 1.0  # of the recorded values (of "missing" and "recorded": all rows) it covers
    text: str = ""  # the same in words

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the page on explanations describes its fields."""
        shares = [{"value": plain(value), "share": share} for value, share in self.shares]
        return super().to_dict() | {"shares": shares}


@dataclass(frozen=True)
class Reason(Record):
    """One reason for a row's score.

    The row breaks a pattern or a relation between columns, is in an anomalous context, is unlike
    all other rows (isolation), or is like rows that are anomalous (neighbours). ``conditions`` are
    what the row has in common with the ``n`` training rows it is compared with; without any, these
    are the whole table.
    """

    kind: ReasonKind
    target: str  # the unusual column or facet; of a context: the one it was found for
    value: Value  # the row's own value of the target, None when it is missing
    value_text: str  # the same in words
    conditions: tuple[Condition, ...]
    typical: Typical | None  # what is typical among those rows; only of a pattern
    n: int
    likelihood: float | None  # of the value there, from 0 to 1 (typical); only of a pattern
    evidence: float  # the part of the row's evidence due to this reason and those in ``also``
    share: float  # its fraction
    context: int  # the row's leaf in the target's tree, for ``describe_context``
    node: int  # the node of that tree whose rows it is compared with: the leaf, or one above it
    also: tuple[Reason, ...] = ()  # the same finding seen from other attributes of the relation
    rows: tuple[int, ...] = ()  # similar training rows that contribute most, by number from 0 …
    labels: tuple[str, ...] = ()  # … and by name
    related: tuple[str, ...] = ()  # the other columns of a relation
    expected_text: str = ""  # where a value is odd by what is known of it alone, the likely one
    text: str = ""  # the reason as a sentence

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it is about: those of conditions, and the target unless of a context."""
        names = () if self.kind == "context" else (self.target,)
        return (*names, *self.related, *(condition.attribute for condition in self.conditions))

    def __str__(self) -> str:
        return f"{self.text}   ({self.share:.0%} of the evidence)"


@dataclass(frozen=True)
class Repair(Record):
    """What one cell of a row should have been, so that less or nothing about the row is odd.

    Where no single cell suffices, or where two values have changed places, ``also`` has the other
    cell.
    """

    column: str
    value: Value  # what the row has, None when it is missing
    value_text: str  # the same in words
    expected: Value  # what the rest of the row predicts, None where most such rows have no value
    expected_text: str  # the same in words
    typical: Typical | None  # what is typical there; None where two values have changed places
    evidence_removed: float = 0.0  # by the repair of all its cells
    slip: str = ""  # how the value may have become wrong: "10 times too large?"
    also: tuple[Repair, ...] = ()
    text: str = ""  # the repair as a sentence


@dataclass(frozen=True)
class RowExplanation(Record):
    """Why a row got its score: ``1 - exp(-evidence)``, where reasons and ``rest`` add up to it."""

    label: Any  # the row's label in the table that was given, or its number
    score: float
    evidence: float
    percentile: float  # percentage of the training rows that are less anomalous
    reasons: tuple[Reason, ...]  # strongest first; those about other rows come last
    rest: float = 0.0  # the evidence of the reasons that are not listed
    n_rest: int = 0  # their number
    by_association: bool = False  # whether most evidence is from contexts and similar rows
    cells: Mapping[str, float] = field(default_factory=dict)  # evidence per attribute; adds up too
    repairs: tuple[Repair, ...] = ()  # the one that removes most evidence first
    repair_text: str = ""  # the first one as a sentence, where the row is odd mainly because of it
    beyond_training: bool = False  # whether no training row has as much evidence

    def _rest(self) -> tuple[str, str]:
        """Count the reasons that are not listed; also return their share."""
        if not self.n_rest or self.rest < 0.005 * self.evidence:
            return "", ""
        what = "reason" if self.n_rest == 1 else "reasons"
        return f"{self.n_rest} weaker {what}", f"{self.rest / self.evidence:.0%}"

    def __str__(self) -> str:
        head = [label_text(self.label), f"score {score_text(self.score)}"]
        if self.evidence <= 0:
            return "   ".join([*head, "nothing unusual"])
        head += [rank_text(self), association_text(self)]
        lines = ["   ".join(filter(None, head))]
        lines += [f"  {self.repair_text}"] if self.repair_text else []
        for rank, reason in enumerate(self.reasons, 1):
            unit = " of the evidence" if rank == 1 else ""
            lines.append(f"  {rank}. {reason.text}   ({reason.share:.0%}{unit})")
        rest, share = self._rest()
        return "\n".join([*lines, f"     and {rest}   ({share})"] if rest else lines)

    def _repr_html_(self) -> str:
        note = rank_text(self) if self.evidence > 0 else "nothing unusual"
        head = (
            f"<strong>{escape(label_text(self.label))}</strong> &ensp;score "
            f'{escape(score_text(self.score))} &ensp;<span style="{_MUTED}">{escape(note)}</span>'
        )
        if self.by_association:
            head += f" &ensp;<em>{association_text(self)}</em>"
        if self.repair_text:
            head += f"<br>{escape(self.repair_text)}"
        items = "".join(
            f'<tr><td style="text-align:right;vertical-align:top;white-space:nowrap">'
            f'{reason.share:.0%}</td><td style="vertical-align:top;min-width:4em">'
            f'<div style="background:currentColor;opacity:.5;height:.7em;margin-top:.25em;'
            f'width:{max(1, round(100 * reason.share))}%"></div></td>'
            f'<td style="text-align:left">{escape(reason.text)}</td></tr>'
            for reason in self.reasons
        )
        rest, share = self._rest()
        if rest:
            items += (
                f'<tr style="{_MUTED}"><td style="text-align:right">{share}</td>'
                f'<td></td><td style="text-align:left">{rest}</td></tr>'
            )
        return f'<div style="margin:.5em 0">{head}<table>{items}</table></div>'


@dataclass(frozen=True)
class SuspiciousValue(Record):
    """A value that is odd for its row, with what was expected instead."""

    label: Any  # of the row
    column: str
    value: Value  # None when it is missing
    value_text: str  # the same in words
    expected: Value  # None where a range of values is expected, or no value
    expected_text: str
    slip: str  # how the value may have become wrong
    evidence: float  # of the value, and of what follows from it
    text: str  # why it is odd

    def __str__(self) -> str:
        what = f"{label_text(self.label)}   {self.column} = {self.value_text}"
        slip = f" ({self.slip})" if self.slip else ""
        expected = f"   expected: {self.expected_text}{slip}" if self.expected_text else ""
        return f"{what}{expected}\n  {self.text}"


@dataclass(frozen=True)
class Context(Record):
    """A group of similar rows: a leaf of one of the trees."""

    leaf: int  # its number, as in ``Reason.context``
    target: str  # the attribute whose tree it belongs to
    conditions: tuple[Condition, ...]  # what its rows have in common
    n: int  # training rows in it
    score: float  # λ: near 1 when nearly all of its rows are anomalous
    members: tuple[int, ...]  # numbers of the first 1,000 of them; empty for a normal context
    typical: Typical  # of the target, among the rows that its rows are compared with
    also: tuple[Context, ...] = ()  # contexts of other attributes with nearly the same rows
    text: str = ""  # the context as a sentence

    def _repr_html_(self) -> str:
        return (
            f"<div><strong>{escape(self.text)}</strong><br>"
            f'<span style="{_MUTED}">score {escape(score_text(self.score))}, found for '
            f"{escape(self.target)}, context {self.leaf}</span></div>"
        )


@dataclass(frozen=True)
class Pattern(Record):
    """What is normal: rows with …, typically have …."""

    node: int  # whose rows follow the pattern
    target: str  # the attribute it is about
    conditions: tuple[Condition, ...]  # for which rows
    typical: Typical  # what is typical there
    n: int  # training rows in it
    strength: float  # the information about the target, in nats, averaged over all rows
    also: tuple[Pattern, ...] = ()  # the same relation seen from its other attributes
    text: str = ""  # the pattern as a sentence


@dataclass(frozen=True)
class Relation(Record):
    """What holds between columns in nearly all rows: an equation or an order."""

    columns: tuple[str, ...]  # the one that follows from the others comes first
    formula: str  # such as "total = net + vat"
    exact: bool  # False: about, with a spread
    n: int  # training rows with all values
    exceptions: int  # those that do not satisfy it; where it is about, those far off
    share: float  # the fraction that satisfies it
    text: str = ""  # the relation as a sentence


@dataclass(frozen=True)
class Explanations(Sequence[RowExplanation]):
    """A sequence of row explanations, in the order of the rows.

    ``frame`` is the library of the table that was explained, if it was pandas or polars.

    Examples
    --------
    >>> explanations = Explanations((RowExplanation("a", 0.0, 0.0, 0.0, ()),))
    >>> len(explanations), explanations[0].label
    (1, 'a')
    >>> print(explanations)
    a   score 0.00   nothing unusual
    """

    rows: tuple[RowExplanation, ...] = ()
    frame: FrameKind | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> RowExplanation: ...

    @overload
    def __getitem__(self, index: slice) -> Explanations: ...

    def __getitem__(self, index: int | slice) -> RowExplanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self.rows[index], self.frame)
        if not -len(self.rows) <= index < len(self.rows):
            count = len(self.rows)
            raise IndexError(f"there is no explanation {index}: {count} rows were explained")
        return self.rows[index]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.rows))

    def _repr_html_(self) -> str:
        return "".join(row._repr_html_() for row in self.rows) or "<p>no rows</p>"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; the page on explanations describes its fields."""
        return {"version": SCHEMA_VERSION, "rows": [row.to_dict() for row in self.rows]}

    def to_frame(self, library: FrameKind | None = None) -> Any:
        """Return one line per reason as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            Whose frame. By default that of the table that was explained; if that was neither,
            pandas if it is installed, else polars.

        Returns
        -------
        frame : DataFrame
            Columns ``label``, ``score``, ``percentile``, ``by_association``, ``rank`` (1 is the
            strongest reason), ``kind``, ``target``, ``value``, ``conditions``, ``typical``, ``n``,
            ``likelihood``, ``evidence``, ``share``, ``context`` and ``text``. Values are in words,
            since one column holds those of many. A row without reasons has no line.
        """
        lines = [
            vars(row) | vars(reason) | {"rank": rank, "value": reason.value_text}
            for row in self.rows
            for rank, reason in enumerate(row.reasons, 1)
        ]
        for line in lines:
            line["conditions"] = " and ".join(map(str, line["conditions"]))
            line["typical"] = None if line["typical"] is None else line["typical"].text
        columns = {name: [line[name] for line in lines] for name in _FRAME_COLUMNS}
        return as_frame(columns, library or self.frame)


def proposals(rows: Iterable[RowExplanation]) -> dict[str, list[Any]]:
    """Return one line per cell that the best repair of a row would change, by columns."""
    lines = [
        (row.label, cell.column, cell.value_text, cell.expected_text, cell.typical, cell.slip,
         row.evidence, cell.evidence_removed, row.repair_text)
        for row in rows if row.repair_text
        for cell in (row.repairs[0], *row.repairs[0].also)
    ]  # fmt: skip
    columns = dict(zip(_PROPOSED, map(list, zip(*lines, strict=True)), strict=False))
    columns = {name: columns.get(name, []) for name in _PROPOSED}
    columns["typical"] = [each and each.text for each in columns["typical"]]
    return columns


def as_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """Return columns as a data frame of a library, or of the first one that is installed."""
    shown = {name: [_encodable(value) for value in values] for name, values in columns.items()}
    return _library(library).DataFrame(shown)


def _encodable(value: Any) -> Any:
    """Return a value; lone surrogates in texts, which few libraries can hold, as escapes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _library(name: str | None) -> Any:
    if name is not None and name not in _FRAMES:
        raise ValueError(f"library must be 'pandas' or 'polars'; it is {name!r}")
    for candidate in _FRAMES if name is None else (name,):
        if importlib.util.find_spec(candidate) is not None:
            return importlib.import_module(candidate)
    needed = name or "pandas or polars"
    raise ImportError(f"to_frame needs {needed}: pip install {name or 'pandas'}")
