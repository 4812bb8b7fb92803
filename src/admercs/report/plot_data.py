"""The numbers behind the plots: how a column's values are spread, in few and short numbers."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np

from admercs.arrays import Floats
from admercs.explain.column_words import TICKS, ColumnWords
from admercs.explain.model_words import ModelWords

# What the numbers of a column's axis are; "time": milliseconds since 1970, the rest in seconds.
AXES = {"date": "time", "datetime": "time", "time": "clock", "duration": "duration"}

POINTS = 80  # of a curve: enough for a plot 400 pixels wide
MOST_SHARES = 8  # values of a context that are told; its plot shows fewer
_EPOCH = dt.datetime(1970, 1, 1)


def significant(number: float, digits: int = 4) -> float:
    """Round to some significant digits, for data that is only looked at."""
    return float(f"{number:.{digits}g}") if math.isfinite(number) else 0.0


def axis_value(value: Any) -> float | None:
    """Return where a number, date, time or duration lies on its axis."""
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - _EPOCH).total_seconds() * 1000
    if isinstance(value, dt.date):
        return float((value - _EPOCH.date()).days * 86_400_000)
    if isinstance(value, dt.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


class PlotDistributions:
    """Collects the distributions that the plots of a report need, each of them once.

    ``kind`` "curve": ``start``, ``step`` and heights ``y`` in percent of the largest; "bars":
    ``shares``, pairs of a value's number and its share of the recorded ones, most frequent first.
    """

    def __init__(self, words: ModelWords) -> None:
        self._words, self.access = words, words.access
        self._place: dict[int, int] = {}
        self.listed: list[dict[str, Any]] = []

    def of_node(self, node: int) -> int:
        """Return the number of the distribution of the target in a node."""
        if node not in self._place:
            self._place[node] = len(self.listed)
            whole = {"whole": True} if self.access.is_root(node) else {}
            self.listed.append(self._describe(node) | whole)
        return self._place[node]

    def of_column(self, attribute: int) -> dict[str, Any]:
        """Return the distribution of an attribute in the whole table, with its values' names."""
        root = self.access.roots[attribute]
        described = self._describe(root)
        if described["kind"] == "bars":
            labels = described["labels"] = self._words.column(attribute).value_names()
            counts = self.access.value_counts(root)[: len(labels)]
            shares = counts / max(1, int(counts.sum()))
            described["shares"] = [significant(share) for share in shares.tolist()]
            described["ordered"] = self.access.columns[attribute].role != "nominal"
        return described

    def _describe(self, node: int) -> dict[str, Any]:
        access, target = self.access, self.access.targets[node]
        about = {"n": access.sizes[node], "missing": significant(access.share_missing(node))}
        if access.continuous[target]:
            curve = _curve(*access.visible_curve(node), self._words.column(target))
            return {"kind": "curve", **about, **curve}
        counts = access.value_counts(node)
        order = np.argsort(-counts, kind="stable")[:MOST_SHARES].tolist()
        recorded = max(1, int(counts.sum()))
        shares = [[k, significant(int(counts[k]) / recorded)] for k in order if counts[k]]
        return {"kind": "bars", **about, "shares": shares}


def _curve(x: Floats, height: Floats, words: ColumnWords) -> dict[str, Any]:
    """Sample a density on an even grid."""
    column = words.column
    if not len(x):
        return {"start": 0.0, "step": 1.0, "y": []}
    grid = np.linspace(x[0], x[-1], POINTS)
    step = float(grid[1] - grid[0])
    sampled = np.interp(grid, x, height)
    # A peak narrower than the grid must not fall between two of its points.
    nearest = np.clip(np.rint((x - grid[0]) / (step or 1.0)).astype(int), 0, POINTS - 1)
    np.maximum.at(sampled, nearest, height)
    scale = 1.0  # how much of the axis one step of the working value is
    if column.display in AXES:
        seconds = 86_400.0 if column.unit == "D" else 1 / TICKS.get(column.unit, 1)
        scale = seconds * (1000 if AXES[column.display] == "time" else 1)
    start = (float(grid[0]) + column.origin) * scale
    middle = float(grid[POINTS // 2])
    if column.time_zone and (local := axis_value(words.native(middle))) is not None:
        start += local - (middle + column.origin) * scale  # a zone has its own clock
    return {
        "start": significant(start, 12),
        "step": significant(step * scale, 9),
        "y": np.rint(100 * sampled / sampled.max()).astype(int).tolist(),
    }
