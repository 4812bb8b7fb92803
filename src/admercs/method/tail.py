"""Tail: values far outside of the rest are odd however often they occur.

A density finds a value ordinary that many rows share, wherever it lies. What counts in a tail is
how much mass lies out there. For each side of a column, let S(x) be the share of rows at x or
beyond. Two tails predict it from the column's inner quantiles: an exponential one, L, through those
beyond which 50% and 10% of the rows lie, and a generalised Pareto one, H, through those of 50, 10
and 2% (Pickands 1975). Where far fewer rows are expected out there than there are,

    ω = max(S, e³ L / S),    and where e⁶ H < S    ω = max(S³, e⁶ H).

Quantiles that are the same are moved apart by a quarter of the width between the 10% quantiles of
both sides: a column half of which is one value, such as a year, has tails, too.

So `-999` in twenty of 5,000 rows is odd, an age of 455 years is odder still, and the largest values
of a column with a heavy tail are not.

In a leaf, where there are too few rows for tails, a value that is alone (not as dense as two rows
in one place) has a kernel as wide as its distance to the bulk instead of one bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel, read_only
from admercs.arrays import FEW_ROWS, Bools, Floats, Ints
from admercs.arrays import ShortInts as Nodes
from admercs.density.likelihoods import CONTINUOUS, N_RANKS, Likelihoods
from admercs.density.lookup import ReadyLikelihoods, read_likelihood
from admercs.method.settings import Tail
from admercs.method.views import BlockViews

_LOG_TWO = 0.6931471805599453


class LoneValues(NamedTuple):
    """What lowering lone values needs to know of each slot."""

    lone: Floats  # log ω below which a value is alone; −inf where nothing is lowered
    low: Floats  # where the bulk begins …
    high: Floats  # … and ends
    width: Floats  # of a kernel
    floor: Floats  # entry of an isolated value
    least: Floats  # the smallest entry
    log_present: Floats
    highest: float  # no value above this is alone


def find_lone_values(likelihoods: Likelihoods, root: Ints, peak: float) -> LoneValues:
    """Find the bulk of each slot; those of the trees' roots are left to the tails of the column.

    `root` is that of the forest: where the nodes of each tree begin; `peak` is `Tail.peak`.
    """
    like, n = likelihoods, likelihoods.n - likelihoods.n_missing
    filled = like.segment_ptr[1:] > like.segment_ptr[:-1]
    main = (like.segment_ptr[:-1] + like.main)[filled]
    low, high = np.zeros((2, len(n)))
    low[filled] = like.segment_from[main]
    points = like.table_ptr[main + 1] - like.table_ptr[main]
    until = like.segment_start[main] + like.step[main] * (points - 1)
    follows = main + 1 < like.segment_ptr[1:][filled]
    ends = np.where(follows, np.append(like.segment_from, np.inf)[main + 1], np.inf)
    high[filled] = np.minimum(until, ends)
    least = np.minimum(like.log_floor, -np.log(np.maximum(n, 1)))
    lone = like.log_present + (like.log_floor + _LOG_TWO)
    lone = np.where(filled & (least < like.log_floor), lone, -np.inf)
    lone[like.slot[root[:-1]]] = -np.inf
    highest = float(lone.max())
    width = peak * like.bandwidth
    return LoneValues(lone, low, high, width, like.log_floor, least, like.log_present, highest)


def read_lowered(
    lone: LoneValues | None, known: Likelihoods | ReadyLikelihoods, target: int, nodes: Nodes,
    x: Floats, out: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return log ω of values in their scoring nodes, lower where a lone value is far away.

    `target` is the values' column, or the first of a group of them.
    """
    out = read_likelihood(known, target, nodes, x, out)
    likelihoods = known.likelihoods if isinstance(known, ReadyLikelihoods) else known
    if lone is not None and likelihoods.kind[target] == CONTINUOUS:
        odd = np.flatnonzero(out < lone.highest)
        if len(odd):
            lowered = out[odd]
            _lower_lone(nodes[odd], read_only(x[odd]), likelihoods.slot, *lone[:-1], lowered)
            out[odd] = lowered
    return out


