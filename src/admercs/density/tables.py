"""Kernel densities as small tables of log κ: which points of the pyramid's levels are kept.

All densities here are relative to the *floor* k(0) / n, the density at an isolated row: the log
density of an isolated row is 0 at its peak, and what is below 0 need not be kept.

A *run* is a stretch of points of one level with two points to spare on either side, as a cubic
through four points needs them. The finest level that holds a place is the one to read there: what
a finer level covers is left out of the coarser ones. A *segment* is a run cut at the mirrors.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from admercs.arrays import Array, Bools, Floats, Ints
from admercs.density.bandwidth import RATIO, kernel_shape
from admercs.density.counts import ValueCounts
from admercs.density.grids import Grids
from admercs.density.ragged import owners, pointers, ranges
from admercs.density.smoothing import (
    Ends,
    Pyramid,
    build_pyramid,
    interpolate,
    log_densities,
    log_density,
    positions,
)
from admercs.method.settings import Density

_NEGLIGIBLE = np.log(1.001)  # log densities up to this are the floor
_NUDGE = 1e-6  # points: rounding must not put the column's ends themselves beyond the mirrors
# Where a table is too long, details up to this size (in log density) are left to coarser levels ...
_DETAILS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)
_BAR_STEP = 0.35  # ... and if that does not help, the bar is raised by so much at a time
_GAP = 16  # going on over so many intervals is cheaper than another run


class Tables(NamedTuple):
    """Log density of each slot, relative to its floor."""

    log_floor: Floats  # per slot: log(k(0) / n), in units of the column
    segments: dict[str, Array]  # fields of `Likelihoods`
    table: Floats
    level_ptr: Ints  # slots + 1
    level: Floats  # log densities at the rows ...
    mass: Floats  # ... and how many rows have them


class _Groups(NamedTuple):
    """Intervals in groups, each one interval of the next level; single intervals on the last."""

    slot: Ints
    block: Ints
    at: Ints  # position of the first point
    parent: Ints  # that of the point where the next level's interval begins
    height: Floats  # highest place of the curve


class _Segments(NamedTuple):
    """Runs cut at the mirrors, in the order of slots and values."""

    slot: Ints
    side: Ints  # 0 below the lower mirror, 1 between both, 2 above the upper one
    step: Floats
    first: Ints  # first point, as a multiple of the level's spacing ...
    at: Ints  # ... and as a position among all points
    size: Ints
    start: Floats  # where the segment begins to hold, in points


def max_points(n: Floats) -> Ints:
    """Return how many table points a slot of n rows may have."""
    # Two thousand hold any ordinary leaf; a million rows have a long thin tail worth keeping.
    return np.clip(n / 10, np.minimum(64 * n, 2048), 16384).astype(np.int64)


def tabulate(
    counts: ValueCounts, grids: Grids, n: Floats, bandwidth: Floats, settings: Density,
    limits: Ends,
) -> Tables:  # fmt: skip
    """Tabulate the kernel density of each slot of ``n`` rows; a bandwidth is 16 cells or more."""
    rows = np.maximum(n, 1.0)
    cap, shape = max_points(rows), kernel_shape(settings)
    pyramid = build_pyramid(counts, grids, rows, bandwidth, shape, limits)
    y, ratios = log_densities(pyramid, grids, limits)
    runs = _choose_runs(pyramid, y, cap)
    segments = _cut(runs, pyramid, grids, limits)
    slot, step = segments.slot, segments.step
    segment_ptr = pointers(np.bincount(slot, minlength=len(n)))
    # The longest segment of each slot, the first one of several: the last in this order.
    order = np.lexsort((-np.arange(len(slot)), segments.size, slot))
    longest = np.zeros(len(n), dtype=np.int64)
    longest[slot[order]] = order - segment_ptr[slot[order]]
    level_ptr, _, mass = pyramid.cells
    level = interpolate(y, pyramid.at, pyramid.phase / pyramid.spacing[owners(level_ptr)])
    fields = {
        "segment_ptr": segment_ptr, "main": longest,
        "segment_from": grids.left[slot] + segments.start * step,
        "segment_start": grids.left[slot] + segments.first * step,
        "step": step, "table_ptr": pointers(segments.size),
    }  # fmt: skip
    log_floor = np.log(shape.peak) - np.log(rows * bandwidth * np.sqrt(2 * np.pi))
    level = np.where(level > _NEGLIGIBLE, level, 0.0)
    # Beyond the mirrors the density is g, raised to meet κ there.
    points, segment = ranges(segments.at, segments.at + segments.size)
    table, ratio = y[points], ratios[segments.side // 2, slot]
    beyond = np.flatnonzero((segments.side != 1)[segment])
    table[beyond] = log_density(pyramid.plain[points[beyond]]) + ratio[segment[beyond]]
    return Tables(log_floor, fields, table, level_ptr, level, mass)


def _cut(runs: Ints, pyramid: Pyramid, grids: Grids, limits: Ends) -> _Segments:
    """Cut runs at the mirrors."""
    # κ has a kink there: the segments on its sides overlap, and the upper one holds from there.
    slot, level, first, at, size = runs
    begins, ends = first + 1.0, first + size - 2.0  # where the runs hold
    # Far mirrors cut nothing; keep them within the numbers that can be counted.
    low, high = (
        np.clip(positions(pyramid, grids, limit)[level, slot], begins - 4, ends + 4)
        for limit in limits
    )
    low_at, high_at = (np.floor(edge).astype(np.int64) - first for edge in (low, high))
    sides = [
        (begins < low, np.zeros_like(size), low_at + 3, begins),
        ((ends > low) & (begins < high), low_at - 1, high_at + 3, low - _NUDGE),
        (ends > high, high_at - 1, size, high + _NUDGE),
    ]
    pieces = []
    for side, (is_there, begin_at, end_at, start) in enumerate(sides):
        begin, end = np.maximum(begin_at, 0), np.minimum(end_at, size)
        cut = _Segments(
            slot, np.full_like(begin, side), pyramid.step[level, slot],
            first + begin, at + begin, end - begin, np.maximum(start, begins),
        )  # fmt: skip
        pieces.append([field[is_there] for field in cut])
    joined = _Segments._make(np.concatenate(parts) for parts in zip(*pieces, strict=True))
    order = np.lexsort((joined.start * joined.step, joined.slot))
    return _Segments._make(field[order] for field in joined)


def _choose_runs(pyramid: Pyramid, y: Floats, cap: Ints) -> Ints:
    """Choose the runs of each slot, at most ``cap`` points; ``y`` is the log density of all points.

    A run has a slot, a level, its first point as a multiple of the level's spacing and as a
    position among all points, and a size. Only what is above the floor is kept. Where that is too
    much, small details are left out, and in the end the least dense parts fall to the floor.
    """
    n_slots, n_levels = len(cap), pyramid.n_levels
    active = np.ones(n_slots, dtype=np.bool_)
    details = _DETAILS if n_levels > 1 else _DETAILS[:1]  # one level has no coarser ones
    groups = _group(pyramid, y)
    ends = np.searchsorted(groups.at, pyramid.level_at).tolist()
    levels = [_Groups._make(field[i:j] for field in groups) for i, j in pairwise(ends)]
    kept: list[Ints] = []
    attempt = 0
    while active.any():
        detail = details[min(attempt, len(details) - 1)]
        bar = _NEGLIGIBLE + _BAR_STEP * max(0, attempt - len(details) + 1)
        covered = np.zeros(len(y), dtype=np.bool_)
        rows = []
        for level, mine in enumerate(levels):
            wanted = active[mine.slot] & (mine.height > bar)
            is_last = level == n_levels - 1
            if detail > 0 and not is_last:
                wanted[wanted] = _has_detail(pyramid, mine, np.flatnonzero(wanted), y, detail)
            rows.append(_choose(pyramid, mine, 1 if is_last else RATIO, wanted, covered))
            if not is_last:  # groups are covered as a whole
                covered[mine.parent] = covered[mine.at]
        runs = np.concatenate(rows)
        total = np.bincount(runs[:, 0], weights=runs[:, 4], minlength=n_slots)
        done = active & (total <= cap)
        kept.append(runs[done[runs[:, 0]]])
        active &= ~done
        attempt += 1
    return np.concatenate(kept).T


def _group(pyramid: Pyramid, y: Floats) -> _Groups:
    """Put the intervals of all levels into groups."""
    row, origin, _, at = pyramid.blocks
    n_slots = pyramid.step.shape[1]
    align = np.where(row < (pyramid.n_levels - 1) * n_slots, RATIO, 1)
    # The first group begins at a multiple of `align`, two points or so into the block.
    first = at[:-1] + 2 + (-(origin + 2)) % align
    n, block = ranges(np.zeros_like(first), (at[1:] - 2 - first) // align)
    begin = first[block] + n * align[block]
    parent = ((first - at[:-1] + origin) // RATIO + pyramid.lift)[block] + n
    # At a maximum the curve reaches the top of the parabola through the point and its neighbours.
    peaks = y.copy()
    top = 1 + np.flatnonzero((y[1:-1] >= y[:-2]) & (y[1:-1] >= y[2:]))
    top = top[y[top] + y[top] != y[top - 1] + y[top + 1]]
    before, here, after = y[top - 1], y[top], y[top + 1]
    peaks[top] += (after - before) * (after - before) / (8 * (here + here - before - after))
    height = np.fmax(peaks[begin], peaks[begin + 1])
    n_long = np.searchsorted(begin, pyramid.level_at[-2])
    for q in range(2, RATIO + 1):
        height[:n_long] = np.fmax(height[:n_long], peaks[begin[:n_long] + q])
    return _Groups(row[block] % n_slots, block, begin, parent, height)


def _has_detail(pyramid: Pyramid, groups: _Groups, which: Ints, y: Floats, detail: float) -> Bools:
    """Return whether the next level, which has every ``RATIO``-th point, would miss something."""
    p, block = groups.at[which], groups.block[which]
    begin, end = pyramid.blocks.at[block], pyramid.blocks.at[block + 1] - 2
    found = (p - RATIO < begin) | (p + 2 * RATIO >= end)
    inner = np.flatnonzero(~found)
    p = p[inner]
    coarse = y[p[:, None] + np.arange(-1, 3) * RATIO].ravel()  # four points for each group
    at = np.arange(1, len(coarse), 4)
    for q in range(1, RATIO):
        read = interpolate(coarse, at, np.full(len(at), q / RATIO))
        found[inner] |= np.abs(read - y[p + q]) > detail
    return found


def _choose(pyramid: Pyramid, groups: _Groups, align: int, wanted: Bools, covered: Bools) -> Ints:
    """List the runs of one level as rows (slot, level, first, at, size).

    ``covered[p]`` says that a finer level, on return also this one, covers the interval from point
    p to p + 1. A group of ``align`` intervals that is partly covered is covered to its ends, so
    that a coarser run is never interrupted in the middle of an interval.
    """
    is_covered = covered[groups.at[:, None] + np.arange(align)]
    # The marks of a group as one number: 0 for none of them, the largest one for all.
    marks = is_covered.view(f"u{align}")[:, 0]
    chosen = np.flatnonzero((wanted | (marks > 0)) & (marks < int.from_bytes(bytes([1] * align))))
    row, q = np.nonzero(~is_covered[chosen])
    if len(row) == 0:
        return np.empty((0, 5), dtype=np.int64)
    group = chosen[row]
    p, block = groups.at[group] + q, groups.block[group]
    # A run goes on over a short gap, but not from one block to the next nor over what is covered.
    gap = np.flatnonzero(p[1:] != p[:-1] + 1)
    before, after = p[gap], p[gap + 1]
    seen = np.cumsum(covered[p[0] : p[-1] + 1])
    bridged = (block[gap] == block[gap + 1]) & (after - before <= _GAP + 1)
    bridged &= seen[before - p[0]] == seen[after - p[0]]
    covered[p] = True
    covered[ranges(before[bridged] + 1, after[bridged])[0]] = True
    ends = gap[~bridged]
    first, last = np.append(0, ends + 1), np.append(ends, len(p) - 1)
    at, block = p[first] - 1, block[first]
    level, slot = np.divmod(pyramid.blocks.slot[block], pyramid.step.shape[1])
    start = at + (pyramid.blocks.origin - pyramid.blocks.at[:-1])[block]
    return np.stack((slot, level, start, at, p[last] + 3 - at), axis=1)
