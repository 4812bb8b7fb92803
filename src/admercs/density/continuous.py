"""The steps to the densities of a continuous target, for whoever counts its values.

Codes are counted → `start_continuous` places grids → values are counted on them → `check_grids` finds better grids
for some slots → these are counted again → `finish_continuous`. In between stands nothing but counting, in one piece
or in many.
"""

from __future__ import annotations

from typing import NamedTuple

from admercs.density.arrays import Floats, Ints
from admercs.density.bandwidth import select_bandwidths
from admercs.density.counts import ValueCounts
from admercs.density.distributions import TargetDistributions, of_many_values
from admercs.density.grids import Grids, code_shift, place_grids
from admercs.density.kernels import Kernel
from admercs.density.plans import TargetPlan, restrict
from admercs.density.spread import Spread, measure, regrid
from admercs.density.tables import tabulate
from admercs.density.tails import measure_tail

_OUT_OF_SIGHT = 1000.0  # widths of the column's core; no kernel reaches that far


class Start(NamedTuple):
    """What the counts of codes tell about a target."""

    plan: TargetPlan
    counts: Ints  # slots x codes
    grids: Grids  # on which to count its values
    limits: tuple[float, float]  # its smallest and its largest value


class Check(NamedTuple):
    """What the values counted on the first grids tell."""

    spread: Spread
    slots: Ints  # those whose grid does not fit; often none
    grids: Grids  # better ones for them

    def to_count(self, start: Start) -> tuple[TargetPlan, Grids] | None:
        """Return what has to be counted again, if anything."""
        return (restrict(start.plan, self.slots), self.grids) if len(self.slots) else None


def start_continuous(
    plan: TargetPlan, counts: Ints, edges: Floats, limits: tuple[float, float]
) -> Start:
    """Place a grid for each slot where its codes say that its values are."""
    grids = place_grids(counts, edges, limits, code_shift(len(edges) + 1))
    return Start(plan, counts, grids, limits)


def check_grids(start: Start, counted: ValueCounts) -> Check:
    """Find out which grids do not fit, given all values counted on the first ones."""
    spread = measure(counted, start.grids)
    better, slots = regrid(spread, start.grids)
    return Check(spread, slots, better)


def finish_continuous(
    start: Start,
    counted: ValueCounts,
    check: Check,
    again: ValueCounts | None,
    kernel: Kernel = "gaussian",
) -> TargetDistributions:
    """Estimate the densities from all that was counted.

    Parameters
    ----------
    start : Start
    counted : ValueCounts
        The values on the first grids, all pieces merged.
    check : Check
    again : ValueCounts or None
        The values of ``check.slots`` on their better grids.
    kernel : {"gaussian", "heavy"}
        What a density is made of. The heavy kernel is reflected at the smallest and the largest value.
    """
    grids, spread = start.grids, check.spread
    if again is not None:
        grids, counted = (
            grids.replace(check.slots, check.grids),
            counted.replace(check.slots, again),
        )
        spread = measure(counted, grids)
    bandwidth = select_bandwidths(counted, grids, spread, float(start.grids.central[0]))
    mirrors = place_mirrors(grids, start.limits) if kernel == "heavy" else None
    tables = tabulate(counted, grids, spread.n, bandwidth, kernel, mirrors)
    tail = measure_tail(counted, grids)
    return of_many_values(start.plan, start.counts, bandwidth, tables, tail)


def place_mirrors(grids: Grids, limits: tuple[float, float]) -> tuple[float, float]:
    """Return where a column's densities are reflected: at its ends, if it ends among its values.

    An end far out in a thin tail is a single row; a mirror there would only double that row. Such a mirror
    is moved out of sight.
    """
    width = float(grids.width[0] * grids.size[0])
    core = float(grids.left[0]), float(grids.left[0]) + width
    low = limits[0] if limits[0] >= core[0] else limits[0] - _OUT_OF_SIGHT * width
    high = limits[1] if limits[1] <= core[1] else limits[1] + _OUT_OF_SIGHT * width
    return low, high