@kernel
def _lower_lone(
    nodes: Nodes, x: Floats, slot_of: Nodes, lone: Floats, low: Floats, high: Floats,
    width: Floats, floor: Floats, least: Floats, log_present: Floats, log_omega: Floats,
) -> None:  # fmt: skip
    """Lower log ω of values that are alone by how far they are from the bulk."""
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for i in range(np.uint64(len(x))):
        slot = np.uint64(slot_of[np.uint64(nodes[i])])
        if log_omega[i] < lone[slot]:
            away, above = low[slot] - x[i], x[i] - high[slot]
            away = above if above > away else away
            if away > 0.0:
                entry = log_omega[i] - log_present[slot]
                alone = 1.0 - (entry - floor[slot]) / _LOG_TWO
                entry -= alone * math.log1p(away / width[slot])
                entry = entry if entry > least[slot] else least[slot]
                log_omega[i] = log_present[slot] + entry


class SideTail(NamedTuple):
    """One side of a column, its values mirrored so that it points upwards."""

    light_from: float  # where the exponential tail begins …
    light_scale: float
    heavy_from: float  # … and the Pareto tail; a scale of 0: there is none
    heavy_scale: float
    heavy_shape: float
    ranks: Floats  # values at the ranks 1, 2, 4, … from the end

    def odd_from(self, n: int, settings: Tail) -> float:
        """Return a value up to which nothing is odd; beyond the last rank something may be.

        Between two ranks that are kept the mass is constant and the tails fall, so a stretch is
        odd nowhere if it is not at its outer end.
        """
        ends = np.unique(self.ranks)
        odd = tail_likelihood(self, n, ends, settings) < 0
        if not odd.any():
            return float(ends[-1]) if len(ends) else self.light_from
        first = int(odd.argmax())
        return float(ends[first - 1]) if first else self.light_from


def draw_tail(
    quantiles: list[float], ranks: Floats, n: int, settings: Tail, step: float = 0.0,
    alike: float = 0.0,
) -> SideTail | None:  # fmt: skip
    """Draw the tails through three quantiles; None where there are too few rows or no spread.

    Quantiles that are less than `step` apart are moved outwards, by `alike` if they are the same.
    """
    middle, near, far = quantiles
    near = max(near if near > middle else middle + alike, middle + step)
    far = max(far if far > near else near + alike, near + step)
    if n * settings.near < settings.min_rows or not 0 < near - middle < math.inf:
        return None
    step = math.log(settings.middle / settings.near)
    heavy = (far, 0.0, 0.0)
    if n * settings.far >= 2 * settings.min_rows and 0 < far - near < math.inf:
        ratio = (far - near) / (near - middle)
        shape = max(0.0, math.log(ratio) / step) if ratio > 0 else 0.0
        scale = (far - near) / step
        if shape >= 1e-6:
            scale = shape * (far - near) / -math.expm1(-shape * step)
        heavy = (far, scale, shape if shape >= 1e-6 else 0.0)
    return SideTail(near, (near - middle) / step, *heavy, ranks[~np.isnan(ranks)])


def tail_likelihood(tail: SideTail, n: int, v: Floats, settings: Tail) -> Floats:
    """Return log ω of values beyond the beginning of a tail."""
    beyond = np.searchsorted(-tail.ranks, -v, side="right")
    mass = np.log(np.maximum(1.0, 2.0**beyond - 1) / n)  # the rows at v or beyond, at most
    with np.errstate(over="ignore"):
        light = math.log(settings.near) - (v - tail.light_from) / tail.light_scale
        heavy = np.zeros(len(v))
        if tail.heavy_scale > 0:
            z = np.maximum(0.0, v - tail.heavy_from) / tail.heavy_scale
            falls = np.log1p(tail.heavy_shape * z) / tail.heavy_shape if tail.heavy_shape else z
            heavy = np.where(v > tail.heavy_from, math.log(settings.far) - falls, 0.0)
        light = np.maximum(mass, light - mass + settings.slack)
        heavy += 2 * settings.slack
        heavy = np.where(heavy < mass, np.maximum(settings.power * mass, heavy), 0.0)
    return np.minimum(0.0, np.minimum(light, heavy))


