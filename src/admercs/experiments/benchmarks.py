"""The six benchmarks as lists of sets that can be loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from admercs.datasets import (
    CAMPOS,
    CAMPOS_HD,
    HICS_DIMENSIONS,
    DataNotFoundError,
    LabelledArray,
    data_folder,
    load_campos,
    load_campos_hd,
    load_hics,
    make_synth_c,
    make_synth_cs,
    make_synth_i,
)
from admercs.datasets.campos import N_VERSIONS
from admercs.datasets.hics import HICS_VERSIONS
from admercs.datasets.patterns import PATTERNS
from admercs.datasets.synthetic import EDITION, SYNTH_CS_DIMENSIONS
from admercs.experiments.published import BENCHMARKS

__all__ = ["BenchmarkSet", "edition", "list_sets", "load_set"]

#: Larger sets are run in one version: ten of them would take as long as all other sets together.
MOST_CELLS_REPEATED = 200_000
#: Still larger ones take no part in the search for parameters.
MOST_CELLS_SEARCHED = 300_000
#: A quick run takes no larger ones at all.
MOST_CELLS_QUICK = 100_000
#: Every third of the thirty sets serves to choose parameters.
_SYNTH_SAMPLE = 3


@dataclass(frozen=True)
class BenchmarkSet:
    """One set, or one version of a set, of a benchmark.

    Attributes
    ----------
    benchmark : str
        Which benchmark it belongs to.
    name : str
        Name of the set; versions of one set share it and are averaged.
    version : int
        Version, from 1.
    group : str
        Sets of a kind; a quick run takes the first of each group.
    cells : int
        Rows times columns, a measure of cost.
    in_sample : bool
        Whether it serves to choose parameters.
    """

    benchmark: str
    name: str
    version: int
    group: str
    cells: int
    in_sample: bool


def edition(benchmark: str) -> int:
    """Return which edition of its sets a benchmark consists of; only generated ones change."""
    return EDITION if benchmark.startswith("Synth") else 1


def list_sets(benchmark: str, *, quick: bool = False) -> list[BenchmarkSet]:
    """List the sets of a benchmark, whether or not their files are at hand.

    Examples
    --------
    >>> from admercs.experiments.benchmarks import list_sets
    >>> len(list_sets("HiCS")), len(list_sets("HiCS", quick=True))
    (21, 7)
    """
    if benchmark not in BENCHMARKS:
        raise ValueError(f"unknown benchmark {benchmark!r}; there are {', '.join(BENCHMARKS)}")
    sets = _LISTS[benchmark](benchmark)
    if not quick:
        return sets
    first: dict[str, BenchmarkSet] = {}
    for item in sets:
        if item.cells <= MOST_CELLS_QUICK:
            first.setdefault(item.group, item)
    return list(first.values())


def _campos(benchmark: str) -> list[BenchmarkSet]:
    sets = []
    for name in CAMPOS if benchmark == "Campos" else CAMPOS_HD:
        rows, columns = CAMPOS[name]
        cells = rows * columns * (1 if benchmark == "Campos" else 5)
        versions = 1 if name == "Wilt" or cells > MOST_CELLS_REPEATED else N_VERSIONS
        sets += [
            BenchmarkSet(benchmark, name, v, name, cells, v == 1 and cells <= MOST_CELLS_SEARCHED)
            for v in range(1, versions + 1)
        ]
    return sets


def _hics(benchmark: str) -> list[BenchmarkSet]:
    return [
        BenchmarkSet(benchmark, f"{n:03d}/{v}", 1, f"{n} dims", 1000 * n, v == 0)
        for n in HICS_DIMENSIONS
        for v in HICS_VERSIONS
    ]


def _synth_cs(benchmark: str) -> list[BenchmarkSet]:
    return [
        BenchmarkSet(benchmark, f"{n:03d}/{v}", 1, f"{n} dims", 1000 * n, v == 0)
        for n in SYNTH_CS_DIMENSIONS
        for v in range(3)
    ]


def _patterns(benchmark: str) -> list[BenchmarkSet]:
    width = 2 if benchmark == "Synth-C" else 4
    return [
        # Three sets of neighbouring patterns make a group of a quick run.
        BenchmarkSet(benchmark, name, 1, f"group {i // 3}", 1000 * width, i % _SYNTH_SAMPLE == 0)
        for i, name in enumerate(PATTERNS)
    ]


_LISTS: dict[str, Callable[[str], list[BenchmarkSet]]] = {
    "Campos": _campos,
    "CamposHD": _campos,
    "HiCS": _hics,
    "Synth-C": _patterns,
    "Synth-C&S": _synth_cs,
    "Synth-I": _patterns,
}


def load_set(item: BenchmarkSet, data: str | Path | None = None) -> LabelledArray:
    """Load or generate one set.

    Examples
    --------
    >>> from admercs.experiments.benchmarks import list_sets, load_set
    >>> load_set(list_sets("Synth-C")[0]).X.shape
    (1000, 2)
    """
    if item.benchmark == "Campos":
        return load_campos(item.name, item.version, data)
    if item.benchmark == "CamposHD":
        return load_campos_hd(item.name, item.version, data)
    if item.benchmark == "Synth-C":
        return make_synth_c(list(PATTERNS).index(item.name))
    if item.benchmark == "Synth-I":
        return make_synth_i(list(PATTERNS).index(item.name))
    dims, version = (int(part) for part in item.name.split("/"))
    return (
        load_hics(dims, version, data) if item.benchmark == "HiCS" else make_synth_cs(dims, version)
    )


def available(
    sets: Iterable[BenchmarkSet], data: str | Path | None
) -> tuple[list[BenchmarkSet], list[str]]:
    """Split sets into those at hand and the names of those that are absent.

    Only the presence of files is looked at: a damaged file is an error when it is read.
    """
    try:
        folder: Path | None = data_folder(data)
    except DataNotFoundError:
        if data is not None:
            raise
        folder = None
    present, absent = [], []
    for item in sets:
        if item.benchmark.startswith("Synth") or (folder and _has_files(item, folder)):
            present.append(item)
        else:
            absent.append(f"{item.benchmark} {item.name}")
    return present, sorted(set(absent))


def _has_files(item: BenchmarkSet, folder: Path) -> bool:
    if item.benchmark == "HiCS":
        stem = "synth_multidim_{}_{:03d}.arff".format(*_dims_version(item.name))
        return any((folder / "hics" / name).is_file() for name in (stem, f"{stem}.gz"))
    return any((folder / "campos" / item.name).glob("*.arff*"))


def _dims_version(name: str) -> tuple[str, int]:
    dims, version = name.split("/")
    return dims, int(version)
