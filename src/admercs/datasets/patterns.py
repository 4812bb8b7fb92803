"""Thirty simple patterns of two attributes.

Each pattern is drawn by a small function of a random generator and a number of points. What
counts is that neither attribute alone says anything about the other's normality: it takes both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

__all__ = ["PATTERNS", "draw_pattern"]

Draw = Callable[[np.random.Generator, int], np.ndarray]

#: Standard deviation of the noise around thin patterns, relative to the unit square.
_NOISE = 0.04


def draw_pattern(name: str, n: int, random_state: int | np.random.Generator = 0) -> np.ndarray:
    """Draw points of one pattern.

    Parameters
    ----------
    name : str
        One of ``PATTERNS``.
    n : int
        Number of points.
    random_state : int or Generator, default=0
        Seed or source of randomness.

    Returns
    -------
    points : ndarray of shape (n, 2)
        Points in and near the unit square.

    Examples
    --------
    >>> from admercs.datasets import draw_pattern
    >>> draw_pattern("circle", 3, random_state=0).round(1).shape
    (3, 2)
    """
    if name not in PATTERNS:
        raise ValueError(f"unknown pattern {name!r}; there are {', '.join(PATTERNS)}")
    return PATTERNS[name](np.random.default_rng(random_state), n)


def _function(f: Callable[[np.ndarray], np.ndarray], noise: float = _NOISE) -> Draw:
    """One value of y for every x."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.random(n)
        return np.column_stack([x, f(x) + rng.normal(0, noise, n)])

    return draw


def _curve(f: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Draw:
    """Follow a curve given by a parameter in [0, 1], with noise on both attributes."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.column_stack(f(rng.random(n))) + rng.normal(0, _NOISE, (n, 2))

    return draw


def _segments(corners: Sequence[Sequence[tuple[float, float]]]) -> Draw:
    """Straight lines, each as often as it is long."""
    ends = np.array([(a, b) for line in corners for a, b in pairwise(line)], float)
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        which = rng.choice(len(ends), n, p=lengths / lengths.sum())
        t = rng.random((n, 1))
        points = ends[which, 0] * (1 - t) + ends[which, 1] * t
        return np.asarray(points + rng.normal(0, _NOISE, (n, 2)))

    return draw


def _blobs(centres: Sequence[tuple[float, float]], spread: float | Sequence[float]) -> Draw:
    """Round clusters."""
    centre = np.array(centres)
    width = np.broadcast_to(np.array(spread, float), (len(centres),))

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        which = rng.integers(0, len(centre), n)
        return np.asarray(centre[which] + rng.normal(size=(n, 2)) * width[which, None])

    return draw


def _cells(filled: Sequence[Sequence[int]]) -> Draw:
    """Fill cells of a regular grid evenly; rows of the picture from top to bottom."""
    grid = np.array(filled, bool)[::-1]
    rows, columns = np.nonzero(grid)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        which = rng.integers(0, rows.size, n)
        corner = np.column_stack([columns[which], rows[which]])
        # A gap between neighbours' corners leaves the pattern visible.
        inside = rng.uniform(0.04, 0.96, (n, 2))
        return np.asarray((corner + inside) / np.array(grid.shape[::-1]))

    return draw


def _ring(radii: Sequence[float]) -> Draw:
    """Concentric circles, each as often as it is long."""
    radius = np.array(radii)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        r = rng.choice(radius, n, p=radius / radius.sum()) + rng.normal(0, _NOISE, n)
        angle = rng.uniform(0, 2 * np.pi, n)
        return np.column_stack([0.5 + r * np.cos(angle), 0.5 + r * np.sin(angle)])

    return draw


def _fan(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw a rising line whose noise grows along the way."""
    x = rng.random(n)
    return np.column_stack([x, x + rng.normal(size=n) * (0.01 + 0.1 * x)])


def _moons(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw two interlocking half circles."""
    t = rng.uniform(0, np.pi, n)
    upper = rng.random(n) < 0.5
    x = np.where(upper, np.cos(t), 1 - np.cos(t))
    y = np.where(upper, np.sin(t), 0.5 - np.sin(t))
    points = np.column_stack([(x + 1) / 3, (y + 0.5) / 1.5])
    return np.asarray(points + rng.normal(0, _NOISE, (n, 2)))


def _tilted_ellipse(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = 0.5 * np.cos(2 * np.pi * t), 0.2 * np.sin(2 * np.pi * t)
    return 0.5 + (a - b) * np.sqrt(0.5), 0.5 + (a + b) * np.sqrt(0.5)


def _spiral(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # The square root spreads the points evenly along the way.
    r = np.sqrt(t)
    return 0.5 + 0.5 * r * np.cos(9 * r), 0.5 + 0.5 * r * np.sin(9 * r)


#: The thirty patterns by name.
PATTERNS: dict[str, Draw] = {
    # y is a function of x
    "rising line": _function(lambda x: x),
    "falling line": _function(lambda x: 1 - x),
    "parabola": _function(lambda x: (2 * x - 1) ** 2),
    "cubic": _function(lambda x: 0.5 + 4 * (x - 0.5) ** 3),
    "wave": _function(lambda x: 0.5 + 0.5 * np.sin(2 * np.pi * x)),
    "fast wave": _function(lambda x: 0.5 + 0.5 * np.sin(5 * np.pi * x)),
    "valley": _function(lambda x: np.abs(2 * x - 1)),
    "growth": _function(lambda x: np.expm1(3 * x) / np.expm1(3)),
    "threshold": _function(lambda x: 1 / (1 + np.exp(-18 * (x - 0.5)))),
    "stairs": _function(lambda x: np.floor(4 * x).clip(0, 3) / 3),
    "sawtooth": _function(lambda x: (3 * x) % 1),
    "fan": _fan,
    # several values of y for one x
    "cross": _segments([[(0, 0), (1, 1)], [(0, 1), (1, 0)]]),
    "parallel lines": _segments([[(0, 0), (0.75, 1)], [(0.25, 0), (1, 1)]]),
    "sideways parabola": _curve(lambda t: ((2 * t - 1) ** 2, t)),
    "fork": _segments([[(0, 0.5), (0.4, 0.5)], [(1, 0), (0.4, 0.5), (1, 1)]]),
    "arrow": _segments([[(0, 0), (1, 1)], [(0.4, 1), (1, 1), (1, 0.4)]]),
    "zigzag": _segments([[(0, 0), (1, 0.33), (0, 0.67), (1, 1)]]),
    "figure eight": _curve(
        lambda t: (0.5 + 0.5 * np.sin(2 * np.pi * t), 0.5 + 0.5 * np.sin(4 * np.pi * t))
    ),
    "moons": _moons,
    # closed shapes
    "circle": _ring([0.45]),
    "two rings": _ring([0.2, 0.5]),
    "ellipse": _curve(_tilted_ellipse),
    "diamond": _segments([[(0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5), (0.5, 0)]]),
    "triangle": _segments([[(0, 0), (1, 0.2), (0.4, 1), (0, 0)]]),
    "spiral": _curve(_spiral),
    # clusters
    "two clusters": _blobs([(0.25, 0.25), (0.75, 0.75)], 0.07),
    "five clusters": _blobs([(0.1, 0.3), (0.3, 0.9), (0.5, 0.5), (0.7, 0.1), (0.9, 0.7)], 0.04),
    "uneven clusters": _blobs([(0.2, 0.75), (0.55, 0.3), (0.9, 0.55)], [0.09, 0.05, 0.02]),
    "blocks": _cells([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]),
}
