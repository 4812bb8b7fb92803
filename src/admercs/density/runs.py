"""Which points of the levels of a density are worth keeping.

A *run* is a stretch of points of one level with two points to spare on either side, as a cubic
through four points needs them. The finest level that holds a place is the one to read there: what
a finer level covers is left out of the coarser ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
from admercs.density.kernels import RATIO
from admercs.density.smoothing import NEGLIGIBLE, cubic

# Where a table is too long, details up to this size (in log density) are left to coarser levels ...
_DETAILS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3)
_BAR_STEP = 0.35  # ... and if that does not help, the bar is raised by so much at a time
_GAP = 16  # going on over so many intervals is cheaper than another run

Marks = NDArray[np.uint8]


class Blocks(NamedTuple):
    """Where the points of a level lie (see ``lay_out``)."""

    ptr: Ints  # slots + 1
    origin: Ints
    at: Ints


class Runs(NamedTuple):
    """Runs of points; those of a slot and level in ascending order."""

    slot: Ints
    level: Ints
    first: Ints  # first point, as a multiple of the level's spacing ...
    at: Ints  # ... and as a position in the level's array
    size: Ints


def choose_runs(blocks: Sequence[Blocks], log_density: Sequence[Floats], cap: Ints) -> Runs:
    """Choose the runs of each slot, at most ``cap`` points.

    Only what is above the floor is kept. Where that is too much, small details are left out, and in
    the end the least dense parts fall to the floor.

    Parameters
    ----------
    blocks, log_density
        Per level, the finest first; the blocks of a level lie well within those of the next.
    cap : array of slots
    """
    n_slots = len(cap)
    active = np.ones(n_slots, dtype=np.bool_)
    details = _DETAILS if len(blocks) > 1 else _DETAILS[:1]  # one level has no coarser ones
    kept: list[Ints] = []
    attempt = 0
    while active.any():
        detail = details[min(attempt, len(details) - 1)]
        bar = np.log(NEGLIGIBLE) + _BAR_STEP * max(0, attempt - len(details) + 1)
        rows = []
        covered = np.zeros(len(log_density[0]), dtype=np.uint8)
        for level, (where, y) in enumerate(zip(blocks, log_density, strict=True)):
            is_last = level == len(blocks) - 1
            align = 1 if is_last else RATIO
            found = np.empty((len(y) // 2 + 1, 5), dtype=np.int64)
            used = _choose(y, *where, active, bar, detail, align, level, covered, found)
            rows.append(found[:used])
            if not is_last:
                coarser = blocks[level + 1]
                above = np.zeros(len(log_density[level + 1]), dtype=np.uint8)
                _pass_up(*where, active, covered, *coarser, above)
                covered = above
        runs = np.concatenate(rows)
        total = np.bincount(runs[:, 0], weights=runs[:, 4], minlength=n_slots)
        done = active & (total <= cap)
        kept.append(runs[done[runs[:, 0]]])
        active &= ~done
        attempt += 1
    return Runs(*np.concatenate(kept).T)


@kernel
def _peak(y: Floats, p: int) -> float:
    """Return y[p], or the top of the parabola through p and its neighbours if p is highest."""
    before, here, after = y[p - 1], y[p], y[p + 1]
    if here < before or here < after or here + here == before + after:
        return here
    slope = after - before
    return here + slope * slope / (8 * (here + here - before - after))


@kernel
def _has_detail(y: Floats, p: int, base: int, stop: int, align: int, detail: float) -> bool:
    """Return whether the next level, which has every ``align``-th point, would miss something."""
    if p - align < base or p + 2 * align >= stop:
        return True
    before, here, there, beyond = y[p - align], y[p], y[p + align], y[p + 2 * align]
    found = False
    for q in range(1, align):
        told = cubic(before, here, there, beyond, q / align)
        found = found or abs(told - y[p + q]) > detail
    return found


@kernel
def _choose(
    y: Floats, block_ptr: Ints, origin: Ints, at: Ints, active: NDArray[np.bool_], bar: float,
    detail: float, align: int, level: int, covered: Marks, runs: Ints,
) -> int:  # fmt: skip
    """List the runs of one level as rows (slot, level, first, at, size); return their number.

    ``covered[p]`` says that a finer level covers the interval from point p to p + 1; on return, that
    this or a finer one does. Intervals are kept or left in groups of ``align``, which is one interval
    of the next level; a group partly covered is covered to its ends, so that a coarser run is never
    interrupted in the middle of an interval.
    """
    used = 0
    for slot in range(len(active)):
        if not active[slot]:
            continue
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            base, stop = at[block], at[block + 1] - 2
            # The first group begins at a multiple of `align`, two points or so into the block.
            p = base + 2 + (-(origin[block] + 2)) % align
            open_until = -1  # end of the run being made
            while p + align <= stop:
                n_covered = 0
                wanted = False
                for q in range(p, p + align + 1):
                    wanted = wanted or _peak(y, q) > bar
                    if q < p + align:
                        n_covered += covered[q]
                if wanted and detail > 0 and align > 1:
                    wanted = _has_detail(y, p, base, stop, align, detail)
                if n_covered == align:
                    open_until = -1
                elif wanted or n_covered > 0:
                    for q in range(p, p + align):
                        if covered[q] == 1:
                            open_until = -1
                            continue
                        if open_until < 0 or q - open_until > _GAP:
                            runs[used, 0] = slot
                            runs[used, 1] = level
                            runs[used, 2] = origin[block] + q - 1 - base
                            runs[used, 3] = q - 1
                            used += 1
                            open_until = q
                        for between in range(open_until, q + 1):
                            covered[between] = 1
                        open_until = q + 1
                        runs[used - 1, 4] = q + 3 - runs[used - 1, 3]
                p += align
    return used


@kernel
def _pass_up(
    block_ptr: Ints, origin: Ints, at: Ints, active: NDArray[np.bool_], covered: Marks,
    above_ptr: Ints, above_origin: Ints, above_at: Ints, above: Marks,
) -> None:  # fmt: skip
    """Mark the intervals of the next level that are covered; groups are covered as a whole."""
    for slot in range(len(block_ptr) - 1):
        if not active[slot]:
            continue
        over = above_ptr[slot]
        for block in range(block_ptr[slot], block_ptr[slot + 1]):
            for p in range(at[block], at[block + 1]):
                point = origin[block] + p - at[block]
                if covered[p] == 0 or point % RATIO != 0:
                    continue
                parent = point // RATIO
                while above_origin[over] + above_at[over + 1] - above_at[over] <= parent:
                    over += 1
                above[above_at[over] + parent - above_origin[over]] = 1
