"""Thirty simple patterns of two attributes.

Each pattern is drawn by a small function of a random generator and a number of points. What
counts is that neither attribute alone says anything about the other's normality: it takes both.

A pattern is a band around a way through the square. Points keep within the band, so that what lies
outside is off the pattern for certain. Along the way the band is narrow here and wide there, and
some stretches hold more points than others: what is far from the pattern in one place is near it in
another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["PATTERNS", "draw_pattern"]

Draw = Callable[[np.random.Generator, int], np.ndarray]

#: Half the width of the band, relative to the unit square, from the beginning of the way to its
#: end.
_WIDTHS = (0.12, 0.035, 0.07)


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


def _walk(
    rng: np.random.Generator, n: int, shares: Sequence[float], widths: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw positions on a way of length 1, and the half width of the band at each.

    Equal stretches of the way hold the given shares of the points.
    """
    share = np.array(shares, float)
    which = rng.choice(len(share), n, p=share / share.sum())
    t = (which + rng.random(n)) / len(share)
    return t, np.interp(t, np.linspace(0, 1, len(widths)), widths)


def _scatter(rng: np.random.Generator, bound: np.ndarray) -> np.ndarray:
    """Draw deviations within bounds."""
    return np.asarray(bound * rng.triangular(-1, 0, 1, bound.size))


def _function(
    f: Callable[[np.ndarray], np.ndarray],
    shares: Sequence[float],
    widths: Sequence[float] = _WIDTHS,
) -> Draw:
    """One value of y for every x."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        x, bound = _walk(rng, n, shares, widths)
        return np.column_stack([x, f(x) + _scatter(rng, bound)])

    return draw


def _curve(
    f: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    shares: Sequence[float],
    widths: Sequence[float] = _WIDTHS,
) -> Draw:
    """Follow a curve given by a parameter in [0, 1], with scatter on both attributes."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        t, bound = _walk(rng, n, shares, widths)
        x, y = f(t)
        return np.column_stack([x + _scatter(rng, bound), y + _scatter(rng, bound)])

    return draw


