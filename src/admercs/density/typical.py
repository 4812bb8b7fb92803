"""What is typical in a node, for explanations and plots."""

from __future__ import annotations

import numpy as np

from admercs.density.area import N_HEIGHTS
from admercs.density.arrays import Floats
from admercs.density.likelihoods import Likelihoods
from admercs.density.lookup import entries

_PER_POINT = 4  # looks between two table points for where the density crosses τ
_HALVINGS = 16
# Many rows may share the value where κ = τ; densities are tables in steps, and may just miss it.
_NEARLY = 0.01


def density_curve(likelihoods: Likelihoods, slot: int, points: Floats) -> Floats:
    """Return the density κ of a continuous slot at some points, per unit of the working values.

    It never falls below the floor, the density at an isolated row.

    Examples
    --------
    >>> from admercs.density import fit_sample
    >>> likelihoods = fit_sample(np.random.default_rng(0).normal(size=20_000))
    >>> density_curve(likelihoods, 0, np.array([0.0, 2.0])).round(2)
    array([0.38, 0.06])
    """
    return np.exp(to_log_density(likelihoods, slot, entries(likelihoods, slot, points)))


def to_log_density(likelihoods: Likelihoods, slot: int, found: Floats) -> Floats:
    """Return log κ behind the entries of a continuous slot's table."""
    if not len(likelihoods.log_height):
        return np.asarray(found + likelihoods.log_tau[slot], dtype=np.float64)
    heights = likelihoods.log_height[slot * N_HEIGHTS : (slot + 1) * N_HEIGHTS]
    floor = likelihoods.log_floor[slot]
    known = np.linspace(0, 1, N_HEIGHTS) * floor
    within = np.interp(-np.asarray(found, dtype=np.float64), -known, heights)
    return within + np.minimum(0.0, found - floor)


def typical_region(likelihoods: Likelihoods, slot: int) -> list[tuple[float, float]]:
    """Return the intervals where a continuous target is fully typical: κ ≥ τ(ρ).

    It is the smallest region that holds a fraction ρ of the node's rows. A node where even an
    isolated value is typical has the whole line as its region, ``[(-inf, inf)]``.

    Parameters
    ----------
    likelihoods : Likelihoods
    slot : int

    Returns
    -------
    list of (low, high)
        Ascending, in working values.

    Examples
    --------
    >>> from admercs.density import fit_sample
    >>> rng = np.random.default_rng(0)
    >>> speeds = np.concatenate((rng.normal(30, 2, 2000), rng.normal(100, 5, 2000)))
    >>> [(round(low), round(high)) for low, high in typical_region(fit_sample(speeds), 0)]
    [(26, 34), (93, 107)]
    """
    typical = float(likelihoods.log_typical[slot])
    if likelihoods.log_floor[slot] >= typical:
        return [(-np.inf, np.inf)]
    typical -= _NEARLY
    x = _looks(likelihoods, slot)
    inside = entries(likelihoods, slot, x) >= typical
    # Both ends are at the floor, so crossings come in pairs.
    crossings = np.flatnonzero(inside[1:] != inside[:-1])
    ends = _crossings(likelihoods, slot, typical, x[crossings], x[crossings + 1]).tolist()
    return list(zip(ends[::2], ends[1::2], strict=True))


def _looks(likelihoods: Likelihoods, slot: int) -> Floats:
    """Return places all over a slot's segments, close to each other, the first and last outside."""
    places = []
    begin, stop = likelihoods.segment_ptr[slot : slot + 2]
    for segment in range(begin, stop):
        n_points = int(likelihoods.table_ptr[segment + 1] - likelihoods.table_ptr[segment])
        offsets = np.arange(_PER_POINT * (n_points - 1) + 1) / _PER_POINT
        x = likelihoods.segment_start[segment] + offsets * likelihoods.step[segment]
        # Where segments overlap the later one holds.
        end = likelihoods.segment_from[segment + 1] if segment + 1 < stop else np.inf
        first = likelihoods.segment_from[segment] if segment > begin else -np.inf
        places.append(x[(x >= first) & (x < end)])
    return np.concatenate(places) if places else np.empty(0)


def _crossings(
    likelihoods: Likelihoods, slot: int, typical: float, low: Floats, high: Floats
) -> Floats:
    """Halve intervals with κ = τ somewhere inside; return their ends on the typical side."""
    rising = entries(likelihoods, slot, high) >= typical
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = (entries(likelihoods, slot, middle) >= typical) == rising
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(rising, high, low)


def typical_values(likelihoods: Likelihoods, slot: int) -> list[tuple[int, float]]:
    """Return the fully typical values of a discrete or nominal slot, most frequent first.

    Parameters
    ----------
    likelihoods : Likelihoods
    slot : int

    Returns
    -------
    list of (value index, share of rows)
        The index counts from 0 in ``Column.distinct`` or ``Column.categories``; one past the last
        category stands for all rarer ones. Values that do not occur in the node are left out.

    Examples
    --------
    >>> from admercs.density import fit_sample
    >>> from admercs.table.columns import Column
    >>> doors = Column("doors", 0, "numeric", "integer", distinct=(2.0, 3.0, 4.0))
    >>> typical_values(fit_sample(np.repeat([2.0, 3.0, 4.0], [30, 5, 65]), column=doors), 0)
    [(2, 0.65), (0, 0.3)]
    """
    begin, end = likelihoods.value_ptr[slot], likelihoods.value_ptr[slot + 1]
    count = likelihoods.count[begin:end]
    share = count / max(1, int(count.sum()))
    typical = np.flatnonzero(
        (likelihoods.log_value[begin:end] >= likelihoods.log_typical[slot]) & (count > 0)
    )
    order = typical[np.argsort(-count[typical], kind="stable")]
    return [(int(i), float(share[i])) for i in order]
