"""Growing the forest: one tree per column, threads over the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.table.columns import Column
from admercs.trees.borders import ZONE_LEAVES, border_zone
from admercs.trees.criteria import (
    ENTROPY,
    FRACTION,
    GINI,
    INFORMATION,
    PAPER,
    VARIANCE,
)
from admercs.trees.forest import Forest, Leaves, leaf_type
from admercs.trees.grow import GrowthRules, Layout, most_nodes
from admercs.trees.histograms import CLASSES, MOMENTS, code_offsets
from admercs.trees.judges import find_judges
from admercs.trees.nodes import NodeArrays
from admercs.trees.rows import grow_tree
from admercs.trees.targets import fixed_point, map_classes

# The information criterion's price of a split, as a share of ½(K−1)·ln N + ln(candidates): half of
# the classical price, and a little more, keeps noise attributes unsplit and still finds weak patterns.
INFORMATION_PRICE = 0.55
# For less than that a leaf is parted into groups of rows that may be suspected, and that judge nobody.
FINE_PRICE = 0.3
# In a table of so many rows a group that matters earns the full price.
FINE_ROWS = 300
# A context of fewer rows knows nothing about what is normal.
MIN_ROWS = 5
# Without a stated minimum, variance splits must remove this share of the root's variance.
VARIANCE_SHARE = 0.005

Progress = Callable[[int, int], None]


class TreeSettings(NamedTuple):
    """The parameters of the trees, as the user gives them."""

    criterion: str  # "distribution", "variance" or "paper"
    max_depth: int
    min_samples_leaf: float | int
    min_impurity_decrease: float | str  # a number or "auto"
    # The purest node on a path scores for its leaf (the paper), or the leaf itself.
    purest_scores: bool = False


class Target(NamedTuple):
    """A column in the form a tree predicts it, and the rules for its tree."""

    values: NDArray[np.unsignedinteger] | NDArray[np.int32]
    rules: GrowthRules
    code_counts: NDArray[np.int64]


def leaf_size(settings: TreeSettings, n_rows: int) -> int:
    """Return the least number of rows of a leaf; a fraction is of all rows, rounded up."""
    size = settings.min_samples_leaf
    if not isinstance(size, float):
        return size
    # In a small table a small fraction would leave too few rows to say what is normal among them.
    return max(MIN_ROWS if settings.criterion == "distribution" else 1, ceil(size * n_rows))


def growth_rules(
    settings: TreeSettings, column: Column, code_counts: NDArray[np.int64]
) -> tuple[GrowthRules, NDArray[np.unsignedinteger] | None]:
    """Return the rules for one column's tree and, for class targets, the class of each code."""
    nominal = column.role == "nominal"
    n_rows = int(code_counts.sum())
    decrease = settings.min_impurity_decrease
    if settings.criterion == "distribution":
        rule = INFORMATION if decrease == "auto" else FRACTION
        amount = INFORMATION_PRICE if decrease == "auto" else float(decrease)
        # The paper's judges are chosen among all nodes of a path.
        fine = decrease == "auto" and not settings.purest_scores and n_rows < FINE_ROWS
        fine_amount = FINE_PRICE if fine else amount
    else:
        rule = PAPER if settings.criterion == "paper" else FRACTION
        fine_amount = amount = VARIANCE_SHARE if decrease == "auto" else float(decrease)
    moments = settings.criterion != "distribution" and not nominal
    classes = None if moments else map_classes(code_counts, nominal, bool(column.distinct))
    criterion = ENTROPY if settings.criterion == "distribution" else GINI
    rules = GrowthRules(
        form=MOMENTS if classes is None else CLASSES,
        criterion=VARIANCE if classes is None else criterion,
        n_classes=0 if classes is None else classes.n_classes,
        ordered=classes is not None and classes.ordered,
        missing_class=-1 if classes is None else classes.missing_class,
        nominal=nominal,
        max_depth=settings.max_depth,
        min_leaf=leaf_size(settings, n_rows),
        rule=rule,
        amount=amount,
        fine_amount=fine_amount,
        n_rows=n_rows,
    )
    return rules, None if classes is None else classes.class_of_code


def prepare_target(
    settings: TreeSettings,
    column: Column,
    codes: NDArray[np.uint8] | NDArray[np.uint16],
    n_codes: int,
    values: Callable[[], NDArray[np.float64]],
) -> Target:
    """Bring one column into the form its tree predicts."""
    counts = np.bincount(codes, minlength=n_codes).astype(np.int64)
    rules, class_of_code = growth_rules(settings, column, counts)
    if class_of_code is not None:
        return Target(class_of_code[codes], rules, counts)
    raw = values()
    present = raw[~np.isnan(raw)]
    low, high = (present.min(), present.max()) if len(present) else (0.0, 0.0)
    return Target(fixed_point(raw, float(low), float(high)), rules, counts)


