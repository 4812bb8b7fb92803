"""The distribution of a single sample, without a tree around it."""

from __future__ import annotations

import numpy as np

from admercs.density.arrays import Floats
from admercs.density.distributions import assemble, to_likelihoods
from admercs.density.fitting import fit_target
from admercs.density.kernels import Kernel
from admercs.density.likelihoods import Likelihoods
from admercs.density.plans import TargetPlan
from admercs.table.columns import Column

_N_BINS = 255


def fit_sample(
    values: Floats,
    rho: float = 0.9,
    column: Column | None = None,
    kernel: Kernel = "gaussian",
) -> Likelihoods:
    """Estimate how likely each value is in one sample, as in a tree that never split.

    Parameters
    ----------
    values : array of n
        Working values; NaN is missing.
    rho : float
        The fraction of rows that count as fully typical.
    column : Column, optional
        What the values are; a continuous number by default.
    kernel : {"gaussian", "heavy"}
        What a continuous density is made of.

    Returns
    -------
    Likelihoods
        Column 0, node 0, slot 0.

    Examples
    --------
    >>> from admercs.density import judge_column
    >>> heights = np.random.default_rng(0).normal(170, 8, size=5000)
    >>> likelihoods = fit_sample(heights)
    >>> nodes = np.zeros(3, dtype=np.int32)
    >>> np.exp(judge_column(likelihoods, 0, nodes, np.array([172.0, 185.0, 199.0]))).round(1)
    array([1. , 0.7, 0. ])
    """
    column = column or Column("x", 0, "numeric", "number")
    x = np.asarray(values, dtype=np.float64)
    present = x[~np.isnan(x)]
    if column.role == "nominal":
        edges, codes = np.empty(0), np.nan_to_num(x)
    else:
        if column.distinct:
            edges = np.array(column.distinct[:-1])
        else:
            shares = np.arange(1, _N_BINS) / _N_BINS
            edges = (
                np.unique(np.quantile(present, shares, method="lower")) if len(present) else present
            )
        codes = np.where(np.isnan(x), 0, 1 + np.searchsorted(edges, x))
    one, leaf = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
    stump = TargetPlan(0, 0, one - 1, leaf, one - 1, one, np.array([0, 1]), leaf)
    leaves = np.zeros(len(x), dtype=np.int32)
    target = fit_target(stump, codes.astype(np.uint16), leaves, column, edges, lambda: x, kernel)
    return assemble([to_likelihoods(target, rho)], [target.nodes], n_nodes=1)
