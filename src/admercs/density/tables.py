"""Kernel densities as small tables of log κ.

All densities here are relative to the *floor* K_h(0) / n, the density at an isolated row: the log
density of an isolated row is 0 at its peak, and what is below 0 need not be kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.density.arrays import Floats, Ints, pointers
from admercs.density.counts import ValueCounts
from admercs.density.grids import Grids
from admercs.density.smoothing import choose_runs, join_cells, lay_out, read_levels, spread_rows

_CELLS = 32  # joined cells per bandwidth, up to twice as many
_FINE = 8  # table points per bandwidth ...
_COARSE = 5  # ... and where the table would get too long
_CUT = 1e-5  # kernels end where all rows together would reach this share of the floor


class Tables(NamedTuple):
    """Log density of each slot, relative to its floor, at equally spaced points.

    A slot's points lie in segments; between two segments the floor holds. ``level`` and ``mass``
    say how many rows have which log density, which is what a threshold needs.
    """

    log_floor: Floats  # per slot: log(K_h(0) / n), in units of the column
    step: Floats  # per slot: spacing of the points
    segment_ptr: Ints  # slots + 1
    segment_start: Floats  # value of the first point of each segment
    table_ptr: Ints  # segments + 1
    table: Floats
    level_ptr: Ints  # slots + 1
    level: Floats
    mass: Floats


class _Layout(NamedTuple):
    """Blocks of points (see ``lay_out``) and their spacing and the reach of a kernel per slot."""

    spacing: Ints  # in cells
    reach: Ints  # in points
    block_ptr: Ints
    origin: Ints
    at: Ints


def max_points(n: Floats) -> Ints:
    """Return how many table points a slot of n rows may have.

    Two thousand hold any ordinary leaf; a root of a million rows has a long thin tail worth
    keeping. Where more would be needed, the least dense parts of the table fall to the floor.

    >>> max_points(np.array([10, 100, 1e5, 1e9]))
    array([  640,  2048, 10000, 16384])
    """
    return np.clip(n / 10, np.minimum(64 * n, 2048), 16384).astype(np.int64)


def tabulate(counts: ValueCounts, grids: Grids, n: Floats, bandwidth: Floats) -> Tables:
    """Tabulate the kernel density of each slot.

    Every occupied cell spreads a Gaussian over the table points around it. Cells are first joined
    to 1/32 of a bandwidth or less. Sharing rows between cells (linear binning) widens the kernel
    by a sixth of a squared cell; the Gaussian is narrowed by as much.

    Parameters
    ----------
    counts, grids
        The counted values.
    n : array of slots
        Rows with a value.
    bandwidth : array of slots
        At least 16 cells each.
    """
    rows = np.maximum(n, 1.0)
    cap = max_points(rows)
    shift = np.maximum(np.floor(np.log2(bandwidth / grids.width / _CELLS)), 0).astype(np.int64)
    width = grids.width * 2.0**shift
    ptr, cell, mass = _join(counts, shift)
    layout = _lay_out(ptr, cell, bandwidth / width, rows, cap)
    blocks = (layout.block_ptr, layout.origin, layout.at)

    density = np.zeros(int(layout.at[-1]))
    spread_rows(ptr, cell, mass, layout.spacing, layout.reach, bandwidth / width, *blocks, density)
    # What is far below the floor is never looked at; keep it finite.
    log_density = np.log(np.maximum(density, 1e-6))
    level = np.empty(len(cell))
    read_levels(ptr, cell, layout.spacing, *blocks, log_density, level)

    segment_ptr = np.zeros(len(n) + 1, dtype=np.int64)
    # A run has at least five points.
    runs = np.empty((int(cap.sum()) // 5 + 2 * len(n), 3), dtype=np.int64)
    n_runs = choose_runs(log_density, layout.block_ptr, layout.at, cap, segment_ptr, runs)
    block, begin, end = runs[:n_runs].T
    size = end - begin
    slots = np.repeat(np.arange(len(n)), np.diff(segment_ptr))
    step = layout.spacing.astype(np.float64) * width
    first = layout.origin[block] + begin - layout.at[block]
    table_ptr = pointers(size)
    kept = np.arange(table_ptr[-1]) + np.repeat(begin - table_ptr[:-1], size)
    return Tables(
        log_floor=-np.log(rows * bandwidth * np.sqrt(2 * np.pi)),
        step=step,
        segment_ptr=segment_ptr,
        segment_start=grids.left[slots] + first * step[slots],
        table_ptr=table_ptr,
        table=log_density[kept],
        level_ptr=ptr,
        level=level,
        mass=mass,
    )


def _join(counts: ValueCounts, shift: Ints) -> tuple[Ints, Ints, Floats]:
    """Join the cells of each slot (see ``join_cells``)."""
    # Joining may share a cell between two, and rows far out take one more.
    room = 2 * len(counts.cell) + len(shift)
    ptr = np.zeros(len(shift) + 1, dtype=np.int64)
    cell, mass = np.empty(room, dtype=np.int64), np.empty(room)
    used = join_cells(counts.ptr, counts.cell, counts.weight, shift, ptr, cell, mass)
    return ptr, cell[:used], mass[:used]


def _lay_out(ptr: Ints, cell: Ints, h: Floats, rows: Floats, cap: Ints) -> _Layout:
    """Lay out table points, fine ones where they are not too many."""
    reach = np.sqrt(2 * np.log(rows / _CUT)) * h
    spacing = (h / _FINE).astype(np.int64)
    for _ in range(2):
        layout = _Layout(
            spacing,
            (reach / spacing).astype(np.int64) + 1,
            np.zeros(len(h) + 1, dtype=np.int64),
            np.empty(len(cell), dtype=np.int64),
            np.zeros(len(cell) + 1, dtype=np.int64),
        )
        n_blocks = lay_out(ptr, cell, *layout)
        layout = layout._replace(origin=layout.origin[:n_blocks], at=layout.at[: n_blocks + 1])
        long = np.diff(layout.at[layout.block_ptr]) > cap
        if not long.any():
            break
        spacing = np.where(long, (h / _COARSE).astype(np.int64), spacing)
    return layout