def grow_forest(
    codes: NDArray[np.uint8] | NDArray[np.uint16],
    edges: Sequence[NDArray[np.float64]],
    n_codes: NDArray[np.int32],
    columns: Sequence[Column],
    values: Callable[[int], NDArray[np.float64]],
    settings: TreeSettings,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[Forest, Leaves]:
    """Grow one tree per column.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (M, N)
        The bin codes of all columns.
    edges : sequence of ndarray
        The bin edges of each numeric column.
    n_codes : ndarray of int32
        The number of codes of each column, missing included.
    columns : sequence of Column
        The used columns.
    values : callable
        ``values(m)`` returns the working values of column m; asked for only by criteria that need them.
    settings : TreeSettings
        The parameters.
    n_jobs : int
        Threads. The result does not depend on it.
    progress : callable, optional
        Told how many trees of how many are done.

    Returns
    -------
    forest : Forest
    leaves : Leaves
        The leaf of each row in each tree.
    """
    n_columns, n_rows = codes.shape
    is_nominal = np.array([column.role == "nominal" for column in columns])
    layout = Layout(code_offsets(n_codes), is_nominal)
    capacity = most_nodes(settings.max_depth, leaf_size(settings, n_rows), n_rows)
    numbers = np.empty((n_columns, n_rows), leaf_type(capacity))

    def grow(m: int) -> tuple[NodeArrays, NDArray[np.int64]]:
        target = prepare_target(settings, columns[m], codes[m], int(n_codes[m]), lambda: values(m))
        nodes = grow_tree(codes, target.values, m, layout, target.rules, numbers[m])
        return nodes, target.code_counts

    trees: list[NodeArrays] = []
    code_counts: list[NDArray[np.int64]] = []
    with ThreadPoolExecutor(max(1, n_jobs)) as pool:
        for nodes, counts in pool.map(grow, range(n_columns)):
            trees.append(nodes)
            code_counts.append(counts)
            if progress is not None:
                progress(len(trees), n_columns)
    forest = join_trees(trees, edges, is_nominal, code_counts, settings)
    return forest, Leaves(numbers, forest.root)


def join_trees(
    trees: Sequence[NodeArrays],
    edges: Sequence[NDArray[np.float64]],
    is_nominal: NDArray[np.bool_],
    code_counts: Sequence[NDArray[np.int64]],
    settings: TreeSettings,
) -> Forest:
    """Put trees one after the other and give their splits thresholds in the columns' own values."""
    zone_rows = ZONE_LEAVES * leaf_size(settings, int(code_counts[0].sum()))
    sizes = [len(tree.feature) for tree in trees]
    root: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    shift = np.repeat(root[:-1], sizes).astype(np.int32)

    def whole(name: str) -> NDArray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def renumbered(name: str) -> NDArray[np.int32]:
        numbers = whole(name)
        return np.where(numbers < 0, -1, numbers + shift).astype(np.int32)

    feature, code = whole("feature"), whole("bin")
    splits_set = (feature >= 0) & is_nominal[np.maximum(feature, 0)]
    threshold, lower, upper = (np.full(len(feature), np.nan) for _ in range(3))
    for m in np.unique(feature[(feature >= 0) & ~splits_set]):
        nodes = np.flatnonzero(feature == m)
        # Bin 0 holds only missing values: every number is larger than the threshold.
        threshold[nodes] = np.concatenate([[-np.inf], edges[m]])[code[nodes]]
        lower[nodes], upper[nodes] = border_zone(edges[m], code_counts[m], code[nodes], zone_rows)
    parent, n, impurity = renumbered("parent"), whole("n"), whole("impurity")
    earned = whole("earned")
    scorer, wider = find_judges(parent, feature, n, impurity, settings.purest_scores, earned)
    # Who judges does not change at the border of a fine split.
    lower[~earned], upper[~earned] = np.nan, np.nan
    return Forest(
        root=root,
        feature=feature,
        threshold=threshold,
        lower=lower,
        upper=upper,
        bin=code,
        subset=np.where(splits_set, np.cumsum(splits_set) - 1, -1).astype(np.int32),
        missing_left=whole("missing_left"),
        left=renumbered("left"),
        right=renumbered("right"),
        parent=parent,
        n=n,
        impurity=impurity,
        scorer=scorer,
        wider=wider,
        subsets=np.ascontiguousarray(whole("bits")[splits_set]),
        idle=np.zeros(len(feature), np.uint64),  # see `idle`
    )
