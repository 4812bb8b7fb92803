"""How far apart two rows are: each value is a byte, and distances are sums of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.table.bins import Binning
from admercs.table.encoding import encode

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

# Numbers are compared by their rank, from 0 to this; the next byte stands for a missing value.
TOP_RANK = 254
NO_VALUE = 255
# Two categories, or a value and none, are as far apart as two values of which each half of a
# column has one.
UNLIKE = TOP_RANK // 2


class RankDistance(NamedTuple):
    """How the values of each column become bytes: ranks of numbers, codes of categories."""

    edges: Floats  # where the bins of numeric columns end, one column after the other
    first: NDArray[np.int64]  # of each column's edges, and one past the last
    place: Bytes  # of each code of numeric columns, two more than there are edges
    is_nominal: NDArray[np.bool_]

    @classmethod
    def of(cls, binning: Binning, values: Floats) -> RankDistance:
        """Rank the values of a table (columns x rows)."""
        n_edges = [len(edges) for edges in binning.edges]
        places = [
            np.full(2, NO_VALUE, np.uint8) if nominal else _places(encode(column, edges), n + 2)
            for column, edges, n, nominal in zip(
                values, binning.edges, n_edges, binning.is_nominal, strict=True
            )
        ]
        return cls(
            np.concatenate([np.empty(0), *binning.edges]),
            np.cumsum([0, *n_edges]),
            np.concatenate([np.empty(0, np.uint8), *places]),
            binning.is_nominal,
        )

    def profile(self, values: Floats) -> Bytes:
        """Return the byte of each value (columns x rows)."""
        out = np.empty(values.shape, np.uint8)
        for m, column in enumerate(values):
            if self.is_nominal[m]:
                out[m] = np.minimum(np.nan_to_num(column), NO_VALUE)
            else:
                first, last = self.first[m], self.first[m + 1]
                place = self.place[first + 2 * m : last + 2 * m + 2]
                out[m] = place[encode(column, self.edges[first:last])]
        return out

    def differences(self, one: Bytes, other: Bytes) -> Iterator[NDArray[np.int16]]:
        """Yield column by column how far apart rows of two profiles are (one x other).

        The same array each time: what is yielded is good until the next column.
        """
        apart = np.empty((one.shape[1], other.shape[1]), np.int16)
        for own, theirs, nominal in zip(
            one.astype(np.int16)[:, :, None], other.astype(np.int16)[:, None, :],
            self.is_nominal, strict=True,
        ):  # fmt: skip
            if nominal:
                np.multiply(own != theirs, np.int16(UNLIKE), out=apart)
            else:
                np.abs(np.subtract(own, theirs, out=apart), out=apart)
                if own.max() == NO_VALUE or theirs.max() == NO_VALUE:
                    apart[(own == NO_VALUE) != (theirs == NO_VALUE)] = UNLIKE
            yield apart

    def distances(self, one: Bytes, other: Bytes) -> NDArray[np.signedinteger]:
        """Return how far apart rows of one profile are from those of another (one x other)."""
        # Few columns fit into two bytes, and those are added up faster.
        small = np.int16 if TOP_RANK * len(one) < np.iinfo(np.int16).max else np.int32
        away = np.zeros((one.shape[1], other.shape[1]), small)
        for apart in self.differences(one, other):
            away += apart
        return away


def _places(codes: NDArray[np.unsignedinteger], n_codes: int) -> Bytes:
    """Return the place of each code: the middle rank of the values that have it."""
    counts = np.bincount(codes, minlength=n_codes)
    counts[0] = 0  # missing values have no rank
    middle = np.cumsum(counts) - counts / 2
    place = np.rint(TOP_RANK * middle / max(1, counts.sum())).astype(np.uint8)
    place[0] = NO_VALUE
    return place
