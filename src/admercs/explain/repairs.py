"""Repairs in words: what a value should have been, and what would be odd then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from admercs.explain.access import PEAK
from admercs.explain.column_words import TICKS, ColumnWords, decimals_for, number
from admercs.explain.model_words import Ends, ModelWords
from admercs.explain.part_words import expected_part
from admercs.explain.records import Repair, Typical, Value
from admercs.explain.sentences import exchange_sentence, repair_sentence
from admercs.explain.slips import find_slip
from admercs.facets.text_shape import E_MAIL
from admercs.pipeline.repair_search import Replacement

Unknown = dict[int, str | None]  # categories that the model does not know, by attribute

# Of a value that is computed from others: its decimals, and the units of its last digit by which it
# may differ from these.
_EXACT_DECIMALS, _LAST_DIGITS = 4, 4
KNOWN = 1 << 12  # values that are expected in nodes are kept in words
_PER_RANGE = 10  # an expected number is written in so many steps of what is typical
_TIME_STEPS = (86_400, 3_600, 60, 1)  # seconds


class _Expected(NamedTuple):
    """What a cell should have been, as far as it does not depend on the row."""

    native: Value
    about: str
    text: str
    apart: float  # from what it is: that must remain visible
    ends: tuple[tuple[Value, Value], ...]  # of what is typical around it
    typical: Typical | None


class RepairWords:
    """Puts the replacements that were found into words; ``usual`` evidence is nothing odd."""

    def __init__(self, words: ModelWords, usual: float) -> None:
        self._words, self._usual = words, usual
        # Many rows of a node should have been the same.
        self._regions = lru_cache(KNOWN)(self._typical_ends)
        self._expected = lru_cache(KNOWN)(self._expectation)

    def repair(
        self, found: Replacement, row: Sequence[float], unknown: Unknown, evidence: float
    ) -> Repair:
        """Say what one or two cells should have been; `row` has the values they have."""
        removed, cells = found.removed, found.cells
        nodes = found.nodes or (None,) * len(cells)
        made = [
            self._cell(cell, value, node, row[cell], unknown.get(cell))
            for cell, value, node in zip(cells, found.values, nodes, strict=True)
        ]
        texts = [each["text"] for each in made]
        rest = f"{removed / evidence:.0%} of the evidence would be gone"
        left = evidence - removed
        if left <= self._usual + _LAST_DIGITS * math.ulp(evidence):
            rest = f"nothing about this {self._words.noun.singular} would be odd"
        if found.nodes:
            text = repair_sentence(texts, rest)
        else:
            text = exchange_sentence([self._words.column(cell).name for cell in cells], rest)
        others = tuple(Repair(**each, evidence_removed=removed) for each in made[1:])
        first = {**made[0], "text": text}
        return Repair(**first, also=others, evidence_removed=removed)

    def _cell(
        self, cell: int, value: float, node: int | None, own: float, raw: str | None
    ) -> dict[str, Any]:
        """Return the fields of the repair of one cell; its text is a clause."""
        words, (low, high) = self._words.column(cell), self._regions(cell, value, node)[0]
        should = self._expected(cell, value, node, own if low == high else math.nan)
        given = words.native(own)
        was_given = raw if given is None else given
        slip = "" if self._is_usual(cell, own) else _slip(was_given, should)
        was = "missing" if math.isnan(own) else words.exact_text(own, should.apart)
        if raw is not None:
            was = words.category(raw)
        text = f"{words.name} were {should.about}{should.text} instead of {was}"
        if should.text == E_MAIL:
            text = f"{words.whole_name} were {should.text}"
        if math.isnan(own):
            instead = "" if words.source else f" ({should.about}{should.text})"
            text = f"{words.whole_name} were recorded{instead}"
        return {
            "column": self._words.access.column_name(cell),
            "value": was_given,
            "value_text": words.value_text(own, "" if raw is None else was, should.apart),
            "expected": should.native,
            "expected_text": expected_part(words, should.text),
            "typical": should.typical,
            "slip": slip,
            "text": f"{text} ({slip})" if slip else text,
        }

    def _typical_ends(self, cell: int, value: float, node: int | None) -> tuple[Ends, Ends]:
        """Return the ends of what is typical around an expected value, and of all that is."""
        region = whole = (value, value)
        access = self._words.access
        if node is not None and access.continuous[cell] and not math.isnan(value):
            regions = [*access.typical_region(node)]
            region = next((ends for ends in regions if ends[0] <= value <= ends[1]), region)
            whole = min(region, *regions)[0], max(ends[1] for ends in (region, *regions))
        return region, whole

    def _expectation(self, cell: int, value: float, node: int | None, own: float) -> _Expected:
        """Put what is expected into words; what there is counts where a single value is typical."""
        words, access = self._words.column(cell), self._words.access
        origin, (region, whole) = words.column.origin, self._regions(cell, value, node)
        about, apart = "", math.inf
        if node is not None and access.continuous[cell] and not math.isnan(value):
            exact = round(value + origin, _EXACT_DECIMALS) - origin
            if words.is_number and abs(exact - value) <= _LAST_DIGITS * math.ulp(value + origin):
                # By a relation: the likeliest value of a density has many digits.
                value, apart = exact, 10.0**-_EXACT_DECIMALS
            else:
                if region[1] - region[0] < PEAK * access.bandwidth(node):
                    value = region[0] / 2 + region[1] / 2  # many rows share it
                near = region if region[1] > region[0] else _around(value, own, origin)
                value, about = rounded(words, value, near), "about "
        native = words.native(value)
        text = "empty" if math.isnan(value) else words.value_text(value)
        if node is not None and not about and isinstance(native, float):
            text = words.with_unit(number(native, _EXACT_DECIMALS))
        # The value may be another of the typical ones than the likeliest of all.
        ends = tuple(
            (_end(words, low), _end(words, high)) for low, high in dict.fromkeys((region, whole))
        )
        typical = None if node is None else self._words.typical(node)
        return _Expected(native, about, text, apart, ends, typical)

    def _is_usual(self, cell: int, own: float) -> bool:
        """Tell whether a value is no slip, even if it looks like one: several rows have it.

        Nor is what a facet says of a value.
        """
        access = self._words.access
        if access.columns[cell].facet is not None:
            return True
        if access.continuous[cell] or math.isnan(own):
            return False
        root = access.roots[cell]
        return access.own_count(root, own) > max(
            1, self._words.access.model.method.repairs.frequent * access.sizes[root]
        )


def _slip(own: Value, should: _Expected) -> str:
    slips = (find_slip(own, should.native, low, high) for low, high in should.ends)
    return next(filter(None, slips), "")


def _end(words: ColumnWords, x: float) -> Value:
    return words.native(x) if math.isfinite(x) else None


def _around(value: float, own: float, origin: float) -> tuple[float, float]:
    """Return what is near an expected value, compared with it and how far the own value is."""
    apart = min(abs(own - value), abs(value + origin) or math.inf) / 2
    return (value - apart, value + apart) if apart > 0 else (value, value)


def rounded(words: ColumnWords, x: float, region: tuple[float, float]) -> float:
    """Round an expected working value to the digits that matter; it stays within a region.

    It stays within the values of the column, too.
    """
    low, high = region
    step = max(high - low if math.isfinite(high - low) else 0.0, words.step) / _PER_RANGE
    column = words.column
    if column.display == "date":
        near = float(round(x))
    elif column.display in ("number", "integer"):
        decimals = decimals_for(step)
        if words.whole:
            decimals = min(0, decimals)
        near = round(x + column.origin, decimals) - column.origin
    else:  # times: whole days, hours, minutes or seconds
        ticks = TICKS.get(column.unit, 1)
        fits = (each * ticks for each in _TIME_STEPS if each * ticks <= step)
        unit = words.day or next(fits, 1)
        near = float(round((x + column.origin) / unit) * unit - column.origin)
    near = near if words.day or low <= near <= high else x
    least, most = column.limits  # a density goes on beyond them
    return min(max(near, least), most)
