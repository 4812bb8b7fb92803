"""The steps from counted rows to the likelihoods of a target.

Codes are counted → `start_target` places grids → values are counted on them → `check_grids` finds
better ones if need be, on which they are counted again → `finish_target`. Nominal and discrete
targets need their counted codes only (`of_counts`). In between is nothing but counting.
"""

from __future__ import annotations

from collections.abc import Callable
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
)
from admercs.density.smoothing import Limits
from admercs.density.tables import tabulate
from admercs.method.settings import Density
from admercs.table.columns import Column

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


def finish_target(start: Start, counted: ValueCounts, shares: Shares = ()) -> Likelihoods:
    """Estimate the densities from the values counted on the last grids."""
    grids, settings = start.grids, start.settings
    spread = start.spread or measure(counted, grids)
    bandwidth = select_bandwidths(counted, grids, spread, start.central, settings.min_distinct)
    mirrors = _mirrors(grids, start.limits) if settings.heavy_share else (-np.inf, np.inf)
    tables = tabulate(counted, grids, spread.n, bandwidth, settings, mirrors)
    first = slice(0, int(counted.ptr[1]))
    width = float(grids.width[0])
    places = grids.left[0] + counted.cell[first] * width
    outer = outer_values(places, counted.weight[first], ONE, width, shares)
    return of_tables(start.counts, bandwidth, tables, outer, settings)


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
