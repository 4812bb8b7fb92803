"""Kernel densities as small tables of log κ.

All densities here are relative to the *floor* K_h(0) / n, the density at an isolated row, so the table of
an isolated row is 0 at its peak and values below 0 need not be kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.density.counts import FAR, ONE, ValueCounts
from admercs.density.grids import Grids

_FINE, _COARSE = (
    8,
    4,
)  # table points per bandwidth; the coarse spacing where the table would get long
_CUT = 1e-5  # rows further away than where all of them together reach this share of the floor are left out
_NEGLIGIBLE = 1.001  # what is not this many times the floor is the floor


class Tables(NamedTuple):
    """Log density of each slot, relative to its floor, at equally spaced points.

    A slot's points lie in segments; between two segments the floor holds. `level` and `mass` say how many
    rows have which log density, which is what a threshold needs.
    """

    log_floor: NDArray[np.float64]  # per slot: log(K_h(0) / n), in units of the column
    step: NDArray[np.float64]  # per slot: spacing of the points
    segment_ptr: NDArray[np.int64]  # slots + 1
    segment_start: NDArray[np.float64]  # value of the first point of each segment
    table_ptr: NDArray[np.int64]  # segments + 1
    table: NDArray[np.float64]
    level_ptr: NDArray[np.int64]  # slots + 1
    level: NDArray[np.float64]
    mass: NDArray[np.float64]


def max_points(n: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many table points a slot of n rows may have.

    Two thousand hold any ordinary leaf; a root of a million rows has a long thin tail worth keeping.
    Where more would be needed, the least dense parts of the table fall back to the floor.

    >>> max_points(np.array([10, 100, 1e5, 1e9]))
    array([  640,  2048, 10000, 16384])
    """
    return np.clip(n / 10, np.minimum(64 * n, 2048), 16384).astype(np.int64)


