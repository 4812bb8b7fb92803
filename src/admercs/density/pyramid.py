"""Densities in levels: narrow kernels on fine points, wide kernels on coarse ones.

Each level has the same layout as the one below it, ``RATIO`` times as wide, so wide kernels cost
little. From the top down every level adds the density of all coarser ones to its own: where no
finer kernel reaches, a level alone tells the whole density.

The column's smallest and largest value are mirrors: the part g of the density that would lie beyond
is folded back, κ(x) = g(x) + g(2 low − x) + g(2 high − x). Beyond the mirrors κ falls as g does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints, pointers, ranges
from admercs.density.counts import ONE, ValueCounts
from admercs.density.grids import Grids
from admercs.density.kernels import RATIO, Shape
from admercs.density.smoothing import (
    Blocks,
    Cells,
    Places,
    interpolate,
    join_cells,
    lay_out,
    spread_rows,
)

_CELLS = 32  # joined cells per bandwidth, up to twice as many
_FINE = 8  # points per bandwidth ...
_COARSE = 5  # ... and where the table would get too long
_CUT = 1e-5  # a lone Gaussian ends where all rows together would reach this share of the floor
_REACH = 5.0  # widths: there any Gaussian has vanished behind the wider ones
_BEHIND = 6.0  # points for which an image goes on behind its mirror
_TINY = 1e-6  # what is far below the floor is never looked at; keep its logarithm finite


_RATIO_BITS = RATIO.bit_length() - 1
# Weights of six points (Lagrange) at the points of a finer level in their midst.
_NODES = np.arange(-2.0, 4.0)
_BETWEEN = np.array([
    [np.prod([(t / RATIO - m) / (k - m) for m in _NODES if m != k]) for k in _NODES]
    for t in range(RATIO)
])  # fmt: skip


class Pyramid(NamedTuple):
    """The densities of all slots, relative to the floor, on all levels, the finest first.

    The blocks of all levels lie one after the other: those of slot s on level j are the blocks of
    the *row* ``j * slots + s``.
    """

    blocks: Blocks
    level_at: Ints  # levels + 1: where the points of each level begin
    step: Floats  # levels x slots: spacing of the points
    lift: Ints  # per block: position of a point of the next level, less that point's number
    plain: Floats  # at all points, without mirrors
    mirrored: Floats  # with mirrors; the same array where there are none
    cells: Cells  # of the finest level
    places: Places  # of these cells
    spacing: Ints  # per slot: cells from one point of the finest level to the next

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.step)

    def points(self, level: int) -> slice:
        """Return where the points of a level lie."""
        return slice(self.level_at[level], self.level_at[level + 1])


def build_pyramid(
    counts: ValueCounts, grids: Grids, rows: Floats, bandwidth: Floats, shape: Shape,
    limits: tuple[float, float] | None, cap: Ints,
) -> Pyramid:  # fmt: skip
    """Add up the kernels of all slots, level by level.

    Every occupied cell spreads the level's kernel over the points around it. Cells are first joined
    to 1/32 of the level's width or less. Sharing rows between cells (linear binning) widens a kernel
    by a sixth of a squared cell; the Gaussians are narrowed by as much.
    """
    n_levels = len(shape.weight)
    height = shape.height / shape.peak
    cells, width = Cells(counts.ptr, counts.cell, counts.weight / ONE), grids.width
    levels, steps, densities = [], [], []
    for j in range(n_levels):
        h = bandwidth * float(RATIO**j) / width
        shift = np.maximum(np.floor(np.log2(h / _CELLS)), 0).astype(np.int64)
        cells, width, h = join_cells(cells, shift), width * 2.0**shift, h / 2.0**shift
        reach = _REACH * h if n_levels > 1 else np.sqrt(2 * np.log(rows / _CUT)) * h
        if j == 0:
            align = RATIO if n_levels > 1 else 1
            spacing, blocks, places = _lay_out_finest(cells, h, reach, cap, align)
            finest = cells, places, spacing
        else:
            spacing = (RATIO * spacing) >> shift
            blocks, places = lay_out(cells, spacing, _in_points(reach, spacing), RATIO)
        points = _in_points(reach, spacing)
        room = np.empty(int((spacing * (2 * points + 2)).max(initial=0)))
        density = np.zeros(int(blocks.at[-1]))
        spread_rows(
            cells.ptr, cells.mass, *places, spacing, points, h,
            height[j], shape.width[j], room, density,
        )  # fmt: skip
        levels.append(blocks)
        steps.append(spacing.astype(np.float64) * width)
        densities.append(density)
    blocks, plain = _stack(levels), np.concatenate(densities)
    level_at = pointers(np.array([len(density) for density in densities]))
    step, lift = np.stack(steps), _lift(blocks, len(rows))
    pyramid = Pyramid(blocks, level_at, step, lift, plain, plain, *finest)
    if limits is not None:
        pyramid = pyramid._replace(mirrored=_mirror(pyramid, grids, limits))
    _add_coarser(pyramid)
    return pyramid


def positions(pyramid: Pyramid, grids: Grids, value: float) -> Floats:
    """Return where a value lies on the points of each level and slot (levels x slots)."""
    with np.errstate(over="ignore"):
        return np.asarray((value - grids.left) / pyramid.step)


def edge_ratios(pyramid: Pyramid, grids: Grids, limits: tuple[float, float]) -> Floats:
    """Return log(κ / g) of each slot at both mirrors, by which g is raised beyond them."""
    ratios = np.zeros((2, len(grids.left)))
    _, row, origin, size, at = pyramid.blocks
    for ratio, limit in zip(ratios, limits, strict=True):
        where = positions(pyramid, grids, limit).ravel()[row] - origin
        # Coarse levels first: the finest one there has the last word.
        inside = np.flatnonzero((where >= 1) & (where < size - 2))[::-1]
        i = where[inside].astype(np.int64)
        place, t = i + at[inside], where[inside] - i
        g = interpolate(pyramid.plain, place, t)
        kappa = interpolate(pyramid.mirrored, place, t)
        seen = g > _TINY
        ratio[row[inside[seen]] % len(ratio)] = np.log(kappa[seen] / g[seen])
    return ratios


def log_densities(
    pyramid: Pyramid, grids: Grids, limits: tuple[float, float] | None, ratios: Floats
) -> Floats:
    """Return the log density at all points, on this side of the mirrors and beyond.

    Where there is a finer level, a level takes over its points: it is read there only if it tells
    the same, or if a table is too long for all details. The pyramid's ``plain`` does likewise.
    """
    y = log_density(pyramid.mirrored)
    if limits is not None:
        _fill_outside(pyramid, grids, limits, ratios, y)
    _, _, origin, size, at = pyramid.blocks
    # Every RATIO-th point of a block is one of the next level's; they follow each other like the levels.
    q, block = ranges(-(-origin // RATIO), (origin + size - 1) // RATIO + 1)
    here, there = (at[:-1] - origin)[block] + q * RATIO, q + pyramid.lift[block]
    ends = np.searchsorted(here, pyramid.level_at)
    for j in range(pyramid.n_levels - 1):
        old, new = here[ends[j] : ends[j + 1]], there[ends[j] : ends[j + 1]]
        y[new] = y[old]
        if limits is not None:
            pyramid.plain[new] = pyramid.plain[old]
    return y


def log_density(density: Floats) -> Floats:
    """Return the logarithm, but finite where there is nothing."""
    return np.log(np.maximum(density, _TINY))


def _in_points(reach: Floats, spacing: Ints) -> Ints:
    return (reach / spacing).astype(np.int64) + 1


def _lay_out_finest(
    cells: Cells, h: Floats, reach: Floats, cap: Ints, align: int
) -> tuple[Ints, Blocks, Places]:
    """Lay out the finest points, fewer of them where they are too many."""
    spacing = (h / _FINE).astype(np.int64)
    blocks, places = lay_out(cells, spacing, _in_points(reach, spacing), align)
    long = np.diff(blocks.at[blocks.ptr]) > cap
    if long.any():
        spacing = np.where(long, (h / _COARSE).astype(np.int64), spacing)
        blocks, places = lay_out(cells, spacing, _in_points(reach, spacing), align)
    return spacing, blocks, places


def _stack(levels: list[Blocks]) -> Blocks:
    """Put the blocks of all levels one after the other."""
    n_slots = len(levels[0].ptr) - 1
    row = np.concatenate([blocks.slot + j * n_slots for j, blocks in enumerate(levels)])
    origin = np.concatenate([blocks.origin for blocks in levels])
    size = np.concatenate([blocks.size for blocks in levels])
    ptr = pointers(np.bincount(row, minlength=n_slots * len(levels)))
    return Blocks(ptr, row, origin, size, pointers(size))


def _lift(blocks: Blocks, n_slots: int) -> Ints:
    """Find the next level's block above each block; see ``Pyramid``. The last level's is of no use.

    The blocks of a level lie well within those of the next.
    """
    # Complex numbers are ordered like pairs: by row, then by where a block ends.
    ends = blocks.slot + 1j * (blocks.origin + blocks.size)
    above = blocks.slot + n_slots + 1j * (blocks.origin // RATIO)
    over = np.searchsorted(ends, above, side="right")
    return np.append(blocks.at[:-1] - blocks.origin, 0)[over]


def _mirror(pyramid: Pyramid, grids: Grids, limits: tuple[float, float]) -> Floats:
    """Return the densities with the mirror images of what lies beyond the lowest and the highest value.

    The images go on for a few points behind the mirror, so that curves can be laid through them.
    """
    ptr, row, origin, size, at = pyramid.blocks
    mirrored = pyramid.plain.copy()
    for side in range(2):
        mirror = positions(pyramid, grids, limits[side]).ravel()[row]
        source = ptr[row + 1] - 1 if side else ptr[row]
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


def _add_coarser(pyramid: Pyramid) -> None:
    """Add the density of each level to that of the next finer one, from the coarsest down."""
    _, row, origin, _, at = pyramid.blocks
    n_finer = int(np.searchsorted(row, (pyramid.n_levels - 1) * pyramid.step.shape[1]))
    _interpolate_levels(n_finer, origin, at, pyramid.lift, _BETWEEN, pyramid.plain)
    if pyramid.mirrored is not pyramid.plain:
        _interpolate_levels(n_finer, origin, at, pyramid.lift, _BETWEEN, pyramid.mirrored)


@kernel
def _interpolate_levels(
    n_finer: int, origin: Ints, at: Ints, lift: Ints, between: Floats, density: Floats
) -> None:
    """Add what the next level tells to the points of the first ``n_finer`` blocks, the last one first."""
    for block in range(n_finer - 1, -1, -1):
        for p in range(at[block], at[block + 1]):
            point = origin[block] + p - at[block]
            phase, over = point & (RATIO - 1), (point >> _RATIO_BITS) + lift[block] - 2
            total = density[p]
            for k in range(between.shape[1]):
                total += between[phase, k] * density[over + k]
            density[p] = total


def _fill_outside(
    pyramid: Pyramid, grids: Grids, limits: tuple[float, float], ratios: Floats, y: Floats
) -> None:
    """Put log g, raised to meet κ at the mirror, where points lie beyond a mirror.

    The first points there stay as they are; a cubic that ends at the mirror needs them.
    """
    _, row, origin, size, at = pyramid.blocks
    slot = row % len(grids.left)
    low, high = (positions(pyramid, grids, limit).ravel()[row] for limit in limits)
    last_below = np.clip(np.ceil(low) - 2 - origin, 0, size).astype(np.int64)
    first_above = np.clip(np.floor(high) + 3 - origin, 0, size).astype(np.int64)
    begins, ends = (at[:-1], at[:-1] + first_above), (at[:-1] + last_below, at[1:])
    for side in range(2):
        p, block = ranges(begins[side], ends[side])
        y[p] = log_density(pyramid.plain[p]) + ratios[side, slot[block]]
