"""Far ends: many values of a row at the ends of their columns are a sign where ends coincide.

Where a table holds many anomalies, they have leaves and near neighbours of their own, and no
density finds them rare. With r the centred rank of a value in its column, from −1 to 1, T is the
sum of v r² over the columns of a row, and

    t = 5 c α q min(1, T / T₉₉).

The weight v of an end of a column is 1 and the correlation of r² there with the sum of r² in the
other columns. α is Cronbach's alpha of the r² of the columns: how far the ends of columns coincide.
c is the correlation over the training rows between what contexts and what the whole table say of
them, q the upper quartile of their evidence, and T₉₉ what 1% of them exceed. Where ends coincide
and contexts agree, many values at the ends of columns are a sign of their own. The evidence of a
row becomes √(e² + o² + t²), see `neighbours`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from admercs.arrays import Bytes, Floats, Ints
from admercs.method.rank_distance import NO_VALUE, OUTWARDS, TOP_RANK, RankDistance

OUTERMOST = 0.01  # the share of the rows that have as much evidence of far ends as there is


class ColumnEnds:
    """What is said of rows whose values are at the lower and upper ends of columns.

    ``weight`` (2 x columns) is that of each end, and ``most`` the most that all together say.
    """

    def __init__(self, weight: Floats, most: float) -> None:
        above = (np.arange(NO_VALUE + 1) > TOP_RANK // 2).astype(np.int64)
        columns = np.flatnonzero(weight.any(axis=0)).tolist()
        # What each byte of a column says, where its ends say anything.
        self._of_bytes = {m: OUTWARDS * weight[above, m] for m in columns}
        self._most = most

    def told(self, profile: Bytes) -> Floats:
        """Return what is said of rows that are given as bytes."""
        return np.minimum(self._most, self._all(profile))

    def credit(self, profile: Bytes, far: Floats) -> Floats:
        """Credit what is said of rows to columns, as far as these say it (columns x rows)."""
        total, credited = self._all(profile), np.zeros(profile.shape)
        share = np.divide(far, total, out=np.zeros_like(far), where=total > 0)
        for m, told in self._of_bytes.items():
            credited[m] = share * told[profile[m]]
        return credited

    def far_out(self, profile: Bytes) -> list[Floats]:
        """Return the squared ranks of rows in the columns whose ends say anything."""
        return [OUTWARDS[profile[m]] for m in self._of_bytes]

    def _all(self, profile: Bytes) -> Floats:
        total = np.zeros(profile.shape[1])
        for m, told in self._of_bytes.items():
            total += told[profile[m]]
        return total


class FarEnds(NamedTuple):
    """What the rows of a table tell of the ends of its columns."""

    weight: Floats  # 2 x columns: of the lower and the upper end, 0 where there is no rank
    alpha: float  # how far the ends of all columns coincide, from 0 to 1
    top: float  # what 1% of the rows exceed, by these weights


def learn_ends(ranks: RankDistance, profile: Bytes, times: Ints) -> FarEnds:
    """Return how much the ends of columns count, given rows as bytes and how often each occurs."""
    ranked = np.flatnonzero(ranks.is_ranked).tolist()
    far = {m: OUTWARDS[profile[m]] for m in ranked}
    total, share = np.zeros(len(times)), times / times.sum()
    for each in far.values():
        total += each
    weight, alone = np.zeros((2, len(ranks.is_nominal))), []
    for m in ranked:
        if np.ptp(far[m]) > 0:
            alone.append(_covariance(share, far[m], far[m]))
            for side in range(2):
                end = np.where((profile[m] > TOP_RANK // 2) == side, far[m], 0.0)
                weight[side, m] = 1 + _correlation(share, end, total - far[m])
    k, spread = len(alone), _covariance(share, total, total)
    if k < 2 or spread <= 0:
        return FarEnds(weight, 0.0, 0.0)
    alpha = max(0.0, k / (k - 1) * (1 - math.fsum(alone) / spread))
    told = ColumnEnds(weight, math.inf).told(profile)
    order = np.argsort(told, kind="stable")
    top = int(np.searchsorted(np.cumsum(times[order]), (1 - OUTERMOST) * times.sum()))
    return FarEnds(weight, alpha, float(told[order[min(top, len(order) - 1)]]))


def _covariance(share: Floats, one: Floats, other: Floats) -> float:
    mean = (float((share * each).sum()) for each in (one, other))
    return float((share * one * other).sum()) - math.prod(mean)


def _correlation(share: Floats, one: Floats, other: Floats) -> float:
    scale = _covariance(share, one, one) * _covariance(share, other, other)
    return _covariance(share, one, other) / math.sqrt(scale) if scale > 0 else 0.0
