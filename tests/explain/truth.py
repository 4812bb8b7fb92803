"""Compares explanations with the tables they are about."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.explain import Condition, Explanations, Reason, Typical
from admercs.explain.row_explainer import OF_ROW
from admercs.facets import FacetFrame
from admercs.table import read_frame

RHO = 0.9
_ARTEFACT = re.compile(r"\d\.\d{7,}|\d(0{6,}|9{6,})\d")


class Table:
    """A table as plain values: None is missing. Remembers which rows satisfy which conditions."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.columns = {name: _plain(frame[name]) for name in frame.columns}
        self.n = len(frame)
        self._members: dict[Any, list[int]] = {}

    def members(self, conditions: Sequence[Condition]) -> list[int]:
        """Return the rows that satisfy all conditions."""
        key = tuple(conditions)
        if key not in self._members:
            inside = list(range(self.n))
            for condition in conditions:
                values = self.columns[condition.attribute]
                inside = [i for i in inside if condition.holds(values[i])]
            self._members[key] = inside
        return self._members[key]


def with_facets(table: pd.DataFrame, model: ADMERCS) -> pd.DataFrame:
    """Return a table with the facets that conditions may be about."""
    facets = [column.facet for column in model.model_.schema.facets]
    frame, wide = FacetFrame(read_frame(table), facets), table.copy()
    for position in range(len(table.columns), frame.n_columns):
        made = frame.column(position)
        values = pd.Series(made.values, table.index, dtype=object)
        wide[frame.names[position]] = values.mask(made.is_missing(), None)
    return wide


def _plain(values: pd.Series) -> list[Any]:
    if pd.api.types.is_datetime64_any_dtype(values):
        return [None if pd.isna(value) else value.to_pydatetime() for value in values]
    return [None if pd.isna(value) else value for value in values.tolist()]


def each(reasons: Sequence[Reason]) -> Iterator[Reason]:
    """Yield reasons and those that say the same."""
    for reason in reasons:
        yield reason
        yield from each(reason.also)


def about(x: float) -> Any:
    return pytest.approx(x, rel=1e-9, abs=1e-9)


def check_additive(explanations: Explanations) -> None:
    for row in explanations:
        total = math.fsum([*(reason.evidence for reason in row.reasons), row.rest])
        assert total == about(row.evidence)
        assert math.fsum(row.cells.values()) == about(row.evidence)
        assert row.score == about(-math.expm1(-row.evidence))
        if row.score < 0.99999:
            assert row.evidence == about(-math.log1p(-row.score))
        about_others = [reason.kind in OF_ROW for reason in row.reasons]
        assert about_others == sorted(about_others)  # these come last
        own = [reason.share for reason in row.reasons[: about_others.count(False)]]
        n_cells = 1 + len(row.repairs[0].also) if row.repair_text else 0
        # What a repair explains comes before all others.
        assert any(own[k:] == sorted(own[k:], reverse=True) for k in range(n_cells + 1))
        for reason in row.reasons:
            assert reason.share == about(reason.evidence / row.evidence)
            assert math.fsum(part.evidence for part in reason.also) <= reason.evidence + 1e-9


def check_true_of_row(explanations: Explanations, rows: Table) -> None:
    """Every condition holds for the row, and its value is as stated."""
    for place, row in enumerate(explanations):
        for reason in each(row.reasons):
            for condition in reason.conditions:
                own = rows.columns[condition.attribute][place]
                assert condition.holds(own), (condition, own)
            own = rows.columns[reason.target][place]
            same = own.date() if isinstance(own, dt.datetime) else own
            assert reason.value in (own, same), (reason, own)


def check_true_of_table(explanations: Explanations, table: Table) -> None:
    """The number of rows and the typical shares can be counted in the training table."""
    seen = set()
    for row in explanations:
        for reason in each(row.reasons):
            inside = table.members(reason.conditions)
            assert len(inside) == reason.n, (reason.text, len(inside))
            if reason.typical is None:
                continue
            check_oddity(reason)
            key = (reason.conditions, reason.target, reason.typical)
            if key not in seen:
                seen.add(key)
                values = table.columns[reason.target]
                check_typical(reason, [values[i] for i in inside])


def check_typical(reason: Any, values: list[Any]) -> None:
    typical = reason.typical
    present = [value for value in values if value is not None]
    if typical.kind == "recorded":
        assert typical.share == about(len(present) / len(values))
    elif typical.kind == "missing":
        assert typical.share == about(1 - len(present) / len(values))
    elif typical.kind == "values":
        for value, share in typical.shares:
            if value is not None:  # None stands for all rare values together
                counted = sum(other == value for other in present) / len(present)
                assert share == about(counted)
        assert typical.share >= RHO - 1e-9
    else:
        inside = sum(is_typical(typical, value) for value in present)
        # Densities are tables: a value right at the edge may be counted differently.
        slack = 0.05 + 1 / len(present)
        assert inside / len(present) >= RHO - slack, (reason.text, inside, len(present))


def is_typical(typical: Typical, value: Any) -> bool:
    if typical.kind == "values":
        return any(value == known for known, _ in typical.shares)
    if isinstance(value, dt.datetime) and not isinstance(typical.intervals[0][0], dt.datetime):
        value = value.date()
    return any(low <= value <= high for low, high in typical.intervals)


def check_oddity(reason: Reason) -> None:
    """A value is said to be against the pattern only if it is not among the typical ones."""
    assert reason.typical is not None
    if reason.typical.kind in {"values", "intervals"} and reason.value is not None:
        typical = is_typical(reason.typical, reason.value)
        mild = "one of the rarer values" in reason.text or " mostly have " in reason.text
        assert typical == mild, reason.text


def check_text(text: str) -> None:
    assert not re.search(r"\b(nan|NaN|NaT|inf|None)\b|[\[\]{}]", text), text
    assert not _ARTEFACT.search(text.replace(",", "")), text
    assert "  " not in re.sub(r'"[^"]*"', "x", text), text


def without_here(text: str) -> str:
    """Leave out the row's own values behind conditions."""
    return re.sub(r" \(here [^()]*\)", "", text)


def check_told_once(explanations: Explanations) -> None:
    """No two reasons are the same relation seen from two sides."""
    for row in explanations:
        said = [reason for reason in row.reasons if reason.kind == "pattern"]
        for first, second in combinations(said, 2):
            both = first.target in second.attributes and second.target in first.attributes
            assert not both, (first.text, second.text)


def check_all(explanations: Explanations, rows: pd.DataFrame, table: pd.DataFrame) -> None:
    check_additive(explanations)
    check_told_once(explanations)
    check_true_of_row(explanations, Table(rows))
    check_true_of_table(explanations, Table(table))
    for row in explanations:
        for reason in each(row.reasons):
            check_text(reason.text)
