"""A look inside a fitted detector: its trees, the leaves of rows, the likelihoods of values.

For research on the method. There is a tree for each column in use and for each facet that is made
of columns. Nodes are numbered over all trees; a node comes before those below it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from admercs.arrays import Floats, ShortInts
from admercs.estimator import ADMERCS
from admercs.facets import prepare
from admercs.pipeline.score import Scorer
from admercs.table import read_frame
from admercs.trees.forest import find_leaves

__all__ = ["Node", "leaves", "likelihoods", "tree_nodes"]


class Node(NamedTuple):
    """One node of one tree.

    Attributes
    ----------
    number : int
        Its number, as in `leaves`.
    target : str
        The column its tree predicts.
    parent : int or None
        The number of the node above; None for a root.
    split_on : str or None
        The column it splits on; None for a leaf.
    threshold : float
        Values up to this one go left. NaN for a leaf and for a split on categories. Dates and large
        integers are relative to the ``origin`` of their column in ``ADMERCS.columns_``.
    children : tuple of int
        The numbers of the left and the right node; empty for a leaf.
    n_rows : int
        Training rows in the node.
    """

    number: int
    target: str
    parent: int | None
    split_on: str | None
    threshold: float
    children: tuple[int, ...]
    n_rows: int


def tree_nodes(model: ADMERCS) -> list[Node]:
    """Return the nodes of all trees, in the order of their numbers.

    Examples
    --------
    >>> from admercs import ADMERCS, inspect
    >>> from admercs.datasets import make_synth_c
    >>> model = ADMERCS().fit(make_synth_c(0).X)
    >>> roots = {node.target: node for node in inspect.tree_nodes(model) if node.parent is None}
    >>> roots["x0"].split_on, roots["x0"].n_rows
    ('x1', 1000)
    """
    check_is_fitted(model)
    forest = model.model_.forest
    names = [column.name for column in model.model_.schema.used]
    nodes = []
    for number, feature in enumerate(forest.feature.tolist()):
        parent, below = int(forest.parent[number]), (forest.left[number], forest.right[number])
        is_leaf = feature < 0
        nodes.append(
            Node(
                number=number,
                target=names[forest.tree_of(number)],
                parent=None if parent < 0 else parent,
                split_on=None if is_leaf else names[feature],
                threshold=float("nan") if is_leaf else float(forest.threshold[number]),
                children=() if is_leaf else tuple(map(int, below)),
                n_rows=int(forest.n[number]),
            )
        )
    return nodes


def leaves(model: ADMERCS, X: Any) -> ShortInts:
    """Return the leaf of each row in each tree, as node numbers.

    The result is rows x trees: those of the columns in use, then those of their facets.

    Examples
    --------
    >>> from admercs import ADMERCS, inspect
    >>> from admercs.datasets import make_synth_c
    >>> X = make_synth_c(0).X
    >>> model = ADMERCS().fit(X)
    >>> found = inspect.leaves(model, X)
    >>> len(found), inspect.tree_nodes(model)[found[0, 1]].target
    (1000, 'x1')
    """
    return _walk(model, X)[1][np.argsort(model.model_.positions)].T


def likelihoods(model: ADMERCS, X: Any) -> Floats:
    """Return how likely each value is in its context: rows x trees as in `leaves`, as log ω.

    This is what the context says by itself: before the value is compared with the whole table and
    before anomalous contexts and neighbouring rows count. A missing value has a likelihood too.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs import ADMERCS, inspect
    >>> from admercs.datasets import make_synth_c
    >>> data = make_synth_c(0)
    >>> log_omega = inspect.likelihoods(ADMERCS().fit(data.X), data.X)
    >>> bool(np.median(log_omega[~data.y]) > np.median(log_omega[data.y]))
    True
    """
    block, found = _walk(model, X)
    log_omega = Scorer(model.model_).own_likelihoods(block, found)
    return log_omega[np.argsort(model.model_.positions)].T


def _walk(model: ADMERCS, X: Any) -> tuple[Floats, ShortInts]:
    """Return the working values of a table and their leaves: trees x rows."""
    check_is_fitted(model)
    table = prepare(read_frame(X), model.model_.schema)
    block = table.block(0, table.n_rows)
    found = np.empty(block.shape, np.int32)
    find_leaves(model.model_.forest, block, found)
    return block, found
