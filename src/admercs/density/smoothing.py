"""Compiled steps of a kernel density: join cells, lay out points, spread the rows, read them.

Each step works on all slots of a target. Lengths are in cells; densities are relative to the floor
k(0) / n, so an isolated row has density 1 at its own value.
"""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
from admercs.density.counts import FAR

NEGLIGIBLE = 1.001
"""What is not this many times the floor is the floor."""


@kernel
def join_cells(
    ptr: Ints, cell: Ints, weight: Floats, shift: Ints, out_ptr: Ints, joined: Ints, rows: Floats
) -> int:
    """Join 2 ** shift cells of a slot into one, again by linear binning.

    Rows beyond the last cell that can be told from its neighbours come last, in cell ``FAR``.
    Returns the number of joined cells.
    """
    used = 0
    for slot in range(len(ptr) - 1):
        far = 0.0
        here, mass_here, mass_next = np.int64(-FAR), 0.0, 0.0  # cells `here` and `here + 1`
        factor = 1.0 / (1 << shift[slot])
        end = ptr[slot + 1]
        for p in range(ptr[slot], end + 1):
            lower = cell[p] >> shift[slot] if p < end else np.int64(FAR)
            while lower > here and (mass_here > 0 or mass_next > 0):
                if mass_here > 0:
                    joined[used] = here
                    rows[used] = mass_here
                    used += 1
                here, mass_here, mass_next = here + 1, mass_next, 0.0
            if p == end:
                break
            here = lower
            mass = weight[p]
            if abs(cell[p]) >= FAR:
                far += mass
                continue
            upper = (cell[p] - (lower << shift[slot])) * factor * mass
            mass_here += mass - upper
            mass_next += upper
        if far > 0:
            joined[used] = FAR
            rows[used] = far
            used += 1
        out_ptr[slot + 1] = used
    return used


@kernel
def lay_out(
    ptr: Ints, cell: Ints, spacing: Ints, reach: Ints, align: int,
    block_ptr: Ints, origin: Ints, at: Ints,
) -> int:  # fmt: skip
    """Cover all cells of a slot and their surroundings with blocks of points.

    Points are multiples of the spacing. Block b has the points origin[b], origin[b] + 1, …, at
    positions at[b] … at[b + 1] − 1 of one long array. The blocks of a slot do not overlap. Up to
    two points at either end, a block begins and ends at a multiple of ``align``.
    Returns the number of blocks.
    """
    n_blocks = 0
    spare = 2 if align > 1 else 0
    for slot in range(len(ptr) - 1):
        last = 0
        for p in range(ptr[slot], ptr[slot + 1]):
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            first = (point - reach[slot]) // align * align - spare
            if n_blocks == block_ptr[slot] or first > last:
                origin[n_blocks] = first
                n_blocks += 1
            last = -(-(point + reach[slot] + 1) // align) * align + spare
            at[n_blocks] = at[n_blocks - 1] + last - origin[n_blocks - 1] + 1
        block_ptr[slot + 1] = n_blocks
    return n_blocks


@kernel
def spread_rows(
    ptr: Ints, cell: Ints, rows: Floats, spacing: Ints, reach: Ints, h: Floats,
    height: Floats, width: Floats, block_ptr: Ints, origin: Ints, at: Ints, density: Floats,
) -> None:  # fmt: skip
    """Add up the kernels of all cells at the points around them.

    The kernel is a sum of Gaussians with the given heights, of ``width`` times the bandwidth each.
    """
    for slot in range(len(ptr) - 1):
        n_points = 2 * reach[slot] + 2
        shape = np.zeros((spacing[slot], n_points))
        for part in range(len(height)):
            sigma = h[slot] * width[part]
            # Linear binning has widened every row by a sixth of a squared cell.
            variance = sigma * sigma - 1 / 6
            top = height[part] * sigma / np.sqrt(variance)
            if top == 0:
                continue
            shrink = np.exp(-spacing[slot] * spacing[slot] / variance)
            for phase in range(spacing[slot]):
                # exp(−distance² / 2 variance), each from the one before.
                distance = -reach[slot] * spacing[slot] - phase
                value = top * np.exp(-0.5 * distance * distance / variance)
                ratio = np.exp(-(distance + 0.5 * spacing[slot]) * spacing[slot] / variance)
                for t in range(n_points):
                    shape[phase, t] += value
                    value *= ratio
                    ratio *= shrink
        block = block_ptr[slot]
        for p in range(ptr[slot], ptr[slot + 1]):
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            while origin[block] + at[block + 1] - at[block] <= point:
                block += 1
            base = at[block] + point - reach[slot] - origin[block]
            # Slices of known length let the compiler use vector instructions.
            here = density[base : base + n_points]
            around = shape[cell[p] - point * spacing[slot]]
            mass = rows[p]
            for t in range(n_points):
                here[t] += mass * around[t]


@kernel
def read_levels(
    ptr: Ints, cell: Ints, spacing: Ints, block_ptr: Ints, origin: Ints, at: Ints,
    log_density: Floats, level: Floats,
) -> None:  # fmt: skip
    """Log density at each cell: the table read as the look-up will read it."""
    for slot in range(len(ptr) - 1):
        block = block_ptr[slot]
        for p in range(ptr[slot], ptr[slot + 1]):
            level[p] = 0.0
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            while origin[block] + at[block + 1] - at[block] <= point:
                block += 1
            i = at[block] + point - origin[block]
            t = (cell[p] - point * spacing[slot]) / spacing[slot]
            value = cubic(
                log_density[i - 1], log_density[i], log_density[i + 1], log_density[i + 2], t
            )
            if value > np.log(NEGLIGIBLE):
                level[p] = value


@kernel
def cubic(before: float, here: float, there: float, beyond: float, t: float) -> float:
    """Interpolate between ``here`` (t = 0) and ``there`` (t = 1) by a cubic through four points."""
    outer = t * (t - 1) / 6
    inner = (t + 1) * (t - 2) / 2
    return (
        beyond * outer * (t + 1)
        - before * outer * (t - 2)
        + here * inner * (t - 1)
        - there * inner * t
    )
