"""The search of HiCS for subspaces in which attributes depend on each other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from admercs._compile import kernel

__all__ = ["Subspace", "find_subspaces"]

#: A slice of fewer rows says little, so another one is drawn, up to so many times.
_SMALLEST_SLICE, _MOST_REDRAWS = 10, 100
#: How often a set is really tried anew; further tries are drawn from the slices of these.
_MOST_TRIES = 4


@dataclass(frozen=True)
class Subspace:
    """A set of attributes and how strongly they depend on each other."""

    columns: tuple[int, ...]
    contrast: float


@kernel
def _next(state):  # type: ignore[no-untyped-def]
    """Advance a splitmix64 generator held in a one-element array; return a float in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 1.1102230246251565e-16


@kernel
def _mark_slice(order, rank, columns, test, width, state, marks):  # type: ignore[no-untyped-def]
    """Mark the ranks, in the test column, of the rows in random windows of all other columns."""
    n = order.shape[1]
    starts = np.empty(columns.size, np.int64)
    first = -1
    for j in range(columns.size):
        if j != test:
            starts[j] = np.int64(_next(state) * (n - width))
            if first < 0:
                first = j
    marks[:] = 0
    count = 0
    for position in range(starts[first], starts[first] + width):
        row = order[columns[first], position]
        inside = True
        for j in range(first + 1, columns.size):
            if j != test:
                place = rank[columns[j], row] - starts[j]
                if place < 0 or place >= width:
                    inside = False
                    break
        if inside:
            marks[rank[columns[test], row]] = 1
            count += 1
    return count


@kernel
def _ks_distance(marks, count, ends_tie):  # type: ignore[no-untyped-def]
    """Return the largest difference between the marked rows' distribution and everyone's."""
    n = marks.size
    seen = 0
    largest = 0.0
    for position in range(n):
        seen += marks[position]
        if ends_tie[position]:
            largest = max(largest, abs(seen / count - (position + 1) / n))
    return largest


@kernel
def _deviations(  # type: ignore[no-untyped-def]
    order, rank, ends_tie, columns, seed, width, marks, out
):
    """Fill ``out`` with the deviations of random slices of one subspace."""
    state = np.full(1, seed, np.uint64)
    redraws = 0
    for t in range(out.size):
        while True:
            test = np.int64(_next(state) * columns.size)
            count = _mark_slice(order, rank, columns, test, width, state, marks)
            if count >= _SMALLEST_SLICE or redraws >= _MOST_REDRAWS:
                break
            redraws += 1
        out[t] = _ks_distance(marks, count, ends_tie[columns[test]]) if count > 0 else 0.0


@kernel
def contrasts(  # type: ignore[no-untyped-def]
    order, rank, ends_tie, candidates, seeds, n_tests, width
):
    """Return the mean deviation of random slices of every candidate subspace."""
    out = np.empty(len(candidates))
    marks = np.zeros(order.shape[1], np.uint8)
    found = np.empty(n_tests)
    for c in range(len(candidates)):
        _deviations(order, rank, ends_tie, candidates[c], seeds[c], width, marks, found)
        out[c] = found.mean()
    return out


@kernel
def all_deviations(  # type: ignore[no-untyped-def]
    order, rank, ends_tie, candidates, seeds, n_tests, width
):
    """Return every slice's deviation of every candidate subspace."""
    out = np.empty((len(candidates), n_tests))
    marks = np.zeros(order.shape[1], np.uint8)
    for c in range(len(candidates)):
        _deviations(order, rank, ends_tie, candidates[c], seeds[c], width, marks, out[c])
    return out


