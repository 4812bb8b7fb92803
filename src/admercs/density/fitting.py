"""The steps from counted rows to the likelihoods of a target.

Codes are counted → `start_target` places grids → values are counted on them → `check_grids` finds
better ones if need be, on which they are counted again → `finish_targets`. Nominal and discrete
targets need their counted codes only (`of_counts`). In between is nothing but counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from admercs.arrays import Codes, Floats, Ints
from admercs.density.bandwidth import Spread, measure, regrid, select_bandwidths
from admercs.density.counts import ONE, ValueCounts
from admercs.density.grids import Grids, code_shift, place_grids
from admercs.density.likelihoods import (
    CONTINUOUS,
    DISCRETE,
    Likelihoods,
    Shares,
    column_kind,
    n_values,
    of_tables,
    outer_values,
    part_slots,
)
from admercs.density.ragged import pointers
from admercs.density.smoothing import Ends, Limits
from admercs.density.tables import tabulate
from admercs.method.settings import Density
from admercs.table.columns import Column

_TOGETHER = 256  # slots: estimated in one go they stay in the cache
_OUT_OF_SIGHT = 1000.0  # widths of the column's core; no kernel reaches that far


class Start(NamedTuple):
    """What follows from the counts of a continuous target's codes."""

    counts: Ints  # slots x codes
    grids: Grids  # on which to count its values
    limits: Limits  # its smallest and its largest value
    central: float  # width of its central range
    settings: Density
    spread: Spread | None = None  # of the values counted on its grids, if they fit


def start_target(counts: Ints, edges: Floats, limits: Limits, settings: Density) -> Start:
    """Place a grid for each slot of a continuous target where its codes say that its values are."""
    grids = place_grids(counts, edges, limits, code_shift(len(edges) + 1))
    return Start(counts, grids, limits, float(grids.central[0]), settings)


def check_grids(start: Start, counted: ValueCounts) -> Start:
    """Note the spread of the values counted on the first grids, or place better grids."""
    spread = measure(counted, start.grids)
    better = regrid(spread, start.grids)
    return start._replace(spread=spread) if better is None else start._replace(grids=better)


def finish_targets(
    starts: Sequence[Start], counted: Sequence[ValueCounts], shares: Shares = ()
) -> Iterator[Likelihoods]:
    """Estimate the densities from the values counted on the last grids.

    Targets of few slots are estimated together: every call works on all slots of these.
    """
    ends = np.cumsum([len(start.counts) for start in starts]) // _TOGETHER
    for group in np.split(np.arange(len(starts)), np.flatnonzero(np.diff(ends)) + 1):
        yield from _finish([starts[k] for k in group], [counted[k] for k in group], shares)


def _finish(
    starts: Sequence[Start], counted: Sequence[ValueCounts], shares: Shares
) -> list[Likelihoods]:
    if not starts:
        return []
    settings, n_slots = starts[0].settings, [len(start.counts) for start in starts]
    pairs = list(zip(starts, counted, strict=True))
    spreads = [start.spread or measure(values, start.grids) for start, values in pairs]
    spread = Spread._make(map(np.concatenate, zip(*spreads, strict=True)))
    left, width, size = (
        np.concatenate(arrays)
        for arrays in zip(
            *((s.grids.left, s.grids.width, s.grids.size) for s in starts), strict=True
        )
    )
    cell, weight, filled = (
        np.concatenate(arrays)
        for arrays in zip(*((c.cell, c.weight, np.diff(c.ptr)) for c in counted), strict=True)
    )
    grids, values = Grids(left, width, pointers(size)), ValueCounts(pointers(filled), cell, weight)
    central = np.repeat([start.central for start in starts], n_slots)
    bandwidth = select_bandwidths(values, grids, spread, central, settings.min_distinct)
    mirrors: Ends = np.full(len(left), -np.inf), np.full(len(left), np.inf)
    if settings.heavy_share:
        ends = np.array([_mirrors(start.grids, start.limits) for start in starts])
        mirrors = np.repeat(ends[:, 0], n_slots), np.repeat(ends[:, 1], n_slots)
    tables = tabulate(values, grids, spread.n, bandwidth, settings, mirrors)
    rows = np.concatenate([_rows(start.counts) for start in starts])
    outer = [_outer(*pair, shares) for pair in pairs]
    return part_slots(of_tables(rows, bandwidth, tables, outer[0], settings), n_slots, outer)


def _rows(counts: Ints) -> Ints:
    """Return how many rows of each slot have no value, and how many have one."""
    return np.stack([counts[:, 0], counts[:, 1:].sum(axis=1)], axis=1)


def _outer(start: Start, counted: ValueCounts, shares: Shares) -> Floats:
    """Return the outermost values of a column, see `outer_values`."""
    first, width = slice(0, int(counted.ptr[1])), float(start.grids.width[0])
    places = start.grids.left[0] + counted.cell[first] * width
    return outer_values(places, counted.weight[first], ONE, width, shares)


def _mirrors(grids: Grids, limits: Limits) -> Limits:
    """Return where a column's densities are reflected: at its ends, if it ends among its values."""
    # An end far out in a thin tail is a single row, which a mirror there would only double.
    width = float(grids.width[0] * grids.size[0])
    core = float(grids.left[0]), float(grids.left[0]) + width
    low = limits[0] if limits[0] >= core[0] else limits[0] - _OUT_OF_SIGHT * width
    high = limits[1] if limits[1] <= core[1] else limits[1] + _OUT_OF_SIGHT * width
    return low, high


def code_layout(column: Column, edges: Floats) -> tuple[int, int]:
    """Return (number of codes to count, 0 included; bits of a code to drop) for a column."""
    if column_kind(column) != CONTINUOUS:
        return n_values(column) + 1, 0
    shift = code_shift(len(edges) + 1)
    return (len(edges) >> shift) + 2, shift


def target_codes(
    column: Column, edges: Floats, codes: Codes, values: Callable[[], Floats]
) -> Codes:
    """Return codes that tell all values of a discrete column apart, if ``max_bins`` joins some."""
    if column_kind(column) != DISCRETE or len(edges) == len(column.distinct) - 1:
        return codes
    x = values()
    return np.where(np.isnan(x), 0, 1 + np.searchsorted(column.distinct, x)).astype(np.uint16)
