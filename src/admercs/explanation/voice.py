"""Speaks for a model: everything that is said about its nodes, said once and kept."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from admercs.density.likelihoods import CONTINUOUS
from admercs.density.lookup import typical_region
from admercs.detector.model import Model
from admercs.evidence.feedback import jury_share
from admercs.explanation.conditions import make_condition, n_listed, threshold_step
from admercs.explanation.curves import log_density
from admercs.explanation.ranges import Paths, Range
from admercs.explanation.reasons import Condition, Reason, Typical
from admercs.explanation.sentences import Noun, own_clause
from admercs.explanation.typical import Regions, listed_values, make_typical, own_count
from admercs.explanation.values import ColumnVoice, name_and_unit

__all__ = ["Voice"]


class Voice:
    """Puts the nodes of a model into words.

    Parameters
    ----------
    model : Model
        A fitted model; it is only read.
    noun : str, default="rows"
        What the rows are called, in the plural.
    """

    def __init__(self, model: Model, noun: str = "rows") -> None:
        self.model = model
        self.noun = Noun.of(noun)
        self.paths = Paths(model.forest)
        self._names = _names(model)
        self._columns: dict[int, ColumnVoice] = {}
        self._conditions: dict[int, tuple[Condition, ...]] = {}
        self._typical: dict[int, Typical] = {}
        self._regions: dict[int, Regions] = {}
        self._cut_short: dict[tuple[int, int], bool] = {}

    def column(self, attribute: int) -> ColumnVoice:
        """Return the voice of one attribute."""
        voice = self._columns.get(attribute)
        if voice is None:
            name, unit = self._names[attribute]
            column = self.model.schema.used[attribute]
            voice = ColumnVoice(column, name, unit, self._step(attribute))
            self._columns[attribute] = voice
        return voice

    def slot(self, node: int) -> int:
        """Return the slot of a scoring node."""
        return int(self.model.likelihoods.slot[node])

    def scorer(self, leaf: int) -> int:
        """Return the node whose rows judge a row of the leaf, if no wider context and not the table do."""
        return int(self.model.forest.scorer[leaf])

    def compared_with(self, reason: Reason) -> int:
        """Return the node that a reason compares its row with.

        The nodes on a path hold fewer rows from one to the next, so the number of rows tells them apart.
        """
        forest = self.model.forest
        if reason.kind == "context":
            return self.scorer(reason.context)
        if reason.kind == "neighbours":
            return int(forest.root[forest.tree_of(reason.context)])
        if reason.context < len(forest.n):
            for node in forest.path(reason.context):
                if forest.n[node] == reason.n:
                    return node
        raise ValueError("The reason comes from another model: explain the row with this one.")

    def guilt(self, leaf: int) -> float:
        """Return how anomalous the rows of a context are on average, from 0 to 1.

        A context's score λ is a product over its rows, or over a jury of them, so the same score means
        more in a larger context; their geometric mean tells how many of them are anomalous.
        """
        model = self.model
        n = model.forest.n[[leaf]]
        jury = float((jury_share(model.settings.feedback, n) * n)[0])
        mean = math.exp(float(model.log_lambda[leaf]) / max(1.0, jury))
        return 1.0 - (1.0 - mean) / model.settings.gamma_lambda

    def conditions(self, node: int, values: np.ndarray | None = None) -> tuple[Condition, ...]:
        """Return the conditions on the path to a node, so worded that they hold for a row.

        ``values`` are the row's working values; without them the words fit the training table.
        """
        if values is not None and self._needs_own_words(node, values):
            return self._worded(node, values)
        known = self._conditions.get(node)
        if known is None:
            known = self._conditions[node] = self._worded(node, None)
        return known

    def typical(self, attribute: int, node: int, own: float | None = None) -> Typical:
        """Return what is typical for the attribute in a scoring node."""
        slot, likelihoods = self.slot(node), self.model.likelihoods
        rho = self.model.settings.rho
        # The words depend on the row only for smooth densities and where values are missing.
        if (
            own is not None and (math.isnan(own) or likelihoods.kind[attribute] == CONTINUOUS)
        ) or likelihoods.n_missing[slot] * 2 > likelihoods.n[slot]:
            column, region = self.column(attribute), self.region(attribute, slot)
            return make_typical(column, likelihoods, attribute, slot, region, own, rho)
        known = self._typical.get(slot)
        if known is None:
            column, region = self.column(attribute), self.region(attribute, slot)
            known = make_typical(column, likelihoods, attribute, slot, region, None, rho)
            self._typical[slot] = known
        return known

    def region(self, attribute: int, slot: int) -> Regions:
        """Return where a continuous attribute is typical in a slot; empty for other attributes."""
        if self.model.likelihoods.kind[attribute] != CONTINUOUS:
            return []
        known = self._regions.get(slot)
        if known is None:
            known = typical_region(self.model.likelihoods, slot)
            if not known:  # all rows share a value: a peak narrower than the table's grid
                x, heights = log_density(self.model.likelihoods, slot)
                known = [(float(x[heights.argmax()]),) * 2] if len(x) else [(-math.inf, math.inf)]
            self._regions[slot] = known
        return known

    def is_typical(self, attribute: int, own: float, typical: Typical) -> bool:
        """Tell whether a row's own value is among the typical ones, if only just."""
        if math.isnan(own) or typical.kind not in {"values", "intervals"}:
            return False
        value: Any = self.column(attribute).native(own)
        if typical.kind == "values":
            return value is not None and any(value == known for known, _ in typical.shares)
        if isinstance(value, str):  # a day that no calendar has
            return False
        intervals: Any = typical.intervals  # of any size: without ends
        return any(low is None or low <= value <= high for low, high in intervals)

    def commoner(self, attribute: int, own: float, typical: Typical) -> str:
        """Name the values that are more frequent than a typical one, if most rows have those."""
        column = self.column(attribute)
        shares = dict(typical.shares)
        more = [
            (value, share)
            for value, share in typical.shares
            if share > shares.get(column.native(own), 1.0)
        ]
        most = sum(share for _, share in more) >= 0.5
        return f"{column.name} = {listed_values(column, more)}" if most else ""

    def own(self, attribute: int, node: int, own: float, typical: Typical, raw: str) -> str:
        """Say what a row has instead of what is typical in a node."""
        column = self.column(attribute)
        if math.isnan(own):
            return "here it is missing"
        nominal = column.column.role == "nominal"
        if nominal and int(own) > len(column.column.categories):
            rare = "is rare or was" if column.column.n_grouped else "was"
            note = f", which {rare} never seen in the training table"
            return own_clause(self.noun, column.name, raw or "a value", named=bool(raw), note=note)
        value = self.value_text(attribute, own, raw, self._apart(attribute, node, own))
        if self.model.likelihoods.kind[attribute] == CONTINUOUS or typical.kind == "missing":
            return own_clause(self.noun, column.name, value, named=typical.kind == "missing")
        slot = self.slot(node)
        count = own_count(self.model.likelihoods, attribute, slot, own)
        total = int(self.model.likelihoods.n[slot] - self.model.likelihoods.n_missing[slot])
        note = f" ({count or 'none'} of {total:,})"
        return own_clause(self.noun, column.name, value, named=True, note=note)

    def value_text(self, attribute: int, own: float, raw: str = "", apart: float = math.inf) -> str:
        """Say a row's own value, with its unit."""
        column = self.column(attribute)
        if math.isnan(own):
            return "missing"
        if column.column.role == "nominal":
            value = column.native(own)
            return (raw or "unseen value") if value is None else column.category(value)
        return column.with_unit(column.say_exactly(own, apart))

    def _apart(self, attribute: int, node: int, own: float) -> float:
        """Return how far a value is from the typical region of a node."""
        region = self.region(attribute, self.slot(node))
        gaps = [max(low - own, own - high) for low, high in region]
        nearest = min(gaps, default=math.inf)
        return nearest if nearest > 0 else math.inf

    def _worded(self, node: int, values: np.ndarray | None) -> tuple[Condition, ...]:
        made = (
            make_condition(
                self.column(attribute),
                allowed,
                math.inf if values is None else float(values[attribute]),
            )
            for attribute, allowed in self.paths.ranges(node).items()
        )
        return tuple(condition for condition in made if condition is not None)

    def _needs_own_words(self, node: int, values: np.ndarray) -> bool:
        """Tell whether words that fit the training table might not hold for a row.

        It has a value that no training row had, or one that rounding a threshold might cross.
        """
        for attribute, allowed in self.paths.ranges(node).items():
            own, column = float(values[attribute]), self.model.schema.used[attribute]
            if math.isnan(own) or (column.distinct and own not in column.distinct):
                return True
            if column.role == "nominal":
                if own > len(column.categories) or self._is_cut_short(attribute, allowed):
                    return True
            elif column.display == "integer" and own != math.floor(own):
                return True
            elif not column.distinct:
                step = threshold_step(self.column(attribute), allowed)
                if own - allowed.low < step or allowed.high - own < step:
                    return True
        return False

    def _is_cut_short(self, attribute: int, allowed: Range) -> bool:
        """Tell whether not all of the allowed categories are named."""
        known = self._cut_short.get((attribute, allowed.codes))
        if known is None:
            column = self.column(attribute)
            categories = column.column.categories
            inside = [value for code, value in enumerate(categories, 1) if allowed.allows(code)]
            known = n_listed(column, inside) < len(inside)
            self._cut_short[attribute, allowed.codes] = known
        return known

    def _step(self, attribute: int) -> float:
        """Return the smallest difference that matters: a fiftieth of where most values are."""
        likelihoods = self.model.likelihoods
        if likelihoods.kind[attribute] != CONTINUOUS:
            known = np.asarray(self.model.schema.used[attribute].distinct)
            return float(np.diff(known).min()) / 10 if len(known) > 1 else 1.0
        slot = self.slot(int(self.model.forest.root[attribute]))
        region = self.region(attribute, slot)
        # The regions' widths, not the gaps between them: a few far values need no coarser digits. The tip of
        # a peak is as wide as its kernel.
        spread = max(sum(high - low for low, high in region), float(likelihoods.bandwidth[slot]))
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
