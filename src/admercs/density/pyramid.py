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
from admercs.density.arrays import Floats, Ints
from admercs.density.counts import ONE, ValueCounts
from admercs.density.grids import Grids
from admercs.density.kernels import RATIO, Shape
from admercs.density.runs import Blocks
from admercs.density.smoothing import cubic, join_cells, lay_out, spread_rows

_CELLS = 32  # joined cells per bandwidth, up to twice as many
_FINE = 8  # points per bandwidth ...
_COARSE = 5  # ... and where the table would get too long
_CUT = 1e-5  # a lone Gaussian ends where all rows together would reach this share of the floor
_REACH = 5.0  # widths: there any Gaussian has vanished behind the wider ones
_BEHIND = 6.0  # points for which an image goes on behind its mirror
_TINY = 1e-6  # what is far below the floor is never looked at; keep its logarithm finite


# Weights of six points (Lagrange) at the points of a finer level in their midst.
_NODES = np.arange(-2.0, 4.0)
_BETWEEN = np.array([
    [np.prod([(t / RATIO - m) / (k - m) for m in _NODES if m != k]) for k in _NODES]
    for t in range(RATIO)
])  # fmt: skip


class Cells(NamedTuple):
    """Rows per cell, cells of a slot in ascending order."""

    ptr: Ints
    cell: Ints
    mass: Floats


class Level(NamedTuple):
    """One level of the densities of all slots, relative to the floor."""

    step: Floats  # per slot: spacing of the points
    blocks: Blocks
    plain: Floats  # without mirrors
    mirrored: Floats  # with mirrors; the same array where there are none


class Pyramid(NamedTuple):
    """The levels of the densities of all slots, the finest first."""

    levels: list[Level]
    cells: Cells  # of the finest level
    spacing: Ints  # per slot: cells from one point of the finest level to the next


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
    levels = []
    for j in range(n_levels):
        h = bandwidth * float(RATIO**j) / width
        shift = np.maximum(np.floor(np.log2(h / _CELLS)), 0).astype(np.int64)
        cells, width, h = _join(cells, shift), width * 2.0**shift, h / 2.0**shift
        reach = _REACH * h if n_levels > 1 else np.sqrt(2 * np.log(rows / _CUT)) * h
        if j == 0:
            spacing, blocks = _lay_out_finest(cells, h, reach, cap, RATIO if n_levels > 1 else 1)
            finest, fine_spacing = cells, spacing
        else:
            spacing = (RATIO * spacing) >> shift
            blocks = _lay_out(cells, spacing, reach, RATIO)
        density = np.zeros(int(blocks.at[-1]))
        spread_rows(
            *cells, spacing, (reach / spacing).astype(np.int64) + 1, h,
            height[j], shape.width[j], *blocks, density,
        )  # fmt: skip
        step = spacing.astype(np.float64) * width
        levels.append(_mirror(Level(step, blocks, density, density), grids, limits))
    for fine, coarse in zip(levels[-2::-1], levels[:0:-1], strict=True):
        _add_coarser(*fine.blocks, fine.plain, *coarse.blocks, coarse.plain, _BETWEEN)
        if limits is not None:
            _add_coarser(*fine.blocks, fine.mirrored, *coarse.blocks, coarse.mirrored, _BETWEEN)
    return Pyramid(levels, finest, fine_spacing)


def positions(level: Level, grids: Grids, values: float | Floats) -> Floats:
    """Return where values lie on each slot's points of a level."""
    with np.errstate(over="ignore"):
        return np.asarray((values - grids.left) / level.step)


def edge_ratios(pyramid: Pyramid, grids: Grids, limits: tuple[float, float]) -> Floats:
    """Return log(κ / g) of each slot at both mirrors, by which g is raised beyond them."""
    ratios = np.zeros((2, len(grids.left)))
    for level in pyramid.levels[::-1]:  # the finest level there has the last word
        for side in range(2):
            at = positions(level, grids, limits[side])
            _edge_ratio(*level.blocks, level.plain, level.mirrored, at, ratios[side])
    return ratios


