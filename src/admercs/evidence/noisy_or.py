"""The noisy-or in log space: from likelihoods to evidence.

With v = λ + (1 − λ)(1 − ω) a view contributes −log(1 − γ v) to the evidence e = −log(1 − δ) of a row. Since
log(1 − v) = log(1 − λ) + log ω, nothing is ever rounded to 1 and contributions simply add up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel


@kernel
def view_evidence(log_not_v, gamma):  # type: ignore[no-untyped-def]
    """Return −log(1 − γ v) from log(1 − v); never less than 0.

    log1p and expm1 keep full precision at both ends: v near 0 and v near 1. Most values are typical (v = 0)
    and cost nothing.
    """
    if log_not_v == 0.0:
        return 0.0
    if gamma == 1.0:
        return max(0.0, -log_not_v)
    return max(0.0, -np.log1p(gamma * np.expm1(log_not_v)))


@kernel
def weigh_views(  # type: ignore[no-untyped-def]
    leaf, log_omega, log_omega_root, log_not_lambda, is_marginal, gamma, pattern, context, marginal
):
    """Turn the likelihoods of a block into evidence, split by where it comes from.

    Parameters
    ----------
    leaf, log_omega, log_omega_root : arrays, columns x rows
        The leaf of each row in each tree, and how likely its value is there and in the whole table.
    log_not_lambda : array, one per node
        log(1 − λ) of each leaf.
    is_marginal : array of bool, one per node
        Leaves that are judged by the whole table anyway: the marginal view would count twice.
    gamma : float
        γ_δ.
    pattern, context, marginal : arrays, columns x rows
        Receive the evidence from a broken pattern, an anomalous context and the marginal view.
    """
    n_columns, n_rows = leaf.shape
    for m in range(n_columns):
        for i in range(n_rows):
            node = leaf[m, i]
            blame = view_evidence(log_not_lambda[node], gamma)
            both = view_evidence(log_not_lambda[node] + log_omega[m, i], gamma)
            context[m, i] = blame
            pattern[m, i] = both - blame
            if is_marginal[node]:
                marginal[m, i] = 0.0
            else:
                marginal[m, i] = view_evidence(log_omega_root[m, i], gamma)


@kernel
def weigh_cells(  # type: ignore[no-untyped-def]
    leaf, log_omega, log_omega_root, log_not_lambda, is_marginal, gamma, position, cells
):
    """Write the evidence of each attribute for each row of a block: rows x columns of the table.

    `position` is the place of each attribute in the table. The parameters are those of `weigh_views`.
    """
    n_columns, n_rows = leaf.shape
    for m in range(n_columns):
        for i in range(n_rows):
            node = leaf[m, i]
            evidence = view_evidence(log_not_lambda[node] + log_omega[m, i], gamma)
            if not is_marginal[node]:
                evidence += view_evidence(log_omega_root[m, i], gamma)
            cells[i, position[m]] = evidence


def log_complement(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 − p) from log p.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_complement(np.log([0.25, 0.5]))).round(6)
    array([0.75, 0.5 ])
    """
    # Near p = 1 the difference is in expm1, near p = 0 in log1p.
    with np.errstate(divide="ignore"):
        near_one = np.log(-np.expm1(log_p))
    return np.where(log_p > -0.5, near_one, np.log1p(-np.exp(log_p)))
