"""Which points of the levels of a density are worth keeping.

A *run* is a stretch of points of one level with two points to spare on either side, as a cubic
through four points needs them. The finest level that holds a place is the one to read there: what
a finer level covers is left out of the coarser ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.arrays import Floats, Ints, ranges
from admercs.density.kernels import RATIO
from admercs.density.pyramid import Pyramid
from admercs.density.smoothing import NEGLIGIBLE, cubic

# Where a table is too long, details up to this size (in log density) are left to coarser levels ...
_DETAILS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)
_BAR_STEP = 0.35  # ... and if that does not help, the bar is raised by so much at a time
_GAP = 16  # going on over so many intervals is cheaper than another run

Marks = NDArray[np.bool_]


class Runs(NamedTuple):
    """Runs of points; those of a slot and level in ascending order."""

    slot: Ints
    level: Ints
    first: Ints  # first point, as a multiple of the level's spacing ...
    at: Ints  # ... and as a position among all points
    size: Ints


class _Groups(NamedTuple):
    """Intervals in groups, each of which is one interval of the next level; of one on the last level."""

    slot: Ints
    block: Ints
    at: Ints  # position of the first point
    parent: Ints  # that of the point where the next level's interval begins
    height: Floats  # highest place of the curve

    def cut(self, begin: int, end: int) -> _Groups:
        """Return some of the groups."""
        return _Groups._make(field[begin:end] for field in self)


def choose_runs(pyramid: Pyramid, y: Floats, cap: Ints) -> Runs:
    """Choose the runs of each slot, at most ``cap`` points.

    Only what is above the floor is kept. Where that is too much, small details are left out, and in
    the end the least dense parts fall to the floor.

    Parameters
    ----------
    pyramid : Pyramid
    y : array of points
        Their log density.
    cap : array of slots
    """
    n_slots, n_levels = len(cap), pyramid.n_levels
    active = np.ones(n_slots, dtype=np.bool_)
    details = _DETAILS if n_levels > 1 else _DETAILS[:1]  # one level has no coarser ones
    groups = _group(pyramid, y)
    ends = np.searchsorted(groups.at, pyramid.level_at)
    levels = [groups.cut(i, j) for i, j in pairwise(ends.tolist())]
    kept: list[Ints] = []
    attempt = 0
    while active.any():
        detail = details[min(attempt, len(details) - 1)]
        bar = np.log(NEGLIGIBLE) + _BAR_STEP * max(0, attempt - len(details) + 1)
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
    return Runs(*np.concatenate(kept).T)


def _group(pyramid: Pyramid, y: Floats) -> _Groups:
    """Put the intervals of all levels into groups."""
    _, row, origin, _, at = pyramid.blocks
    n_slots = pyramid.step.shape[1]
    align = np.where(row < (pyramid.n_levels - 1) * n_slots, RATIO, 1)
    # The first group begins at a multiple of `align`, two points or so into the block.
    first = at[:-1] + 2 + (-(origin + 2)) % align
    n, block = ranges(np.zeros_like(first), (at[1:] - 2 - first) // align)
    begin = first[block] + n * align[block]
    parent = ((first - at[:-1] + origin) // RATIO + pyramid.lift)[block] + n
    peaks = _peaks(y)
    height = np.fmax(peaks[begin], peaks[begin + 1])
    n_long = np.searchsorted(begin, pyramid.level_at[-2])
    for q in range(2, RATIO + 1):
        height[:n_long] = np.fmax(height[:n_long], peaks[begin[:n_long] + q])
    return _Groups(row[block] % n_slots, block, begin, parent, height)


def _peaks(y: Floats) -> Floats:
    """Return y, at its maxima the top of the parabola through the point and its neighbours."""
    peaks = y.copy()
    top = 1 + np.flatnonzero((y[1:-1] >= y[:-2]) & (y[1:-1] >= y[2:]))
    before, here, after = y[top - 1], y[top], y[top + 1]
    curved = here + here != before + after
    top, before, here, after = top[curved], before[curved], here[curved], after[curved]
    slope = after - before
    peaks[top] += slope * slope / (8 * (here + here - before - after))
    return peaks


def _has_detail(pyramid: Pyramid, groups: _Groups, which: Ints, y: Floats, detail: float) -> Marks:
    """Return whether the next level, which has every ``RATIO``-th point, would miss something."""
    p, block = groups.at[which], groups.block[which]
    begin, end = pyramid.blocks.at[block], pyramid.blocks.at[block + 1] - 2
    found = (p - RATIO < begin) | (p + 2 * RATIO >= end)
    inner = np.flatnonzero(~found)
    p = p[inner]
    for q in range(1, RATIO):
        told = cubic(y[p - RATIO], y[p], y[p + RATIO], y[p + 2 * RATIO], q / RATIO)
        found[inner] |= np.abs(told - y[p + q]) > detail
    return found


def _choose(pyramid: Pyramid, groups: _Groups, align: int, wanted: Marks, covered: Marks) -> Ints:
    """List the runs of one level as rows (slot, level, first, at, size).

    ``covered[p]`` says that a finer level covers the interval from point p to p + 1; on return, that
    this or a finer one does. Intervals are kept or left in groups of ``align``; a group partly covered
    is covered to its ends, so that a coarser run is never interrupted in the middle of an interval.
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
    seen = np.cumsum(covered)
    bridged = (
        (block[gap] == block[gap + 1])
        & (after - before <= _GAP + 1)
        & (seen[before] == seen[after])
    )
    covered[p] = True
    covered[ranges(before[bridged] + 1, after[bridged])[0]] = True
    ends = gap[~bridged]
    first, last = np.append(0, ends + 1), np.append(ends, len(p) - 1)
    at, block = p[first] - 1, block[first]
    level, slot = np.divmod(pyramid.blocks.slot[block], pyramid.step.shape[1])
    start = at + (pyramid.blocks.origin - pyramid.blocks.at[:-1])[block]
    return np.stack((slot, level, start, at, p[last] + 3 - at), axis=1)
