"""Steps of a kernel density: join cells, lay out points, spread the rows, read them.

Each step works on all slots of a target. Lengths are in cells; densities are relative to the floor
k(0) / n, so an isolated row has density 1 at its own value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints, pointers
from admercs.density.counts import FAR

NEGLIGIBLE = 1.001
"""What is not this many times the floor is the floor."""


class Cells(NamedTuple):
    """Rows per cell, cells of a slot in ascending order."""

    ptr: Ints
    cell: Ints
    mass: Floats


class Blocks(NamedTuple):
    """Points around the cells of each slot; they are multiples of the slot's spacing.

    Block b has the points origin[b], origin[b] + 1, …, at positions at[b] … at[b + 1] − 1 of one
    long array. The blocks of a slot do not overlap.
    """

    ptr: Ints  # slots + 1
    slot: Ints  # per block
    origin: Ints
    size: Ints
    at: Ints  # blocks + 1


class Places(NamedTuple):
    """Where each cell lies among the points."""

    at: Ints  # position of the point at or below the cell; -1 for cells in no block
    phase: Ints  # cells from there


def join_cells(cells: Cells, shift: Ints) -> Cells:
    """Join 2 ** shift cells of a slot into one, again by linear binning.

    Rows beyond the last cell that can be told from its neighbours come last, in cell ``FAR``.
    """
    room = 2 * len(cells.cell) + len(shift)
    ptr, cell, mass = np.zeros_like(cells.ptr), np.empty(room, dtype=np.int64), np.empty(room)
    used = _join(*cells, shift, ptr, cell, mass)
    return Cells(ptr, cell[:used], mass[:used])


@kernel
def _join(
    ptr: Ints, cell: Ints, mass: Floats, shift: Ints, out_ptr: Ints, joined: Ints, rows: Floats
) -> int:  # fmt: skip
    """Write the joined cells and where each slot's end; return how many there are."""
    used = 0
    for slot in range(len(shift)):
        far, by = 0.0, shift[slot]
        factor = 1.0 / (1 << by)
        here, mass_here, mass_next = np.int64(0), 0.0, 0.0  # of the cells `here` and `here + 1`
        for p in range(ptr[slot], ptr[slot + 1]):
            if abs(cell[p]) >= FAR:
                far += mass[p]
                continue
            lower = cell[p] >> by
            while lower > here and (mass_here > 0 or mass_next > 0):
                if mass_here > 0:
                    joined[used], rows[used] = here, mass_here
                    used += 1
                here, mass_here, mass_next = here + 1, mass_next, 0.0
            here = lower
            upper = (cell[p] - (lower << by)) * factor * mass[p]
            mass_here += mass[p] - upper
            mass_next += upper
        for last in (mass_here, mass_next):
            if last > 0:
                joined[used], rows[used] = here, last
                used += 1
            here += 1
        if far > 0:
            joined[used], rows[used] = FAR, far
            used += 1
        out_ptr[slot + 1] = used
    return used


def lay_out(cells: Cells, spacing: Ints, reach: Ints, align: int) -> tuple[Blocks, Places]:
    """Cover all cells of a slot and their surroundings with blocks of points.

    Up to two points at either end, a block begins and ends at a multiple of ``align``, a power of two.
    """
    n_slots, n_cells = len(spacing), len(cells.cell)
    ptr, slot, origin, size = np.zeros(n_slots + 1, np.int64), *np.empty((3, n_cells), np.int64)
    places = Places(*np.empty((2, n_cells), np.int64))
    n = _lay_out(cells.ptr, cells.cell, spacing, reach, align, ptr, slot, origin, size, *places)
    return Blocks(ptr, slot[:n], origin[:n], size[:n], pointers(size[:n])), places


@kernel
def _lay_out(
    ptr: Ints, cell: Ints, spacing: Ints, reach: Ints, align: int,
    block_ptr: Ints, block_slot: Ints, origin: Ints, size: Ints, at: Ints, phase: Ints,
) -> int:  # fmt: skip
    """Write the blocks and where the cells lie; return how many blocks there are."""
    n_blocks, before = 0, 0  # points of all blocks that are complete
    spare = 2 if align > 1 else 0
    for slot in range(len(spacing)):
        for p in range(ptr[slot], ptr[slot + 1]):
            at[p], phase[p] = -1, 0
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            first = ((point - reach[slot]) & -align) - spare
            last = ((point + reach[slot] + align) & -align) + spare
            is_new = n_blocks == block_ptr[slot]
            if is_new or first > origin[n_blocks - 1] + size[n_blocks - 1] - 1:
                if n_blocks > 0:
                    before += size[n_blocks - 1]
                block_slot[n_blocks], origin[n_blocks] = slot, first
                n_blocks += 1
            size[n_blocks - 1] = last - origin[n_blocks - 1] + 1
            at[p] = before + point - origin[n_blocks - 1]
            phase[p] = cell[p] - point * spacing[slot]
        block_ptr[slot + 1] = n_blocks
    return n_blocks