def tabulate(
    counts: ValueCounts, grids: Grids, n: NDArray[np.float64], bandwidth: NDArray[np.float64]
) -> Tables:
    """Tabulate the kernel density of each slot.

    Every occupied cell spreads a Gaussian over the table points around it. Cells are first joined to about
    1/32 of a bandwidth. Sharing rows between cells (linear binning) widens the kernel by a sixth of a squared
    cell; the Gaussian is narrowed by as much.

    Parameters
    ----------
    counts, grids
        The counted values.
    n : array of slots
        Rows with a value.
    bandwidth : array of slots
        At least 16 cells each.
    """
    n_slots = len(n)
    rows = np.maximum(n, 1.0)
    cap = max_points(rows)
    spacing = np.ones(n_slots, dtype=np.int64)
    segments, levels = np.zeros((2, n_slots), dtype=np.int64)
    # A segment has at least five points, and joining splits a cell in two at most.
    first = np.empty(int(cap.sum()) // 5 + n_slots, dtype=np.int64)
    size = np.empty(len(first), dtype=np.int64)
    table = np.empty(int(cap.sum()))
    level, mass = np.empty((2, 2 * len(counts.cell) + 2 * n_slots))
    n_segments, n_points, n_levels = _tabulate(
        counts.ptr, counts.cell, counts.weight, rows, bandwidth / grids.width, cap,
        spacing, segments, first, size, table, levels, level, mass,
    )  # fmt: skip
    step = spacing * grids.width
    slots = np.repeat(np.arange(n_slots), segments)
    return Tables(
        -np.log(rows * bandwidth * np.sqrt(2 * np.pi)),
        step,
        pointers(segments),
        grids.left[slots] + first[:n_segments] * step[slots],
        pointers(size[:n_segments]),
        table[:n_points].copy(),
        pointers(levels),
        level[:n_levels].copy(),
        mass[:n_levels].copy(),
    )


def pointers(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of several consecutive pieces begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@kernel
def _tabulate(  # type: ignore[no-untyped-def]
    ptr,
    cell,
    weight,
    n,
    h_cells,
    cap,
    out_spacing,
    segments,
    first,
    size,
    table,
    levels,
    level,
    mass,
):
    n_segments = 0
    n_points = 0
    n_levels = 0
    for slot in range(len(n)):
        shift = 0
        while h_cells[slot] / (1 << shift) >= 64:
            shift += 1
        h = h_cells[slot] / (1 << shift)
        joined, rows, n_far = _join(cell, weight, ptr[slot], ptr[slot + 1], shift)
        reach = np.sqrt(2 * np.log(n[slot] / _CUT)) * h
        spacing = int(h / _FINE)
        origin, at = _lay_out(joined, spacing, int(reach / spacing) + 1)
        if at[-1] > cap[slot]:
            spacing = int(h / _COARSE)
            origin, at = _lay_out(joined, spacing, int(reach / spacing) + 1)
        density = _spread_out(joined, rows, spacing, int(reach / spacing) + 1, h, origin, at)
        out_spacing[slot] = spacing << shift

        here = n_levels
        if n_far > 0:
            level[here], mass[here] = 0.0, n_far
            here += 1
        _read_levels(density, joined, spacing, origin, at, level, here)
        for p in range(len(rows)):
            mass[here + p] = rows[p]
        levels[slot] = here + len(rows) - n_levels
        n_levels = here + len(rows)

        block, begin, end = _choose_runs(density, at, cap[slot])
        for run in range(len(block)):
            first[n_segments] = origin[block[run]] + begin[run] - at[block[run]]
            size[n_segments] = end[run] - begin[run]
            n_segments += 1
            for p in range(begin[run], end[run]):
                table[n_points] = density[p]
                n_points += 1
        segments[slot] = len(block)
    return n_segments, n_points, n_levels


@kernel
def _join(cell, weight, begin, end, shift):  # type: ignore[no-untyped-def]
    """Join 2 ** shift cells into one, again by linear binning; rows far out are only counted."""
    joined = np.empty(2 * (end - begin), np.int64)
    rows = np.empty(len(joined))
    used = 0
    far = 0.0
    for p in range(begin, end):
        mass = weight[p] / ONE
        if abs(cell[p]) >= FAR:
            far += mass
            continue
        lower = cell[p] >> shift
        fraction = (cell[p] - (lower << shift)) / (1 << shift)
        for side in range(2):
            part = mass * fraction if side else mass * (1 - fraction)
            if part == 0:
                continue
            # Cells ascend, so a joined cell is one of the last two written, or new.
            if used > 0 and joined[used - 1] == lower + side:
                rows[used - 1] += part
            elif used > 1 and joined[used - 2] == lower + side:
                rows[used - 2] += part
            else:
                joined[used], rows[used] = lower + side, part
                used += 1
    return joined[:used], rows[:used], far


@kernel
def _lay_out(cell, spacing, reach):  # type: ignore[no-untyped-def]
    """Cover all cells and their surroundings with blocks of points.

    Points are multiples of the spacing. Block b has the points origin[b], origin[b] + 1, …, at positions
    at[b] … at[b + 1] − 1 of one long array. Blocks do not overlap.
    """
    origin = np.empty(len(cell), np.int64)
    at = np.zeros(len(cell) + 1, np.int64)
    n_blocks = 0
    last = 0
    for p in range(len(cell)):
        point = cell[p] // spacing
        if n_blocks == 0 or point - reach > last:
            origin[n_blocks] = point - reach
            n_blocks += 1
        last = point + reach + 1
        at[n_blocks] = at[n_blocks - 1] + last - origin[n_blocks - 1] + 1
    return origin[:n_blocks], at[: n_blocks + 1]


@kernel
def _spread_out(cell, rows, spacing, reach, h, origin, at):  # type: ignore[no-untyped-def]
    """Sum the kernels of all cells at all points and take the logarithm."""
    width = 2 * reach + 2
    narrowed = h * h - 1 / 6
    height = h / np.sqrt(narrowed)
    gauss = np.empty((spacing, width))
    for phase in range(spacing):
        for t in range(width):
            distance = (t - reach) * spacing - phase
            gauss[phase, t] = height * np.exp(-0.5 * distance * distance / narrowed)
    density = np.zeros(at[-1])
    block = 0
    for p in range(len(cell)):
        point = cell[p] // spacing
        while origin[block] + at[block + 1] - at[block] <= point:
            block += 1
        base = at[block] + point - reach - origin[block]
        # Slices of known length let the compiler use vector instructions.
        here = density[base : base + width]
        around = gauss[cell[p] - point * spacing]
        mass = rows[p]
        for t in range(width):
            here[t] += mass * around[t]
    for t in range(len(density)):
        # What is far below the floor is never looked at; keep it finite.
        density[t] = np.log(density[t]) if density[t] > 1e-6 else np.log(1e-6)
    return density


@kernel
def _read_levels(density, cell, spacing, origin, at, level, start):  # type: ignore[no-untyped-def]
    """Log density at each cell: the table read as the look-up will read it."""
    block = 0
    for p in range(len(cell)):
        point = cell[p] // spacing
        while origin[block] + at[block + 1] - at[block] <= point:
            block += 1
        i = at[block] + point - origin[block]
        t = (cell[p] - point * spacing) / spacing
        value = cubic(density[i - 1], density[i], density[i + 1], density[i + 2], t)
        level[start + p] = value if value > 0 else 0.0


@kernel
def cubic(before, here, there, beyond, t):  # type: ignore[no-untyped-def]
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
def _choose_runs(density, at, cap):  # type: ignore[no-untyped-def]
    """Choose the runs of points worth keeping, two points beyond on each side.

    Only what is above the floor is kept. Where that exceeds the cap the bar is raised step by step.
    """
    block_of = np.empty(cap // 5 + 1, np.int64)
    begin = np.empty(len(block_of), np.int64)
    end = np.empty(len(block_of), np.int64)
    bar = np.log(_NEGLIGIBLE)
    while True:
        used = 0
        total = 0
        for block in range(len(at) - 1):
            stop = -1  # one past the run under way in this block
            for p in range(at[block] + 2, at[block + 1] - 2):
                if density[p] <= bar or total > cap:
                    continue
                # Going on over a short gap is cheaper than another segment.
                if stop < 0 or p - 2 > stop + 4:
                    total += 5
                    if total > cap:
                        continue
                    block_of[used], begin[used] = block, p - 2
                    used += 1
                else:
                    total += p + 3 - stop
                stop = p + 3
                end[used - 1] = stop
        if total <= cap:
            return block_of[:used], begin[:used], end[:used]
        bar += 0.35
