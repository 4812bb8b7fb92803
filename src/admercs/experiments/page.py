"""The page of results: Table 1 beside the published one, figures, parameters and run times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from admercs.datasets import synth_c
from admercs.experiments import figures
from admercs.experiments.benchmarks import (
    MOST_CELLS_REPEATED,
    MOST_CELLS_SEARCHED,
    list_sets,
)
from admercs.experiments.document import Document
from admercs.experiments.examples import add_examples
from admercs.experiments.protocol import Outcome, chosen
from admercs.experiments.published import (
    ALGORITHMS,
    CRITICAL_DISTANCE,
    DEFAULTS,
    GRIDS,
    SELECTED,
    TABLE,
)
from admercs.experiments.ranking import Comparison, compare
from admercs.experiments.store import Result, encode_point

__all__ = ["write_page"]

#: A larger difference from a published average is marked.
_MARKED = {"auc": 0.03, "ap": 0.04}


def write_page(
    outcome: Outcome, results: Sequence[Result], folder: Path, data: str | Path | None = None
) -> Path:
    """Write the page in Markdown and HTML, its figures and the raw results."""
    folder.mkdir(parents=True, exist_ok=True)
    page = Document("The experiments of the AD-MERCS paper, repeated")
    _say_what_was_run(page, outcome)
    comparisons = _comparisons(outcome, results)
    for metric, title in (("auc", "AUC"), ("ap", "average precision")):
        page.heading(f"{title[0].upper()}{title[1:]}, ours and published")
        _averages(page, comparisons, outcome.algorithms, metric)
        page.heading(f"Mean ranks by {title}, the paper's seven algorithms", 3)
        _published_ranks(page, [c.among(ALGORITHMS) for c in comparisons], metric)
        if DEFAULTS in outcome.algorithms:
            page.heading(f"Mean ranks by {title}, with {DEFAULTS}", 3)
            _all_ranks(page, comparisons, outcome.algorithms, metric)
    for comparison in comparisons:
        _benchmark(page, comparison, folder)
    _sensitivity(page, outcome, results, folder)
    _parameters(page, outcome)
    _run_times(page, comparisons, outcome.algorithms)
    page.heading("The thirty patterns of Synth-C")
    path = figures.patterns_page(synth_c(), folder / "figures" / "patterns.png")
    page.figure(path.relative_to(folder), "Normal points grey, anomalies red")
    add_examples(page, folder, data)
    write_parquet(results, folder / "results.parquet")
    (folder / "index.md").write_text(page.markdown())
    (folder / "index.html").write_text(page.html())
    return folder / "index.html"


def _comparisons(outcome: Outcome, results: Sequence[Result]) -> list[Comparison]:
    final = chosen(results, outcome)
    made = (compare(b, final, outcome.algorithms) for b in outcome.benchmarks)
    return [comparison for comparison in made if comparison is not None]


def _say_what_was_run(page: Document, outcome: Outcome) -> None:
    if outcome.quick:
        page.text(
            "A quick run: one set per group and the parameters the paper selected. The averages "
            "are over few sets and differ from those of a complete run."
        )
    else:
        page.text(
            "One parameter set per algorithm and benchmark. Versions of one set are averaged "
            "first, ranks are Friedman ranks, the critical distance of two ranks is Nemenyi's at "
            "p = 0.05."
        )
        _say_what_was_capped(page, outcome.benchmarks)
    if outcome.absent:
        page.text("Left out because their files are absent: " + ", ".join(outcome.absent) + ".")


def _say_what_was_capped(page: Document, benchmarks: Sequence[str]) -> None:
    """Name the sets that are too large to be run as often as the others."""
    for benchmark in benchmarks:
        sets = list_sets(benchmark)
        once = [s.name for s in sets if s.cells > MOST_CELLS_REPEATED]
        if once:
            page.text(f"{benchmark}, in one version for their size: " + ", ".join(once) + ".")
        unsearched = [s.name for s in sets if s.cells > MOST_CELLS_SEARCHED]
        if unsearched:
            names = ", ".join(unsearched)
            page.text(f"{benchmark}, not part of the search for parameters: {names}.")


def _averages(
    page: Document, comparisons: Sequence[Comparison], algorithms: Sequence[str], metric: str
) -> None:
    """Averages as "ours (published)"; marked where they differ by more than a little."""
    rows = []
    for algorithm in algorithms:
        row = [algorithm]
        for comparison in comparisons:
            row.append(_average(comparison, algorithm, metric))
        rows.append(row)
    rows.append(["sets", *(str(len(comparison.sets)) for comparison in comparisons)])
    rows.append(["versions of them", *(str(c.n_versions) for c in comparisons)])
    page.table(["", *(comparison.benchmark for comparison in comparisons)], rows)
    page.text(
        f"Published values in brackets; bold where the difference is more than {_MARKED[metric]}."
    )


def _average(comparison: Comparison, algorithm: str, metric: str) -> str:
    if algorithm not in comparison.algorithms:
        return "-"
    ours = comparison.average(metric, algorithm)
    published = TABLE.get((algorithm, comparison.benchmark))
    if published is None:
        return f"{ours:.3f}".replace("0.", ".")
    theirs: float = getattr(published, metric)
    # Without the leading zero seven columns fit into a line of the page.
    text = f"{ours:.3f} ({theirs:.2f})".replace("0.", ".")
    return f"**{text}**" if abs(ours - theirs) > _MARKED[metric] + 0.005 else text


def _published_ranks(page: Document, comparisons: Sequence[Comparison], metric: str) -> None:
    """Mean ranks as "ours (published)"."""
    rows = []
    for algorithm in ALGORITHMS:
        row = [algorithm]
        for comparison in comparisons:
            theirs = getattr(TABLE[algorithm, comparison.benchmark], metric + "_rank")
            row.append(f"{_rank(comparison, algorithm, metric)} ({theirs:.2f})")
        rows.append(row)
    distances = (
        f"{c.critical_distance:.2f} ({CRITICAL_DISTANCE[c.benchmark]:.2f})" for c in comparisons
    )
    rows.append(["distance", *distances])
    page.table(["", *(comparison.benchmark for comparison in comparisons)], rows)


def _all_ranks(
    page: Document, comparisons: Sequence[Comparison], algorithms: Sequence[str], metric: str
) -> None:
    """Mean ranks of all algorithms, and their mean over the benchmarks."""
    rows = []
    for algorithm in algorithms:
        ranks = [_rank(comparison, algorithm, metric) for comparison in comparisons]
        known = [float(rank) for rank in ranks if rank != "-"]
        rows.append([algorithm, *ranks, f"{np.mean(known):.2f}" if known else "-"])
    rows.append(["distance", *(f"{c.critical_distance:.2f}" for c in comparisons), "-"])
    page.table(["", *(comparison.benchmark for comparison in comparisons), "mean"], rows)


def _rank(comparison: Comparison, algorithm: str, metric: str) -> str:
    if algorithm not in comparison.algorithms:
        return "-"
    return f"{comparison.ranks(metric)[comparison.algorithms.index(algorithm)]:.2f}"


def _benchmark(page: Document, comparison: Comparison, folder: Path) -> None:
    page.heading(comparison.benchmark)
    stem = _stem(comparison.benchmark)
    for metric in ("auc", "ap"):
        if len(comparison.algorithms) > 1:
            path = folder / "figures" / f"{stem}-ranks-{metric}.svg"
            figures.critical_difference(comparison, metric, path)
            page.figure(path.relative_to(folder), f"Mean ranks by {metric.upper()}")
        path = figures.set_bars(comparison, metric, folder / "figures" / f"{stem}-{metric}.svg")
        page.figure(path.relative_to(folder), f"{metric.upper()} per set")


def _stem(benchmark: str) -> str:
    return benchmark.lower().replace("&", "")


def _sensitivity(page: Document, outcome: Outcome, results: Sequence[Result], folder: Path) -> None:
    """Boxplots of AD-MERCS over its grid, where it was searched."""
    points = {encode_point(point) for point in GRIDS["AD-MERCS"]}
    begun = False
    for benchmark in outcome.benchmarks:
        sample = {(s.name, s.version) for s in list_sets(benchmark) if s.in_sample}
        grid = [
            r
            for r in results
            if r.algorithm == "AD-MERCS"
            and r.benchmark == benchmark
            and r.parameters in points
            and (r.name, r.version) in sample
        ]
        if len({r.parameters for r in grid}) < 2:
            continue
        if not begun:
            page.heading("How much AD-MERCS depends on its parameters")
            begun = True
        stem = folder / "figures" / _stem(benchmark)
        by_parameter = Path(f"{stem}-sensitivity-parameters.svg")
        figures.sensitivity_by_parameter(grid, benchmark, by_parameter)
        page.figure(by_parameter.relative_to(folder), f"{benchmark}: by parameter")
        by_set = figures.sensitivity_by_set(grid, benchmark, Path(f"{stem}-sensitivity-sets.svg"))
        page.figure(by_set.relative_to(folder), f"{benchmark}: by set")


# How parameters are called in the table of them.
_SHORT = {
    "min_samples_leaf": "leaf ",
    "min_impurity_decrease": "gain ",
    "gamma_lambda": "λ",
    "gamma_delta": "δ",
    "rho": "ρ",
}


def _parameters(page: Document, outcome: Outcome) -> None:
    page.heading("Parameters")
    names = ", ".join(f"{short.strip()} is {name}" for name, short in _SHORT.items())
    page.text(f"As the paper has them; {names}.")
    rows = []
    for (algorithm, benchmark), point in outcome.selected.items():
        published = SELECTED.get((algorithm, benchmark))
        theirs = _point(published) if published else "-"
        rows.append([algorithm, benchmark, _point(point), theirs])
    page.table(["algorithm", "benchmark", "ours", "published"], rows)


def _point(point: dict[str, Any]) -> str:
    short = (f"{_SHORT.get(name, name.replace('_', ' ') + ' ')}{v:g}" for name, v in point.items())
    return re.sub(r"(?<!\d)0\.", ".", ", ".join(short)) or "defaults"


def _run_times(
    page: Document, comparisons: Sequence[Comparison], algorithms: Sequence[str]
) -> None:
    page.heading("Run times")
    page.text("Mean seconds per set, fit and score, one thread.")
    rows = []
    for algorithm in algorithms:
        row = [algorithm]
        for comparison in comparisons:
            known = algorithm in comparison.algorithms
            seconds = comparison.average("seconds", algorithm) if known else np.nan
            row.append("-" if np.isnan(seconds) else f"{seconds:.2f}")
        rows.append(row)
    page.table(["", *(comparison.benchmark for comparison in comparisons)], rows)


def write_parquet(results: Sequence[Result], path: Path) -> None:
    """Write all results as one Parquet table."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = list(zip(*results, strict=True)) or [()] * len(Result._fields)
    parquet.write_table(pa.table(dict(zip(Result._fields, columns, strict=True))), path)
