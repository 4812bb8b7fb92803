"""Values as findings: which cells of a table are odd, what was expected there, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from admercs.explain.access import Model
from admercs.explain.column_words import name_and_unit
from admercs.explain.records import Reason, Repair, RowExplanation, SuspiciousValue, Value
from admercs.explain.scored_rows import ScoredRows

REASONS = 5  # of a row may each be about a value
KINDS = ("pattern", "relation")  # of reasons that are about one


def suspicious_values(
    model: Model, rows: ScoredRows, n: int, noun: str = "rows"
) -> list[SuspiciousValue]:
    """Return the oddest values of some rows, most evidence first; the rows have their texts.

    What merely follows from a wrong value is no finding of its own: it is part of that one.
    """
    finder = _Finder(model)
    explained = zip(rows.explain(model, REASONS, noun), rows.texts, strict=True)
    found = [value for row, texts in explained for value in finder.values(row, texts)]
    return sorted(found, key=lambda value: -value.evidence)[:n]


class _Finder:
    def __init__(self, model: Model) -> None:
        self._names = model.schema.names
        # A facet speaks about the column that it is made of; what it states has that one's name.
        self._place = {name: place for place, name in enumerate(self._names)}
        self._place |= {each.name: each.sources[0] for each in model.schema.used}
        self._is_used = {each.name for each in model.schema.used}

    def values(self, row: RowExplanation, texts: list[str | None]) -> Iterator[SuspiciousValue]:
        """Yield the odd values of a row, each column once."""
        repairs: dict[str, Repair] = {}
        for repair in row.repairs:
            for cell in (repair, *repair.also):
                repairs.setdefault(cell.column, cell)
        told = set()
        for k, known in enumerate(r for r in row.reasons if r.kind in KINDS):
            reason, column = known, self._names[self._place[known.target]]
            if k == 0 and row.repair_text and column not in _wrong(row.repairs[0]):
                # What the repair explains is told of a value that follows from it.
                column = row.repairs[0].column
                if column not in {each.attribute for each in reason.conditions}:
                    reason = replace(reason, text=f"{row.repair_text} {reason.text}")
            if column not in told:
                told.add(column)
                yield self._value(row, reason, column, texts, repairs.get(column))

    def _value(
        self, row: RowExplanation, reason: Reason, column: str, texts: list[str | None],
        repair: Repair | None,
    ) -> SuspiciousValue:  # fmt: skip
        about: Reason | Repair = reason if repair is None else repair
        value: Value = about.value
        value_text, expected = about.value_text, None if repair is None else repair.expected
        if column not in self._is_used:  # only its facets are looked at: the value itself is told
            value = texts[self._names.index(column)]
            value_text = "missing" if value is None else str(value)
        typical = reason.expected_text if reason.typical is None else _expected(reason, column)
        return SuspiciousValue(
            label=row.label,
            column=column,
            value=value,
            value_text=value_text,
            expected=expected,
            expected_text=typical if repair is None else repair.expected_text,
            slip="" if repair is None else repair.slip,
            evidence=reason.evidence,
            text=reason.text,
        )


def _wrong(repair: Repair) -> set[str]:
    """Return the columns whose values a repair replaces."""
    return {each.column for each in (repair, *repair.also)}


def _expected(reason: Reason, column: str) -> str:
    """Return what is typical for a value, without the name of its column."""
    typical = reason.typical
    if typical is None or typical.kind in ("missing", "recorded"):
        return "nothing" if typical is not None and typical.kind == "missing" else "a value"
    text = typical.text
    for name in (column, name_and_unit(column)[0]):
        text = text.removeprefix(f"{name} ").removesuffix(f" as {name}").replace(f" of {name}", "")
    return text.removeprefix("= ").replace("the length = ", "a length of ")
