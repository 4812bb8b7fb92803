"""Draw the pictures of docs/method.md with the detector itself.

python docs/images/make_method_pictures.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from admercs import ADMERCS, Method, inspect
from admercs.datasets import make_synth_c
from admercs.pipeline.score import Scorer

FOLDER = Path(__file__).parent
GREY, RED, BLUE = "0.55", "#c0392b", "#2471a3"


def log_omega(model: ADMERCS, rows: np.ndarray) -> np.ndarray:
    """Return log ω of all values after all steps on likelihoods: rows x columns."""
    parts = Scorer(model.model_).score_alone(np.ascontiguousarray(rows.T))
    return parts.log_likelihoods(model.model_).T


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture."""
    figure.tight_layout()
    figure.savefig(FOLDER / f"{name}.png")
    plt.close(figure)


def draw_contexts() -> None:
    """Draw the contexts of one tree, and how likely values are in them."""
    data = make_synth_c(3)
    X = data.X
    model = ADMERCS().fit(X)
    low, high = X.min(axis=0), X.max(axis=0)
    x, y = (np.linspace(a, b, 300) for a, b in zip(low, high, strict=True))
    grid = np.array(np.meshgrid(x, y)).reshape(2, -1).T
    omega = np.exp(inspect.likelihoods(model, grid)[:, 1]).reshape(300, 300)
    figure, axes = plt.subplots(figsize=(6, 3.6))
    shade = axes.pcolormesh(x, y, omega, cmap="Blues", shading="auto")
    figure.colorbar(shade, label="ω of $x_1$ in its context")
    for node in inspect.tree_nodes(model):
        if node.target == "x1" and node.split_on is not None:
            axes.axvline(node.threshold, color="0.3", linewidth=0.8)
    axes.plot(*X[~data.y].T, ".", color="0.25", markersize=2)
    axes.plot(*X[data.y].T, ".", color=RED, markersize=4)
    axes.set(xlabel="$x_0$", ylabel="$x_1$")
    save(figure, "method-contexts")


def draw_tail() -> None:
    """Draw the likelihood of values far outside of a column, with the step and without."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(100, 15, 5000), rng.uniform(size=5000)])
    X[:20, 0] = -999
    X[20, 0] = 455
    values = np.sort(np.concatenate([np.linspace(-1100, 600, 1701), X[:21, 0]]))
    rows = np.column_stack([values, np.full(len(values), 0.5)])
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for method, label, color in (
        (replace(Method(), tail=None), "without the step", GREY),
        (Method(), "with the step", BLUE),
    ):
        omega = np.exp(log_omega(ADMERCS(method=method).fit(X), rows)[:, 0])
        axes.semilogy(values, omega, color=color, label=label)
    axes.axvline(-999, color=RED, linewidth=0.8, linestyle=":")
    axes.axvline(455, color=RED, linewidth=0.8, linestyle=":")
    axes.text(-985, 1, "−999 in 20 rows", color=RED, va="bottom")
    axes.text(445, 1, "455 in one row", color=RED, va="bottom", ha="right")
    axes.set(xlabel="value; the other 4,979 rows: mean 100, standard deviation 15", ylabel="ω")
    axes.set_ylim(top=5)
    axes.legend(loc="center", bbox_to_anchor=(0.35, 0.62))
    save(figure, "method-tail")


def draw_border() -> None:
    """Draw the likelihood of a value near a threshold, with the step and without."""
    rng = np.random.default_rng(1)
    x = rng.uniform(size=2000)
    X = np.column_stack([x, (x > 0.5) + rng.normal(scale=0.05, size=2000)])
    at = np.linspace(0.4, 0.6, 801)
    rows = np.column_stack([at, np.zeros(len(at))])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
    for method, label, color in (
        (replace(Method(), border=None), "without the step", GREY),
        (Method(), "with the step", BLUE),
    ):
        model = ADMERCS(method=method).fit(X)
        omega = np.exp(log_omega(model, rows)[:, 1])
        right.plot(at, omega, color=color, label=label)
    node = next(n for n in inspect.tree_nodes(model) if n.target == "x1" and n.split_on)
    zones = model.model_.zones
    for axes in (left, right):
        axes.axvspan(zones.lower[node.number], zones.upper[node.number], color="0.9")
        axes.axvline(node.threshold, color="0.3", linewidth=0.8)
        axes.set(xlim=(0.4, 0.6), xlabel="$x_0$")
    left.plot(*X.T, ".", color="0.25", markersize=2)
    left.axhline(0, color=RED, linewidth=0.8, linestyle=":")
    left.set(ylabel="$x_1$")
    right.set(ylabel="ω of $x_1$ = 0")
    right.legend()
    save(figure, "method-border")


def draw_isolation() -> None:
    """Draw the isolation evidence on a plane, at the small scale and at both."""
    rng = np.random.default_rng(2)
    t = rng.uniform(size=600)
    X = np.column_stack([t, t + rng.normal(scale=0.03, size=600)])
    group = np.array([0.85, 0.15]) + rng.normal(scale=0.012, size=(15, 2))
    X = np.vstack([X, group, [[0.2, 0.8]]])
    model = ADMERCS().fit(X).model_
    references, settings = model.references, model.method.neighbours
    x = np.linspace(-0.05, 1.05, 160)
    grid = np.array(np.meshgrid(x, x)).reshape(2, -1)
    distance = references.compare(np.ascontiguousarray(grid)).distance
    odds = model.method.evidence.odds
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True)
    small, large = references.scales.tolist()
    for axes, chosen, title in (
        (panels[0], [0, 0], f"nearest {small} rows"),
        (panels[1], [0, 1], f"nearest {small} and nearest {large} rows"),
    ):
        scaled = references._replace(usual=references.usual[chosen])
        found = scaled.isolation(distance[:, chosen], settings.isolation, odds)
        shade = axes.pcolormesh(x, x, found.reshape(160, 160), cmap="Reds", vmin=0, vmax=5)
        axes.plot(*X.T, ".", color="0.25", markersize=2)
        axes.plot(*X[-1], "o", color="0.25", markeredgecolor="white", markersize=5)
        axes.set(title=title, xlabel="$x_0$")
    panels[0].set(ylabel="$x_1$")
    figure.colorbar(shade, ax=panels, label="isolation evidence")
    figure.savefig(FOLDER / "method-isolation.png", bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    """Draw all pictures."""
    mpl.use("Agg")
    mpl.rcParams.update({"font.size": 9, "savefig.dpi": 130})
    for draw in (draw_contexts, draw_tail, draw_border, draw_isolation):
        draw()


if __name__ == "__main__":
    main()
