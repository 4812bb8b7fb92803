"""What a growing tree and the rows tell each other: what to count, and how to part rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Bools, Ints
from admercs.table.bins import Binning

Hist = NDArray[np.signedinteger]


class Look(NamedTuple):
    """Some inputs of a tree, to be counted in a node."""

    places: Ints  # among the inputs of the tree, ascending
    columns: Ints
    offsets: Ints  # where the codes of each start in the histogram, and where the last ones end


class Layout(NamedTuple):
    """The inputs of a tree: the columns that its conditions may be about."""

    inputs: Ints  # their numbers, ascending
    n_codes: Ints
    is_nominal: Bools
    candidates: int  # how many thresholds there are to choose from

    def look(self, places: Ints) -> Look:
        """Return what is to be counted of some inputs."""
        offsets = np.concatenate([[0], np.cumsum(self.n_codes[places])])
        return Look(places, self.inputs[places], offsets)


class Counted(NamedTuple):
    """The rows of a node: how many, per code of the inputs looked at, and their target added up."""

    n: int
    hist: Hist
    totals: Ints  # of targets of moments; those of classes are known before


class SplitOrder(NamedTuple):
    """How a piece parts its rows at a split, and what it counts in the halves."""

    node: int
    column: int
    is_left: Bools  # which codes go left
    children: tuple[int, int]
    looks: tuple[Look | None, Look | None]  # None: the half is a leaf


def layout_of(binning: Binning, allowed: Ints, inputs: Ints) -> Layout:
    """Return the layout of some inputs, chosen among those that are allowed."""
    n_codes = binning.n_codes.astype(np.int64)
    # Thresholds lie between the codes of a column; code 0 is missing. The price of a split is for
    # the choice among all columns that were looked at in any way.
    candidates = int((n_codes[allowed] - 2).sum())
    return Layout(inputs, n_codes[inputs], binning.is_nominal[inputs], candidates)
