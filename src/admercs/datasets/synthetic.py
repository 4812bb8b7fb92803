"""Benchmarks with known truth: local outliers, irrelevant attributes, accidental inliers.

The rows are made from the patterns of :mod:`admercs.datasets.patterns`. An anomaly takes both its
values from normal points, but from two different ones, so that each value alone is about
as common as any other and only the combination gives the row away. It lies off the pattern
as good as certainly: who knew the true density could tell nearly all anomalies from normal rows.

The paper describes its sets in words. The constants here and the shapes were chosen so that the
paper's other detectors come out about where the paper has them. docs/experiments.md says how far
that went, and what was known of AD-MERCS meanwhile.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from admercs.datasets.labelled import NORMAL, LabelledArray
from admercs.datasets.patterns import PATTERNS, draw_pattern

__all__ = [
    "EDITION",
    "SYNTH_CS_DIMENSIONS",
    "make_synth_c",
    "make_synth_cs",
    "make_synth_i",
    "repair",
    "synth_c",
    "synth_cs",
    "synth_i",
]

LOCAL = "local outlier"
INLIER = "accidental inlier"
SYNTH_CS_DIMENSIONS = tuple(range(10, 101, 10))

#: Raised when the same arguments come to give other sets, so that old results are not taken for
#: new.
EDITION = 3

_N_ROWS, _N_ODD = 1000, 50
_N_SUBSPACES = 5
_SETS = 30
#: How far, in units of the pattern's square, an outlier stays from any place where normal points
#: occur.
_CLEARANCE = 0.02
#: Points that show where those places are, and how many of them lend their values to outliers.
_N_SPARE, _N_LENDERS = 20_000, 200
#: Shapes that Synth-C&S does without: they close or wind, so that the mean of one attribute hardly
#: depends on the other. ALSO, which goes by means, does better on Synth-C&S than on Synth-C in the
#: paper.
_CLOSED = ("figure eight", "circle", "two rings", "ellipse", "diamond", "triangle", "spiral")
#: Rows of Synth-I that fit the pattern and are anomalous by association.
_N_HIDDEN = (8, 12)
#: Share of the local outliers that lie outside the bad clusters.
_STRAY_SHARE = 0.15
#: Clusters are measured in another unit than the pattern, as attributes of a table are.
_CLUSTER_UNIT = 2.5
_N_GOOD, _GOOD_SPREAD = (2, 4), (0.03, 0.2)
_N_BAD, _BAD_SPREAD = (1, 2), (0.03, 0.06)
#: How far the centres of good clusters keep apart, in sums of their widths, and how far bad ones
#: lie from the nearest good one, in widths of the latter.
_APART, _REACH = 1.5, (2.3, 3.2)
#: Draws until clusters have room, and places among which the outermost is taken.
_TRIES, _CANDIDATES = 200, 20
# Keeps the random streams of the three benchmarks apart.
_TAG_C, _TAG_CS, _TAG_I = 1, 2, 3


def repair(
    normal: np.ndarray, spare: np.ndarray, clearance: float, rng: np.random.Generator
) -> np.ndarray:
    """Pair the x of each spare point with the y of another, away from all normal points.

    Parameters
    ----------
    normal : ndarray of shape (n, 2)
        Points to stay away from.
    spare : ndarray of shape (k, 2)
        Points of the same pattern; each x and each y among them is used at most once.
    clearance : float
        Smallest distance allowed to a normal point.
    rng : Generator
        Decides between the admissible pairings.

    Returns
    -------
    outliers : ndarray of shape (m, 2)
        As many as can be paired, at most k.

    Examples
    --------
    >>> import numpy as np
    >>> from admercs.datasets.synthetic import repair
    >>> line = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    >>> repair(line, line[::2], 0.3, np.random.default_rng(0))
    array([[0., 1.],
           [1., 0.]])
    """
    k = len(spare)
    x, y = np.repeat(spare[:, 0], k), np.tile(spare[:, 1], k)
    distance, _ = cKDTree(normal).query(np.column_stack([x, y]))
    too_near = np.reshape(distance < clearance, (k, k))
    # A forbidden pair costs more than all allowed ones together.
    cost = rng.random((k, k)) + too_near * 2.0 * k
    rows, partners = linear_sum_assignment(cost)
    allowed = ~too_near[rows, partners]
    return np.column_stack([spare[rows, 0], spare[partners, 1]])[allowed]


def _subspace(
    pattern: str, n_normal: int, n_odd: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal points and local outliers of a pattern, scaled together to [0, 1]."""
    normal = draw_pattern(pattern, n_normal, rng)
    spare = draw_pattern(pattern, _N_SPARE, rng)
    odd = rng.permutation(repair(spare, spare[:_N_LENDERS], _CLEARANCE, rng))[:n_odd]
    low, high = normal.min(axis=0), normal.max(axis=0)
    return (normal - low) / (high - low), (odd - low) / (high - low)


