"""What each step of the method is worth: variants of the detector over nine benchmarks.

    python benchmarks/ablation.py                            # everything
    python benchmarks/ablation.py --benchmark HiCS           # one benchmark
    python benchmarks/ablation.py --variant "no feedback"    # one variant beside the default
    python benchmarks/ablation.py --half choose --first 3    # few sets, all of one half

The six benchmarks of the paper (one version of each set of up to 200,000 cells), OddBench in both
protocols and exchanged values. Results are kept in benchmarks/results/ablation.json, and a run goes
on where the last one stopped; --again drops the results of one variant first. The summary is
ablation.md beside it. A benchmark whose files are absent is named and left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from measure import (
    BENCHMARKS,
    Case,
    Load,
    Results,
    auc_ap,
    list_cases,
    markdown,
    new_parser,
    open_results,
    publish,
    run,
    stop_without_data,
)

from admercs import ADMERCS
from admercs.datasets import DataNotFoundError

DEFAULT = "default"

# Each variant makes a detector. A step is left out by a change of the method, for example
#     "no border": lambda: ADMERCS(method=replace(Method(), border=None)),
VARIANTS: dict[str, Callable[[], ADMERCS]] = {
    DEFAULT: ADMERCS,
    "no feedback": partial(ADMERCS, n_iter=1),
}


def measured(make: Callable[[], ADMERCS], case: Case) -> list[float]:
    """Return AUC and average precision of a variant."""
    return auc_ap(case.y, -make().fit(case.fit).score_samples(case.score))


def list_available(
    half: str | None, first: int | None, wanted: list[str]
) -> dict[str, dict[str, Load]]:
    """Return the cases of the benchmarks whose data are at hand."""
    found = {}
    for benchmark in wanted:
        try:
            found[benchmark] = dict(list(list_cases(benchmark, half).items())[:first])
        except DataNotFoundError as error:
            print(f"{benchmark} is left out: {error}", file=sys.stderr)
    return found


def summary(results: Results, cases: dict[str, dict[str, Load]], variants: list[str]) -> str:
    """Write AUC and AP of each variant, and the mean change of AP from the default."""
    rows = []
    reference = _means(results, cases, DEFAULT)
    for variant in variants:
        means = _means(results, cases, variant)
        cells = [f"{auc:.3f} {ap:.3f}" for auc, ap in means]
        auc, ap = (means - reference).mean(axis=0)
        rows.append([variant, *cells, f"{auc:+.4f} {ap:+.4f}"])
    rows.append(["number of sets", *(str(len(sets)) for sets in cases.values()), ""])
    return "\n".join(
        [
            "# What each step is worth",
            "",
            "Mean AUC and average precision over the sets of each benchmark; last column: the change",
            "from the default, mean over the benchmarks.",
            "",
            markdown(["", *cases, "change"], rows),
        ]
    )


def _means(results: Results, cases: dict[str, dict[str, Load]], variant: str) -> np.ndarray:
    """Return mean AUC and AP per benchmark."""
    return np.array(
        [np.mean([results[b, name, variant] for name in sets], axis=0) for b, sets in cases.items()]
    )


def main() -> None:
    parser = new_parser(__doc__, VARIANTS)
    parser.add_argument("--benchmark", action="append", choices=BENCHMARKS)
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    options = parser.parse_args()
    results = open_results("ablation", options.again)
    cases = list_available(options.half, options.first, options.benchmark or list(BENCHMARKS))
    variants = list(dict.fromkeys([DEFAULT, *(options.variant or VARIANTS)]))
    tasks = {(b, name): load for b, sets in cases.items() for name, load in sets.items()}
    run(results, tasks, {name: partial(measured, VARIANTS[name]) for name in variants})
    text = summary(results, cases, variants)
    if options.benchmark or options.variant:
        print(text)
    else:
        publish("ablation", options, text)


if __name__ == "__main__":
    stop_without_data(main)
