"""How far apart the values of a column are, for comparing rows in all columns at once.

Numbers become bytes by their ranks, categories by their codes, so that columns with long tails
count no more than others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Bools, Bytes, Floats, Ints
from admercs.table.bins import Binning, EdgeGrid, encode, make_grid

Distances = NDArray[np.signedinteger]

# Numbers are compared by their rank, from 0 to this; the next byte stands for a missing value.
TOP_RANK = 254
NO_VALUE = 255
# Two categories, or a value and none, are as far apart as two values of which each half of a
# column has one.
UNLIKE = TOP_RANK // 2


class RankDistance(NamedTuple):
    """How the values of each column become bytes: ranks of numbers, codes of categories.

    Facets repeat what their columns say. They are not compared: each of their bytes is 0.
    """

    edges: Floats  # where the bins of numeric columns end, one column after the other
    first: Ints  # of each column's edges, and one past the last
    place: Bytes  # of each code of numeric columns, two more than there are edges
    is_nominal: Bools

    @classmethod
    def of(cls, binning: Binning, code_counts: Sequence[Ints], is_facet: Bools) -> RankDistance:
        """Rank the values of a table, given how often each code of each column occurs."""
        edges, places = [], []
        for m, counts in enumerate(code_counts):
            place = np.full(2, 0 if is_facet[m] else NO_VALUE, np.uint8)
            if not (is_facet[m] or binning.is_nominal[m]):
                place = _places(counts)
            edges.append(np.empty(0) if is_facet[m] else binning.edges[m])
            places.append(place)
        first = np.cumsum([0, *map(len, edges)])
        is_nominal = binning.is_nominal & ~is_facet
        return cls(np.concatenate(edges), first, np.concatenate(places), is_nominal)

    @property
    def is_compared(self) -> Bools:
        """Which columns are compared: only there a missing value has a byte of its own."""
        return self.place[self.first[:-1] + 2 * np.arange(len(self.is_nominal))] == NO_VALUE

    @property
    def n_compared(self) -> int:
        """The number of columns that are compared."""
        return int(np.count_nonzero(self.is_compared))

    def profile(self, values: Floats, grids: Sequence[EdgeGrid | None] = ()) -> Bytes:
        """Return the byte of each value (columns x rows); `grids` save time where there are any."""
        if grids:
            known = zip(values, grids, strict=True)
            return self.of_codes([x if grid is None else grid.encode(x) for x, grid in known])
        codes = zip(values, self._edges, strict=True)
        return self.of_codes([x if own is None else encode(x, own) for x, own in codes])

    def grids(self) -> list[EdgeGrid | None]:
        """Return grids over the edges of the columns that are compared by rank."""
        return [None if own is None else make_grid(own) for own in self._edges]

    def of_codes(self, codes: Sequence[Array]) -> Bytes:
        """Return the byte of each code (columns x rows); nominal codes may be working values."""
        out = np.zeros((len(codes), len(codes[0])), np.uint8)
        for m in np.flatnonzero(self.is_nominal).tolist():
            out[m] = np.minimum(np.nan_to_num(codes[m]), NO_VALUE)
        for m in np.flatnonzero(self._ranked).tolist():
            first, last = self.first[m] + 2 * m, self.first[m + 1] + 2 * m + 2
            np.take(self.place[first:last], codes[m], out=out[m], mode="clip")
        return out

    @property
    def _edges(self) -> list[Floats | None]:
        """The edges of the columns that are compared by rank."""
        own = zip(self._ranked.tolist(), pairwise(self.first.tolist()), strict=True)
        return [self.edges[slice(*some)] if ranked else None for ranked, some in own]

    @property
    def _ranked(self) -> Bools:
        """Which columns are compared by rank."""
        return self.is_compared & ~self.is_nominal

    def differences(self, one: Bytes, other: Bytes) -> Iterator[NDArray[np.int16]]:
        """Yield column by column how far apart rows of two profiles are (one x other).

        The same array each time: what is yielded is good until the next column.
        """
        apart = np.empty((one.shape[1], other.shape[1]), np.int16)
        pair = one.astype(np.int16)[:, :, None], other.astype(np.int16)[:, None, :]
        for own, theirs, nominal in zip(*pair, self.is_nominal, strict=True):
            if nominal:
                np.multiply(own != theirs, np.int16(UNLIKE), out=apart)
            else:
                np.abs(np.subtract(own, theirs, out=apart), out=apart)
                if own.max() == NO_VALUE or theirs.max() == NO_VALUE:
                    apart[(own == NO_VALUE) != (theirs == NO_VALUE)] = UNLIKE
            yield apart

    def apart(self, own: Bytes, theirs: Bytes) -> NDArray[np.int16]:
        """Return how far apart the rows of two profiles are, pair by pair (columns x pairs)."""
        nominal = self.is_nominal
        apart = np.where(nominal[:, None], 0, np.abs(own.astype(np.int16) - theirs))
        is_unlike = (own == NO_VALUE) != (theirs == NO_VALUE)
        is_unlike[nominal] = own[nominal] != theirs[nominal]
        apart[is_unlike] = UNLIKE
        return apart

    def distances(self, one: Bytes, other: Bytes) -> Distances:
        """Return how far apart rows of one profile are from those of another (one x other)."""
        away = np.zeros((one.shape[1], other.shape[1]), distance_type(len(one)))
        for apart in self.differences(one, other):
            away += apart
        return away


def distance_type(n_columns: int, n_counted: int = 0) -> type[np.int16] | type[np.int32]:
    """Return the type of distances: few columns fit into two bytes, which are added up faster."""
    # Rows that fill up a turn of a loop are further away than any other, and their ranks are added.
    most = max(2 * (TOP_RANK + 1) * n_columns, n_counted)
    return np.int16 if most < np.iinfo(np.int16).max else np.int32


def _places(counts: Ints) -> Bytes:
    """Return the place of each code: the middle rank of the values that have it."""
    counts = counts.copy()
    counts[0] = 0  # missing values have no rank
    middle = np.cumsum(counts) - counts / 2
    place = np.rint(TOP_RANK * middle / max(1, counts.sum())).astype(np.uint8)
    place[0] = NO_VALUE
    return place
