"""What a fitted detector consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from admercs.arrays import Bools, Floats, Ints, Keys
from admercs.density.likelihoods import Likelihoods
from admercs.facets.relations import RELATION, Formula, formula_of
from admercs.facets.text_shape import TEXT_PARTS
from admercs.method.border import BorderZones
from admercs.method.feedback import Contexts
from admercs.method.neighbours import ReferenceRows
from admercs.method.scoring_nodes import ScoringNodes
from admercs.method.settings import Method, NoisyOr, Odds
from admercs.table.columns import Column
from admercs.table.schema import Schema
from admercs.trees.forest import Forest

T = TypeVar("T")

# Levels at which the training evidence is remembered: fine where percentiles matter.
QUANTILE_LEVELS = np.unique(
    np.concatenate([np.linspace(0, 0.99, 100), 1 - np.geomspace(0.01, 1e-6, 200), [1.0]])
)


@dataclass(frozen=True)
class Model:
    """A fitted detector; its size depends on the number of leaves, not on the number of rows."""

    schema: Schema  # the columns; ``schema.used`` are the attributes 0 … M−1
    method: Method
    n_rows: int  # of the training table
    forest: Forest  # one tree per attribute
    scoring: ScoringNodes
    likelihoods: Likelihoods  # of the scoring nodes
    zones: BorderZones | None
    redundant: Keys  # per node: bit k is set when the k-th condition of its path can be left out
    contexts: Contexts = field(default_factory=Contexts.none)  # the anomalous ones
    references: ReferenceRows | None = None
    # Of the evidence of the training rows, at the levels `QUANTILE_LEVELS`.
    evidence_quantiles: Floats = field(default_factory=lambda: np.empty(0))
    # Per attribute: the evidence that is usual for its values, see `method/credit.py`.
    usual_evidence: Floats = field(default_factory=lambda: np.empty(0))

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}

    def once(self, make: Callable[[Model], T]) -> T:
        """Return what a function makes of the model; it is made once and kept with the model.

        What is made must not keep the model itself: it would not be freed at once.
        """
        if make not in self._made:
            self._made.setdefault(make, make(self))  # threads may make it at the same time
        return self._made[make]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: what was learned, and nothing that follows from it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def is_facet(self) -> Bools:
        """Whether an attribute is made of the table's columns."""
        return np.array([column.facet is not None for column in self.schema.used])

    @property
    def by_degree(self) -> Bools:
        """Whether some evidence is usual for the values of an attribute: numbers, forms of texts.

        A rare category has it because it is rare, and a facet that is stated because of an error.
        """
        return np.array([_by_degree(column) for column in self.schema.used])

    @property
    def positions(self) -> Ints:
        """The place of each attribute: a column of the table, or one behind them for a facet."""
        return np.array([column.position for column in self.schema.used], np.int64)

    @cached_property
    def related(self) -> dict[int, tuple[int, ...]]:
        """The attributes that are relations, and those that each of them is about."""
        number = {column.position: m for m, column in enumerate(self.schema.used)}
        return {
            m: tuple(number[source] for source in column.sources)
            for m, column in enumerate(self.schema.used)
            if column.facet is not None and column.facet.kind == RELATION
        }

    @cached_property
    def evidence(self) -> Odds | NoisyOr:
        """What the likelihoods of values count in a table of so many columns."""
        evidence = self.method.evidence
        n_columns = len(np.unique(self.credited))
        return evidence if isinstance(evidence, NoisyOr) else evidence.among(n_columns)

    @cached_property
    def formulas(self) -> dict[int, Formula]:
        """The attributes that are relations, and what these say."""
        facets = {m: self.schema.used[m].facet for m in self.related}
        return {m: formula_of(facet) for m, facet in facets.items() if facet is not None}

    @cached_property
    def orders(self) -> set[int]:
        """The attributes that are orders: of these no value follows from another."""
        return {m for m, each in self.formulas.items() if each.form == "order"}

    @cached_property
    def exact(self) -> list[int]:
        """The attributes that are exact relations: equations and orders."""
        return [m for m, each in self.formulas.items() if each.exact]

    @cached_property
    def equations(self) -> list[int]:
        """The attributes that are exact equations."""
        return [m for m in self.exact if m not in self.orders]

    @cached_property
    def steps(self) -> dict[int, float]:
        """Of each relation, the size of a residual that is small in any case."""
        return {m: each.step for m, each in self.formulas.items()}

    @property
    def credited(self) -> Ints:
        """The place of the table's column that the evidence of each attribute is credited to."""
        return np.array([column.sources[0] for column in self.schema.used], np.int64)


def _by_degree(column: Column) -> bool:
    if column.facet is None:
        return column.role == "numeric"
    return column.facet.kind in TEXT_PARTS or not (column.facet.is_stated or column.categories)