def _lines(
    corners: Sequence[tuple[float, float]],
    shares: Sequence[float],
    widths: Sequence[float] = _WIDTHS,
) -> Draw:
    """Straight lines from corner to corner, each with its share of the points."""
    corner = np.array(corners, float)

    def follow(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = np.linspace(0, 1, len(corner))
        return np.interp(t, places, corner[:, 0]), np.interp(t, places, corner[:, 1])

    return _curve(follow, shares, widths)


def _together(*parts: tuple[float, Draw]) -> Draw:
    """Several patterns in one, each with its share of the points."""
    share = np.array([part[0] for part in parts])

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        counts = rng.multinomial(n, share / share.sum())
        points = [part(rng, k) for (_, part), k in zip(parts, counts, strict=True)]
        return rng.permutation(np.vstack(points))

    return draw


def _disc(centre: tuple[float, float], radius: float) -> Draw:
    """Round cluster, densest in the middle and with an edge."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        angle, r = rng.uniform(0, 2 * np.pi, n), radius * rng.random(n)
        return np.asarray(centre + np.column_stack([r * np.cos(angle), r * np.sin(angle)]))

    return draw


def _block(low: tuple[float, float], high: tuple[float, float]) -> Draw:
    """Rectangle with sides along the axes."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return np.asarray(rng.uniform(low, high, (n, 2)))

    return draw


def _arc(
    radius: float,
    shares: Sequence[float],
    widths: Sequence[float] = _WIDTHS,
    *,
    centre: tuple[float, float] = (0.5, 0.5),
    turns: tuple[float, float] = (0, 1),
) -> Draw:
    """Part of a circle, or all of it."""

    def follow(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = 2 * np.pi * (turns[0] + t * (turns[1] - turns[0]))
        return centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)

    return _curve(follow, shares, widths)


def _tilted_ellipse(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = 0.6 * np.cos(2 * np.pi * t), 0.25 * np.sin(2 * np.pi * t)
    return 0.5 + (a - b) * np.sqrt(0.5), 0.5 + (a + b) * np.sqrt(0.5)


def _spiral(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # The square root spreads the points evenly along the way.
    r = np.sqrt(t)
    return 0.5 + 0.5 * r * np.cos(9 * r), 0.5 + 0.5 * r * np.sin(9 * r)


#: The thirty patterns by name.
PATTERNS: dict[str, Draw] = {
    # y is a function of x
    "rising line": _function(lambda x: x, (3, 1, 2, 3), (0.035, 0.2, 0.035)),
    "falling line": _function(lambda x: 1 - x, (1, 2, 3), (0.25, 0.035)),
    "parabola": _function(lambda x: (2 * x - 1) ** 2, (1, 2, 2, 1), (0.14, 0.035, 0.14)),
    "cubic": _function(lambda x: 0.5 + 4 * (x - 0.5) ** 3, (2, 1, 1, 2), (0.09, 0.035, 0.09)),
    "wave": _function(lambda x: 0.5 + 0.5 * np.sin(2 * np.pi * x), (3, 2, 1, 2), (0.035, 0.2)),
    "fast wave": _function(
        lambda x: 0.5 + 0.5 * np.sin(5 * np.pi * x), (2, 2, 2, 1, 2), (0.035, 0.14)
    ),
    "valley": _function(lambda x: np.abs(2 * x - 1), (2, 1, 1, 2), (0.035, 0.2)),
    "growth": _function(lambda x: np.expm1(3 * x) / np.expm1(3), (2, 2, 2, 3), (0.035, 0.25)),
    "threshold": _function(
        lambda x: 1 / (1 + np.exp(-18 * (x - 0.5))), (3, 3, 1, 2, 2), (0.035, 0.14)
    ),
    "stairs": _function(lambda x: np.floor(4 * x).clip(0, 3) / 3, (2, 1, 2, 2), (0.05, 0.2, 0.05)),
    "sawtooth": _function(lambda x: (4 * x) % 1, (2, 1, 2, 1), (0.035, 0.2)),
    "fan": _function(lambda x: x, (3, 2, 2), (0.01, 0.3)),
    # several values of y for one x
    "cross": _together(
        (5, _lines([(0, 0), (1, 1)], (3, 1, 3))), (1, _lines([(0, 1), (1, 0)], (1,)))
    ),
    "parallel lines": _together(
        (2, _lines([(0, 0), (0.75, 1)], (2, 1, 2))), (1, _lines([(0.25, 0), (1, 1)], (1, 2)))
    ),
    "sideways parabola": _curve(lambda t: ((2 * t - 1) ** 2, t), (1, 2, 2, 1)),
    "fork": _together(
        (3, _lines([(0, 0.5), (0.4, 0.5)], (1,))),
        (5, _lines([(0.4, 0.5), (1, 0)], (1, 2))),
        (3, _lines([(0.4, 0.5), (1, 1)], (2, 1))),
    ),
    "arrow": _together(
        (4, _lines([(0, 0), (1, 1)], (2, 2, 1))),
        (2, _lines([(0.4, 1), (1, 1), (1, 0.4)], (1, 2))),
    ),
    "zigzag": _lines([(0, 0), (1, 0.2), (0, 0.4), (1, 0.6), (0, 0.8), (1, 1)], (2, 1, 2, 1, 2)),
    "figure eight": _curve(
        lambda t: (0.5 + 0.5 * np.sin(2 * np.pi * t), 0.5 + 0.5 * np.sin(4 * np.pi * t)),
        (3, 3, 1, 1, 1, 1, 2, 2),
    ),
    "moons": _together(
        (3, _arc(0.33, (2, 1, 2), centre=(0.33, 0.5), turns=(0, 0.5))),
        (1, _arc(0.33, (1, 1), centre=(0.66, 0.4), turns=(0.5, 1))),
    ),
    # closed shapes
    "circle": _arc(0.45, (5, 5, 2, 1, 1, 1, 1, 2)),
    "two rings": _together((1, _arc(0.2, (1, 2))), (2, _arc(0.5, (2, 2, 1, 1)))),
    "ellipse": _curve(_tilted_ellipse, (3, 3, 2, 1)),
    "diamond": _lines([(0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5), (0.5, 0)], (3, 1, 2, 1)),
    "triangle": _lines([(0, 0), (1, 0.2), (0.4, 1), (0, 0)], (4, 1, 2)),
    "spiral": _curve(_spiral, (2, 1, 2, 1, 1, 3)),
    # clusters
    "two clusters": _together((2, _disc((0.25, 0.25), 0.25)), (1, _disc((0.75, 0.75), 0.25))),
    "five clusters": _together(
        (2, _disc((0.1, 0.3), 0.12)),
        (1, _disc((0.3, 0.9), 0.12)),
        (2, _disc((0.5, 0.5), 0.12)),
        (1, _disc((0.7, 0.1), 0.12)),
        (2, _disc((0.9, 0.7), 0.12)),
    ),
    "uneven clusters": _together(
        (4, _disc((0.2, 0.75), 0.25)), (2, _disc((0.55, 0.3), 0.12)), (1, _disc((0.9, 0.55), 0.05))
    ),
    "blocks": _together((2, _block((0.0, 0.0), (0.48, 0.48))), (1, _block((0.52, 0.52), (1, 1)))),
}
