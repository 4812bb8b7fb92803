"""The figures of the experiments: charts as SVG files, clouds of thousands of points as PNG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from admercs.datasets import LabelledArray, LabelledTable
from admercs.experiments.ranking import Comparison, not_distinguishable
from admercs.experiments.store import Result

__all__ = [
    "critical_difference",
    "draw_cars",
    "draw_scores",
    "patterns_page",
    "sensitivity_by_parameter",
    "sensitivity_by_set",
    "set_bars",
]

_COLOURS = ("#c0392b", "#2c6fbb", "#7f8c8d", "#8e5ea2", "#3c9d6f", "#d98d2b", "#5b4a3f", "#e06c9f")
_DPI = 110
_LABELS = {"auc": "AUC", "ap": "average precision"}


def _figure(width: float, height: float, **grid: Any) -> tuple[Any, Any]:
    """Make a figure without a window, with text as text and the same bytes every time."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "admercs"})
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(**grid)


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # What would change from day to day or from version to version is left out.
    unstated = {".svg": "Date", ".png": "Software"}[path.suffix]
    figure.savefig(path, dpi=_DPI, metadata={unstated: None})
    return path


def critical_difference(comparison: Comparison, metric: str, path: Path) -> Path:
    """Draw mean ranks on a line; bars join algorithms that cannot be told apart."""
    ranks = comparison.ranks(metric)
    order = np.argsort(ranks, kind="stable")
    figure, axes = _figure(7.2, 2.6)
    n = len(order)
    # Names stand outside of the scale, where no line to another name can cross them.
    axes.set(xlim=(-0.9, n + 1.9), ylim=(-0.5 * n - 1.2, 2.6))
    axes.set_axis_off()
    axes.plot([1, n], [1.4, 1.4], color="#222", linewidth=0.8)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [1.4, 1.6], color="#222", linewidth=0.8)
        axes.text(rank, 1.75, str(rank), ha="center", va="bottom", fontsize=9)
    for place, index in enumerate(order):
        left = place < (n + 1) // 2
        level = -0.9 * (place + 1 if left else n - place) - 0.2
        edge = 0.7 if left else n + 0.3
        axes.plot([ranks[index]] * 2 + [edge], [1.4, level, level], color="#555", linewidth=0.8)
        axes.text(
            edge + (-0.08 if left else 0.08),
            level,
            f"{comparison.algorithms[index]}  {ranks[index]:.2f}",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
        )
    groups = not_distinguishable(ranks[order].tolist(), comparison.critical_distance)
    for i, (first, last) in enumerate(groups):
        height = 1.0 - 0.35 * i
        ends = ranks[order[first]] - 0.05, ranks[order[last]] + 0.05
        axes.plot(ends, [height] * 2, color=_COLOURS[0], linewidth=3, solid_capstyle="round")
    axes.set_title(
        f"{comparison.benchmark}: mean rank by {_LABELS[metric]}, "
        f"critical distance {comparison.critical_distance:.2f}",
        fontsize=10,
    )
    return _save(figure, path)


def set_bars(comparison: Comparison, metric: str, path: Path) -> Path:
    """Draw one group of bars per set, one bar per algorithm."""
    values: np.ndarray = getattr(comparison, metric)
    n_sets, n_algorithms = values.shape
    figure, axes = _figure(max(7.0, 0.45 * n_sets + 1), 3.6)
    width = 0.85 / n_algorithms
    for i, algorithm in enumerate(comparison.algorithms):
        x = np.arange(n_sets) + (i - (n_algorithms - 1) / 2) * width
        axes.bar(x, values[:, i], width, label=algorithm, color=_COLOURS[i % len(_COLOURS)])
    axes.set_xticks(np.arange(n_sets), comparison.sets, rotation=60, ha="right", fontsize=8)
    axes.set(ylim=(0, 1), xlim=(-0.6, n_sets - 0.4), ylabel=_LABELS[metric])
    axes.set_title(comparison.benchmark, fontsize=10)
    axes.legend(ncols=n_algorithms, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.28))
    axes.spines[["top", "right"]].set_visible(False)
    return _save(figure, path)


