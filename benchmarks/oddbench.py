"""OddBench: real tables with real anomalies, with and without clean rows to learn from.

    python benchmarks/oddbench.py                # all sets, both protocols
    python benchmarks/oddbench.py --half choose  # one half of the sets, by a hash of their names
    python benchmarks/oddbench.py --first 5      # the first five sets only
    python benchmarks/oddbench.py --again "ADMERCS()"

Clean reference: fit on the normal rows of `train`, score `test`. Contaminated: fit and score `test`
alone. Results are kept in benchmarks/results/oddbench.json, and a run goes on where the last one
stopped; --again drops the results of one detector first. The summary is oddbench.md beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import measure
import numpy as np
from measure import CLEAN, CONTAMINATED, Case, Results, auc_ap, list_cases, load_odd
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler

from admercs import ADMERCS
from admercs.experiments.ranking import mean_ranks

SEED = 0
NOVELTY = "ADMERCS(novelty=True)"  # only where the rows to learn from are known to be normal
# Share of anomalies in a contaminated table, as in the published breakdown.
SHARES = {
    "below 3%": (0.0, 0.03),
    "3 to 10%": (0.03, 0.1),
    "10 to 30%": (0.1, 0.3),
    "above 30%": (0.3, 1.0),
}
PUBLISHED = {
    "TaskBridge": (0.802, 0.504),
    "DTE-NP": (0.770, 0.436),
    "kNN": (0.763, 0.424),
    "TACTIC": (0.752, 0.417),
    "OutFormer (without its ensemble)": (0.742, 0.430),
    "TabPFN": (0.736, 0.371),
    "FoMo-0D": (0.727, 0.427),
    "iForest": (0.713, 0.313),
    "ECOD": (0.681, 0.283),
}


def by_admercs(case: Case) -> np.ndarray:
    return -ADMERCS().fit(case.fit).score_samples(case.score)


def by_novelty(case: Case) -> np.ndarray:
    return -ADMERCS(novelty=True).fit(case.fit).score_samples(case.score)


def by_forest(case: Case) -> np.ndarray:
    return -IsolationForest(random_state=SEED).fit(case.fit).score_samples(case.score)


def by_pyod(name: str, scaled: bool, case: Case) -> np.ndarray:
    """Score with a detector of PyOD; a row that was learnt is not its own neighbour."""
    from pyod.models.ecod import ECOD
    from pyod.models.hbos import HBOS
    from pyod.models.knn import KNN
    from pyod.models.lof import LOF

    models = {"kNN (5)": partial(KNN, n_neighbors=5), "LOF": LOF, "ECOD": ECOD, "HBOS": HBOS}
    scaler = StandardScaler().fit(case.fit)
    fit, score = (scaler.transform(X) if scaled else X for X in (case.fit, case.score))
    model = models[name]().fit(fit)
    return np.asarray(
        model.decision_scores_ if case.fit is case.score else model.decision_function(score)
    )


DETECTORS: dict[str, Callable[[Case], np.ndarray]] = {
    "ADMERCS()": by_admercs,
    NOVELTY: by_novelty,
    "kNN (5)": partial(by_pyod, "kNN (5)", True),
    "LOF": partial(by_pyod, "LOF", True),
    "iForest": by_forest,
    "ECOD": partial(by_pyod, "ECOD", False),
    "HBOS": partial(by_pyod, "HBOS", False),
}


def measured(detector: Callable[[Case], np.ndarray], case: Case) -> dict[str, float]:
    start = time.perf_counter()
    scores = detector(case)
    seconds = round(time.perf_counter() - start, 3)
    auc, ap = auc_ap(case.y, scores)
    return {"auc": auc, "ap": ap, "seconds": seconds, "share": float(case.y.mean())}


def detectors_of(protocol: str) -> list[str]:
    """Return the detectors that a protocol is for."""
    return [name for name in DETECTORS if protocol == CLEAN or name != NOVELTY]


def figures(results: Results, protocol: str, names: list[str], what: str) -> np.ndarray:
    """Return one figure of all sets and detectors."""
    detectors = detectors_of(protocol)
    return np.array([[results[protocol, n, d][what] for d in detectors] for n in names])


def row_of(title: str, protocol: str, cells: list[str]) -> list[str]:
    """Return a row of a table, empty where a detector has no figure."""
    known = dict(zip(detectors_of(protocol), cells, strict=False))
    return [title, *(known.get(name, "") for name in DETECTORS)]


def line(title: str, results: Results, protocol: str, names: list[str]) -> list[str]:
    """Return mean AUC and AP of the detectors over some sets."""
    cells: list[str] = []
    if names:
        auc, ap = (figures(results, protocol, names, what).mean(axis=0) for what in ("auc", "ap"))
        cells = [f"{a:.3f} {p:.3f}" for a, p in zip(auc, ap, strict=True)]
    first, *rest = row_of(title, protocol, cells)
    return [first, str(len(names)), *rest]


def summary(results: Results, names: list[str], title: str) -> str:
    """Write all tables."""
    lines = [line(p, results, p, names) for p in (CLEAN, CONTAMINATED)]
    for half in measure.HALVES:
        chosen = [name for name in names if measure.half_of(name) == half]
        lines += [line(f"{p}, half “{half}”", results, p, chosen) for p in (CLEAN, CONTAMINATED)]
    shares = figures(results, CONTAMINATED, names, "share")[:, 0]
    for words, (low, high) in SHARES.items():
        chosen = [n for n, s in zip(names, shares, strict=True) if low <= s < high]
        lines.append(line(f"contaminated, {words} anomalies", results, CONTAMINATED, chosen))
    ranks = []
    for protocol in (CLEAN, CONTAMINATED):
        for what in ("auc", "ap"):
            found = mean_ranks(figures(results, protocol, names, what))
            cells = [f"{rank:.2f}" for rank in found]
            ranks.append(row_of(f"{protocol}, {what.upper()}", protocol, cells))
    published = [[name, f"{auc:.3f} {ap:.3f}"] for name, (auc, ap) in PUBLISHED.items()]
    return "\n".join(
        [
            f"# OddBench{title}",
            "",
            "Mean AUC and average precision, all detectors with their defaults, in one run.",
            "Clean: fit on normal rows, score the test rows. Contaminated: fit and score the",
            "test rows.",
            "",
            measure.markdown(["", "sets", *DETECTORS], lines),
            "Mean ranks (1 is best):",
            "",
            measure.markdown(["", *DETECTORS], ranks),
            "Published means over all 790 sets of OddBench, clean reference (TaskBridge,",
            "Table 4): other sets than in the table above, and most are pre-trained networks.",
            "",
            measure.markdown(["", "AUC AP"], published),
        ]
    )


def main() -> None:
    options = measure.new_parser(__doc__, DETECTORS).parse_args()
    results = measure.open_results("oddbench", options.again)
    names = list(list_cases(CLEAN, options.half))[: options.first]
    for protocol in (CLEAN, CONTAMINATED):
        tasks = {(protocol, name): partial(load_odd, name, protocol) for name in names}
        methods = {name: partial(measured, DETECTORS[name]) for name in detectors_of(protocol)}
        measure.run(results, tasks, methods)
    title = f", half “{options.half}”" if options.half else ""
    measure.publish("oddbench", options, summary(results, names, title))


if __name__ == "__main__":
    measure.stop_without_data(main)
