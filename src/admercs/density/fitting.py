"""Fitting the distributions of all targets to a table in memory.

Per target: count codes → place grids → count values → bandwidths → tables. A table in pieces takes
the same steps and merges the counts of its pieces in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from admercs.density.arrays import Floats, Ints
from admercs.density.bandwidth import select_bandwidths
from admercs.density.counts import ValueCounts, count_codes, count_values, node_counts
from admercs.density.distributions import (
    Likelihood,
    TargetDistributions,
    assemble,
    column_kind,
    n_values,
    of_few_values,
    of_many_values,
    to_likelihoods,
)
from admercs.density.grids import Grids, code_shift, place_grids
from admercs.density.kernels import Kernel
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, Likelihoods
from admercs.density.plans import TargetPlan, plan_target, restrict
from admercs.density.spread import Spread, measure, regrid
from admercs.density.tables import tabulate
from admercs.table.columns import Column
from admercs.trees.forest import Forest, Leaves

_OUT_OF_SIGHT = 1000.0  # widths of the column's core; no kernel reaches that far


def code_layout(column: Column, edges: Floats) -> tuple[int, int]:
    """Return (number of codes to count, 0 included; bits of a code to drop) for a column."""
    if column_kind(column) != CONTINUOUS:
        return n_values(column) + 1, 0
    shift = code_shift(len(edges) + 1)
    return (len(edges) >> shift) + 2, shift


def target_codes(
    column: Column,
    edges: Floats,
    codes: NDArray[np.unsignedinteger],
    values: Callable[[], Floats],
) -> NDArray[np.unsignedinteger]:
    """Return codes that tell all values of a discrete column apart; others stay as they are.

    With fewer bins than values (a small ``max_bins``) the table's codes join neighbouring values,
    but how often each of them occurs must still be known.
    """
    if column_kind(column) != DISCRETE or len(edges) == len(column.distinct) - 1:
        return codes
    x = values()
    return np.where(np.isnan(x), 0, 1 + np.searchsorted(column.distinct, x)).astype(np.uint16)


def value_limits(values: Floats) -> tuple[float, float]:
    """Return the smallest and the largest value; (0, 0) where there is none.

    >>> value_limits(np.array([2.0, np.nan, -1.0]))
    (-1.0, 2.0)
    """
    low, high = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=-np.inf)
    return (float(low), float(high)) if low <= high else (0.0, 0.0)


def fit_target(
    plan: TargetPlan,
    codes: NDArray[np.unsignedinteger],
    leaves: NDArray[np.int32],
    column: Column,
    edges: Floats,
    values: Callable[[], Floats],
    kernel: Kernel = "gaussian",
) -> TargetDistributions:
    """Estimate all distributions of one target.

    Parameters
    ----------
    plan : TargetPlan
    codes, leaves : array of n
        The target's code and the leaf of each row.
    column : Column
    edges : array
        Bin edges of a numeric column.
    values : callable
        Returns the working values; called where codes do not tell enough.
    kernel : {"gaussian", "heavy"}
        What a continuous density is made of. The heavy kernel is reflected at the column's
        smallest and largest value.
    """
    n_codes, shift = code_layout(column, edges)
    codes = target_codes(column, edges, codes, values)
    counts = node_counts(plan, count_codes(codes, leaves, plan, n_codes, shift))
    if column_kind(column) != CONTINUOUS:
        return of_few_values(plan, column, counts)
    x = values()
    limits = value_limits(x)
    grids = place_grids(counts, edges, limits, shift)
    column_range = float(grids.central[0])
    counted = count_values(x, leaves, plan, grids)
    spread = measure(counted, grids)
    better, wrong = regrid(spread, grids)
    if len(wrong):
        again = count_values(x, leaves, restrict(plan, wrong), better)
        grids, counted = grids.replace(wrong, better), counted.replace(wrong, again)
        spread = measure(counted, grids)
    return finish_continuous(
        plan, counts, counted, grids, column_range, spread, kernel=kernel, limits=limits
    )


def finish_continuous(
    plan: TargetPlan,
    counts: Ints,
    counted: ValueCounts,
    grids: Grids,
    column_range: float,
    spread: Spread | None = None,
    *,
    kernel: Kernel = "gaussian",
    limits: tuple[float, float] | None = None,
) -> TargetDistributions:
    """Estimate the densities of a continuous target from all that was counted.

    Parameters
    ----------
    plan : TargetPlan
    counts : array of slots x codes
        From ``node_counts``.
    counted : ValueCounts
        Rows per cell of ``grids``, all pieces merged.
    grids : Grids
    column_range : float
        Central range of the root's first grid.
    spread : Spread, optional
        What ``measure`` says of these counts, if known already.
    kernel : {"gaussian", "heavy"}
    limits : tuple of float, optional
        Smallest and largest value of the column; the heavy kernel is reflected there.
    """
    spread = spread or measure(counted, grids)
    bandwidth = select_bandwidths(counted, grids, spread, column_range)
    mirrors = place_mirrors(grids, limits) if kernel == "heavy" and limits else None
    tables = tabulate(counted, grids, spread.n, bandwidth, kernel, mirrors)
    return of_many_values(plan, counts, bandwidth, tables)


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


def fit_distributions(
    forest: Forest,
    codes: NDArray[np.unsignedinteger],
    leaves: Leaves | NDArray[np.int32],
    column: Callable[[int], Floats],
    edges: Sequence[Floats],
    columns: Sequence[Column],
    targets: Sequence[int] | None = None,
    kernel: Kernel = "gaussian",
) -> Iterator[TargetDistributions]:
    """Estimate the distributions of one target after the other, for many values of ρ later."""
    for m in range(len(columns)) if targets is None else targets:
        yield fit_target(
            plan_target(forest, m), codes[m], leaves[m], columns[m], edges[m], partial(column, m),
            kernel,
        )  # fmt: skip


def fit_likelihoods(
    forest: Forest,
    codes: NDArray[np.unsignedinteger],
    leaves: Leaves | NDArray[np.int32],
    column: Callable[[int], Floats],
    edges: Sequence[Floats],
    columns: Sequence[Column],
    rho: float,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    *,
    likelihood: Likelihood = "paper",
    kernel: Kernel = "gaussian",
) -> Likelihoods:
    """Estimate how likely each value is in each scoring node.

    Parameters
    ----------
    forest : Forest
    codes : array of M x N
        Codes of all used columns.
    leaves : Leaves, or array of M x N
        The leaf (node number in the forest) of each row in each tree.
    column : callable
        ``column(m)`` returns the working values of column m; called from several threads.
    edges : sequence of array
        Bin edges of each column; ignored unless the column is continuous.
    columns : sequence of Column
        The used columns.
    rho : float
        The fraction of a node's rows that count as fully typical there.
    n_jobs : int
        Number of threads. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(done, M)`` after each target.
    likelihood : {"paper", "area"}
        How a density becomes a likelihood, see ``to_likelihoods``.
    kernel : {"gaussian", "heavy"}
        What continuous densities are made of, see ``fit_target``.

    Returns
    -------
    Likelihoods
    """

    def fit_one(m: int) -> tuple[Ints, Likelihoods]:
        target = next(
            fit_distributions(forest, codes, leaves, column, edges, columns, (m,), kernel)
        )
        return target.nodes, to_likelihoods(target, rho, likelihood)

    parts = []
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        try:
            for done, part in enumerate(pool.map(fit_one, range(len(columns))), start=1):
                parts.append(part)
                if progress is not None:
                    progress(done, len(columns))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return assemble([part for _, part in parts], [nodes for nodes, _ in parts], len(forest.n))


def likelihoods_at(targets: Sequence[TargetDistributions], n_nodes: int, rho: float) -> Likelihoods:
    """Return the likelihoods for another ρ without counting anything again."""
    return assemble([to_likelihoods(t, rho) for t in targets], [t.nodes for t in targets], n_nodes)
