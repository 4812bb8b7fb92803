"""How likely the values of a block of rows look, while the steps are applied to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Bytes, Floats, Ints, ShortInts

# Whose view of a value has the strongest evidence: its leaf's, an ancestor's, the table's.
OWN, ANCESTOR, MARGINAL = 0, 1, 2


class BlockViews(NamedTuple):
    """A block of rows; arrays are columns x rows, and the last four are written to by steps."""

    leaf: ShortInts
    block: Floats  # working values
    log_omega: Floats  # log ω by the leaf's scoring node, or by an ancestor
    marginal: Floats  # log ω in the whole table
    far: list[tuple[int, Ints, Floats]]  # log ω by a column's tails: column, rows, values
    speaker: Bytes  # OWN or ANCESTOR so far

    def lower_far(self) -> None:
        """Lower ``marginal`` to what the tails say."""
        for m, rows, far in self.far:
            self.marginal[m, rows] = np.minimum(self.marginal[m, rows], far)
