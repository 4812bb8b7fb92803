"""What a fitted detector consists of, and what it says about a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.kernels import DensitySettings, Kernel
from admercs.density.likelihoods import Likelihoods
from admercs.evidence.neighbours import Neighbours
from admercs.evidence.noisy_or import Weighing
from admercs.method.tail import Tail, TailSettings, learn_tail
from admercs.table.schema import Schema
from admercs.trees.forest import Forest

# The odds a : 1 of our form of evidence (see `evidence.noisy_or`). One tenth lets the noise of many ordinary
# views pass and keeps single strong ones; docs/defaults.md shows how little it matters.
PRIOR_ODDS = 0.1
# In N rows nothing is less likely than about 1 in N. So that what is alone there is still heard in a small table,
# the odds against it are at least these to one.
LEAST_ODDS_OF_ONE = 30.0


@dataclass(frozen=True)
class Settings:
    """The parameters a fitted model needs to judge rows."""

    likelihood: Literal["area", "paper"]
    rho: float
    gamma_delta: float
    gamma_lambda: float
    feedback: str

    @property
    def kernel(self) -> Kernel:
        """What densities are made of: heavy tails make far odder than near; the paper has Gaussians."""
        return Kernel() if self.likelihood == "area" else Kernel(heavy_share=0.0)

    @property
    def density(self) -> DensitySettings:
        """How likelihoods are estimated."""
        return DensitySettings(self.kernel, self.likelihood == "area", self.rho)

    def weighing(self, n_rows: int) -> Weighing:
        """Return how likelihoods become evidence in a table of so many rows."""
        odds = prior_odds(n_rows) if self.likelihood == "area" else 0.0
        return Weighing(self.gamma_delta, odds)


def prior_odds(n_rows: int) -> float:
    """Return the odds a, to one, that a value is wrong, before looking at it.

    Examples
    --------
    >>> prior_odds(10), prior_odds(100), prior_odds(1000)
    (1.0, 0.3, 0.1)
    """
    return min(1.0, max(PRIOR_ODDS, LEAST_ODDS_OF_ONE / n_rows))


@dataclass(frozen=True)
class Model:
    """A fitted detector; its size depends on the number of leaves, not on the number of rows.

    Attributes
    ----------
    schema : Schema
        The columns; ``schema.used`` are the attributes 0 … M−1.
    forest : Forest
        One tree per attribute.
    likelihoods : Likelihoods
        The reference distributions of the scoring nodes.
    log_lambda : ndarray of float64, one per node
        log λ of each leaf (its score as an anomalous context), −inf for other nodes.
    settings : Settings
        The parameters used in judging.
    n_rows : int
        Rows of the training table.
    evidence_quantiles : ndarray of float64
        Quantiles of the training rows' evidence at the levels `QUANTILE_LEVELS`, for percentiles.
    members : dict of int to ndarray of int64
        Training row numbers of the anomalous contexts (leaf node → rows), at most
        `MAX_MEMBERS` each.
    neighbours : Neighbours
        Training rows that others are compared with.
    """

    schema: Schema
    forest: Forest
    likelihoods: Likelihoods
    log_lambda: NDArray[np.float64]
    settings: Settings
    n_rows: int
    evidence_quantiles: NDArray[np.float64]
    members: dict[int, NDArray[np.int64]]
    neighbours: Neighbours

    @property
    def weighing(self) -> Weighing:
        """How likelihoods become evidence."""
        return self.settings.weighing(self.n_rows)

    @property
    def tail(self) -> Tail | None:
        """What is known of lone values; the paper treats them as any others."""
        if self.settings.likelihood == "paper":
            return None
        return learn_tail(self.likelihoods, self.forest.root[:-1], TailSettings())


class Judgement(NamedTuple):
    """What the model says about a block of rows; one column per row of the table.

    The evidence against row i is the sum over attributes of ``pattern``, ``context`` and ``neighbours``. All
    of these are multiplied by ``factor`` already.
    """

    leaf: NDArray[np.int32]  # the leaf (node number) the row falls into
    node: NDArray[np.int32]  # the node on the way there that finds its value the oddest
    log_omega: NDArray[np.float64]  # how likely the value is among the rows of that node
    pattern: NDArray[np.float64]  # evidence from breaking that node's pattern
    context: NDArray[np.float64]  # evidence from sitting in an anomalous context
    neighbours: NDArray[np.float64]  # evidence from being like rows that are odd in this attribute
    factor: NDArray[np.float64]  # per row: more than 1 if no other is much like it

    def cells(self) -> NDArray[np.float64]:
        """Return the evidence per attribute and row."""
        return self.pattern + self.context + self.neighbours

    def association(self) -> NDArray[np.float64]:
        """Return the evidence per row that comes from the company it keeps."""
        together: NDArray[np.float64] = (self.context + self.neighbours).sum(axis=0)
        return together
