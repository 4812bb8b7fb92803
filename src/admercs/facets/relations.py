"""Relations: equations and orders between columns that nearly all rows satisfy.

A relation is ``c = f(a, b, …)`` or ``a <= b``. Its *residual* is what is left of c: a number per
row that is 0, or near 0, where the relation holds. Dates are counted in days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from admercs.arrays import Bools, Floats
from admercs.table.columns import Facet
from admercs.table.values import Kind, RawColumn

RELATION = "relation"  # the kind of facet
RELATED: tuple[Kind, ...] = ("float", "integer", "date", "datetime")  # kinds of columns
# The types of a facet's settings: those of a formula but for the sources, and two numbers of rows.
Settings = (str, tuple[float, ...], float, float, bool, float, tuple[float, ...], int, int)
Form = Literal["linear", "product", "quotient", "order"]

_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
TOGETHER = 1 << 15  # rows whose residuals are made together: they stay in the cache
LAST_DIGITS = 1e-9  # the relative error that computing with rounded numbers may have


class Formula(NamedTuple):
    """A relation between some columns of numbers.

    With the target c and the other columns a, b, …:

    - linear: ``c = w1 a + w2 b + … + constant``,
    - product: ``c = a b``,
    - quotient: ``c = a / b``,
    - order: ``c <= a``.
    """

    form: Form
    sources: tuple[int, ...]  # the positions of the target and of the other columns
    weights: tuple[float, ...] = ()  # of the other columns, for linear relations
    constant: float = 0.0
    tolerance: float = 0.0  # a residual up to this size satisfies the relation
    exact: bool = True  # whether such a residual is no more than rounding, and counts as 0
    step: float = 0.0  # a residual of this size is small, whatever the others are
    units: tuple[float, ...] = ()  # in which the columns are written, such as .01; 0: in none

    def expected(self, others: Sequence[Floats]) -> Floats:
        """Return what the target should be (its upper limit for an order)."""
        if self.form == "product":
            return others[0] * others[1]
        if self.form == "quotient":
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = others[0] / others[1]
            return np.where(np.isfinite(ratio), ratio, np.nan)
        if self.form == "order":
            return others[0]
        total: Floats = self.weights[0] * others[0]
        total += self.constant
        for weight, values in zip(self.weights[1:], others[1:], strict=True):
            total += weight * values
        return total

    def solve(self, place: int, columns: Sequence[Floats]) -> Floats:
        """Return what one of the columns should be, given the values of the others.

        For an order it is the other column: the nearest value that satisfies it.
        """
        target, *others = columns
        if self.form == "order":
            return columns[1 - place]
        if place == 0:
            return self.expected(others)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self.form == "product":
                return target / others[2 - place]
            if self.form == "quotient":
                return target * others[1] if place == 1 else others[0] / target
            rest = self.expected(others) - self.weights[place - 1] * others[place - 1]
            return np.asarray((target - rest) / self.weights[place - 1])

    def right_values(self, place: int, columns: Sequence[Floats]) -> Floats:
        """Return what one of the columns should be as it is written; see `solve`.

        NaN where no number that is written like the others of its column makes an equation exact.
        """
        values = self.solve(place, columns)
        unit = self.units[place] if self.units else 0.0
        if not self.exact or self.form == "order" or unit == 0:
            return values
        values = np.round(values, -round(math.log10(unit)))
        tried = [values if k == place else column for k, column in enumerate(columns)]
        return np.where(self.residual(tried) == 0, values, np.nan)

    def residual(self, columns: Sequence[Floats]) -> Floats:
        """Return how far the target is from what it should be, given the values of `sources`.

        NaN where a value is missing.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            expected = self.expected(columns[1:])
            apart: Floats = columns[0] - expected
            # Beyond the largest float nothing is known.
            apart[np.isinf(apart)] = np.nan
        if self.form == "order":
            apart = np.maximum(apart, 0.0)
        slack = LAST_DIGITS * np.maximum(abs(columns[0]), abs(expected))
        apart[abs(apart) <= slack + (self.tolerance if self.exact else 0.0)] = 0.0
        return apart

    def holds(self, residual: Floats) -> Bools:
        """Say which rows satisfy the relation, given their residuals; missing values do not."""
        return np.asarray(residual == 0 if self.exact else abs(residual) <= self.tolerance)

    def words(self, names: Sequence[str]) -> str:
        """Return the relation as a formula, given the names of its columns."""
        target, *others = names
        if self.form == "order":
            return f"{target} ≤ {others[0]}"
        if self.form in ("product", "quotient"):
            return f"{target} = {others[0]} {'×' if self.form == 'product' else '/'} {others[1]}"
        text = ""
        for weight, name in zip(self.weights, others, strict=True):
            sign = ("" if weight > 0 else "−") if not text else (" + " if weight > 0 else " − ")
            size = self.number(abs(weight))
            text += sign + (name if size == "1" else f"{size} × {name}")
        is_told = self.exact or abs(self.constant) > self.tolerance / 4
        if is_told and self.number(abs(self.constant)) != "0":
            sign = "+" if self.constant > 0 else "−"
            text += f" {sign} {self.number(abs(self.constant))}"
        return f"{target} {'=' if self.exact else '≈'} {text}"

    def number(self, value: float) -> str:
        """Return a weight or the constant as text: exactly, or to two or three digits."""
        if self.exact:
            return f"{value:.10g}"
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"


