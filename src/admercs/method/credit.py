"""Credit: to which cells of a row its evidence belongs, where columns are not all alike.

Cells that rank high should be wrong. Two kinds of evidence do not say so:

- In a column of numbers, and in the form of a text, every tenth value has some evidence: it is a
  matter of degree there. With q the evidence that a quarter of the column's training values
  exceeds, only what is beyond 12 q, and at least a quarter of the evidence, is *notable*.
- That a row is in an odd context, like odd rows or far from all others is said of the row, and not
  of any cell.

The cells of a row have their notable evidence. All that is left of the row's evidence raises the
lowest cells to a common level, of at most 0.2, which many cells have anyway. What then still
remains is credited to the strongest cell: it raises one cell and no ordinary ones. The cells of a
row always add up to its evidence.

In a table of numbers alone all columns have evidence of the same kind, and every part of it is
credited to the columns that it is about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admercs.arrays import Bools, Floats, Ints
from admercs.method.settings import Credit

# The levels of evidence above which values are counted.
LEVELS = np.geomspace(0.01, 2.0, 16)


def count_above(pattern: Floats) -> Ints:
    """Count the rows with more evidence than each level (attributes x levels)."""
    counts = np.empty((len(pattern), len(LEVELS)), np.int64)
    for own, evidence in zip(counts, pattern, strict=True):
        some = evidence[evidence > LEVELS[0]]  # few rows
        levels = np.searchsorted(LEVELS, some)
        own[:] = len(some) - np.cumsum(np.bincount(levels, minlength=len(LEVELS) + 1))[:-1]
    return counts


def add_counts(parts: Sequence[Ints]) -> Ints:
    """Add up the counts of several pieces."""
    total: Ints = np.sum(parts, axis=0)
    return total


def usual_evidence(counts: Ints, n_rows: int, share: float) -> Floats:
    """Return the evidence that a share of the values of each attribute exceeds, by its counts."""
    return np.array(
        [
            np.interp(-share, -own / n_rows, LEVELS) if own[0] > share * n_rows else 0.0
            for own in counts
        ]
    )


class CellCredit:
    """Credits the evidence of rows to their cells.

    `credited` is the column that each attribute's evidence belongs to, `usual` the evidence that is
    usual for its values, 0 where evidence is no matter of degree.
    """

    def __init__(self, credited: Ints, usual: Floats, settings: Credit) -> None:
        self._settings = settings
        # Columns in the order of their attributes, which does not depend on where they stand.
        self._first = np.sort(np.unique(credited, return_index=True)[1])
        places = {column: k for k, column in enumerate(credited[self._first].tolist())}
        self._column = [places[column] for column in credited.tolist()]
        self._ordinary = (settings.times * usual)[:, None]

    def cells(self, pattern: Floats, is_gap: Bools, evidence: Floats) -> Floats:
        """Return what is credited to each attribute, given the evidence of the rows."""
        own = np.maximum(self._settings.share * pattern, pattern - self._ordinary)
        np.copyto(own, pattern, where=is_gap)
        columns = np.zeros((len(self._first), len(evidence)))
        for m, column in enumerate(self._column):
            columns[column] += own[m]
        raised = raise_lowest(columns, evidence, self._settings.level)
        rest = np.maximum(0.0, evidence - np.add.accumulate(raised)[-1])
        raised[columns.argmax(axis=0), np.arange(len(evidence))] += rest
        own[self._first] += raised - columns
        return own


def raise_lowest(cells: Floats, total: Floats, most: float) -> Floats:
    """Raise the lowest cells of each row to one level, so that they sum up to a total.

    The level is `most` at most.
    """
    ordered = np.sort(cells, axis=0)
    below = np.add.accumulate(ordered)
    rest = np.maximum(0.0, total - below[-1])
    # The level if just the k lowest cells are raised; it is right while it is above them all.
    level = (rest + below) / np.arange(1, len(cells) + 1)[:, None]
    k = len(cells) - 1 - (level >= ordered)[::-1].argmax(axis=0)
    chosen = np.minimum(np.take_along_axis(level, k[None], axis=0), most)
    return np.maximum(cells, chosen)
