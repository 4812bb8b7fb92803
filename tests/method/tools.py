"""Fitted models, and the views of their values before any step is applied."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from admercs import ADMERCS, Method
from admercs.density.likelihoods import Likelihoods
from admercs.density.lookup import read_likelihood
from admercs.facets import prepare
from admercs.method.tail import LoneValues, find_lone_values, read_lowered
from admercs.method.views import BlockViews
from admercs.pipeline.model import Model
from admercs.pipeline.score import Parts, Scorer
from admercs.table import read_frame
from admercs.trees.forest import find_leaves

ALONE = {"feedback": None, "neighbours": None, "relations": None}
"""Settings that leave out what rows learn from each other."""


class Seen(NamedTuple):
    """A model and its training rows."""

    model: Model
    block: np.ndarray  # working values, columns x rows
    leaf: np.ndarray  # trees x rows

    def lone(self) -> LoneValues | None:
        tail = self.model.method.tail
        if tail is None:
            return None
        return find_lone_values(self.model.likelihoods, self.model.forest.root, tail.peak)

    def read(self, m: int, nodes: np.ndarray) -> np.ndarray:
        """Return log ω of the values of a column, each in a node."""
        return read_lowered(self.lone(), self.model.likelihoods, m, nodes, self.block[m])

    def views(self) -> BlockViews:
        """Return the views of all values as they are before any step."""
        forest, likelihoods = self.model.forest, self.model.likelihoods
        own, whole = np.zeros((2, *self.block.shape))
        for m, leaf in enumerate(self.leaf):
            own[m] = self.read(m, self.model.scoring.own[leaf])
            root = np.full_like(leaf, forest.root[m])
            whole[m] = read_likelihood(likelihoods, m, root, self.block[m])
        return BlockViews(self.leaf, self.block, own, whole, [], np.zeros(own.shape, np.uint8))

    def own_likelihoods(self) -> Likelihoods:
        """Return likelihoods that take a leaf for its scoring node."""
        like = self.model.likelihoods
        return like._replace(slot=like.slot[self.model.scoring.own])

    def parts(self) -> Parts:
        return Scorer(self.model).score(self.block)


def fit(table: Any, method: Method | None = None, **parameters: Any) -> Seen:
    """Fit a table and walk its rows down the trees."""
    model = ADMERCS(method=method, **parameters).fit(table).model_
    prepared = prepare(read_frame(table), model.schema)
    block = prepared.block(0, prepared.n_rows)
    leaf = np.empty(block.shape, np.int32)
    find_leaves(model.forest, block, leaf)
    return Seen(model, block, leaf)


def walk(model: Model, node: int, row: np.ndarray) -> list[int]:
    """Return the nodes from one node down to a leaf, one comparison at a time."""
    forest, nodes = model.forest, [node]
    while forest.feature[nodes[-1]] >= 0:
        n = nodes[-1]
        value = row[forest.feature[n]]
        if np.isnan(value):
            left = forest.missing_left[n]
        elif forest.subset[n] >= 0:
            left = bool(int(forest.subsets[forest.subset[n], 0]) >> int(value) & 1)
        else:
            left = value <= forest.threshold[n]
        nodes.append(int(forest.left[n] if left else forest.right[n]))
    return nodes