def log_densities(
    pyramid: Pyramid, grids: Grids, limits: tuple[float, float] | None, ratios: Floats
) -> list[Floats]:
    """Return per level the log density at all points, on this side of the mirrors and beyond.

    Where there is a finer level, a level takes over its points: it is read there only if it tells
    the same, or if a table is too long for all details. The levels' ``plain`` does likewise.
    """
    found = []
    for level in pyramid.levels:
        y = log_density(level.mirrored)
        if limits is not None:
            low, high = (positions(level, grids, limit) for limit in limits)
            _fill_outside(*level.blocks, level.plain, low, high, ratios, y)
        found.append(y)
    for fine, coarse, y, above in zip(
        pyramid.levels, pyramid.levels[1:], found, found[1:], strict=False
    ):
        _carry_up(*fine.blocks, y, *coarse.blocks, above)
        if limits is not None:
            _carry_up(*fine.blocks, fine.plain, *coarse.blocks, coarse.plain)
    return found


def log_density(density: Floats) -> Floats:
    """Return the logarithm, but finite where there is nothing."""
    return np.log(np.maximum(density, _TINY))


def _join(cells: Cells, shift: Ints) -> Cells:
    """Join the cells of each slot (see ``join_cells``)."""
    # Joining may share a cell between two, and rows far out take one more.
    room = 2 * len(cells.cell) + len(shift)
    ptr = np.zeros(len(shift) + 1, dtype=np.int64)
    cell, mass = np.empty(room, dtype=np.int64), np.empty(room)
    used = join_cells(*cells, shift, ptr, cell, mass)
    return Cells(ptr, cell[:used], mass[:used])


def _lay_out(cells: Cells, spacing: Ints, reach: Floats, align: int) -> Blocks:
    points = (reach / spacing).astype(np.int64) + 1
    blocks = Blocks(
        np.zeros(len(spacing) + 1, dtype=np.int64),
        np.empty(len(cells.cell), dtype=np.int64),
        np.zeros(len(cells.cell) + 1, dtype=np.int64),
    )
    n_blocks = lay_out(cells.ptr, cells.cell, spacing, points, align, *blocks)
    return Blocks(blocks.ptr, blocks.origin[:n_blocks], blocks.at[: n_blocks + 1])


def _lay_out_finest(
    cells: Cells, h: Floats, reach: Floats, cap: Ints, align: int
) -> tuple[Ints, Blocks]:
    """Lay out the finest points, fewer of them where they are too many."""
    spacing = (h / _FINE).astype(np.int64)
    blocks = _lay_out(cells, spacing, reach, align)
    long = np.diff(blocks.at[blocks.ptr]) > cap
    if long.any():
        spacing = np.where(long, (h / _COARSE).astype(np.int64), spacing)
        blocks = _lay_out(cells, spacing, reach, align)
    return spacing, blocks


def _mirror(level: Level, grids: Grids, limits: tuple[float, float] | None) -> Level:
    if limits is None:
        return level
    low, high = (positions(level, grids, limit) for limit in limits)
    mirrored = level.plain.copy()
    _add_images(*level.blocks, level.plain, low, high, mirrored)
    return level._replace(mirrored=mirrored)


@kernel
def _add_coarser(
    block_ptr: Ints, origin: Ints, at: Ints, density: Floats,
    above_ptr: Ints, above_origin: Ints, above_at: Ints, above: Floats, between: Floats,
) -> None:  # fmt: skip
    """Add a level's density to that of the next finer one.

    Row t of ``between`` weighs six points of the level to interpolate at a t-th part of an interval.
    """
    for slot in range(len(block_ptr) - 1):
        over = above_ptr[slot]
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            first = origin[block]
            while above_origin[over] + above_at[over + 1] - above_at[over] <= first // RATIO:
                over += 1
            shift = above_at[over] - above_origin[over]
            for p in range(at[block], at[block + 1]):
                point = first + p - at[block]
                i = point // RATIO
                phase = point - i * RATIO
                for k in range(6):
                    density[p] += between[phase, k] * above[i + shift + k - 2]


