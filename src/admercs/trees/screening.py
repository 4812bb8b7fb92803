"""Which columns may have something to say about each other, found cheaply for all pairs.

In a wide table most pairs are independent. Every column is cut into a few parts of about equally
many rows, and missing values are one more. Of each pair of columns the rows that two parts share
are counted, on a sample of rows: for all pairs this is one product of matrices. A tree looks at the
columns whose counts differ most from those of independent columns (Pearson's chi-squared).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Codes, Ints
from admercs.method.settings import Trees
from admercs.table.bins import Binning

Marks = NDArray[np.float32]

TOGETHER = 64  # columns that are compared with all others at a time


def screen(
    codes: Codes, binning: Binning, allowed: Sequence[Ints], settings: Trees
) -> Sequence[Ints]:
    """Return for each column the allowed inputs to look at: all, or the most promising ones.

    Counts are integers, and as floats they are exact: the choice is the same on any machine.
    """
    most, n_parts = settings.inputs, settings.search.parts
    if all(len(each) <= most for each in allowed):
        return allowed
    codes = codes[:, : settings.search.screened]
    pairs = zip(codes, binning.n_codes, binning.is_nominal, strict=True)
    parts = np.stack([parts_of(*each, n_parts) for each in pairs])
    # The last part of a column follows from the others and need not be multiplied.
    marks = np.concatenate([parts == k for k in range(n_parts)], axis=0).astype(np.float32)
    chosen: list[Ints] = []
    for start in range(0, len(codes), TOGETHER):
        found = dependence(marks, slice(start, start + TOGETHER), n_parts)
        for m, scores in enumerate(found, start):
            own = allowed[m]
            best = np.argsort(-scores[own], kind="stable")[:most]
            chosen.append(np.sort(own[best]))
    return chosen


def parts_of(codes: Array, n_codes: int, is_nominal: bool, n_parts: int) -> NDArray[np.uint8]:
    """Return the part that each row of a column is in; the first is that of missing values."""
    if is_nominal:
        return np.minimum(codes, n_parts).astype(np.uint8)  # frequent categories come first
    counts = np.bincount(codes, minlength=n_codes)
    counts[0] = 0
    middle = 2 * np.cumsum(counts) - counts
    part = middle * n_parts // (2 * max(1, int(counts.sum()))) + 1
    part[0] = 0
    return np.minimum(part, n_parts).astype(np.uint8)[codes]


def dependence(marks: Marks, some: slice, n_parts: int) -> Marks:
    """Return chi-squared of some columns with all columns (some x columns).

    `marks` say which rows are in each part but the last: first part of all columns, second part …
    """
    each = marks.reshape(n_parts, -1, marks.shape[1])
    n_columns, n_rows = each.shape[1:]
    own = each[:, some].reshape(-1, n_rows)
    shared = (own @ marks.T).reshape(n_parts, -1, n_parts, n_columns)
    size = each.sum(axis=2)
    size = np.concatenate([size, n_rows - size.sum(axis=0, keepdims=True)])
    # What the rows and columns of counts have in all tells those of the last part.
    rest = size[:n_parts, some, None, None] - shared.sum(axis=2, keepdims=True)
    shared = np.concatenate([shared, rest], axis=2)
    shared = np.concatenate([shared, size[None, None] - shared.sum(axis=0, keepdims=True)])
    inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    score = (shared * shared * inverse).sum(axis=2) * inverse[:, some, None]
    total: Marks = score.sum(axis=0) * n_rows
    return total
