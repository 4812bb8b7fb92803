"""What an explanation consists of: plain frozen records that carry their own words.

Everything is worked out before a record is made, so that showing one never computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from admercs.explanation.plain import Value, like_bound, plain

ConditionKind = Literal["interval", "values", "excluded", "missing", "recorded"]
TypicalKind = Literal["intervals", "values", "missing", "recorded"]


@dataclass(frozen=True)
class Condition:
    """What holds for one attribute in a context.

    Attributes
    ----------
    attribute : str
        Name of the column.
    kind : {"interval", "values", "excluded", "missing", "recorded"}
        ``"interval"``: ``low < x <= high``; ``"values"``: one of ``values``; ``"excluded"``: none
        of ``values``; ``"missing"``: no value at all; ``"recorded"``: any value.
    low, high : number, date, … or None
        The bounds of an interval; None where it is open.
    values : tuple
        The categories meant by the kinds ``"values"`` and ``"excluded"``.
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
            value = like_bound(value, self.high if self.low is None else self.low)
            above = self.low is None or value > self.low
            return bool(above and (self.high is None or value <= self.high))
        if self.kind == "values":
            return value in self.values
        if self.kind == "excluded":
            return value not in self.values
        return self.kind == "recorded"

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict (see the page on explanations for its fields)."""
        return {
            "attribute": self.attribute,
            "kind": self.kind,
            "low": plain(self.low),
            "high": plain(self.high),
            "values": plain(self.values),
            "missing": self.missing,
            "text": self.text,
        }


@dataclass(frozen=True)
class Typical:
    """What is typical for the target of a context.

    Attributes
    ----------
    kind : {"intervals", "values", "missing", "recorded"}
        Numeric targets: regions of highest density; nominal targets and numeric ones with few
        distinct values: values with their shares; or that the value is usually missing, or
        usually not.
    intervals : tuple of (low, high)
        The regions, both ends included.
    shares : tuple of (value, share)
        The typical values, most frequent first, each with its share.
    share : float
        The share that is typical. All shares are of the context's rows where the target is
        recorded; for the kinds ``"missing"`` and ``"recorded"`` of all its rows.
    text : str
        The same in words.
    """

    kind: TypicalKind
    intervals: tuple[tuple[Value, Value], ...] = ()
    shares: tuple[tuple[Value, float], ...] = ()
    share: float = 1.0
    text: str = ""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "kind": self.kind,
            "intervals": plain(self.intervals),
            "shares": [{"value": plain(value), "share": share} for value, share in self.shares],
            "share": self.share,
            "text": self.text,
        }


@dataclass(frozen=True)
class Reason:
    """One reason for a row's score.

    Attributes
    ----------
    kind : {"pattern", "context", "neighbours"}
        The row breaks a pattern, it belongs to an anomalous context, or the rows most like it are odd.
    target : str
        The attribute that is odd, that the context was found for, or that most is odd about those rows.
    value : number, text, date, … or None
        The row's own value of the target; None when it is missing.
    value_text : str
        That value in words.
    conditions : tuple of Condition
        What the row has in common with the rows it is compared with. Empty: the whole table.
    typical : Typical or None
        What is typical among those rows; only of a pattern.
    n : int
        Training rows that satisfy the conditions.
    likelihood : float or None
        How likely the row's value is there, from 0 to 1 (typical); only of a pattern.
    evidence : float
        The part of the row's evidence that is due to this reason and those in ``also``.
    share : float
        The same as a fraction of the row's evidence.
    context : int
        The row's leaf in the target's tree, to be passed on to ``describe_context``. What the row is compared
        with may be a wider context or the whole table; `conditions` and `n` say which rows.
    also : tuple of Reason
        The same oddity seen from other sides: other attributes of the same relation.
    rows : tuple of int
        Of ``"neighbours"``: numbers of the training rows that say most, counted from 0.
    text : str
        The reason as a sentence.
    """

    kind: Literal["pattern", "context", "neighbours"]
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
    also: tuple[Reason, ...] = ()
    rows: tuple[int, ...] = ()
    text: str = ""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes the reason speaks of: the target (unless of a context) and the conditions'."""
        names = () if self.kind == "context" else (self.target,)
        return (*names, *(condition.attribute for condition in self.conditions))

    def __str__(self) -> str:
        return f"{self.text}   ({self.share:.0%} of the evidence)"

    def _repr_html_(self) -> str:
        from admercs.explanation.html import sentence_html

        return sentence_html(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "kind": self.kind,
            "target": self.target,
            "value": plain(self.value),
            "value_text": self.value_text,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "typical": None if self.typical is None else self.typical.to_dict(),
            "n": self.n,
            "likelihood": self.likelihood,
            "evidence": self.evidence,
            "share": self.share,
            "context": self.context,
            "also": [other.to_dict() for other in self.also],
            "rows": plain(self.rows),
            "text": self.text,
        }


