"""Robust linear relations: a column from a few others, whatever a few rows say.

Which columns are taken is decided one by one, on values that are cut off at the 2.5% and 97.5%
quantiles, by the variance that each explains of what is left. The weights are those of least
trimmed squares: the rows with the largest residuals are left out again and again, until the same
rows are left out twice (C-steps; Rousseeuw and Van Driessen 2006).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints

STEPS = 10  # the most C-steps
_SINGULAR = 1e-10  # a column with less variance left than this share says nothing new


class LinearFit(NamedTuple):
    """A linear relation that was fitted to some rows."""

    weights: Floats
    constant: float
    explained: float  # the share of the variance of the central rows that is explained
    width: float  # the largest residual of the central rows


class CutValues:
    """The columns of a sample, cut off at outer quantiles, and how they vary together."""

    def __init__(self, values: Floats, central: float) -> None:
        outer = (1 - central) / 2
        low, high = np.quantile(values, [outer, 1 - outer], axis=1)
        cut = np.clip(values, low[:, None], high[:, None])
        cut -= cut.mean(axis=1, keepdims=True)
        spread = np.sqrt((cut * cut).mean(axis=1))
        self.varies = spread > 1e-12 * np.maximum(abs(low), abs(high))
        cut /= np.where(self.varies, spread, 1.0)[:, None]
        self.n_rows = values.shape[1]
        self.correlation: Floats = cut @ cut.T / self.n_rows

    def choose_inputs(self, target: int, most: int, gain: float) -> tuple[list[int], float]:
        """Return the columns that a target depends on most, and the share they explain."""
        n = len(self.correlation)
        shared = self.correlation[target].copy()  # covariance with what is left of the target
        left = np.diag(self.correlation).copy()  # variance that is left of each column
        candidates = self.varies & (np.arange(n) != target)
        # What the best of n columns of noise explains of the rest, with a margin.
        noise = (6.0 + 2.0 * math.log(n)) / self.n_rows
        inputs: list[int] = []
        directions: list[Floats] = []
        rest = 1.0
        while len(inputs) < most and rest > _SINGULAR:
            usable = candidates & (left > _SINGULAR)
            explains = np.where(usable, shared**2 / np.where(usable, left, 1.0), 0.0)
            best = int(explains.argmax())
            if explains[best] <= max(gain, noise) * rest:
                break
            inputs.append(best)
            direction = self.correlation[best].copy()
            for other in directions:
                direction -= other[best] * other
            direction /= math.sqrt(left[best])
            directions.append(direction)
            step = direction[target]
            shared = shared - step * direction
            left = left - direction**2
            rest -= step**2
            candidates[best] = False
        return inputs, 1.0 - max(0.0, rest)


def fit_trimmed(inputs: Floats, target: Floats, central: float) -> tuple[Floats, float, Ints]:
    """Return weights and constant of least trimmed squares, and the rows that were kept.

    `inputs` are columns x rows.
    """
    n_kept = math.ceil(central * len(target))
    kept = np.arange(len(target))
    weights, constant = np.zeros(len(inputs)), 0.0
    for _ in range(STEPS):
        own, some = target.take(kept), inputs.take(kept, axis=1)
        middle, level = some.mean(axis=1), own.mean()
        some -= middle[:, None]
        scale = np.sqrt((some * some).mean(axis=1))
        scale[scale == 0] = 1.0
        some /= scale[:, None]
        solved = np.linalg.lstsq(some.T, own - level, rcond=1e-12)[0]
        weights = solved / scale
        constant = float(level - weights @ middle)
        away = abs(target - (weights @ inputs + constant))
        central_rows = _smallest(away, n_kept)
        if np.array_equal(central_rows, kept):
            break
        kept = central_rows
    return weights, constant, kept


def _smallest(values: Floats, n: int) -> Ints:
    """Return the places of the n smallest values, ascending; of equal ones the first."""
    last = np.partition(values, n - 1)[n - 1]
    rows = np.flatnonzero(values <= last)
    more = len(rows) - n
    return np.delete(rows, np.flatnonzero(values[rows] == last)[-more:]) if more > 0 else rows


def fit_linear(inputs: Floats, target: Floats, central: float) -> LinearFit:
    """Fit a target to some inputs (columns x rows), without missing values."""
    weights, constant, kept = fit_trimmed(inputs, target, central)
    residual = (target - (weights @ inputs + constant))[kept]
    variance = float(target[kept].var())
    explained = 1.0 - float(residual.var()) / variance if variance > 0 else 0.0
    return LinearFit(weights, constant, explained, float(abs(residual).max()))
