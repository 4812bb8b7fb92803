"""Fitting the distributions of all targets to a table in memory.

A table in pieces takes the same steps (`continuous`) and merges the counts of its pieces in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from admercs.density.arrays import Floats, Ints
from admercs.density.continuous import check_grids, finish_continuous, start_continuous
from admercs.density.counts import count_codes, count_values, node_counts
from admercs.density.distributions import (
    Likelihood,
    TargetDistributions,
    assemble,
    column_kind,
    n_values,
    of_few_values,
    to_likelihoods,
)
from admercs.density.grids import code_shift
from admercs.density.kernels import Kernel
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, Likelihoods
from admercs.density.plans import TargetPlan, plan_target
from admercs.table.columns import Column
from admercs.trees.forest import Forest, Leaves


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
        What a continuous density is made of.
    """
    n_codes, shift = code_layout(column, edges)
    codes = target_codes(column, edges, codes, values)
    counts = node_counts(plan, count_codes(codes, leaves, plan, n_codes, shift))
    if column_kind(column) != CONTINUOUS:
        return of_few_values(plan, column, counts)
    x = values()
    start = start_continuous(plan, counts, edges, value_limits(x))
    counted = count_values(x, leaves, plan, start.grids)
    check = check_grids(start, counted)
    more = check.to_count(start)
    again = None if more is None else count_values(x, leaves, *more)
    return finish_continuous(start, counted, check, again, kernel)


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
