"""Small forests, and slow obvious versions of what the densities compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.optimize import brentq

from admercs.density.bandwidth import RATIO, kernel_shape, measure, regrid, select_bandwidths
from admercs.density.counts import (
    TargetPlan,
    ValueCounts,
    count_codes,
    count_values,
    node_counts,
    plan_target,
)
from admercs.density.fitting import (
    check_grids,
    code_layout,
    finish_targets,
    start_target,
    target_codes,
)
from admercs.density.grids import Grids, place_grids
from admercs.density.likelihoods import CONTINUOUS, Likelihoods, assemble, column_kind, of_counts
from admercs.density.lookup import entries, read_likelihood, to_log_density
from admercs.method.settings import Density, Tail
from admercs.table.columns import Column
from admercs.trees.forest import Forest

Floats = NDArray[np.float64]

PAPER = Density(heavy_share=0.0, area=False)
HEAVY = Density(area=False)
SHARES = Tail().shares

Scorers = dict[int, int]  # leaves that another node on their path scores

SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "bimodal": lambda rng, n: np.where(
        rng.random(n) < 0.3, rng.normal(size=n), rng.normal(8, 0.5, size=n)
    ),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
}


def log_likelihood(fitted: Likelihoods, target: int, slot: int, x: float) -> float:
    """Return log ω of one working value; NaN is missing."""
    node = np.flatnonzero(fitted.slot == slot)[:1].astype(np.int32)
    return float(read_likelihood(fitted, target, node, np.array([x]))[0])


def make_forest(*leaf_counts: int) -> Forest:
    """Build one balanced tree per number of leaves."""
    root, feature, left, right, parent = [0], [], [], [], []

    def grow(n_leaves: int, above: int) -> int:
        node = len(feature)
        feature.append(-1 if n_leaves == 1 else 0)
        parent.append(above)
        left.append(-1)
        right.append(-1)
        if n_leaves > 1:
            left[node] = grow(n_leaves // 2, node)
            right[node] = grow(n_leaves - n_leaves // 2, node)
        return node

    for n_leaves in leaf_counts:
        grow(n_leaves, -1)
        root.append(len(feature))
    n = len(feature)
    return Forest(
        root=np.array(root), feature=np.array(feature, np.int32), threshold=np.zeros(n),
        bin=np.zeros(n, np.int32), subset=np.full(n, -1, np.int32),
        missing_left=np.zeros(n, bool), left=np.array(left, np.int32),
        right=np.array(right, np.int32), parent=np.array(parent, np.int32),
        n=np.zeros(n, np.int64), impurity=np.zeros(n), paid=np.ones(n, np.bool_),
        subsets=np.zeros((0, 4), np.uint64),
    )  # fmt: skip


def quantile_edges(x: Floats, n_bins: int = 255) -> Floats:
    """Edges of bins with equally many values, as data values."""
    present = x[~np.isnan(x)]
    if len(present) == 0:
        return present
    edges = np.quantile(present, np.arange(1, n_bins) / n_bins, method="lower")
    return np.unique(edges[edges < present.max()])


def encode(x: Floats, edges: Floats) -> NDArray[np.uint16]:
    return np.where(np.isnan(x), 0, 1 + np.searchsorted(edges, x, side="left")).astype(np.uint16)


def numeric(name: str = "x", **more: object) -> Column:
    return Column(name, 0, "numeric", "number", **more)  # type: ignore[arg-type]


def fit_columns(
    forest: Forest,
    values: Sequence[Floats],
    leaves: NDArray[np.int32],
    columns: Sequence[Column] | None = None,
    settings: Density = PAPER,
    scorers: Scorers | None = None,
) -> Likelihoods:
    """Encode working values as the package `table` does, and fit."""
    columns = columns or [numeric(f"x{m}") for m in range(len(values))]
    edges, codes = [], []
    for x, column in zip(values, columns, strict=True):
        if column.role == "nominal":
            edges.append(np.empty(0))
            codes.append(np.nan_to_num(x).astype(np.uint16))
        elif column.distinct:
            distinct = np.array(column.distinct)
            edges.append((distinct[1:] + distinct[:-1]) / 2)
            codes.append(encode(x, edges[-1]))
        else:
            edges.append(quantile_edges(x))
            codes.append(encode(x, edges[-1]))
    plans = [plan_one(forest, m, scorers) for m in range(len(columns))]
    parts = [
        fit_target(plans[m], codes[m], leaves[m], column, edges[m], values[m], settings)
        for m, column in enumerate(columns)
    ]
    return assemble(parts, [plan.nodes for plan in plans], len(forest.n))


def fit_target(
    plan: TargetPlan, codes: NDArray[np.uint16], leaves: NDArray[np.int32], column: Column,
    edges: Floats, x: Floats, settings: Density,
) -> Likelihoods:  # fmt: skip
    """Take the steps from counted rows to likelihoods for rows in one piece."""
    codes = target_codes(column, edges, codes, lambda: x)
    counts = node_counts(plan, count_codes(codes, leaves, plan, *code_layout(column, edges)))
    if column_kind(column) != CONTINUOUS:
        return of_counts(column, counts, settings, SHARES)
    start = start_target(counts, edges, value_limits(x), settings)
    counted = count_values(x, leaves, plan, start.grids)
    start = check_grids(start, counted)
    if start.spread is None:
        counted = count_values(x, leaves, plan, start.grids)
    return next(finish_targets([start], [counted], SHARES))


def value_limits(x: Floats) -> tuple[float, float]:
    """Return the smallest and the largest value; (0, 0) where there is none."""
    present = x[~np.isnan(x)]
    return (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)


def fit_one(x: Floats, settings: Density = PAPER) -> Likelihoods:
    """Fit a single distribution: a tree that is only a root."""
    leaves = np.zeros((1, len(x)), np.int32)
    return fit_columns(make_forest(1), [np.asarray(x, float)], leaves, settings=settings)


def plan_one(forest: Forest, target: int = 0, scorers: Scorers | None = None) -> TargetPlan:
    """Plan the distributions of the root and of all nodes that score a leaf of one tree."""
    scoring = [(scorers or {}).get(int(leaf), int(leaf)) for leaf in forest.leaves(target)]
    return plan_target(
        forest, target, np.unique([int(forest.root[target]), *scoring]), forest.stops()
    )


def density_curve(fitted: Likelihoods, slot: int, points: Floats) -> Floats:
    """Return the density κ of a continuous slot; it never falls below that of an isolated row."""
    return np.exp(to_log_density(fitted, slot, entries(fitted, slot, points)))


def count_one(x: Floats) -> tuple[TargetPlan, Grids, ValueCounts]:
    """Count a single distribution, on a second grid where the first one does not fit."""
    x = np.asarray(x, float)
    plan, leaves, edges = plan_one(make_forest(1)), np.zeros(len(x), np.int32), None
    edges = quantile_edges(x)
    codes = node_counts(plan, count_codes(encode(x, edges), leaves, plan, len(edges) + 2))
    grids = place_grids(codes, edges, (float(np.nanmin(x)), float(np.nanmax(x))))
    counts = count_values(x, leaves, plan, grids)
    better = regrid(measure(counts, grids), grids)
    if better is not None:
        grids, counts = better, count_values(x, leaves, plan, better)
    return plan, grids, counts


def bandwidth(x: Floats) -> float:
    _, grids, counts = count_one(x)
    return float(select_bandwidths(counts, grids, measure(counts, grids), grids.central[0], 40)[0])


def plain_isj(x: Floats, low: float, high: float, n_bins: int = 2048) -> float:
    """ISJ straight from the 2010 paper: histogram, cosine transform, root of t − ξγ(t)."""
    histogram, _ = np.histogram(x, bins=n_bins, range=(low, high))
    n = histogram.sum()
    a2 = (dct(histogram / n)[1:] / 2) ** 2
    k2 = np.arange(1, n_bins, dtype=float) ** 2

    def excess(t: float) -> float:
        stage = 7
        f = 2 * np.pi ** (2 * stage) * np.sum(k2**stage * a2 * np.exp(-k2 * np.pi**2 * t))
        for s in range(stage - 1, 1, -1):
            k0 = np.prod(np.arange(1, 2 * s, 2)) / np.sqrt(2 * np.pi)
            const = (1 + 0.5 ** (s + 0.5)) / 3
            time = (2 * const * k0 / n / f) ** (2 / (3 + 2 * s))
            f = 2 * np.pi ** (2 * s) * np.sum(k2**s * a2 * np.exp(-k2 * np.pi**2 * time))
        return float(t - (2 * n * np.sqrt(np.pi) * f) ** (-2 / 5))

    return float(np.sqrt(brentq(excess, 1e-9, 0.1, xtol=1e-14)) * (high - low))


def direct_log_density(x: Floats, h: float, points: Floats) -> Floats:
    """Log of the direct sum of Gaussian kernels, floor K_h(0) / n applied."""
    x = np.sort(x)
    total = np.empty(len(points))
    for i, point in enumerate(points):
        # Kernels beyond 12 bandwidths add less than 1e-31 each.
        near = x[np.searchsorted(x, point - 12 * h) : np.searchsorted(x, point + 12 * h)]
        total[i] = np.exp(-0.5 * ((point - near) / h) ** 2).sum()
    return np.log(np.maximum(total, 1.0)) - np.log(len(x) * h * np.sqrt(2 * np.pi))


def heavy_log_density(x: Floats, h: float, points: Floats, limits: tuple[float, float]) -> Floats:
    """Log of the direct sum of heavy kernels, reflected at the limits, floor k(0) / n applied.

    Beyond a limit the sum without reflection, raised by a factor so that it meets the other there.
    """
    shape = kernel_shape(HEAVY)
    width = (shape.width * float(RATIO) ** np.arange(len(shape.width))[:, None] * h).ravel()
    height = (shape.height / shape.peak).ravel()

    def plain(at: Floats) -> Floats:
        squares = (at[:, None] - x) ** 2
        parts = zip(height, width, strict=True)
        return sum(a * np.exp(-0.5 * squares / w**2).sum(axis=1) for a, w in parts if a > 0)

    def folded(at: Floats) -> Floats:
        return plain(at) + plain(2 * limits[0] - at) + plain(2 * limits[1] - at)

    total = folded(points)
    for limit, beyond in zip(limits, (points < limits[0], points > limits[1]), strict=True):
        edge = np.array([limit])
        total[beyond] = plain(points[beyond]) * (folded(edge) / plain(edge))
    log_floor = np.log(shape.peak / (len(x) * h * np.sqrt(2 * np.pi)))
    return np.log(np.maximum(total, 1.0)) + log_floor
