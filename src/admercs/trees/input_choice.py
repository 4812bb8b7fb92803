"""Which inputs of a node are worth counting on all rows.

A node is looked at on a sample of rows first, with some 32 cells per input: where the tree has
split an input above, the cells are as much finer. The few inputs with the largest gains are then
counted on all rows and in all their bins, and only these can be split on. In wide tables, the
children of the root's children look at the better half of the inputs of their parent, and so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Array, Codes, Floats, Ints
from admercs.trees.criteria import ENTROPY, XLOGX, TreeTarget, purity, xlogx
from admercs.trees.node_rows import NodeRows, add_rows
from admercs.trees.split_orders import Layout, Look, SplitOrder
from admercs.trees.splitting import NOTHING, best_subset, room_for


class Outlook(NamedTuple):
    """What an open node looks at."""

    places: Ints  # of inputs
    low: Ints  # the codes that the conditions above leave to each input of the tree: the lowest …
    high: Ints  # … and the highest


class InputChoice:
    """The sampled rows in the nodes of one tree while it grows."""

    def __init__(self, codes: Codes, target: TreeTarget, layout: Layout) -> None:
        self._codes, self._target, self._layout = codes, target, layout
        self._rows = NodeRows.start(codes, target)
        self._share = codes.shape[1] / target.n_rows
        self._has_nominal = bool(layout.is_nominal.any())
        places, low = np.arange(len(layout.inputs)), np.ones_like(layout.n_codes)
        self._open = {0: Outlook(places, low, layout.n_codes - 1)}
        self._settings = target.settings.search
        self._room = np.empty((self._settings.cells + 2, target.width), np.int64)

    def part(self, order: SplitOrder, place: int, code: int) -> None:
        """Part the rows of a node at a split."""
        self._rows.part(self._codes, order)
        outlook, (left, right) = self._open.pop(order.node), order.children
        self._open[left] = self._open[right] = outlook
        if not self._layout.is_nominal[place]:
            low, high = outlook.low, outlook.high
            below, above = high.copy(), low.copy()
            below[place], above[place] = max(code, low[place]), min(code + 1, high[place])
            self._open[left] = outlook._replace(high=below)
            self._open[right] = outlook._replace(low=above)

    def choose(self, node: int) -> Ints | None:
        """Return the places of the inputs to count at a node; None if no split can pay."""
        target, gains, outlook = self._target, self._gains(node), self._open[node]
        settings, most = self._settings, float(gains.max())
        price = target.settings.price if node == 0 else target.group_price
        if not target.pays(settings.may_be * most / self._share, self._layout.candidates, price):
            return None
        best = np.argsort(-gains, kind="stable")
        if node > 0:
            few = np.sort(best[: max(settings.least, len(outlook.places) // 2)])
            self._open[node] = outlook._replace(places=few)
        best = best[: settings.closer]
        return np.sort(best[gains[best] >= settings.near * most])

    def _gains(self, node: int) -> Floats:
        """Return how much purer the node would be if it were split on each input."""
        target, layout, mine = self._target, self._layout, self._rows.at[node]
        rows, values = self._rows.rows[mine], self._rows.target[mine]
        totals = np.bincount(values, minlength=target.n_classes)
        least = max(1, int(target.min_leaf * self._share))
        places, low, high = self._open[node]
        # As many bits are dropped as leave at most `cells` cells.
        shift = np.frexp((high - low) // self._settings.cells)[1].astype(np.int64)
        pure = np.full(len(layout.inputs), NOTHING)
        numeric, nominal = places, places[:0]
        if self._has_nominal:
            is_nominal = layout.is_nominal[places]
            numeric, nominal = places[~is_nominal], places[is_nominal]
        if len(numeric):
            threshold_purities(
                self._codes, layout.inputs, numeric, low, high, shift, rows, values, totals, least,
                XLOGX, self._room, pure,
            )  # fmt: skip
        if len(nominal):
            look = layout.look(nominal)
            pure[nominal] = self._subset_purities(rows, values, totals, least, look)
        return pure - purity(totals, ENTROPY)

    def _subset_purities(
        self, rows: Array, values: Array, totals: Ints, least: int, look: Look
    ) -> Floats:
        """Return the purities that splits on nominal inputs reach."""
        target = self._target
        hist = np.zeros(look.offsets[-1] * target.width, np.int32)
        add_rows(self._codes, look.columns, rows, values, target.width, look.offsets, False, hist)
        pure = np.full(len(look.columns), NOTHING)
        room = room_for(target.width, int(np.diff(look.offsets).max()))
        best_subset(
            hist, totals, look.offsets, np.ones(len(pure), np.bool_), ENTROPY, least, XLOGX,
            target.ordered, target.missing_class, self._settings.orders, *room, pure,
        )  # fmt: skip
        return pure


@kernel
def threshold_purities(  # type: ignore[no-untyped-def]
    codes, inputs, places, lowest, highest, shift, rows, classes, totals, min_leaf, table, hist,
    pure_of,
):  # fmt: skip
    """Write the largest purity that a threshold of each of some numeric inputs reaches.

    `lowest` and `highest` are the codes that are left to an input, `shift` is how many bits of a
    code are dropped. Rows of `hist`: the left side, then the cells.
    """
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    width, one, left_side = np.uint64(len(totals)), np.uint64(1), np.uint64(0)
    n_rows, whole = np.int64(len(rows)), 0.0
    for s in range(width):
        whole += xlogx(totals[s], table)
    for k in range(len(places)):
        f = np.uint64(places[k])
        column, low, bits = codes[np.uint64(inputs[f])], np.uint64(lowest[f]), np.uint64(shift[f])
        low -= one
        up = (one << bits) - one
        last = (np.uint64(highest[f]) - low + up) >> bits
        for cell in range(last + one):
            for s in range(width):
                hist[cell + one, s] = 0
        for i in range(np.uint64(len(rows))):
            code = np.uint64(column[np.uint64(rows[i])])
            # Missing stays in the first cell: no other code is as low as that.
            code = code if code > low else low
            place = ((code - low + up) >> bits) + one
            hist[place, np.uint64(classes[i])] += 1
        best = -np.inf
        for first in range(2):  # with missing values on the left, and on the right
            parts = whole
            for s in range(width):
                hist[left_side, s] = 0
            n_left = np.int64(0)
            for cell in range(np.uint64(first), last):
                before = n_left
                for s in range(width):
                    more = hist[cell + one, s]
                    if more != 0:
                        left = hist[left_side, s]
                        right = totals[s] - left
                        hist[left_side, s] = left + more
                        n_left += more
                        parts += xlogx(left + more, table) - xlogx(left, table)
                        parts += xlogx(right - more, table) - xlogx(right, table)
                if n_rows - n_left < min_leaf or (cell == 0 and n_left == 0):
                    break  # nothing is missing: the second turn is the only one
                if n_left >= min_leaf and n_left > before:
                    pure = parts - xlogx(n_left, table) - xlogx(n_rows - n_left, table)
                    best = pure if pure > best else best
        pure_of[f] = best
