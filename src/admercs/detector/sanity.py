"""Checks that a model read from a file is whole, so that compiled code never leaves its arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import OUTER_SHARES, Likelihoods
from admercs.detector.model import Model
from admercs.evidence.neighbours import Neighbours
from admercs.trees.forest import Forest
from admercs.trees.nodes import depths


def check_model(model: Model) -> None:
    """Raise ValueError if the parts of a model do not fit together."""
    check_forest(model.forest, len(model.schema.used))
    check_likelihoods(model.likelihoods, model.forest)
    _require(len(model.log_lambda) == len(model.forest.feature), "log_lambda")
    check_neighbours(model.neighbours, len(model.schema.used))


def check_forest(forest: Forest, n_columns: int) -> None:
    """Check that the trees are trees."""
    n_nodes = len(forest.feature)
    names = ("threshold", "lower", "upper", "bin", "subset", "missing_left", "left", "right")
    for name in (*names, "parent", "n"):
        _require(len(getattr(forest, name)) == n_nodes, f"forest/{name}")
    _require(len(forest.impurity) == n_nodes and len(forest.scorer) == n_nodes, "forest/scorer")
    _require(forest.n_trees == n_columns, "forest/root")
    _check_pointers(forest.root, n_nodes, "forest/root")
    _require(bool(np.all(np.diff(forest.root) > 0)), "forest/root")
    _require(_within(forest.feature, -1, n_columns), "forest/feature")
    _check_order(forest)
    _require(_within(forest.parent, -1, n_nodes), "forest/parent")
    _require(bool(np.all(forest.parent < np.arange(n_nodes))), "forest/parent")
    _require(_within(forest.scorer, 0, n_nodes), "forest/scorer")
    _require(len(forest.wider) == n_nodes and _within(forest.wider, -1, n_nodes), "forest/wider")
    # A node of another tree knows of another column: its tables do not fit.
    tree, asked = np.repeat(np.arange(n_columns), np.diff(forest.root)), forest.wider >= 0
    _require(bool(np.array_equal(tree[forest.scorer], tree)), "forest/scorer")
    _require(bool(np.array_equal(tree[forest.wider[asked]], tree[asked])), "forest/wider")
    _require(_within(forest.subset, -1, len(forest.subsets)), "forest/subset")
    _require(forest.subsets.ndim == 2 and forest.subsets.shape[1] == 4, "forest/subsets")
    _check_idle(forest)


def _check_order(forest: Forest) -> None:
    """Check that the nodes of each tree come in preorder; walking down relies on it."""
    end = np.arange(1, len(forest.feature) + 1)  # one past the last node of a subtree
    for node in np.flatnonzero(forest.feature >= 0)[::-1]:
        left, right = forest.left[node], forest.right[node]
        _require(bool(left == node + 1 and left < right < len(end)), "forest/left")
        _require(bool(right == end[left]), "forest/right")
        end[node] = end[right]
    _require(bool(np.array_equal(end[forest.root[:-1]], forest.root[1:])), "forest/root")


def _check_idle(forest: Forest) -> None:
    """Check that idle tests lie on the path of their node, and that its last test is none of them."""
    sound = forest.idle.dtype == np.uint64 and len(forest.idle) == len(forest.feature)
    _require(sound, "forest/idle")
    last = np.maximum(depths(forest.parent) - 1, 0).astype(np.uint64)
    _require(not (forest.idle >> last).any(), "forest/idle")


def check_likelihoods(likelihoods: Likelihoods, forest: Forest) -> None:
    """Check that all pointers of the density tables stay inside them."""
    n_slots = len(likelihoods.n)
    _require(len(likelihoods.kind) == forest.n_trees, "likelihoods/kind")
    _require(len(likelihoods.slot) == len(forest.feature), "likelihoods/slot")
    _require(_within(likelihoods.slot, -1, n_slots), "likelihoods/slot")
    scored = np.concatenate([forest.judges(tree) for tree in range(forest.n_trees)])
    _require(bool(np.all(likelihoods.slot[scored] >= 0)), "likelihoods/slot")
    for name in ("n_missing", "log_present", "log_missing", "log_floor", "bandwidth", "main"):
        _require(len(getattr(likelihoods, name)) == n_slots, f"likelihoods/{name}")
    _require(len(likelihoods.segment_ptr) == n_slots + 1, "likelihoods/segment_ptr")
    _check_pointers(likelihoods.segment_ptr, len(likelihoods.segment_start), "segment_ptr")
    sizes = np.diff(likelihoods.segment_ptr)
    _require(bool(np.all(likelihoods.main >= 0)), "likelihoods/main")
    _require(bool(np.all(likelihoods.main < np.maximum(sizes, 1))), "likelihoods/main")
    for name in ("segment_from", "step"):
        _require(
            len(getattr(likelihoods, name)) == len(likelihoods.segment_start), f"likelihoods/{name}"
        )
    _require(
        len(likelihoods.table_ptr) == len(likelihoods.segment_start) + 1, "likelihoods/table_ptr"
    )
    _check_pointers(likelihoods.table_ptr, len(likelihoods.table), "table_ptr")
    _require(len(likelihoods.value_ptr) == n_slots + 1, "likelihoods/value_ptr")
    _check_pointers(likelihoods.value_ptr, len(likelihoods.log_value), "value_ptr")
    _require(len(likelihoods.count) == len(likelihoods.log_value), "likelihoods/count")
    _require(len(likelihoods.distinct_ptr) == forest.n_trees + 1, "likelihoods/distinct_ptr")
    _check_pointers(likelihoods.distinct_ptr, len(likelihoods.distinct), "distinct_ptr")
    n_outer = 2 * len(OUTER_SHARES) * forest.n_trees
    _require(len(likelihoods.outer) == n_outer, "likelihoods/outer")


def check_neighbours(neighbours: Neighbours, n_columns: int) -> None:
    """Check that rows can be compared."""
    likeness, n_rows = neighbours.likeness, len(neighbours.row)
    _require(likeness.is_nominal.shape == (n_columns,), "likeness/is_nominal")
    _require(likeness.first.shape == (n_columns + 1,), "likeness/first")
    _check_pointers(likeness.first, len(likeness.edges), "likeness/first")
    n_places = len(likeness.edges) + 2 * n_columns
    _require(n_rows == 0 or len(likeness.place) == n_places, "likeness/place")
    _require(n_rows != 1, "neighbours/row")
    _require(neighbours.profile.shape == (n_columns, n_rows), "neighbours/profile")
    _require(neighbours.guilt.shape == (n_rows, n_columns), "neighbours/guilt")
    _require(neighbours.mostly.shape == (n_columns,), "neighbours/mostly")
    for name in ("typical", "trust", "usual", "louder"):
        _require(getattr(neighbours, name).shape == (1,), f"neighbours/{name}")


def _check_pointers(pointers: NDArray, end: int, name: str) -> None:
    inside = len(pointers) > 0 and pointers[0] == 0 and pointers[-1] == end
    _require(bool(inside and np.all(np.diff(pointers) >= 0)), name)


def _within(numbers: NDArray, low: int, end: int) -> bool:
    return len(numbers) == 0 or (int(numbers.min()) >= low and int(numbers.max()) < end)


def _require(holds: bool, part: str) -> None:
    if not holds:
        raise ValueError(f"its part {part!r} does not fit the rest")
