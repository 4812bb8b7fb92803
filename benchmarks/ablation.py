"""What each step of the method is worth: variants of the detector over nine benchmarks.

    python benchmarks/ablation.py                            # everything
    python benchmarks/ablation.py --benchmark HiCS           # one benchmark
    python benchmarks/ablation.py --variant "no feedback"    # one variant beside the default
    python benchmarks/ablation.py --half choose --first 3    # few sets, OddBench's of one half
    python benchmarks/ablation.py --half choose --cells 60000 --rows 4000   # about half an hour

The six benchmarks of the paper (one version of each set of up to 200,000 cells), OddBench in both
protocols and exchanged values. Results are kept in benchmarks/results/ablation.json, and a run goes
on where the last one stopped; --again drops the results of one variant first. The summary is
ablation.md beside it. A benchmark whose files are absent is named and left out.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

import measure
import numpy as np
from measure import BENCHMARKS, Case, Load, Results, auc_ap, list_cases

from admercs import ADMERCS, Method
from admercs.datasets import DataNotFoundError

DEFAULT = "default"

# Changes of the method, each of which leaves a step out or does without a part of one.
_CHANGES: dict[str, dict[str, Any]] = {
    "Gaussian kernel": {"density.heavy_share": 0.0},
    "density instead of area": {"density.area": False},
    "no marginal view": {"marginal": False},
    "no tail": {"tail": None},
    "no border": {"border": None},
    "no discount": {"discount": None},
    "no ancestor": {"ancestor": None},
    "no feedback": {"feedback": None},
    "no groups": {"trees.group_rows": 0},
    "all leaves are candidates": {"feedback.candidates": None},
    "no ranges": {"feedback.ranges": None},
    "no effective size": {"feedback.effective_size": None},
    "no discount, groups, effective size": {
        "discount": None,
        "trees.group_rows": 0,
        "feedback.effective_size": None,
    },
    "no neighbours": {"neighbours": None},
    "no isolation": {"neighbours.isolation": None},
    "no relations": {"relations": None},
}
VARIANTS: dict[str, Callable[[], ADMERCS]] = {
    DEFAULT: ADMERCS,
    "one round": partial(ADMERCS, n_iter=1),
    **{name: partial(ADMERCS, method=Method().change(change)) for name, change in _CHANGES.items()},
}


def measured(make: Callable[[], ADMERCS], case: Case) -> list[float]:
    """Return AUC and average precision of a variant."""
    return auc_ap(case.y, -make().fit(case.fit).score_samples(case.score))


def list_available(options: Namespace, wanted: list[str]) -> dict[str, dict[str, Load]]:
    """Return the cases of the benchmarks whose data are at hand."""
    found = {}
    for benchmark in wanted:
        try:
            cases = list_cases(benchmark, options.half, options.cells, options.rows)
            found[benchmark] = dict(list(cases.items())[: options.first])
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
            "Mean AUC and average precision over the sets of each benchmark. Last column: the",
            "change from the default, mean over the benchmarks.",
            "",
            measure.markdown(["", *cases, "change"], rows),
        ]
    )


def _means(results: Results, cases: dict[str, dict[str, Load]], variant: str) -> np.ndarray:
    """Return mean AUC and AP per benchmark."""
    return np.array(
        [np.mean([results[b, name, variant] for name in sets], axis=0) for b, sets in cases.items()]
    )


def main() -> None:
    parser = measure.new_parser(__doc__, VARIANTS)
    parser.add_argument("--benchmark", action="append", choices=BENCHMARKS)
    parser.add_argument("--variant", action="append", choices=VARIANTS)
    parser.add_argument("--cells", type=int, default=200_000, help="of the paper's largest sets")
    parser.add_argument("--rows", type=int, default=10_000, help="of a set of OddBench, at most")
    options = parser.parse_args()
    results = measure.open_results("ablation", options.again)
    cases = list_available(options, options.benchmark or list(BENCHMARKS))
    variants = list(dict.fromkeys([DEFAULT, *(options.variant or VARIANTS)]))
    tasks = {(b, name): load for b, sets in cases.items() for name, load in sets.items()}
    measure.run(results, tasks, {name: partial(measured, VARIANTS[name]) for name in variants})
    text = summary(results, cases, variants)
    if options.benchmark or options.variant:
        print(text)
    else:
        measure.publish("ablation", options, text)


if __name__ == "__main__":
    measure.stop_without_data(main)