@dataclass(frozen=True)
class RowExplanation:
    """Why a row got its score.

    Attributes
    ----------
    label : hashable
        The row's label in the table that was given, or its number.
    score : float
        How anomalous the row is, 0 to 1: ``1 - exp(-evidence)``.
    evidence : float
        The evidence against the row; its reasons and ``rest`` add up to it.
    percentile : float
        Percentage of the training rows that are less anomalous.
    reasons : tuple of Reason
        The strongest reasons, strongest first; what is odd about the rows most like it comes last.
    rest : float
        The evidence of the reasons that are not listed.
    n_rest : int
        How many those are; traces below a thousandth of the evidence are not counted.
    by_association : bool
        Whether more than half of the evidence comes from the company the row keeps (anomalous
        contexts, and rows like it) instead of from its own values.
    factor : float
        By what all evidence was multiplied, the reasons' and ``rest`` included, because even the rows most like it
        are further away from it than usual; 1 if they are not.
    apart : str
        The same as a sentence; empty where it hardly matters or no reasons are listed.
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
    factor: float = 1.0
    apart: str = ""
    cells: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        from admercs.explanation.text import row_text

        return row_text(self)

    def _repr_html_(self) -> str:
        from admercs.explanation.html import row_html

        return row_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "label": plain(self.label),
            "score": self.score,
            "evidence": self.evidence,
            "percentile": self.percentile,
            "by_association": self.by_association,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "rest": self.rest,
            "n_rest": self.n_rest,
            "factor": self.factor,
            "apart": self.apart,
            "cells": dict(self.cells),
        }


@dataclass(frozen=True)
class Context:
    """A group of rows that look alike: a leaf of one of the trees.

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
        What is typical for the target among the rows that judge it: those of the context, or those of the
        whole leaf where the context is a part of it (for the paper those of the purest node on the path).
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

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from admercs.explanation.html import context_html

        return context_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "leaf": self.leaf,
            "target": self.target,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "n": self.n,
            "score": self.score,
            "members": plain(self.members),
            "typical": self.typical.to_dict(),
            "also": [other.to_dict() for other in self.also],
            "text": self.text,
        }


@dataclass(frozen=True)
class Pattern:
    """What the model has found to be normal: rows where …, typically ….

    Attributes
    ----------
    node : int
        The node whose rows follow the pattern.
    target : str
        The attribute it says something about.
    conditions : tuple of Condition
        For which rows.
    typical : Typical
        What is typical there.
    n : int
        Training rows in it.
    strength : float
        How much it says: the information (in nats, averaged over all rows) about the target.
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

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from admercs.explanation.html import sentence_html

        return sentence_html(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "node": self.node,
            "target": self.target,
            "conditions": [condition.to_dict() for condition in self.conditions],
            "typical": self.typical.to_dict(),
            "n": self.n,
            "strength": self.strength,
            "also": [other.to_dict() for other in self.also],
            "text": self.text,
        }
