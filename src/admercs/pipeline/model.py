"""What a fitted detector consists of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import Likelihoods
from admercs.method.border import BorderZones
from admercs.method.contexts import Contexts
from admercs.method.neighbours import ReferenceRows
from admercs.method.scoring_nodes import ScoringNodes
from admercs.method.settings import Method
from admercs.table.schema import Schema
from admercs.trees.forest import Forest

QUANTILE_LEVELS = np.unique(
    np.concatenate([np.linspace(0, 0.99, 100), 1 - np.geomspace(0.01, 1e-6, 200), [1.0]])
)
"""Levels at which the training evidence is remembered: fine where percentiles matter."""


@dataclass(frozen=True)
class Model:
    """A fitted detector; its size depends on the number of leaves, not on the number of rows.

    Attributes
    ----------
    schema : Schema
        The columns; ``schema.used`` are the attributes 0 … M−1.
    method : Method
        The settings it was fitted with.
    n_rows : int
        Rows of the training table.
    forest : Forest
        One tree per attribute.
    scoring : ScoringNodes
        Which nodes score the rows of each leaf.
    likelihoods : Likelihoods
        The distributions of the scoring nodes.
    zones : BorderZones or None
        Where likelihoods are smoothed across thresholds.
    redundant : ndarray of uint64, one per node
        Bit k is set when the k-th condition of the path, from 0, can be left out.
    contexts : Contexts
        The anomalous contexts.
    references : ReferenceRows or None
        Training rows that other rows are compared with.
    evidence_quantiles : ndarray of float64
        Quantiles of the training rows' evidence at the levels `QUANTILE_LEVELS`.
    """

    schema: Schema
    method: Method
    n_rows: int
    forest: Forest
    scoring: ScoringNodes
    likelihoods: Likelihoods
    zones: BorderZones | None
    redundant: NDArray[np.uint64]
    contexts: Contexts
    references: ReferenceRows | None
    evidence_quantiles: NDArray[np.float64]

    @property
    def positions(self) -> NDArray[np.int64]:
        """The place of each attribute in the table."""
        return np.array([column.position for column in self.schema.used], np.int64)
