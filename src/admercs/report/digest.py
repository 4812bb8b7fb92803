"""Everything a report says about a table, gathered piece by piece."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from admercs.arrays import Floats, Ints
from admercs.explain.access import Model
from admercs.explain.scored_rows import ScoredRows, ScoredTable

FINE = 1 / 32  # width of the evidence counts that the histogram is put together from
MOST_FINE = 1 << 14
BARS = 44
MEMBERS = 50  # members named per context


class Digest:
    """What is known of the rows seen so far; its size does not depend on their number.

    Rows with more evidence than the ``threshold`` are flagged; at most ``rows`` are listed.
    """

    def __init__(self, model: Model, threshold: float, rows: int = 500) -> None:
        self.model = model
        self.threshold = threshold
        self.n_rows = self.n_flagged = self.n_association = 0
        self.column_evidence = np.zeros(len(model.schema.columns))
        self.missing = np.zeros(len(model.schema.columns), np.int64)
        self.largest = 0.0
        self._wanted = rows
        # Bins are counted from the threshold in both directions, so that it lies between two bars.
        self._below = math.ceil(threshold / FINE)
        self._counts = np.zeros(MOST_FINE, np.int64)
        self._context_counts: dict[int, Ints] = {}
        self._context_members: dict[int, list[tuple[float, int, Any]]] = {}
        self._kept: list[ScoredRows] = []  # the wanted rows so far; empty, or one
        self._evidence = np.empty(0)  # of these rows
        self._least = -math.inf  # what a row must exceed to be among the wanted

    def add(self, piece: ScoredTable) -> None:
        """Take in a scored piece of the table."""
        evidence = piece.evidence
        flagged = evidence > self.threshold
        self.n_rows += len(evidence)
        self.n_flagged += int(flagged.sum())
        self.n_association += int((flagged & piece.association).sum())
        self.column_evidence += piece.column_evidence
        self.missing += piece.missing
        self.largest = max(self.largest, float(evidence.max()))
        self._counts += self._binned(evidence)
        for leaf, rows in piece.members.items():
            self._add_members(leaf, rows, piece)
        self._keep_top(piece)

    def _binned(self, evidence: Floats) -> Ints:
        # The threshold itself is not flagged: a bin holds its right end, not its left one.
        bins = np.ceil((evidence - self.threshold) / FINE).astype(np.int64) + self._below - 1
        return np.bincount(np.clip(bins, 0, MOST_FINE - 1), minlength=MOST_FINE)

    def _add_members(self, leaf: int, rows: Ints, piece: ScoredTable) -> None:
        evidence = piece.evidence[rows]
        self._context_counts.setdefault(leaf, np.zeros(MOST_FINE, np.int64))
        self._context_counts[leaf] += self._binned(evidence)
        top = rows[np.argsort(-evidence, kind="stable")[:MEMBERS]].tolist()
        known = self._context_members.setdefault(leaf, [])
        known += [(-float(piece.evidence[k]), piece.first + k, piece.labels[k]) for k in top]
        self._context_members[leaf] = heapq.nsmallest(MEMBERS, known, key=lambda m: m[:2])

    def _keep_top(self, piece: ScoredTable) -> None:
        evidence = piece.evidence
        top = np.argsort(-evidence, kind="stable")[: self._wanted]
        top = top[evidence[top] > self._least]
        if not len(top):
            return
        together = np.concatenate((self._evidence, evidence[top]))
        order = np.argsort(-together, kind="stable")[: self._wanted]
        self._kept = [ScoredRows.join([*self._kept, piece.rows(top, texts=True)], order)]
        self._evidence = together[order]
        if len(order) == self._wanted:
            self._least = float(self._evidence[-1])

    def top(self, least: int = 50) -> ScoredRows | None:
        """Return the flagged rows, most anomalous first, or at least some; None without rows."""
        return self._kept[0].head(max(self.n_flagged, least)) if self._kept else None

    def histogram(self) -> tuple[list[float], list[int]]:
        """Return the edges and counts of the evidence of all rows."""
        width, before, after = self._layout()
        edges = [self.threshold + k * width * FINE for k in range(-before, after + 1)]
        return [0.0, *(round(edge, 4) for edge in edges[1:])], self._bars(self._counts)

    def context_histogram(self, leaf: int) -> list[int]:
        """Return the counts of the evidence of one context's rows, with the same edges."""
        return self._bars(self._context_counts.get(leaf, np.zeros(MOST_FINE, np.int64)))

    def members(self, leaf: int) -> list[tuple[int, Any]]:
        """Return number and label of a context's most anomalous rows."""
        return [(row, label) for _, row, label in self._context_members.get(leaf, [])]

    def _layout(self) -> tuple[int, int, int]:
        """Return the fine bins per bar, and the bars below and above the threshold."""
        upper = max(self.largest, 1.25 * self.threshold, FINE)
        width = max(1, math.ceil(upper / FINE / BARS))
        above = max(1, math.ceil((upper - self.threshold) / (width * FINE)))
        return width, math.ceil(self._below / width), above

    def _bars(self, counts: Ints) -> list[int]:
        width, before, after = self._layout()
        bar = (np.arange(MOST_FINE) - self._below) // width + before
        bar = np.clip(bar, 0, before + after - 1)
        bars = np.bincount(bar, weights=counts, minlength=before + after)
        return bars.astype(int).tolist()
