"""Kernel densities at points, in levels: narrow kernels on fine points, wide ones on coarse points.

Each level has the same layout as the one below it, ``RATIO`` times as wide, so wide kernels cost
little. From the top down every level adds the density of all coarser ones to its own: where no
finer kernel reaches, a level alone gives the whole density.

The column's smallest and largest value may be mirrors: the part g of the density that would lie
beyond is folded back, κ(x) = g(x) + g(2 low − x) + g(2 high − x). Beyond the mirrors κ falls as g.

Lengths are in cells; densities are relative to the floor k(0) / n, so an isolated row has density
1 at its own value.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints
from admercs.density.bandwidth import RATIO, Shape
from admercs.density.counts import FAR, ONE, ValueCounts
from admercs.density.grids import Grids
from admercs.density.ragged import pointers, ranges

_CELLS = 16  # joined cells per bandwidth, up to twice as many
_POINTS = 5  # per bandwidth
_CUT = 1e-5  # a lone Gaussian ends where all rows together would reach this share of the floor
_REACH = 5.0  # widths: there any Gaussian has vanished behind the wider ones
_BEHIND = 6.0  # points for which an image goes on behind its mirror
_TINY = 1e-6  # densities far below the floor are never read; keep their logarithm finite
_RATIO_BITS = RATIO.bit_length() - 1
# Weights of six points (Lagrange) at the points of a finer level in their midst.
_NODES = np.arange(-2.0, 4.0)
_BETWEEN = np.array([
    [np.prod([(t / RATIO - m) / (k - m) for m in _NODES if m != k]) for k in _NODES]
    for t in range(RATIO)
])  # fmt: skip

Limits = tuple[float, float]  # the smallest and the largest value of a column
Ends = tuple[Floats, Floats]  # of each slot: where densities are reflected; infinite for nowhere
Cells = tuple[Ints, Ints, Floats]  # per slot: ptr, cells in ascending order, rows in each


class Blocks(NamedTuple):
    """Points around the cells of each slot; they are multiples of the slot's spacing.

    Block b has the points origin[b], origin[b] + 1, … at positions at[b] … at[b + 1] − 1.
    """

    slot: Ints  # ascending
    origin: Ints
    size: Ints
    at: Ints  # blocks + 1


class Pyramid(NamedTuple):
    """The densities of all slots, relative to the floor, on all levels, the finest first.

    The blocks of slot s on level j are those of the *row* ``j * slots + s``.
    """

    blocks: Blocks
    level_at: Ints  # levels + 1: where the points of each level begin
    step: Floats  # levels x slots: spacing of the points
    lift: Ints  # per block: position of a point of the next level, less that point's number
    plain: Floats  # at all points, without mirrors
    mirrored: Floats  # with mirrors
    cells: Cells  # of the finest level
    at: Ints  # position of the point at or below each of these cells; -1 for cells in no block
    phase: Ints  # cells from there
    spacing: Ints  # per slot: cells from one point of the finest level to the next

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.step)


def build_pyramid(
    counts: ValueCounts, grids: Grids, rows: Floats, bandwidth: Floats, shape: Shape,
    limits: Ends,
) -> Pyramid:  # fmt: skip
    """Add up the kernels of all slots, level by level."""
    n_levels, height = len(shape.height), shape.height / shape.peak
    cells, width = (counts.ptr, counts.cell, counts.weight / ONE), grids.width
    levels, steps, densities = [], [], []
    for j in range(n_levels):
        h = bandwidth * float(RATIO**j) / width
        shift = np.maximum(np.floor(np.log2(h / _CELLS)), 0).astype(np.int64)
        cells, width, h = _join_cells(cells, shift), width * 2.0**shift, h / 2.0**shift
        reach = _REACH * h if n_levels > 1 else np.sqrt(2 * np.log(rows / _CUT)) * h
        if j == 0:
            spacing = (h / _POINTS).astype(np.int64)
            laid_out = _lay_out(cells, spacing, reach, RATIO if n_levels > 1 else 1)
            finest = cells, *laid_out[1:], spacing
        else:
            spacing = (RATIO * spacing) >> shift
            laid_out = _lay_out(cells, spacing, reach, RATIO)
        blocks, at, phase = laid_out
        points = _in_points(reach, spacing)
        room = np.empty(int((spacing * (2 * points + 2)).max(initial=0)))
        density = np.zeros(int(blocks.at[-1]))
        _spread_rows(
            cells[0], cells[2], at, phase, spacing, points, h,
            height[j], shape.width[j], room, density,
        )  # fmt: skip
        levels.append(blocks)
        steps.append(spacing.astype(np.float64) * width)
        densities.append(density)
    plain, n_slots = np.concatenate(densities), len(rows)
    row = np.concatenate([blocks.slot + j * n_slots for j, blocks in enumerate(levels)])
    origin, size = np.concatenate([(blocks.origin, blocks.size) for blocks in levels], axis=1)
    blocks = Blocks(row, origin, size, pointers(size))
    level_at = pointers(np.array([len(density) for density in densities]))
    step, lift = np.stack(steps), _lift(blocks, n_slots)
    pyramid = Pyramid(blocks, level_at, step, lift, plain, plain, *finest)
    pyramid = pyramid._replace(mirrored=_mirror(pyramid, grids, limits))
    # From the coarsest level down, add each one's density to that of the next finer one.
    n_finer = int(np.searchsorted(row, (n_levels - 1) * n_slots))
    for density in (pyramid.plain, pyramid.mirrored):
        _interpolate_levels(n_finer, origin, blocks.at, lift, _BETWEEN, density)
    return pyramid


def positions(pyramid: Pyramid, grids: Grids, value: Floats) -> Floats:
    """Return where a value of each slot lies on the points of each level (levels x slots)."""
    with np.errstate(over="ignore"):
        return np.asarray((value - grids.left) / pyramid.step)


def _edge_ratios(pyramid: Pyramid, grids: Grids, limits: Ends) -> Floats:
    """Return log(κ / g) of each slot at both mirrors, by which g is raised beyond them."""
    ratios = np.zeros((2, len(grids.left)))
    row, origin, size, at = pyramid.blocks
    for ratio, limit in zip(ratios, limits, strict=True):
        where = positions(pyramid, grids, limit).ravel()[row] - origin
        # Coarse levels first: the finest one there is the one that stays.
        inside = np.flatnonzero((where >= 1) & (where < size - 2))[::-1]
        i = where[inside].astype(np.int64)
        place, t = i + at[inside], where[inside] - i
        g = interpolate(pyramid.plain, place, t)
        kappa = interpolate(pyramid.mirrored, place, t)
        seen = g > _TINY
        ratio[row[inside[seen]] % len(ratio)] = np.log(kappa[seen] / g[seen])
    return ratios


def log_densities(pyramid: Pyramid, grids: Grids, limits: Ends) -> tuple[Floats, Floats]:
    """Return the log density at all points, and log(κ / g) at the mirrors, see `_edge_ratios`."""
    y, ratios = log_density(pyramid.mirrored), _edge_ratios(pyramid, grids, limits)
    row, origin, size, at = pyramid.blocks
    # Log g, raised to meet κ at the mirror, holds at all but the first points beyond a mirror.
    low, high = (positions(pyramid, grids, limit).ravel()[row] for limit in limits)
    last_below = np.clip(np.ceil(low) - 2 - origin, 0, size).astype(np.int64)
    first_above = np.clip(np.floor(high) + 3 - origin, 0, size).astype(np.int64)
    beyond = (at[:-1], at[:-1] + last_below), (at[:-1] + first_above, at[1:])
    for (begin, end), ratio in zip(beyond, ratios, strict=True):
        p, block = ranges(begin, end)
        y[p] = log_density(pyramid.plain[p]) + ratio[row[block] % len(ratio)]
    # Where there is a finer level, a level takes over its points, as does ``pyramid.plain``. Every
    # RATIO-th point of a block is one of the next level's, in the same order.
    q, block = ranges(-(-origin // RATIO), (origin + size - 1) // RATIO + 1)
    here, there = (at[:-1] - origin)[block] + q * RATIO, q + pyramid.lift[block]
    ends = np.searchsorted(here, pyramid.level_at)
    for j in range(pyramid.n_levels - 1):
        old, new = here[ends[j] : ends[j + 1]], there[ends[j] : ends[j + 1]]
        y[new] = y[old]
        pyramid.plain[new] = pyramid.plain[old]
    return y, ratios


def log_density(density: Floats) -> Floats:
    """Return the logarithm, but finite where there is nothing."""
    return np.log(np.maximum(density, _TINY))


def interpolate(table: Floats, at: Ints, t: Floats) -> Floats:
    """Read a table a part ``t`` of the way from its point ``at`` to ``at + 1``; 0 if at < 0."""
    value = np.zeros(len(at))
    _interpolate(table, at, t, value)
    return value


@kernel
def _interpolate(y: Floats, at: Ints, part: Floats, out: Floats) -> None:
    """Read a cubic through four points, as the look-up does."""
    for p in range(len(at)):
        if at[p] >= 0:
            i, t = at[p], part[p]
            outer, inner = t * (t - 1) / 6, (t + 1) * (t - 2) / 2
            value = y[i + 2] * outer * (t + 1) - y[i - 1] * outer * (t - 2)
            out[p] = value + y[i] * inner * (t - 1) - y[i + 1] * inner * t


def _join_cells(cells: Cells, shift: Ints) -> Cells:
    """Join 2 ** shift cells of a slot into one by linear binning; far rows come last."""
    room = 2 * len(cells[1]) + len(shift)
    ptr, cell, mass = np.zeros_like(cells[0]), np.empty(room, dtype=np.int64), np.empty(room)
    used = _join(*cells, shift, ptr, cell, mass)
    return ptr, cell[:used], mass[:used]


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


def _in_points(reach: Floats, spacing: Ints) -> Ints:
    return (reach / spacing).astype(np.int64) + 1


def _lay_out(cells: Cells, spacing: Ints, reach: Floats, align: int) -> tuple[Blocks, Ints, Ints]:
    """Cover all cells of a slot and their surroundings with blocks of points.

    Up to two points at either end, blocks begin and end at multiples of ``align``, a power of 2.
    Return the blocks, and where each cell lies among their points, see `Pyramid`.
    """
    slot, origin, size, at, phase = np.empty((5, len(cells[1])), np.int64)
    points = _in_points(reach, spacing)
    n = _fill_blocks(*cells[:2], spacing, points, align, slot, origin, size, at, phase)
    return Blocks(slot[:n], origin[:n], size[:n], pointers(size[:n])), at, phase


@kernel
def _fill_blocks(
    ptr: Ints, cell: Ints, spacing: Ints, reach: Ints, align: int,
    block_slot: Ints, origin: Ints, size: Ints, at: Ints, phase: Ints,
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
            is_new = n_blocks == 0 or block_slot[n_blocks - 1] != slot
            if is_new or first > origin[n_blocks - 1] + size[n_blocks - 1] - 1:
                if n_blocks > 0:
                    before += size[n_blocks - 1]
                block_slot[n_blocks], origin[n_blocks] = slot, first
                n_blocks += 1
            size[n_blocks - 1] = last - origin[n_blocks - 1] + 1
            at[p] = before + point - origin[n_blocks - 1]
            phase[p] = cell[p] - point * spacing[slot]
    return n_blocks


@kernel
def _spread_rows(
    ptr: Ints, mass: Floats, at: Ints, phase: Ints, spacing: Ints, reach: Ints, h: Floats,
    height: Floats, width: Floats, shape: Floats, density: Floats,
) -> None:  # fmt: skip
    """Add up the kernels of all cells at the points around them; ``shape`` has room for one."""
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
                # Two cells between the same points go together: one pass over the density.
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


def _lift(blocks: Blocks, n_slots: int) -> Ints:
    """Find the next level's block above each block, which lies well within; see ``Pyramid``."""
    # Complex numbers are ordered like pairs: by row, then by where a block ends.
    ends = blocks.slot + 1j * (blocks.origin + blocks.size)
    above = blocks.slot + n_slots + 1j * (blocks.origin // RATIO)
    over = np.searchsorted(ends, above, side="right")
    return np.append(blocks.at[:-1] - blocks.origin, 0)[over]


def _mirror(pyramid: Pyramid, grids: Grids, limits: Ends) -> Floats:
    """Return the densities with the images of what lies beyond the mirrors."""
    row, origin, size, at = pyramid.blocks
    mirrored = pyramid.plain.copy()
    nearest = np.searchsorted(row, row), np.searchsorted(row, row, side="right") - 1
    for side in range(2):
        mirror = positions(pyramid, grids, limits[side]).ravel()[row]
        source = nearest[side]  # the first block of the row, or its last one
        first = origin[source] + 1.0
        last = origin[source] + size[source] - 3.0
        near = np.flatnonzero((first - _BEHIND < mirror) & (mirror < last + _BEHIND))
        mirror, source = mirror[near], source[near]
        # Points whose image 2 mirror − point lies in the source block, this side of the mirror.
        begin, end = 2 * mirror - last[near], 2 * mirror - first[near]
        if side:
            end = np.minimum(mirror + _BEHIND, end)
        else:
            begin = np.maximum(mirror - _BEHIND, begin)
        q, owner = ranges(
            np.maximum(0, np.ceil(begin).astype(np.int64) - origin[near]),
            np.minimum(size[near], np.floor(end).astype(np.int64) - origin[near] + 1),
        )
        block, source = near[owner], source[owner]
        image: Floats = 2 * mirror[owner] - (origin[block] + q) - origin[source]
        i = image.astype(np.int64)
        mirrored[at[block] + q] += interpolate(pyramid.plain, i + at[source], image - i)
    return mirrored


@kernel
def _interpolate_levels(
    n_finer: int, origin: Ints, at: Ints, lift: Ints, between: Floats, density: Floats
) -> None:
    """Add the next level's density at the points of the first ``n_finer`` blocks, backwards."""
    for block in range(n_finer - 1, -1, -1):
        for p in range(at[block], at[block + 1]):
            point = origin[block] + p - at[block]
            phase, over = point & (RATIO - 1), (point >> _RATIO_BITS) + lift[block] - 2
            total = density[p]
            for k in range(between.shape[1]):
                total += between[phase, k] * density[over + k]
            density[p] = total
