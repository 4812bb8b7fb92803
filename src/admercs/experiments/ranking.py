"""From single results to averages, Friedman ranks and critical distances."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range

from admercs.experiments.store import Result

__all__ = [
    "Comparison",
    "compare",
    "critical_distance",
    "mean_ranks",
    "not_distinguishable",
    "per_set",
]


def critical_distance(n_algorithms: int, n_sets: int, p: float = 0.05) -> float:
    """Return the Nemenyi critical distance: mean ranks closer than that do not differ.

    Examples
    --------
    >>> from admercs.experiments.ranking import critical_distance
    >>> [round(critical_distance(7, n), 2) for n in (23, 21, 30)]
    [1.88, 1.97, 1.64]
    """
    q = studentized_range.ppf(1 - p, n_algorithms, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_sets)))


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Return the mean rank of every column; 1 is best, equal values share their ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.experiments.ranking import mean_ranks
    >>> mean_ranks(np.array([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]))
    array([1.  , 2.25, 2.75])
    """
    return np.asarray(rankdata(-np.asarray(values), axis=1).mean(axis=0))


def not_distinguishable(ranks: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Find the largest groups of algorithms whose ranks lie within the critical distance.

    Examples
    --------
    >>> from admercs.experiments.ranking import not_distinguishable
    >>> not_distinguishable([1.0, 1.5, 2.9, 3.0], 1.6)
    [(0, 1), (1, 3)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(i for i, other in enumerate(ranks) if other - rank < distance)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def per_set(results: Iterable[Result], metric: str = "auc") -> dict[tuple[str, str], float]:
    """Average the versions of every set."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        found[result.algorithm, result.name].append(getattr(result, metric))
    return {key: float(np.mean(values)) for key, values in found.items()}


@dataclass(frozen=True)
class Comparison:
    """All algorithms on one benchmark.

    Attributes
    ----------
    benchmark : str
        Which benchmark.
    algorithms : tuple of str
        The algorithms that were run on all of the sets.
    sets : tuple of str
        The sets.
    n_versions : int
        How many versions these sets have together.
    auc, ap, seconds : ndarrays of shape (n_sets, n_algorithms)
        Versions averaged.
    """

    benchmark: str
    algorithms: tuple[str, ...]
    sets: tuple[str, ...]
    n_versions: int
    auc: np.ndarray
    ap: np.ndarray
    seconds: np.ndarray

    @property
    def critical_distance(self) -> float:
        """The Nemenyi critical distance at p = 0.05."""
        return critical_distance(len(self.algorithms), len(self.sets))

    def among(self, algorithms: Sequence[str]) -> Comparison:
        """Return the comparison of some of the algorithms only."""
        kept = [i for i, name in enumerate(self.algorithms) if name in algorithms]
        names = tuple(self.algorithms[i] for i in kept)
        arrays = (self.auc[:, kept], self.ap[:, kept], self.seconds[:, kept])
        return Comparison(self.benchmark, names, self.sets, self.n_versions, *arrays)

    def ranks(self, metric: str) -> np.ndarray:
        """Return the mean ranks of the algorithms."""
        return mean_ranks(getattr(self, metric))

    def average(self, metric: str, algorithm: str) -> float:
        """Return the mean over the sets."""
        values: np.ndarray = getattr(self, metric)
        return float(values[:, self.algorithms.index(algorithm)].mean())


def compare(
    benchmark: str, results: Iterable[Result], algorithms: Sequence[str]
) -> Comparison | None:
    """Put the results of one benchmark side by side.

    Versions of sets that some algorithm has not been run on are left out; algorithms without any
    result too.
    """
    wanted = [r for r in results if r.benchmark == benchmark and r.algorithm in algorithms]
    present = tuple(a for a in algorithms if any(r.algorithm == a for r in wanted))
    run_on = Counter((r.name, r.version) for r in wanted)
    fair = [r for r in wanted if run_on[r.name, r.version] == len(present)]
    if not fair:
        return None
    names = tuple(dict.fromkeys(r.name for r in fair))
    tables = {metric: per_set(fair, metric) for metric in ("auc", "ap", "seconds")}
    arrays = {
        metric: np.array([[table[a, n] for a in present] for n in names])
        for metric, table in tables.items()
    }
    return Comparison(benchmark, present, names, len(fair) // len(present), **arrays)