class _Slicer:
    """Measures the contrast of subspaces of one table."""

    def __init__(self, X: np.ndarray, n_tests: int, alpha: float, rng: np.random.Generator) -> None:
        order = np.argsort(X, axis=0, kind="stable")
        ordered = np.take_along_axis(X, order, axis=0).T
        self.order = np.ascontiguousarray(order.T.astype(np.int32))
        self.rank = np.empty_like(self.order)
        places = np.arange(len(X), dtype=np.int32)[None, :]
        np.put_along_axis(self.rank, self.order, places, axis=1)
        self.ends_tie = np.ones(ordered.shape, np.bool_)
        self.ends_tie[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
        self.n_tests, self.alpha, self.rng = n_tests, alpha, rng

    def _arguments(self, candidates: np.ndarray) -> tuple[Any, ...]:
        width = int(self.order.shape[1] * self.alpha ** (1.0 / candidates.shape[1]))
        seeds = self.rng.integers(0, 2**63, len(candidates), dtype=np.uint64)
        table = (self.order, self.rank, self.ends_tie)
        return (*table, candidates, seeds, self.n_tests, width)

    def once(self, candidates: np.ndarray) -> np.ndarray:
        """Return the contrast of every candidate."""
        return contrasts(*self._arguments(candidates))

    def often(self, candidates: np.ndarray, times: np.ndarray) -> list[np.ndarray]:
        """Return several estimates of every candidate's contrast.

        A set may be tried thousands of times. Beyond a few tries the estimates are drawn from the
        slices already taken, which have the same distribution at a small part of the cost.
        """
        tries = np.minimum(times, _MOST_TRIES)
        found = all_deviations(*self._arguments(np.repeat(candidates, tries, axis=0)))
        out = []
        for pool, n in zip(np.split(found, np.cumsum(tries)[:-1]), times.tolist(), strict=True):
            if n <= _MOST_TRIES:
                out.append(pool.mean(axis=1))
            else:
                draw = self.rng.integers(0, pool.size, (n, self.n_tests))
                out.append(pool.ravel()[draw].mean(axis=1))
        return out


def find_subspaces(
    X: np.ndarray,
    *,
    n_tests: int = 50,
    alpha: float = 0.1,
    max_subspaces: int = 100,
    prefix_is_same: bool = True,
    random_state: int | np.random.Generator = 0,
) -> list[Subspace]:
    """Search for subspaces of high contrast, level by level, as ELKI does.

    The parameters are those of :class:`admercs.baselines.HiCS`. Small subspaces come first.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.baselines.subspaces import find_subspaces
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(500)
    >>> X = np.column_stack([x, x + 0.01 * rng.random(500), rng.random(500)])
    >>> max(find_subspaces(X), key=lambda s: s.contrast).columns
    (0, 1)
    """
    if X.shape[1] < 2:
        return []
    slicer = _Slicer(X, n_tests, alpha, np.random.default_rng(random_state))
    pairs = np.column_stack(np.triu_indices(X.shape[1], 1)).astype(np.int32)
    candidates, contrast = _best(pairs, slicer.once(pairs), max_subspaces)
    result = _Result(prefix_is_same)
    while len(candidates):
        joined, times = _join(candidates)
        following = joined, np.empty(0)
        if len(joined):
            estimates = slicer.often(joined, times)
            copies = np.repeat(joined, times, axis=0)
            following = _best(copies, np.concatenate(estimates), max_subspaces)
        result.add(candidates, contrast, limit=following[1].max(initial=-np.inf))
        candidates, contrast = following
    return result.subspaces()


def _best(
    candidates: np.ndarray, contrast: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the candidates of highest contrast."""
    best = np.argsort(-contrast, kind="stable")[:limit]
    return candidates[best], contrast[best]


def _join(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unite kept sets whose union has one column more; return the unions and how often each arose.

    One union may come from several pairs. It is then tried several times, each time with new
    slices, and may hold several of the places of its level: ELKI does it that way, and the number
    of subspaces in the end depends on it.
    """
    size = kept.shape[1]
    masks = [sum(1 << int(column) for column in columns) for columns in kept]
    unions = Counter(
        mask | other
        for i, mask in enumerate(masks)
        for other in masks[i + 1 :]
        if (mask | other).bit_count() == size + 1
    )
    rows = [[c for c in range(union.bit_length()) if union >> c & 1] for union in unions]
    joined = np.array(rows, dtype=np.int32).reshape(-1, size + 1)
    return joined, np.array(list(unions.values()), dtype=np.int64)


class _Result:
    """The subspaces found so far; levels are added in order of their size."""

    def __init__(self, prefix_is_same: bool) -> None:
        self._prefix_is_same = prefix_is_same
        self._found: dict[tuple[int, ...], float] = {}

    def _same(self, columns: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the listed set that counts as the same as a set of at least its size."""
        shortest = 1 if self._prefix_is_same else len(columns)
        parts = (columns[:size] for size in range(shortest, len(columns) + 1))
        return next((part for part in parts if part in self._found), None)

    def add(self, candidates: np.ndarray, contrast: np.ndarray, limit: float) -> None:
        """List the sets of one level, then drop those that the next level's best set beats.

        A set that was tried several times is dropped if any of these tries is beaten.
        """
        level = [tuple(columns) for columns in candidates.tolist()]
        for columns, value in zip(level, contrast.tolist(), strict=True):
            if self._same(columns) is None:
                self._found[columns] = value
        for columns, value in zip(level, contrast.tolist(), strict=True):
            listed = self._same(columns)
            if value < limit and listed is not None:
                del self._found[listed]

    def subspaces(self) -> list[Subspace]:
        """Return what is left, small sets first."""
        ordered = sorted(self._found.items(), key=lambda item: (len(item[0]), item[0]))
        return [Subspace(columns, contrast) for columns, contrast in ordered]