def _between(rng: np.random.Generator, least_and_most: tuple[int, int]) -> int:
    return int(rng.integers(*least_and_most, endpoint=True))


def make_synth_c(index: int, random_state: int = 0) -> LabelledArray:
    """Generate one set of Synth-C: a pattern of two attributes with local outliers.

    Parameters
    ----------
    index : int
        Which of the thirty patterns, 0 to 29.
    random_state : int, default=0
        Seed; together with the index it decides every value.

    Returns
    -------
    data : LabelledArray
        1000 rows, 50 of them local outliers that no single attribute shows.

    Examples
    --------
    >>> from admercs.datasets import make_synth_c
    >>> make_synth_c(20).name
    'circle'
    """
    _check_index(index)
    name = list(PATTERNS)[index]
    rng = np.random.default_rng([random_state, _TAG_C, index])
    normal, odd = _subspace(name, _N_ROWS - _N_ODD, _N_ODD, rng)
    kind = np.repeat([NORMAL, LOCAL], [len(normal), len(odd)])
    order = rng.permutation(_N_ROWS)
    return _labelled(name, np.vstack([normal, odd])[order], kind[order], ((0, 1),), index=index)


def make_synth_cs(n_dims: int, version: int = 0, random_state: int = 0) -> LabelledArray:
    """Generate one set of Synth-C&S: five patterns among irrelevant attributes.

    Each pattern has its own two attributes and ten local outliers; all other attributes are
    uniform on [0, 1]. The attributes are in random order.

    Parameters
    ----------
    n_dims : int
        Number of attributes, at least 10.
    version : int, default=0
        Sets of the same size differ by this number.
    random_state : int, default=0
        Seed.

    Returns
    -------
    data : LabelledArray
        1000 rows, 50 of them anomalies, with the subspace each is anomalous in.

    Examples
    --------
    >>> from admercs.datasets import make_synth_cs
    >>> data = make_synth_cs(20)
    >>> data.X.shape, len(data.subspaces)
    ((1000, 20), 5)
    """
    if n_dims < 2 * _N_SUBSPACES:
        raise ValueError(f"n_dims must be at least {2 * _N_SUBSPACES}, got {n_dims}")
    rng = np.random.default_rng([random_state, _TAG_CS, n_dims, version])
    X = rng.random((_N_ROWS, n_dims))
    columns = rng.permutation(n_dims)[: 2 * _N_SUBSPACES].reshape(_N_SUBSPACES, 2)
    open_shapes = [name for name in PATTERNS if name not in _CLOSED]
    names = rng.choice(open_shapes, _N_SUBSPACES, replace=False)
    odd_rows = rng.permutation(_N_ROWS)[:_N_ODD].reshape(_N_SUBSPACES, -1)
    kind = np.full(_N_ROWS, NORMAL, dtype=object)
    odd_subspaces: dict[int, tuple[int, ...]] = {}
    for i, (name, pair, odd) in enumerate(zip(names.tolist(), columns, odd_rows, strict=True)):
        others = np.setdiff1d(np.arange(_N_ROWS), odd)
        X[np.ix_(others, pair)], X[np.ix_(odd, pair)] = _subspace(name, others.size, odd.size, rng)
        kind[odd] = LOCAL
        odd_subspaces.update(dict.fromkeys(odd.tolist(), (i,)))
    return LabelledArray(
        name=f"{n_dims} dims, {version + 1}",
        X=X,
        y=kind != NORMAL,
        kind=kind.astype(str),
        columns=_names(n_dims),
        subspaces=tuple(tuple(pair) for pair in columns.tolist()),
        odd_subspaces=odd_subspaces,
        group=f"{n_dims} dims",
        version=version + 1,
        origin="generated: " + ", ".join(names.tolist()),
    )


def make_synth_i(index: int, random_state: int = 0) -> LabelledArray:
    """Generate one set of Synth-I: accidental inliers.

    Attributes 0 and 1 hold a pattern with local outliers, attributes 2 and 3 a few clusters. One
    cluster is bad: most of its rows are local outliers of the pattern. The rest of its rows fit
    the pattern and are anomalies by association only.

    Parameters
    ----------
    index : int
        Which of the thirty sets, 0 to 29; it decides the pattern.
    random_state : int, default=0
        Seed.

    Returns
    -------
    data : LabelledArray
        1000 rows, 50 of them anomalies of two kinds.

    Examples
    --------
    >>> from admercs.datasets import make_synth_i
    >>> data = make_synth_i(0)
    >>> sorted(set(data.kind.tolist()))
    ['accidental inlier', 'local outlier', 'normal']
    """
    _check_index(index)
    name = list(PATTERNS)[index]
    rng = np.random.default_rng([random_state, _TAG_I, index])
    n_hidden = _between(rng, _N_HIDDEN)
    n_local = _N_ODD - n_hidden
    fitting, local = _subspace(name, _N_ROWS - n_local, n_local, rng)
    kind = np.repeat([NORMAL, INLIER, LOCAL], [_N_ROWS - _N_ODD, n_hidden, n_local])
    clusters = _clusters(rng, kind)
    order = rng.permutation(_N_ROWS)
    X = np.hstack([np.vstack([fitting, local]), clusters])[order]
    return _labelled(name, X, kind[order], ((0, 1), (2, 3)), index=index)


