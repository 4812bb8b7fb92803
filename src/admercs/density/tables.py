"""Kernel densities as small tables of log κ.

All densities here are relative to the *floor* k(0) / n, the density at an isolated row: the log
density of an isolated row is 0 at its peak, and what is below 0 need not be kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.density.arrays import Floats, Ints, owners, pointers, ranges
from admercs.density.counts import ValueCounts
from admercs.density.grids import Grids
from admercs.density.kernels import Kernel, shape_of
from admercs.density.pyramid import (
    Pyramid,
    build_pyramid,
    edge_ratios,
    log_densities,
    log_density,
    positions,
)
from admercs.density.runs import Runs, choose_runs
from admercs.density.smoothing import read_levels

_NUDGE = 1e-6  # points: rounding must not put the column's ends themselves beyond the mirrors


class Tables(NamedTuple):
    """Log density of each slot, relative to its floor, at equally spaced points.

    A slot's points lie in segments, each with a spacing of its own. A segment holds from
    ``segment_from`` to where the next one begins or its own points end; beyond, the floor holds.
    ``level`` and ``mass`` say how many rows have which log density, which is what a threshold needs.
    """

    log_floor: Floats  # per slot: log(k(0) / n), in units of the column
    segment_ptr: Ints  # slots + 1
    main: Ints  # per slot: its longest segment, counted from its first
    segment_from: Floats  # per segment: value from which on it is the one to read
    segment_start: Floats  # per segment: value of its first point
    step: Floats  # per segment: spacing of its points
    table_ptr: Ints  # segments + 1
    table: Floats
    level_ptr: Ints  # slots + 1
    level: Floats
    mass: Floats


class _Segments(NamedTuple):
    """Runs cut at the mirrors."""

    run: Ints
    side: Ints  # 0 below the lower mirror, 1 between both, 2 above the upper one
    begin: Ints  # first point, counted from the run's first ...
    end: Ints  # ... and one past the last
    start: Floats  # where the segment begins to hold, in points


def max_points(n: Floats) -> Ints:
    """Return how many table points a slot of n rows may have.

    Two thousand hold any ordinary leaf; a root of a million rows has a long thin tail worth
    keeping. Where more would be needed, small details are left out, and in the end the least dense
    parts fall to the floor.

    >>> max_points(np.array([10, 100, 1e5, 1e9]))
    array([  640,  2048, 10000, 16384])
    """
    return np.clip(n / 10, np.minimum(64 * n, 2048), 16384).astype(np.int64)


def tabulate(
    counts: ValueCounts,
    grids: Grids,
    n: Floats,
    bandwidth: Floats,
    kernel: Kernel = "gaussian",
    limits: tuple[float, float] | None = None,
) -> Tables:
    """Tabulate the kernel density of each slot.

    Parameters
    ----------
    counts, grids
        The counted values.
    n : array of slots
        Rows with a value.
    bandwidth : array of slots
        At least 16 cells each.
    kernel : {"gaussian", "heavy"}
        See ``kernels``.
    limits : tuple of float, optional
        Smallest and largest value of the column: what a kernel would put beyond them is reflected.
        None for no reflection.
    """
    rows = np.maximum(n, 1.0)
    cap = max_points(rows)
    shape = shape_of(kernel)
    pyramid = build_pyramid(counts, grids, rows, bandwidth, shape, limits, cap)
    ratios = np.zeros((2, len(n)))
    if limits is not None:
        ratios = edge_ratios(pyramid, grids, limits)
    y = log_densities(pyramid, grids, limits, ratios)
    runs = choose_runs(pyramid, y, cap)
    segments = _cut(runs, pyramid, grids, limits or (-np.inf, np.inf))
    slot = runs.slot[segments.run]
    step = pyramid.step[runs.level[segments.run], slot]
    first = runs.first[segments.run] + segments.begin
    size = segments.end - segments.begin
    segment_ptr = pointers(np.bincount(slot, minlength=len(n)))
    return Tables(
        log_floor=np.log(shape.peak) - np.log(rows * bandwidth * np.sqrt(2 * np.pi)),
        segment_ptr=segment_ptr,
        main=_longest(segment_ptr, slot, size),
        segment_from=grids.left[slot] + segments.start * step,
        segment_start=grids.left[slot] + first * step,
        step=step,
        table_ptr=pointers(size),
        table=_values(runs, segments, pyramid, y, ratios),
        level_ptr=pyramid.cells.ptr,
        level=_at_cells(pyramid, y),
        mass=pyramid.cells.mass,
    )


def _at_cells(pyramid: Pyramid, log_density: Floats) -> Floats:
    """Return the log density at each cell, read from the finest level."""
    spacing = pyramid.spacing[owners(pyramid.cells.ptr)]
    return read_levels(pyramid.places, spacing, log_density)


def _longest(ptr: Ints, slot: Ints, size: Ints) -> Ints:
    """Return which of its segments is each slot's longest; 0 for a slot without any."""
    order = np.lexsort((-np.arange(len(size)), size, slot))
    found = np.zeros(len(ptr) - 1, dtype=np.int64)
    found[slot[order]] = order  # the last one of a slot stays
    return found - np.where(np.diff(ptr) > 0, ptr[:-1], 0)


def _cut(runs: Runs, pyramid: Pyramid, grids: Grids, limits: tuple[float, float]) -> _Segments:
    """Cut runs at the mirrors and put them in the order of slots and values.

    κ has a kink at a mirror. The segments on its two sides overlap, each going on as smoothly as it
    came, and the upper one holds from the mirror on.
    """
    covered = (runs.first + 1.0, runs.first + runs.size - 2.0)
    edges = []
    for limit in limits:
        where = positions(pyramid, grids, limit)
        # Far mirrors cut nothing; keep them within the numbers that can be counted.
        edge = np.clip(where[runs.level, runs.slot], covered[0] - 4, covered[1] + 4)
        edges.append((edge, np.floor(edge).astype(np.int64) - runs.first))
    (low, low_at), (high, high_at) = edges
    zero = np.zeros_like(runs.size)
    sides = [
        (covered[0] < low, zero, low_at + 3, covered[0]),
        ((covered[1] > low) & (covered[0] < high), low_at - 1, high_at + 3, low - _NUDGE),
        (covered[1] > high, high_at - 1, runs.size, high + _NUDGE),
    ]
    pieces = []
    for side, (is_there, begin, end, start) in enumerate(sides):
        run = np.flatnonzero(is_there)
        pieces.append(_Segments(
            run, np.full(len(run), side), np.maximum(begin, 0)[run],
            np.minimum(end, runs.size)[run], np.maximum(start, covered[0])[run],
        ))  # fmt: skip
    joined = _Segments._make(np.concatenate(parts) for parts in zip(*pieces, strict=True))
    slot = runs.slot[joined.run]
    where = joined.start * pyramid.step[runs.level[joined.run], slot]
    order = np.lexsort((where, slot))
    return _Segments._make(field[order] for field in joined)


def _values(runs: Runs, segments: _Segments, pyramid: Pyramid, y: Floats, ratios: Floats) -> Floats:
    """Gather the log densities of all segments."""
    at = runs.at[segments.run]
    points, segment = ranges(at + segments.begin, at + segments.end)
    table = y[points]
    is_beyond = segments.side != 1
    if is_beyond.any():
        ratio = ratios[segments.side // 2, runs.slot[segments.run]]
        beyond = np.flatnonzero(is_beyond[segment])
        table[beyond] = log_density(pyramid.plain[points[beyond]]) + ratio[segment[beyond]]
    return table