class Residuals(NamedTuple):
    """Columns whose likelihood goes on falling: the residuals of relations."""

    steps: dict[int, float]  # by their number: the size of a residual that is small in any case
    power: float  # takes the place of `Tail.power`


class TailStep:
    """Lowers log ω, in the whole table, of values that lie far outside of the rest."""

    def __init__(
        self,
        likelihoods: Likelihoods,
        root: Ints,
        settings: Tail,
        residuals: Residuals | None = None,
    ) -> None:
        known = residuals or Residuals({}, settings.power)
        of_residual, steps = replace(settings, power=known.power), known.steps
        of = [of_residual if m in steps else settings for m in range(len(root) - 1)]
        slots = likelihoods.slot[root[:-1]]
        n = (likelihoods.n - likelihoods.n_missing)[slots].tolist()
        k = len(settings.shares)
        outer = likelihoods.outer.reshape(len(n), 2, k + N_RANKS) * np.array([[-1.0], [1.0]])
        with np.errstate(invalid="ignore", over="ignore"):
            bulk = np.nan_to_num(outer[:, :, 1].sum(axis=1))
        alike = [0.0 if m in steps else settings.step * w for m, w in enumerate(bulk.tolist())]
        apart = [(steps.get(m, 0.0), same) for m, same in enumerate(alike)]
        # Per column: the sign that mirrors each side, its tail, and where it may be odd.
        self._sides = {
            m: [
                (sign, tail, tail.odd_from(n[m], of[m]), n[m], of[m])
                for sign, side in zip((-1.0, 1.0), sides, strict=True)
                if (tail := draw_tail(side[:k].tolist(), side[k:], n[m], of[m], *apart[m]))
            ]
            for m, sides in enumerate(outer)
        }
        self._inner = np.repeat([[-np.inf], [np.inf]], len(n), axis=1)
        for m, both in self._sides.items():
            for sign, _, odd_from, _, _ in both:
                self._inner[int(sign > 0), m] = sign * odd_from
        # A tree without a split has the whole table as its only leaf.
        self._is_whole = np.diff(root) == 1

    def inner(self, m: int) -> tuple[float, float]:
        """Return the ends of a column's values that surely do not lie far outside."""
        return float(self._inner[0, m]), float(self._inner[1, m])

    def far(
        self, column: Callable[[int], Floats], has_far: Bools | None = None
    ) -> Iterator[tuple[int, Ints, Floats]]:
        """Yield columns, the rows whose values may lie far outside, and log ω of these.

        `has_far` says which columns may have such values, where that is known.
        """
        for m, both in self._sides.items():
            if both and (has_far is None or has_far[m]):
                for rows, far in self.far_of(m, column(m)):
                    yield m, rows, far

    def far_of(self, m: int, x: Floats) -> Iterator[tuple[Ints, Floats]]:
        """Yield which of some values of a column may lie far outside, and log ω of these."""
        for sign, tail, odd_from, n, settings in self._sides[m]:
            rows = np.flatnonzero(x > odd_from if sign > 0 else x < -odd_from)
            if len(rows):
                yield rows, tail_likelihood(tail, n, sign * x[rows], settings)

    def apply(self, views: BlockViews) -> None:
        """Lower ``views.marginal``, and with it the view of a leaf that is the whole table."""
        has_far, (low, high) = None, self._inner[:, :, None]
        if views.block.shape[1] <= FEW_ROWS:
            has_far = ((views.block < low) | (views.block > high)).any(axis=1)
        for m, rows, far in self.far(views.block.__getitem__, has_far):
            views.far.append((m, rows, far))
            if self._is_whole[m]:
                views.log_omega[m, rows] = np.minimum(views.log_omega[m, rows], far)
        views.lower_far()
