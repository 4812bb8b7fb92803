"""Compiled steps of a kernel density: join cells, lay out points, spread the rows, choose runs.

Each step works on all slots of a target. Lengths are in cells; densities are relative to the floor
K_h(0) / n, so an isolated row has density 1 at its own value.
"""

from __future__ import annotations

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
from admercs.density.counts import FAR, ONE

_NEGLIGIBLE = 1.001  # what is not this many times the floor is the floor
_BAR_STEP = 0.35  # how much (in log density) the bar is raised at a time where a table is too long


@kernel
def join_cells(
    ptr: Ints, cell: Ints, weight: Ints, shift: Ints, out_ptr: Ints, joined: Ints, rows: Floats
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
            mass = weight[p] / ONE
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
    ptr: Ints, cell: Ints, spacing: Ints, reach: Ints, block_ptr: Ints, origin: Ints, at: Ints
) -> int:
    """Cover all cells of a slot and their surroundings with blocks of points.

    Points are multiples of the spacing. Block b has the points origin[b], origin[b] + 1, …, at
    positions at[b] … at[b + 1] − 1 of one long array. The blocks of a slot do not overlap.
    Returns the number of blocks.
    """
    n_blocks = 0
    for slot in range(len(ptr) - 1):
        last = 0
        for p in range(ptr[slot], ptr[slot + 1]):
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            if n_blocks == block_ptr[slot] or point - reach[slot] > last:
                origin[n_blocks] = point - reach[slot]
                n_blocks += 1
            last = point + reach[slot] + 1
            at[n_blocks] = at[n_blocks - 1] + last - origin[n_blocks - 1] + 1
        block_ptr[slot + 1] = n_blocks
    return n_blocks


@kernel
def spread_rows(
    ptr: Ints, cell: Ints, rows: Floats, spacing: Ints, reach: Ints, h: Floats,
    block_ptr: Ints, origin: Ints, at: Ints, density: Floats,
) -> None:  # fmt: skip
    """Add up the kernels of all cells at the points around them."""
    for slot in range(len(ptr) - 1):
        width = 2 * reach[slot] + 2
        # Linear binning has widened every row by a sixth of a squared cell.
        variance = h[slot] * h[slot] - 1 / 6
        height = h[slot] / np.sqrt(variance)
        gauss = np.empty((spacing[slot], width))
        for phase in range(spacing[slot]):
            for t in range(width):
                distance = (t - reach[slot]) * spacing[slot] - phase
                gauss[phase, t] = height * np.exp(-0.5 * distance * distance / variance)
        block = block_ptr[slot]
        for p in range(ptr[slot], ptr[slot + 1]):
            if cell[p] == FAR:
                continue
            point = cell[p] // spacing[slot]
            while origin[block] + at[block + 1] - at[block] <= point:
                block += 1
            base = at[block] + point - reach[slot] - origin[block]
            # Slices of known length let the compiler use vector instructions.
            here = density[base : base + width]
            around = gauss[cell[p] - point * spacing[slot]]
            mass = rows[p]
            for t in range(width):
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
            if value > np.log(_NEGLIGIBLE):
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


@kernel
def _peak(y: Floats, p: int) -> float:
    """Return y[p], or the top of the parabola through p and its neighbours if p is highest."""
    before, here, after = y[p - 1], y[p], y[p + 1]
    if here < before or here < after or here + here == before + after:
        return here
    slope = after - before
    return here + slope * slope / (8 * (here + here - before - after))


@kernel
def choose_runs(
    log_density: Floats, block_ptr: Ints, at: Ints, cap: Ints, run_ptr: Ints, runs: Ints
) -> int:
    """Choose the points worth keeping: runs (block, begin, end) with two points to spare.

    Only what is above the floor is kept. Where that exceeds a slot's cap the bar is raised step by
    step. Returns the number of runs.
    """
    used = 0
    for slot in range(len(cap)):
        bar = np.log(_NEGLIGIBLE)
        start = used
        total = cap[slot] + 1
        while total > cap[slot]:
            used, total = start, 0
            for block in range(block_ptr[slot], block_ptr[slot + 1]):
                stop = at[block] - 8
                for p in range(at[block] + 2, at[block + 1] - 2):
                    if total > cap[slot] or _peak(log_density, p) <= bar:
                        continue
                    # Going on over a short gap is cheaper than another run.
                    if p - 2 > stop + 4:
                        total += 5
                        runs[used, 0] = block
                        runs[used, 1] = p - 2
                        used += 1
                    else:
                        total += p + 3 - stop
                    stop = p + 3
                    runs[used - 1, 2] = stop
            bar += _BAR_STEP
        run_ptr[slot + 1] = used
    return used
