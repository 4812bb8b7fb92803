"""Steps of a kernel density: join cells, lay out points, spread the rows, read them.

Each step works on all slots of a target. Lengths are in cells; densities are relative to the floor
k(0) / n, so an isolated row has density 1 at its own value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints, owners, pointers, totals
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
    n_slots = len(shift)
    slot = owners(cells.ptr)
    is_far = np.abs(cells.cell) >= FAR
    far = totals(slot[is_far], cells.mass[is_far], n_slots)
    near = slice(None) if not is_far.any() else ~is_far
    slot, cell, mass = slot[near], cells.cell[near], cells.mass[near]
    by = shift[slot]
    lower = cell >> by
    upper_mass = (cell - (lower << by)) * np.ldexp(1.0, -shift)[slot] * mass
    opens = np.ones(len(cell), dtype=np.bool_)
    opens[1:] = (lower[1:] != lower[:-1]) | (slot[1:] != slot[:-1])
    group = np.cumsum(opens) - 1
    lower, slot = lower[opens], slot[opens]
    here = totals(group, mass - upper_mass, len(lower))
    above = totals(group, upper_mass, len(lower))
    # What goes to the cell above joins the next group, or is a cell of its own.
    meets = np.zeros(len(lower), dtype=np.bool_)
    meets[:-1] = (lower[1:] == lower[:-1] + 1) & (slot[1:] == slot[:-1])
    here[1:] += np.where(meets, above, 0.0)[:-1]
    extra = np.flatnonzero(~meets & (above > 0))
    ends_far = far > 0
    n_cells = np.bincount(slot, minlength=n_slots) + np.bincount(slot[extra], minlength=n_slots)
    ptr = pointers(n_cells + ends_far)
    size = np.ones(len(lower), dtype=np.int64)
    size[extra] = 2
    at = pointers(size)[:-1] + pointers(ends_far.astype(np.int64))[slot]
    joined = Cells(ptr, np.empty(ptr[-1], dtype=np.int64), np.empty(ptr[-1]))
    last = ptr[1:][ends_far] - 1
    for where, its_cell, its_mass in (
        (at, lower, here),
        (at[extra] + 1, lower[extra] + 1, above[extra]),
        (last, FAR, far[ends_far]),
    ):
        joined.cell[where] = its_cell
        joined.mass[where] = its_mass
    return joined


def lay_out(cells: Cells, spacing: Ints, reach: Ints, align: int) -> tuple[Blocks, Places]:
    """Cover all cells of a slot and their surroundings with blocks of points.

    Up to two points at either end, a block begins and ends at a multiple of ``align``.
    """
    near = np.flatnonzero(cells.cell != FAR)
    slot, cell = owners(cells.ptr)[near], cells.cell[near]
    point = cell // spacing[slot]
    spare = 2 if align > 1 else 0
    first = (point - reach[slot]) // align * align - spare
    last = -(-(point + reach[slot] + 1) // align) * align + spare
    opens = np.ones(len(near), dtype=np.bool_)
    opens[1:] = (first[1:] > last[:-1]) | (slot[1:] != slot[:-1])
    closes = np.ones(len(near), dtype=np.bool_)
    closes[:-1] = opens[1:]
    of_block, origin = slot[opens], first[opens]
    size = last[closes] - origin + 1
    ptr = pointers(np.bincount(of_block, minlength=len(spacing)))
    blocks = Blocks(ptr, of_block, origin, size, pointers(size))
    places = Places(np.full(len(cells.cell), -1), np.zeros(len(cells.cell), dtype=np.int64))
    places.at[near] = point + (blocks.at[:-1] - origin)[np.cumsum(opens) - 1]
    places.phase[near] = cell - point * spacing[slot]
    return blocks, places


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
        for p in range(ptr[slot], ptr[slot + 1]):
            if at[p] >= 0:
                # Slices of known length let the compiler use vector instructions.
                here = density[at[p] - back : at[p] - back + n_points]
                around = shape[phase[p] * n_points : (phase[p] + 1) * n_points]
                for t in range(n_points):
                    here[t] += mass[p] * around[t]


def read_levels(places: Places, spacing: Ints, log_density: Floats) -> Floats:
    """Return the log density at each cell: the table read as the look-up will read it.

    ``spacing`` is that of each cell's slot.
    """
    level = np.zeros(len(places.at))
    near = np.flatnonzero(places.at >= 0)
    value = interpolate(log_density, places.at[near], places.phase[near] / spacing[near])
    level[near] = np.where(value > np.log(NEGLIGIBLE), value, 0.0)
    return level


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
