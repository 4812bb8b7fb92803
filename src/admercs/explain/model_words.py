"""Puts the nodes of a model into words; what does not depend on a row is worked out once."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import Model, ModelAccess, Range
from admercs.explain.column_words import ColumnWords, name_and_unit
from admercs.explain.conditions import Close, WordedCondition, make_condition
from admercs.explain.records import Condition, Typical
from admercs.explain.sentences import Noun, subject
from admercs.explain.typical_words import listed_values, make_typical

__all__ = ["ModelWords"]

ROUNDED_OFF = 0.01  # the share of a node's rows that rounding a condition may add or remove


class ModelWords:
    """Puts the nodes of a model into words.

    Parameters
    ----------
    model : Model
        A fitted model; it is only read.
    noun : str, default="rows"
        What the rows are called, in the plural.
    """

    def __init__(self, model: Model, noun: str = "rows") -> None:
        self.access = ModelAccess(model)
        self.noun = Noun.of(noun)
        self._names = _names(model)
        self._columns: dict[int, ColumnWords] = {}
        self._conditions: dict[int, dict[int, WordedCondition]] = {}
        self._typical: dict[tuple[int, int], Typical] = {}

    def column(self, attribute: int) -> ColumnWords:
        """Return the words of one attribute."""
        words = self._columns.get(attribute)
        if words is None:
            name, unit = self._names[attribute]
            column = self.access.columns[attribute]
            words = ColumnWords(column, name, unit, self._step(attribute))
            self._columns[attribute] = words
        return words

    def conditions(
        self, node: int, values: NDArray[np.float64] | None = None
    ) -> tuple[Condition, ...]:
        """Return the conditions on the path to a node, worded so that they hold for a row.

        ``values`` are the row's working values; without them the words fit the training table.
        """
        return tuple(each.condition for each in self._worded(node, values).values())

    def subject(self, node: int, values: NDArray[np.float64] | None = None) -> str:
        """Name the rows of a node; where a condition is vague, with the row's own value."""
        texts = []
        for attribute, worded in self._worded(node, values).items():
            text = worded.condition.text
            own = math.inf if values is None else float(values[attribute])
            if values is not None and (worded.vague or math.isnan(own)):
                text += self._here(attribute, own, worded.condition)
            texts.append(text)
        return subject(self.noun, texts, self.access.size(node))

    def typical(self, attribute: int, node: int, own: float | None = None) -> Typical:
        """Return what is typical for the attribute in a node."""
        access = self.access
        # The words depend on the row only for smooth densities and where values are missing.
        depends = own is not None and (math.isnan(own) or access.is_continuous(attribute))
        if depends or access.n_missing(node) * 2 > access.size(node):
            return make_typical(access, self.column(attribute), attribute, node, own)
        known = self._typical.get((attribute, node))
        if known is None:
            known = make_typical(access, self.column(attribute), attribute, node, None)
            self._typical[attribute, node] = known
        return known

    def is_typical(self, attribute: int, own: float, typical: Typical) -> bool:
        """Tell whether a row's own value is among the typical ones."""
        if math.isnan(own) or typical.kind not in {"values", "intervals"}:
            return False
        value: Any = self.column(attribute).native(own)
        if typical.kind == "values":
            return value is not None and any(value == known for known, _ in typical.shares)
        if isinstance(value, str):  # a day that no calendar has
            return False
        intervals: Any = typical.intervals  # of any size: without ends
        return any(low is None or low <= value <= high for low, high in intervals)

    def more_frequent(self, attribute: int, own: float, typical: Typical) -> str:
        """Name the values that are more frequent than a typical one, if most rows have those."""
        words = self.column(attribute)
        share_of_own = dict(typical.shares).get(words.native(own), 1.0)
        more = [(value, share) for value, share in typical.shares if share > share_of_own]
        most = sum(share for _, share in more) >= 0.5
        return f"{words.name} = {listed_values(words, more)}" if most else ""

    def own_clause(self, attribute: int, node: int, own: float, typical: Typical, raw: str) -> str:
        """Write what a row has instead of what is typical in a node."""
        words, this = self.column(attribute), f"this {self.noun.singular} has"
        if math.isnan(own):
            return f"it is missing for this {self.noun.singular}"
        if words.column.role == "nominal" and int(own) > len(words.column.categories):
            # A rare value may be one of the training table's, which does not know rare ones apart.
            grouped = words.column.n_grouped > 0
            note = "is rare" if grouped else "was never seen in the training table"
            value = f"{words.name} = {raw}" if raw else "a value"
            return f"{this} {value}, which {note}"
        value = self.value_text(attribute, own, raw, self._distance(attribute, node, own))
        if self.access.is_continuous(attribute) or typical.kind == "missing":
            return f"{this} {value}"
        count = self.access.own_count(attribute, node, own)
        total = self.access.size(node) - self.access.n_missing(node)
        return f"{this} {words.name} = {value} ({count or 'none'} of {total:,})"

    def value_text(
        self, attribute: int, own: float, raw: str = "", distance: float = math.inf
    ) -> str:
        """Write a row's own value, with its unit; a ``distance`` that must remain visible."""
        words = self.column(attribute)
        if math.isnan(own):
            return "missing"
        if words.column.role == "nominal":
            value = words.native(own)
            return (raw or "unseen value") if value is None else words.category(value)
        return words.with_unit(words.exact_text(own, distance))

    def _distance(self, attribute: int, node: int, own: float) -> float:
        """Return how far a value is from the typical region of a node."""
        if not self.access.is_continuous(attribute):
            return math.inf
        gaps = [max(low - own, own - high) for low, high in self.access.typical_region(node)]
        nearest = min(gaps, default=math.inf)
        return nearest if nearest > 0 else math.inf

    def _here(self, attribute: int, own: float, condition: Condition) -> str:
        """Write the row's own value behind a condition that leaves it open."""
        words = self.column(attribute)
        if math.isnan(own):
            return " (here missing)" if condition.kind != "missing" else ""
        if words.column.role != "nominal":
            return f" (here {words.exact_text(own)})"
        known = own <= len(words.column.categories)
        return f" (here {words.code_text(own)})" if known else ""

    def _worded(self, node: int, values: NDArray[np.float64] | None) -> dict[int, WordedCondition]:
        """Return the worded conditions of a node, by attribute."""
        known = self._conditions.get(node)
        if known is None:
            known = self._conditions[node] = {
                attribute: made
                for attribute, allowed in self.access.ranges(node).items()
                if (made := self._make(node, attribute, allowed, math.inf)) is not None
            }
        if values is None:
            return known
        worded = {}
        for attribute, allowed in self.access.ranges(node).items():
            made, own = known.get(attribute), float(values[attribute])
            if self._needs_own_words(attribute, made, own):
                made = self._make(node, attribute, allowed, own)
            if made is not None:
                worded[attribute] = made
        return worded

    def _make(
        self, node: int, attribute: int, allowed: Range, own: float
    ) -> WordedCondition | None:
        close = self._close(attribute, self.access.size(node))
        return make_condition(self.column(attribute), allowed, own, close)

    def _close(self, attribute: int, n: int) -> Close:
        """Tell for which rounded thresholds a condition of ``n`` rows keeps its rows."""
        access, root = self.access, self.access.root(attribute)
        most = ROUNDED_OFF * n / max(1, access.model.n_rows)
        if not access.is_continuous(attribute):
            step = self.column(attribute).step
            return lambda exact, rounded: abs(exact - rounded) < step
        return lambda exact, rounded: access.share_between(root, exact, rounded) <= most

    def _needs_own_words(self, attribute: int, made: WordedCondition | None, own: float) -> bool:
        """Tell whether words that fit the training table might not hold for a row.

        It has a value that no training row had, or one between a threshold and its rounded form.
        """
        column = self.access.columns[attribute]
        if math.isnan(own):
            return not column.n_missing
        if column.role == "nominal":
            return own > len(column.categories)
        if column.distinct:
            return own not in column.distinct
        if column.display == "integer" and own != math.floor(own):
            return True
        return made is not None and not made.low < own <= made.high

    def _step(self, attribute: int) -> float:
        """Return the smallest difference that matters: a fiftieth of where most values are."""
        access = self.access
        if not access.is_continuous(attribute):
            known = np.asarray(access.columns[attribute].distinct)
            return float(np.diff(known).min()) / 10 if len(known) > 1 else 1.0
        root = access.root(attribute)
        region = access.typical_region(root)
        # The regions' widths, not the gaps between them: a few far values need no coarser digits.
        # The tip of a peak is as wide as its kernel.
        spread = max(sum(high - low for low, high in region), access.bandwidth(root))
        if 0 < spread < math.inf:
            return max(spread, (region[-1][1] - region[0][0]) / 20) / 50
        return 1e-3


def _names(model: Model) -> list[tuple[str, str]]:
    """Return the name and unit of every attribute; a unit stays in a name it makes unique."""
    split = [
        name_and_unit(column.name) if column.role == "numeric" else (column.name, "")
        for column in model.schema.used
    ]
    often = Counter(name for name, _ in split)
    return [
        (name, unit) if often[name] == 1 else (column.name, "")
        for (name, unit), column in zip(split, model.schema.used, strict=True)
    ]