@kernel
def spread_rows(
    ptr: Ints, mass: Floats, at: Ints, phase: Ints, spacing: Ints, reach: Ints, h: Floats,
    height: Floats, width: Floats, shape: Floats, density: Floats,
) -> None:  # fmt: skip
    """Add up the kernels of all cells at the points around them.

    The kernel is a sum of Gaussians with the given heights, of ``width`` times the bandwidth each; ``shape``
    has room for it.
    """
    for slot in range(len(h)):
        gap = spacing[slot]
        back = reach[slot]
        n_points = 2 * back + 2
        for t in range(gap * n_points):
            shape[t] = 0.0
        for part in range(len(height)):
            sigma = h[slot] * width[part]
            # Linear binning has widened every row by a sixth of a squared cell.
            variance = sigma * sigma - 1 / 6
            top = height[part] * sigma / math.sqrt(variance)
            if top == 0:
                continue
            shrink = math.exp(-gap * gap / variance)
            for step in range(gap):
                # exp(−distance² / 2 variance), each from the one before.
                distance = -back * gap - step
                value = top * math.exp(-0.5 * distance * distance / variance)
                ratio = math.exp(-(distance + 0.5 * gap) * gap / variance)
                for t in range(step * n_points, (step + 1) * n_points):
                    shape[t] += value
                    value *= ratio
                    ratio *= shrink
        p = ptr[slot]
        while p < ptr[slot + 1]:
            if at[p] >= 0:
                # Two cells between the same points go together: the density is read and written once.
                q = p + 1 if p + 1 < ptr[slot + 1] and at[p + 1] == at[p] else p
                more = mass[q] if q > p else 0.0
                # Slices of known length let the compiler use vector instructions.
                here = density[at[p] - back : at[p] - back + n_points]
                around = shape[phase[p] * n_points : (phase[p] + 1) * n_points]
                beside = shape[phase[q] * n_points : (phase[q] + 1) * n_points]
                for t in range(n_points):
                    here[t] = (here[t] + mass[p] * around[t]) + more * beside[t]
                p = q
            p += 1


def read_levels(places: Places, spacing: Ints, log_density: Floats) -> Floats:
    """Return the log density at each cell: the table read as the look-up will read it.

    ``spacing`` is that of each cell's slot.
    """
    level = np.empty(len(places.at))
    _read_levels(places.at, places.phase, spacing, log_density, level)
    return level


@kernel
def _read_levels(at: Ints, phase: Ints, spacing: Ints, y: Floats, level: Floats) -> None:
    least = math.log(NEGLIGIBLE)
    for p in range(len(at)):
        level[p] = 0.0
        if at[p] < 0:
            continue
        i, t = at[p], phase[p] / spacing[p]
        outer, inner = t * (t - 1) / 6, (t + 1) * (t - 2) / 2  # as in `cubic`
        value = y[i + 2] * outer * (t + 1) - y[i - 1] * outer * (t - 2)
        value = value + y[i] * inner * (t - 1) - y[i + 1] * inner * t
        if value > least:
            level[p] = value


def interpolate(table: Floats, i: Ints, t: Floats) -> Floats:
    """Read a table between its points i and i + 1, at a part ``t`` of the way."""
    value: Floats = cubic(table[i - 1], table[i], table[i + 1], table[i + 2], t)
    return value


def cubic(before: Any, here: Any, there: Any, beyond: Any, t: Any) -> Any:
    """Interpolate between ``here`` (t = 0) and ``there`` (t = 1) by a cubic through four points."""
    outer = t * (t - 1) / 6
    inner = (t + 1) * (t - 2) / 2
    return (
        beyond * outer * (t + 1)
        - before * outer * (t - 2)
        + here * inner * (t - 1)
        - there * inner * t
    )
