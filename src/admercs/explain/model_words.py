"""Puts the nodes of a model into words; what does not depend on a row is worked out once."""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np

from admercs.arrays import Floats
from admercs.explain.access import Model, ModelAccess
from admercs.explain.column_words import ColumnWords, name_and_unit
from admercs.explain.conditions import Close, WordedCondition, make_condition
from admercs.explain.records import Condition, Typical
from admercs.explain.sentences import Noun, subject
from admercs.explain.typical_words import SHIFT, listed_values, make_typical

ROUNDED_OFF = 0.01  # the share of a node's rows that rounding a condition may add or remove


class ModelWords:
    """Puts the nodes of a model into words; ``noun`` is what rows are called, in the plural."""

    def __init__(self, model: Model, noun: str = "rows") -> None:
        self.access = ModelAccess(model)
        self.noun = Noun.of(noun)
        self._names = _names(model)
        self.column = lru_cache(None)(self._column)
        self._make = lru_cache(None)(self._make_condition)
        self._typical: dict[tuple[int, int], Typical] = {}

    def _column(self, attribute: int) -> ColumnWords:
        """Return the words of one attribute."""
        name, unit = self._names[attribute]
        return ColumnWords(self.access.columns[attribute], name, unit, self._step(attribute))

    def value_names(self, attribute: int) -> list[str]:
        """Return the values of a nominal or discrete attribute in words, rare ones together."""
        words = self.column(attribute)
        if words.column.distinct:
            return [words.exact_text(x) for x in words.column.distinct]
        rare = ["rare values"] if words.column.n_grouped else []
        return [words.category(value) for value in words.column.categories] + rare

    def conditions(self, node: int, values: Floats | None = None) -> tuple[Condition, ...]:
        """Return the conditions of a node, in words that hold for a row with these ``values``."""
        return tuple(each.condition for each in self._worded(node, values).values())

    def subject(self, node: int, values: Floats | None = None) -> str:
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
        place = self._place(attribute, node, own)
        known = None if place is None else self._typical.get((node, place))
        if known is None:
            known = make_typical(self.access, self.column(attribute), attribute, node, own)
            if place is not None:
                self._typical[node, place] = known
        return known

    def _place(self, attribute: int, node: int, own: float | None) -> int | None:
        """Return which typical region or gap a value is in: the words depend on no more than that.

        None if they depend on the value, since rounding might move an end of a region past it.
        """
        if own is None:
            return -1
        access = self.access
        if math.isnan(own) or access.n_missing(node) * 2 > access.size(node):
            return None
        if not access.is_continuous(attribute):
            return 0
        words, ends = self.column(attribute), []
        inside = 1.0 if words.whole else 0.0
        for low, high in access.typical_region(node):
            outside = max(words.step, SHIFT * (high - low))
            if low - outside <= own < low + inside or high - inside < own <= high + outside:
                return None
            ends += [low, high]
        return bisect(ends, own)

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
        return f" (here {words.category(words.native(own))})" if known else ""

    def _worded(self, node: int, values: Floats | None) -> dict[int, WordedCondition]:
        """Return the worded conditions of a node, by attribute."""
        worded = {}
        for attribute in self.access.ranges(node):
            made = self._make(node, attribute, math.inf)
            if values is not None:
                own = float(values[attribute])
                if self._needs_own_words(attribute, made, own):
                    made = self._make_condition(node, attribute, own)
            if made is not None:
                worded[attribute] = made
        return worded

    def _make_condition(self, node: int, attribute: int, own: float) -> WordedCondition | None:
        allowed = self.access.ranges(node)[attribute]
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
        """Tell whether a row's value is new, or between a threshold and its rounded form."""
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
