"""Strongest view: a cell that several attributes speak about has the evidence of one of them.

A column and its facets are views of the same cells: a malformed text may have an unusual shape, an
unusual length and an unusual value. Of these views only the strongest counts in each row, so that
one fault is not counted several times. The others have no evidence there.
"""

from __future__ import annotations

import numpy as np

from admercs.arrays import Floats, Ints


def views_of_cells(credited: Ints) -> list[Ints]:
    """Return the attributes of each column that several attributes speak about.

    `credited` is the column that each attribute's evidence is credited to.
    """
    columns, n_views = np.unique(credited, return_counts=True)
    return [np.flatnonzero(credited == column) for column in columns[n_views > 1]]


def keep_strongest(evidence: Floats, cells: list[Ints]) -> None:
    """Keep the evidence of the strongest view in each row (attributes x rows), in place.

    Of equal views the first counts.
    """
    for attributes in cells:
        views = [view for view in attributes if evidence[view].any()]
        if len(views) < 2:
            continue
        own = evidence[views]
        strongest = own.argmax(axis=0)
        rows = np.arange(own.shape[1])
        kept = np.zeros_like(own)
        kept[strongest, rows] = own[strongest, rows]
        evidence[views] = kept