def relation_facet(formula: Formula, n_rows: int, n_satisfied: int) -> Facet:
    """Return the residual of a relation as a facet.

    `n_rows` of the training rows have all values, and `n_satisfied` of these satisfy it.
    """
    form, sources, *settings = formula
    return Facet(RELATION, sources, (form, *settings, n_rows, n_satisfied), is_condition=False)


def formula_of(facet: Facet) -> Formula:
    """Return the relation behind a facet."""
    form, *settings, _, _ = facet.settings
    return Formula(form, facet.sources, *settings)


def is_equation(facet: Facet) -> bool:
    """Say whether a relation is an exact one, and no order."""
    formula = formula_of(facet)
    return formula.exact and formula.form != "order"


def is_relation(n_sources: int, *settings: Any) -> bool:
    """Say whether settings that were read from a file are those of a relation."""
    form, weights, constant, tolerance, _, step, units, n_rows, n_satisfied = settings
    n_others = {"order": 1, "linear": len(weights)}.get(form, 2)
    return (
        form in get_args(Form)
        and n_sources == 1 + n_others
        and (form == "linear") == bool(weights)
        and bool(np.isfinite([*weights, constant, tolerance, step]).all())
        and min(tolerance, step) >= 0
        and len(units) in (0, n_sources)
        and all(0 <= unit <= 1 for unit in units)
        and 0 <= n_satisfied <= n_rows
    )


def relation_name(facet: Facet, names: Sequence[str]) -> str:
    """Return the formula of a relation."""
    return formula_of(facet).words(names)


def days_per_step(unit: str) -> float:
    """Return how many days one step of a working value is; 1 for numbers."""
    return 1.0 / _PER_DAY.get(unit, 1)


def plain_numbers(raw: RawColumn) -> Floats:
    """Return the values of a column as floats, dates and times in days, missing ones as NaN.

    Do not write into them: they may be the column's own.
    """
    if raw.values.dtype == object:  # of other values than these, all are missing
        return np.full(len(raw.values), np.nan)
    changes = bool(raw.unit) or raw.missing is not None
    values = raw.values.astype(np.float64, copy=changes)
    if raw.unit:
        values *= days_per_step(raw.unit)
    if raw.missing is not None:
        values[raw.missing] = np.nan
    return values


def residual_column(name: str, *sources_and_settings: Any) -> RawColumn:
    """Return the residual of a relation as a column."""
    sources = [each for each in sources_and_settings if isinstance(each, RawColumn)]
    form, *settings = sources_and_settings[len(sources) :]
    formula = Formula(form, tuple(range(len(sources))), *settings[:-2])
    columns = [plain_numbers(raw) for raw in sources]
    residual = np.empty(len(columns[0]))
    for start in range(0, len(residual), TOGETHER):
        some = slice(start, start + TOGETHER)
        residual[some] = formula.residual([column[some] for column in columns])
    return RawColumn(name, "float", residual)