@kernel
def _carry_up(
    block_ptr: Ints, origin: Ints, at: Ints, y: Floats,
    above_ptr: Ints, above_origin: Ints, above_at: Ints, above: Floats,
) -> None:  # fmt: skip
    """Put every ``RATIO``-th point into the next level."""
    for slot in range(len(block_ptr) - 1):
        over = above_ptr[slot]
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            parent = -(-origin[block] // RATIO)
            stop = (origin[block] + at[block + 1] - at[block] - 1) // RATIO + 1
            while above_origin[over] + above_at[over + 1] - above_at[over] <= parent:
                over += 1
            for q in range(parent, stop):
                above[above_at[over] + q - above_origin[over]] = y[
                    at[block] + q * RATIO - origin[block]
                ]


@kernel
def _add_images(
    block_ptr: Ints, origin: Ints, at: Ints, plain: Floats, low: Floats, high: Floats,
    mirrored: Floats,
) -> None:  # fmt: skip
    """Add the mirror images of what lies beyond the lowest and the highest value.

    The images go on for a few points behind the mirror, so that curves can be laid through them.
    """
    for slot in range(len(low)):
        if block_ptr[slot] == block_ptr[slot + 1]:
            continue
        for side in range(2):
            mirror = high[slot] if side else low[slot]
            source = block_ptr[slot + 1] - 1 if side else block_ptr[slot]
            first = origin[source] + 1.0
            last = origin[source] + at[source + 1] - at[source] - 3.0
            if not first - _BEHIND < mirror < last + _BEHIND:
                continue
            # Points whose image 2 mirror − point lies in the source block, this side of the mirror.
            begin = 2 * mirror - last if side else max(mirror - _BEHIND, 2 * mirror - last)
            end = min(mirror + _BEHIND, 2 * mirror - first) if side else 2 * mirror - first
            for block in range(block_ptr[slot], block_ptr[slot + 1]):
                size = at[block + 1] - at[block]
                for q in range(
                    max(0, int(np.ceil(begin)) - origin[block]),
                    min(size, int(np.floor(end)) - origin[block] + 1),
                ):
                    image = 2 * mirror - (origin[block] + q) - origin[source]
                    i = int(image)
                    t = image - i
                    i += at[source]
                    mirrored[at[block] + q] += cubic(
                        plain[i - 1], plain[i], plain[i + 1], plain[i + 2], t
                    )


@kernel
def _edge_ratio(
    block_ptr: Ints, origin: Ints, at: Ints, plain: Floats, mirrored: Floats, edge: Floats,
    ratio: Floats,
) -> None:  # fmt: skip
    for slot in range(len(edge)):
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            where = edge[slot] - origin[block]
            if not 1 <= where < at[block + 1] - at[block] - 2:
                continue
            i = int(where)
            t = where - i
            i += at[block]
            g = cubic(plain[i - 1], plain[i], plain[i + 1], plain[i + 2], t)
            kappa = cubic(mirrored[i - 1], mirrored[i], mirrored[i + 1], mirrored[i + 2], t)
            if g > _TINY:
                ratio[slot] = np.log(kappa / g)


@kernel
def _fill_outside(
    block_ptr: Ints, origin: Ints, at: Ints, plain: Floats, low: Floats, high: Floats,
    ratios: Floats, y: Floats,
) -> None:  # fmt: skip
    """Put log g, raised to meet κ at the mirror, where points lie beyond a mirror.

    The first points there stay as they are; a cubic that ends at the mirror needs them.
    """
    for slot in range(len(low)):
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            size = at[block + 1] - at[block]
            last_below = min(max(np.ceil(low[slot]) - 2 - origin[block], 0.0), size)
            first_above = min(max(np.floor(high[slot]) + 3 - origin[block], 0.0), size)
            for side in range(2):
                begin = at[block] + (np.int64(first_above) if side else 0)
                end = at[block] + (size if side else np.int64(last_below))
                for p in range(begin, end):
                    y[p] = np.log(max(plain[p], _TINY)) + ratios[side, slot]
