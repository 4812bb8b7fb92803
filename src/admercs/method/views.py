"""How likely the values of a block of rows look, while the steps are applied to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Bytes, Floats, Ints, ShortInts

# Whose view of a value has the strongest evidence: its leaf's, an ancestor's, the table's, or that
# of a relation to other values of its row.
OWN, ANCESTOR, MARGINAL, RELATION = 0, 1, 2, 3


class BlockViews(NamedTuple):
    """A block of rows; arrays are columns x rows, and all but two are written to by steps."""

    leaf: ShortInts
    block: Floats  # working values
    log_omega: Floats  # log ω by the leaf's scoring node, or by an ancestor
    marginal: Floats  # log ω in the whole table
    far: list[tuple[int, Ints, Floats]]  # log ω by a column's tails: column, rows, values
    speaker: Bytes  # OWN or ANCESTOR so far
    # The attribute of the relation whose view counts; empty where there are no relations.
    relation: ShortInts = np.empty(0, np.int32)

    def lower_far(self) -> None:
        """Lower ``marginal`` to what the tails say."""
        for m, rows, far in self.far:
            self.marginal[m, rows] = np.minimum(self.marginal[m, rows], far)
