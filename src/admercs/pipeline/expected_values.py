"""What the rest of a row predicts for each of its values: the likeliest value of its context.

A tree never splits on its own target, so the context of a value does not depend on the value.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from admercs.arrays import Floats, ShortInts
from admercs.density.likelihoods import CONTINUOUS, DISCRETE
from admercs.density.lookup import entries
from admercs.pipeline.model import Model


class ExpectedValues:
    """The likeliest working value in each scoring node; NaN where most rows have none."""

    def __init__(self, model: Model) -> None:
        self._own, self._likelihoods = model.scoring.own, model.likelihoods
        self._root = model.forest.root
        self._of_node = cache(self._likeliest)

    def nodes(self, leaf: ShortInts) -> ShortInts:
        """Return the node whose rows each value is compared with, for leaves of any shape."""
        return self._own[leaf]

    def at(self, leaf: ShortInts) -> Floats:
        """Return what is expected of the targets of leaves, an array of the same shape."""
        nodes, place = np.unique(self.nodes(leaf), return_inverse=True)
        expected = np.array([self._of_node(node) for node in nodes.tolist()])
        return expected[place].reshape(leaf.shape)

    def _likeliest(self, node: int) -> float:
        like, slot = self._likelihoods, int(self._likelihoods.slot[node])
        if 2 * like.n_missing[slot] > like.n[slot]:
            return np.nan
        target = int(np.searchsorted(self._root, node, "right")) - 1
        if like.kind[target] != CONTINUOUS:
            counts = like.count[like.value_ptr[slot] : like.value_ptr[slot + 1]]
            if like.kind[target] == DISCRETE:
                return float(like.distinct[like.distinct_ptr[target] + int(counts.argmax())])
            # The last one stands for all rare values, which are no value to expect.
            return 1.0 + int(counts[:-1].argmax())
        segments = range(*like.segment_ptr[slot : slot + 2])
        if not segments:
            return np.nan
        sizes = np.diff(like.table_ptr[segments.start : segments.stop + 1]).tolist()
        points = [
            like.segment_start[k] + like.step[k] * np.arange(size)
            for k, size in zip(segments, sizes, strict=True)
        ]
        # Segments may overlap: only reading tells which of them holds.
        x = np.concatenate(points)
        height = entries(like, slot, x)
        top = np.flatnonzero(height == height.max())
        return float(x[top[len(top) // 2]])  # a flat top has its middle as the likeliest value
