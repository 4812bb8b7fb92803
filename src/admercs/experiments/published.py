"""What the paper reports: Table 1, the parameters searched and the ones selected."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

__all__ = [
    "ALGORITHMS",
    "BENCHMARKS",
    "CRITICAL_DISTANCE",
    "DEFAULTS",
    "GRIDS",
    "SELECTED",
    "TABLE",
    "Published",
]

Point = dict[str, Any]

BENCHMARKS = ("Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I")
ALGORITHMS = ("AD-MERCS", "ALSO", "HBOS", "HiCS", "iForest", "kNN", "LOF")
#: Our detector as it comes, without any tuning; not in the paper.
DEFAULTS = "ADMERCS()"


class Published(NamedTuple):
    """One cell of Table 1: averages and mean ranks."""

    auc: float
    ap: float
    auc_rank: float
    ap_rank: float


# Averages, then ranks, of AUC and average precision for the six benchmarks in order.
_AVERAGES = {
    "AD-MERCS": ".78 .31  .77 .27  .99 .89  .96 .83  .96 .82  .93 .79",
    "ALSO": ".68 .20  .70 .24  .96 .77  .88 .61  .95 .73  .88 .54",
    "HBOS": ".78 .31  .77 .29  .81 .29  .47 .05  .50 .05  .85 .41",
    "HiCS": ".76 .27  .71 .22  .80 .60  .88 .68  .72 .39  .78 .38",
    "iForest": ".79 .33  .73 .29  .71 .20  .93 .57  .55 .07  .90 .53",
    "kNN": ".80 .33  .69 .25  .74 .26  .96 .80  .57 .10  .76 .34",
    "LOF": ".79 .27  .68 .24  .72 .24  .88 .68  .57 .10  .71 .32",
}
_RANKS = {
    "AD-MERCS": "3.98 3.9  3.58 3.64  1.1 1.24  2.4 2.37  1.37 1.23  1.5 1.4",
    "ALSO": "5.51 5.28  3.98 4.14  2.1 2.14  4.53 4.47  1.67 1.87  3.53 3.37",
    "HBOS": "3.99 3.91  3.08 3.4  3.67 4.57  6.93 6.93  5.93 6.03  4.67 4.83",
    "HiCS": "4.36 4.16  3.38 3.39  4.0 2.76  4.05 3.73  2.97 2.9  5.15 4.82",
    "iForest": "3.36 3.65  3.9 3.73  6.38 6.67  4.23 5.2  5.73 5.53  3.03 3.67",
    "kNN": "3.04 3.06  5.09 4.88  4.86 5.14  1.87 1.93  5.07 5.4  4.37 4.8",
    "LOF": "3.76 4.04  4.98 4.82  5.9 5.48  3.98 3.37  5.27 5.03  5.75 5.12",
}


def _table() -> dict[tuple[str, str], Published]:
    """Table 1 by algorithm and benchmark."""
    table = {}
    for algorithm in ALGORITHMS:
        means = [float(text) for text in _AVERAGES[algorithm].split()]
        ranks = [float(text) for text in _RANKS[algorithm].split()]
        for i, benchmark in enumerate(BENCHMARKS):
            pair = slice(2 * i, 2 * i + 2)
            table[algorithm, benchmark] = Published(*means[pair], *ranks[pair])
    return table


TABLE = _table()

#: Nemenyi critical distance at p = 0.05.
CRITICAL_DISTANCE = dict(zip(BENCHMARKS, (1.88, 1.96, 1.96, 1.64, 1.64, 1.64), strict=True))

_LEAVES, _DECREASES = (0.005, 0.02, 0.05, 0.1), (0.001, 0.05, 0.2, 0.5)


def _grid(**values: tuple[Any, ...]) -> tuple[Point, ...]:
    """All combinations, the last parameter changing fastest."""
    return tuple(dict(zip(values, point, strict=True)) for point in product(*values.values()))


GRIDS: dict[str, tuple[Point, ...]] = {
    "AD-MERCS": _grid(
        min_samples_leaf=_LEAVES,
        min_impurity_decrease=_DECREASES,
        rho=(0.7, 0.9),
        gamma_lambda=(1.0, 0.9, 0.5),
        gamma_delta=(1.0, 0.9, 0.7, 0.2),
    ),
    "ALSO": _grid(
        max_depth=(4, 10, 16), min_samples_leaf=_LEAVES, min_impurity_decrease=_DECREASES
    ),
    "HBOS": _grid(n_bins=tuple(range(5, 41, 5))),
    "HiCS": _grid(n_neighbors=(5, 7, 10, *range(15, 51, 5))),
    "iForest": _grid(
        n_estimators=tuple(range(100, 501, 100)), max_samples=(0.1, 0.25, 0.5, 0.75, 1.0)
    ),
    "kNN": _grid(n_neighbors=tuple(range(3, 51))),
    "LOF": _grid(n_neighbors=tuple(range(3, 51))),
}

# One tuple of values per benchmark, in the order of the grid's parameters.
_SELECTED: dict[str, tuple[tuple[Any, ...], ...]] = {
    "AD-MERCS": (
        (0.05, 0.05, 0.9, 0.5, 0.7),
        (0.1, 0.2, 0.7, 1.0, 0.7),
        (0.02, 0.5, 0.9, 1.0, 1.0),
        (0.02, 0.001, 0.7, 0.5, 0.2),
        (0.05, 0.001, 0.9, 1.0, 1.0),
        (0.005, 0.001, 0.9, 0.5, 0.9),
    ),
    "ALSO": (
        (10, 0.02, 0.001),
        (10, 0.05, 0.05),
        (16, 0.1, 0.001),
        (16, 0.02, 0.2),
        (10, 0.02, 0.2),
        (16, 0.02, 0.2),
    ),
    "HBOS": ((10,), (10,), (20,), (10,), (30,), (5,)),
    "HiCS": ((45,), (30,), (20,), (25,), (15,), (50,)),
    "iForest": ((100, 0.5), (300, 1.0), (500, 1.0), (500, 1.0), (100, 1.0), (100, 0.75)),
    "kNN": ((9,), (10,), (4,), (4,), (3,), (7,)),
    "LOF": ((29,), (29,), (22,), (24,), (4,), (50,)),
}

#: The parameters the paper selected, by algorithm and benchmark.
SELECTED: dict[tuple[str, str], Point] = {
    (algorithm, benchmark): dict(zip(GRIDS[algorithm][0], values, strict=True))
    for algorithm, choices in _SELECTED.items()
    for benchmark, values in zip(BENCHMARKS, choices, strict=True)
}