def _boxes(axes: Any, groups: Mapping[Any, Sequence[float]], title: str) -> None:
    axes.boxplot(
        list(groups.values()),
        tick_labels=[str(key) for key in groups],
        widths=0.6,
        medianprops={"color": _COLOURS[0]},
        whis=(0, 100),
    )
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def sensitivity_by_parameter(results: Iterable[Result], benchmark: str, path: Path) -> Path:
    """Draw, for each parameter, the AUC of all points by the parameter's value."""
    by_point: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_point[result.parameters].append(result)
    points = [(found[0].point, np.mean([r.auc for r in found])) for found in by_point.values()]
    names = list(points[0][0])
    figure, axes = _figure(2.2 * len(names), 2.6, ncols=len(names), sharey=True, squeeze=False)
    for name, axis in zip(names, axes[0], strict=True):
        groups: dict[Any, list[float]] = defaultdict(list)
        for point, auc in points:
            groups[point[name]].append(float(auc))
        _boxes(axis, dict(sorted(groups.items())), name.replace("_", " "))
    axes[0, 0].set_ylabel(f"mean AUC, {benchmark}", fontsize=9)
    return _save(figure, path)


def sensitivity_by_set(results: Iterable[Result], benchmark: str, path: Path) -> Path:
    """Draw, for each set, the AUC of all parameter points."""
    groups: dict[str, list[float]] = defaultdict(list)
    for result in results:
        groups[result.name].append(result.auc)
    figure, axes = _figure(max(5.0, 0.5 * len(groups) + 1), 3.2)
    _boxes(axes, groups, f"{benchmark}: AUC over all parameter settings")
    axes.tick_params(axis="x", rotation=60)
    return _save(figure, path)


def patterns_page(sets: Sequence[LabelledArray], path: Path) -> Path:
    """Draw sets of two attributes with their anomalies."""
    columns = 6
    rows = -(-len(sets) // columns)
    figure, axes = _figure(12, 2.1 * rows, nrows=rows, ncols=columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for data, axis in zip(sets, axes.flat, strict=False):
        axis.scatter(*data.X[~data.y, :2].T, s=2, color="#9aa0a6", linewidths=0)
        axis.scatter(*data.X[data.y, :2].T, s=9, color=_COLOURS[0], linewidths=0)
        axis.set_title(data.name, fontsize=9)
    return _save(figure, path)


def draw_scores(names: Sequence[str], scores: np.ndarray, path: Path) -> Path:
    """Draw the scores of some named rows as bars, the first on top."""
    figure, axes = _figure(6, 0.28 * len(names) + 0.8)
    axes.barh(np.arange(len(names)), scores, color=_COLOURS[1])
    axes.set_yticks(np.arange(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlabel("evidence", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return _save(figure, path)


def draw_cars(cars: LabelledTable, evidence: np.ndarray, path: Path) -> Path:
    """Draw the cars by battery and range, and by production date, coloured by evidence."""
    figure, axes = _figure(9, 3.6, ncols=2)
    order = np.argsort(evidence)
    marks = {"global outlier": "s", "local outlier": "^", "accidental inlier": "*"}
    pairs = (("battery capacity (kWh)", "range (km)"), ("production date", "range (km)"))
    for axis, (x, y) in zip(axes, pairs, strict=True):
        across, up = cars.table[x].to_numpy(), cars.table[y].to_numpy()
        options = {"cmap": "Reds", "vmin": -2, "s": 9, "linewidths": 0}
        axis.scatter(across[order], up[order], c=evidence[order], **options)
        for kind, mark in marks.items():
            rows = cars.rows(kind)
            style = {"facecolors": "none", "edgecolors": "#222", "linewidths": 0.8}
            axis.scatter(across[rows], up[rows], s=60, marker=mark, label=kind, **style)
        axis.set_xlabel(x, fontsize=9)
        axis.set_ylabel(y, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].tick_params(axis="x", rotation=30)
    axes[0].legend(fontsize=8, loc="lower right")
    return _save(figure, path)
