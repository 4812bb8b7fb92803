"""Everything a report says about a table, gathered piece by piece."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from typing import Any

import numpy as np

from admercs.arrays import Floats, Ints
from admercs.explain.access import Model
from admercs.explain.column_findings import ColumnFinding, ColumnWatch
from admercs.explain.records import SuspiciousValue
from admercs.explain.scored_rows import ScoredRows, ScoredTable, SummedTable
from admercs.explain.suspicious_values import suspicious_values

FINE = 1 / 32  # width of the evidence counts that the histogram is put together from
MOST_FINE = 1 << 14
BARS = 44
VALUES = 20  # suspicious values told
MEMBERS = 50  # members named per context


class KeptRows:
    """The rows with most evidence among those seen so far."""

    def __init__(self, n: int) -> None:
        self._wanted = n
        self._kept: list[ScoredRows] = []  # empty, or one
        self.evidence = np.empty(0)  # of these rows, most first

    def add(self, piece: ScoredTable, evidence: Floats) -> None:
        """Take in the rows of a piece."""
        top = np.argsort(-evidence, kind="stable")[: self._wanted]
        if 0 < self._wanted == len(self.evidence):
            top = top[evidence[top] > self.evidence[-1]]
        if not len(top):
            return
        together = np.concatenate((self.evidence, evidence[top]))
        order = np.argsort(-together, kind="stable")[: self._wanted]
        self._kept = [ScoredRows.join([*self._kept, piece.rows(top, texts=True)], order)]
        self.evidence = together[order]

    def first(self, n: int) -> ScoredRows | None:
        """Return some of them; None if there are none at all."""
        return self._kept[0].head(n) if self._kept else None


class Digest:
    """What is known of the rows seen so far; its size does not depend on their number.

    Rows with more evidence than the ``threshold`` are flagged; others with more than ``suspicious``
    are counted. At most ``rows`` rows are listed, and of their values the ``values`` oddest ones.
    """

    def __init__(
        self,
        model: Model,
        threshold: float,
        suspicious: float,
        *,
        rows: int = 500,
        values: int = VALUES,
    ) -> None:
        self.model, self.threshold, self.suspicious = model, threshold, suspicious
        self.n_rows = self.n_flagged = self.n_suspicious = self.n_association = 0
        self.column_evidence = np.zeros(len(model.schema.columns))
        self.missing = np.zeros(len(model.schema.columns), np.int64)
        self.largest = 0.0
        self._watch = ColumnWatch(model)
        # Bins are counted from the threshold in both directions, so that it lies between two bars.
        self._middle = min(threshold, MOST_FINE * FINE / 2)
        self._below = math.ceil(self._middle / FINE)
        self._counts = np.zeros(MOST_FINE, np.int64)
        self._context_counts = defaultdict[int, Ints](lambda: np.zeros(MOST_FINE, np.int64))
        self._context_members = defaultdict[int, list[tuple[float, int, Any]]](list)
        self._anomalous, self._oddest, self._n_values = KeptRows(rows), KeptRows(values), values

    def add(self, piece: SummedTable) -> None:
        """Take in a scored piece of the table."""
        evidence = piece.evidence
        flagged = evidence > self.threshold
        self.n_rows += len(evidence)
        self.n_flagged += int(flagged.sum())
        self.n_suspicious += int((evidence > self.suspicious).sum() - flagged.sum())
        self.n_association += int((flagged & piece.association).sum())
        self.column_evidence += piece.column_evidence
        self.missing += piece.missing
        self._watch.add(piece)
        self.largest = max(self.largest, float(evidence.max()))
        self._counts += self._binned(evidence)
        for leaf, rows in piece.members.items():
            self._context_counts[leaf] += self._binned(evidence[rows])
            top = rows[np.argsort(-evidence[rows], kind="stable")[:MEMBERS]].tolist()
            members = [(-float(evidence[k]), piece.first + k, piece.labels[k]) for k in top]
            members += self._context_members[leaf]
            self._context_members[leaf] = heapq.nsmallest(MEMBERS, members, key=lambda m: m[:2])
        self._anomalous.add(piece, evidence)
        self._oddest.add(piece, piece.strongest)

    def _binned(self, evidence: Floats) -> Ints:
        # The threshold itself is not flagged: a bin holds its right end, not its left one.
        bins = np.ceil((evidence - self._middle) / FINE).astype(np.int64) + self._below - 1
        return np.bincount(np.clip(bins, 0, MOST_FINE - 1), minlength=MOST_FINE)

    def findings(self) -> tuple[ColumnFinding, ...]:
        """Return what stands out in single columns."""
        return self._watch.findings(self.n_rows - self.missing)

    def top(self, least: int = 50) -> ScoredRows | None:
        """Return the flagged rows, most anomalous first, or at least some; None without rows."""
        return self._anomalous.first(max(self.n_flagged, least))

    def values(self, noun: str = "rows") -> list[SuspiciousValue]:
        """Return the oddest values of the table."""
        rows = self._oddest.first(self._n_values)
        if rows is None:
            return []
        return suspicious_values(self.model, rows, self._n_values, noun)

    def histogram(self) -> tuple[list[float], list[int]]:
        """Return the edges and counts of the evidence of all rows."""
        width, before, after = self._layout()
        edges = [self._middle + k * width * FINE for k in range(-before, after + 1)]
        return [0.0, *(round(edge, 4) for edge in edges[1:])], self._bars(self._counts)

    def context_histogram(self, leaf: int) -> list[int]:
        """Return the counts of the evidence of one context's rows, with the same edges."""
        return self._bars(self._context_counts[leaf])

    def members(self, leaf: int) -> list[tuple[int, Any]]:
        """Return number and label of a context's most anomalous rows."""
        return [(row, label) for _, row, label in self._context_members[leaf]]

    def _layout(self) -> tuple[int, int, int]:
        """Return the fine bins per bar, and the bars below and above the threshold."""
        upper = max(self.largest, 1.25 * self._middle, FINE)
        width = max(1, math.ceil(upper / FINE / BARS))
        above = max(1, math.ceil((upper - self._middle) / (width * FINE)))
        return width, math.ceil(self._below / width), above

    def _bars(self, counts: Ints) -> list[int]:
        width, before, after = self._layout()
        bar = (np.arange(MOST_FINE) - self._below) // width + before
        bar = np.clip(bar, 0, before + after - 1)
        bars = np.bincount(bar, weights=counts, minlength=before + after)
        return bars.astype(int).tolist()