def _clusters(rng: np.random.Generator, kind: np.ndarray) -> np.ndarray:
    """Place the rows in clusters of two attributes; most anomalous rows share the bad ones."""
    n_good, n_bad = _between(rng, _N_GOOD), _between(rng, _N_BAD)
    good_spread = rng.uniform(*_GOOD_SPREAD, n_good)
    good = _far_apart(rng, good_spread)
    centres = np.vstack([good, _beside(rng, good, good_spread, n_bad)])
    spread = np.append(good_spread, rng.uniform(*_BAD_SPREAD, n_bad))
    where = rng.integers(0, n_good, kind.size)
    odd = kind != NORMAL
    # Some local outliers lie outside the bad clusters: they are caught by the pattern alone.
    stray = (kind == LOCAL) & (rng.random(kind.size) < _STRAY_SHARE)
    together = odd & ~stray
    where[together] = n_good + rng.integers(0, n_bad, int(together.sum()))
    points = centres[where] + rng.normal(size=(kind.size, 2)) * spread[where, None]
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(_CLUSTER_UNIT * (points - low) / (high - low))


def _beside(rng: np.random.Generator, good: np.ndarray, spread: np.ndarray, n: int) -> np.ndarray:
    """Find centres of bad clusters: just outside good ones, off the middle, well apart."""
    found: list[np.ndarray] = []
    while len(found) < _CANDIDATES:
        which, angle = rng.integers(len(good)), rng.uniform(0, 2 * np.pi)
        step = rng.uniform(*_REACH) * spread[which]
        place = good[which] + step * np.array([np.cos(angle), np.sin(angle)])
        if (np.linalg.norm(good - place, axis=1) >= 0.999 * _REACH[0] * spread).all():
            found.append(place)
    places = np.array(found)
    # Each lies farther than the other places from the middle and from those before it.
    seen = [good.mean(axis=0)]
    for _ in range(n):
        apart = np.abs(places[:, None] - np.array(seen)).sum(axis=(1, 2))
        seen.append(places[apart.argmax()])
    return np.array(seen[1:])


def _far_apart(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    """Draw centres of clusters of given widths that keep apart."""
    upper = np.triu_indices(spread.size, 1)
    needed = _APART * (spread[:, None] + spread)[upper]
    # The square grows until there is room: the clusters are scaled to [0, 1] afterwards.
    for side in np.linspace(0.3, 3, _TRIES):
        centres = side * rng.random((spread.size, 2))
        gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[upper]
        if (gaps > needed).all():
            break
    return np.asarray(centres)


def _labelled(
    name: str,
    X: np.ndarray,
    kind: np.ndarray,
    subspaces: tuple[tuple[int, ...], ...],
    *,
    index: int,
) -> LabelledArray:
    """Put a set together; local outliers deviate in subspace 0, accidental inliers in 1."""
    odd: dict[int, tuple[int, ...]] = {
        int(row): ((0,) if kind[row] == LOCAL else (1,)) for row in np.flatnonzero(kind != NORMAL)
    }
    return LabelledArray(
        name=name,
        X=X,
        y=kind != NORMAL,
        kind=kind.astype(str),
        columns=_names(X.shape[1]),
        subspaces=subspaces,
        odd_subspaces=odd,
        group=name,
        version=1,
        origin=f"generated, number {index}",
    )


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(n))


def _check_index(index: int) -> None:
    if not 0 <= index < _SETS:
        raise ValueError(f"index must be between 0 and {_SETS - 1}, got {index}")


def synth_c(random_state: int = 0) -> list[LabelledArray]:
    """Generate all thirty sets of Synth-C.

    Examples
    --------
    >>> from admercs.datasets import synth_c
    >>> len(synth_c())
    30
    """
    return [make_synth_c(index, random_state) for index in range(_SETS)]


def synth_cs(random_state: int = 0) -> list[LabelledArray]:
    """Generate all thirty sets of Synth-C&S: three for each of 10, 20, ..., 100 attributes.

    Examples
    --------
    >>> from admercs.datasets import synth_cs
    >>> sorted({data.X.shape[1] for data in synth_cs()})
    [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    return [
        make_synth_cs(n_dims, version, random_state)
        for n_dims in SYNTH_CS_DIMENSIONS
        for version in range(_SETS // len(SYNTH_CS_DIMENSIONS))
    ]


def synth_i(random_state: int = 0) -> list[LabelledArray]:
    """Generate all thirty sets of Synth-I.

    Examples
    --------
    >>> from admercs.datasets import synth_i
    >>> len(synth_i())
    30
    """
    return [make_synth_i(index, random_state) for index in range(_SETS)]
