"""Everything a report says about a table, gathered piece by piece."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import Model
from admercs.explain.scored_rows import ScoredRows, ScoredTable, TrainingNames

__all__ = ["Digest"]

FINE = 1 / 32  # width of the evidence counts that the histogram is put together from
MOST_FINE = 1 << 14
BARS = 44
MEMBERS = 50  # members named per context


class Digest:
    """What is known of the rows seen so far; its size does not depend on their number.

    Parameters
    ----------
    model : Model
        The fitted model.
    threshold : float
        The evidence from which a row is flagged.
    rows : int, default=500
        The most rows that are listed.

    Attributes
    ----------
    n_rows, n_flagged, n_association : int
        Rows seen, rows flagged, and how many of those by association.
    column_evidence, missing : ndarray
        Per column of the table.
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
        self._context_counts: dict[int, NDArray[np.int64]] = {}
        self._context_members: dict[int, list[tuple[float, int, Any]]] = {}
        self._kept: list[tuple[NDArray[np.float64], ScoredRows]] = []
        self._names: TrainingNames | None = None
        self._least = -math.inf  # what a row must exceed to be among the wanted

    def add(self, piece: ScoredTable) -> None:
        """Take in a scored piece of the table."""
        evidence = piece.evidence
        if not len(evidence):
            return
        flagged = evidence > self.threshold
        self._names = piece.names if self._names is None else self._names.merged(piece.names)
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

    def _binned(self, evidence: NDArray[np.float64]) -> NDArray[np.int64]:
        # The threshold itself is not flagged: a bin holds its right end, not its left one.
        bins = np.ceil((evidence - self.threshold) / FINE).astype(np.int64) + self._below - 1
        return np.bincount(np.clip(bins, 0, MOST_FINE - 1), minlength=MOST_FINE)

    def _add_members(self, leaf: int, rows: NDArray[np.int64], piece: ScoredTable) -> None:
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
        self._kept.append((evidence[top], piece.rows(top, texts=True)))
        # ScoredTables are joined once in a while only: joining copies what is kept.
        if sum(len(kept) for kept, _ in self._kept) >= 4 * self._wanted:
            self._join()

    def _join(self) -> None:
        evidence = np.concatenate([kept for kept, _ in self._kept])
        order = np.argsort(-evidence, kind="stable")[: self._wanted]
        self._kept = [(evidence[order], ScoredRows.join([rows for _, rows in self._kept], order))]
        if len(order) == self._wanted and len(order):
            self._least = float(evidence[order[-1]])

    def top(self, least: int = 50) -> ScoredRows | None:
        """Return the flagged rows, most anomalous first, or at least some; None without rows."""
        if not self._kept or self._names is None:
            return None
        self._join()
        evidence, rows = self._kept[0]
        n = min(len(evidence), max(self.n_flagged, least))
        return replace(rows.head(n), names=self._names)

    def histogram(self) -> tuple[list[float], list[int]]:
        """Return the edges and counts of the evidence of all rows."""
        return self._edges(), self._bars(self._counts)

    def context_histogram(self, leaf: int) -> list[int]:
        """Return the counts of the evidence of one context's rows, with the same edges."""
        return self._bars(self._context_counts.get(leaf, np.zeros(MOST_FINE, np.int64)))

    def members(self, leaf: int) -> list[tuple[int, Any]]:
        """Return number and label of a context's most anomalous rows."""
        return [(row, label) for _, row, label in self._context_members.get(leaf, [])]

    def _width(self) -> int:
        """Return how many fine bins make a bar."""
        upper = max(self.largest, 1.25 * self.threshold, FINE)
        return max(1, math.ceil(upper / FINE / BARS))

    def _edges(self) -> list[float]:
        width = self._width()
        upper = max(self.largest, 1.25 * self.threshold, FINE)
        before = math.ceil(self._below / width)
        after = max(1, math.ceil((upper - self.threshold) / (width * FINE)))
        edges = [self.threshold + k * width * FINE for k in range(-before, after + 1)]
        edges[0] = 0.0
        return [round(edge, 4) for edge in edges]

    def _bars(self, counts: NDArray[np.int64]) -> list[int]:
        width, n = self._width(), len(self._edges()) - 1
        before = math.ceil(self._below / width)
        bar = np.clip((np.arange(MOST_FINE) - self._below) // width + before, 0, n - 1)
        bars = np.bincount(bar, weights=counts, minlength=n)
        return [int(count) for count in bars]
