"""What each idea behind the defaults is worth: switched off one at a time, on all six benchmarks.

    python benchmarks/ablation.py                  # everything, about an hour on one core
    python benchmarks/ablation.py --benchmark HiCS # one benchmark
    python benchmarks/ablation.py --variant default --variant "no feedback"
    python benchmarks/ablation.py --change admercs.detector.neighbours.APART=1 --versions 10 --cells 3000000

The last one tries another value of a constant (of several with several --change), here on all versions of all
sets, and only prints what it gives. Other results are kept in benchmarks/results/ablation.json; a run goes on
where the last one stopped. Campos and HiCS are looked for as in `admercs reproduce`; a benchmark whose files are
absent is named and left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs import ADMERCS
from admercs.datasets import DataNotFoundError
from admercs.density.kernels import Kernel
from admercs.detector.judge import Judge
from admercs.experiments.benchmarks import list_sets, load_set
from admercs.experiments.published import BENCHMARKS
from admercs.method.tail import TailSettings
from admercs.table import prepare, read_frame

RESULTS = Path(__file__).parent / "results"
STORE = RESULTS / "ablation.json"
# One version of each Campos set, and no set so large that one run takes minutes.
MAX_VERSION = 1
MAX_CELLS = 200_000

# Sets that were not looked at while choosing (HiCS by version; the synthetic sets were chosen on other seeds).
HELD_BACK = {
    "Annthyroid",
    "Glass",
    "Ionosphere",
    "PageBlocks",
    "PenDigits",
    "SpamBase",
    "WBC",
    "Wilt",
}

Scores = Callable[[np.ndarray], np.ndarray]


def detector(**parameters: Any) -> Scores:
    def scores(X: np.ndarray) -> np.ndarray:
        return -ADMERCS(**parameters).fit(X).score_samples(X)

    return scores


def patched(target: str, value: Any, **parameters: Any) -> Scores:
    """Return the detector with one of its constants changed."""

    def scores(X: np.ndarray) -> np.ndarray:
        with patch(target, value):
            return -ADMERCS(**parameters).fit(X).score_samples(X)

    return scores


def views(join: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Scores:
    """Return the sum over columns of the leaf's and the table's evidence joined otherwise.

    Without wider contexts and feedback.
    """

    def scores(X: np.ndarray) -> np.ndarray:
        with patch("admercs.trees.judges.SMALL_SHARE", 0.0):
            model = ADMERCS(n_iter=1).fit(X).model_
        table = prepare(read_frame(X), model.schema)
        _, leaf, root, _, _ = Judge(model).look(table.block(0, table.n_rows))
        odds = model.weighing.odds
        return join(np.log1p(odds * np.expm1(-leaf)), np.log1p(odds * np.expm1(-root))).sum(axis=0)

    return scores


VARIANTS: dict[str, Scores] = {
    "default": detector(),
    "splits on the variance": detector(criterion="variance"),
    "leaves of 1% instead of 2%": detector(min_samples_leaf=0.01),
    "split price c = 1 instead of 0.55": patched("admercs.trees.growth.INFORMATION_PRICE", 1.0),
    "the paper's likelihood (ρ = 0.9, γ_δ = 0.9)": detector(likelihood="paper"),
    "odds a = 1 instead of 0.1": patched("admercs.detector.model.PRIOR_ODDS", 1.0),
    "odds a = 0.05": patched("admercs.detector.model.PRIOR_ODDS", 0.05),
    "odds a = 0.1 in small tables too": patched("admercs.detector.model.LEAST_ODDS_OF_ONE", 0.0),
    "Gaussian kernel": patched("admercs.detector.model.Settings.kernel", Kernel(heavy_share=0.0)),
    "a lone value is never less likely than seen once": patched(
        "admercs.detector.model.TailSettings", partial(TailSettings, min_rows=np.inf)
    ),
    "no benefit of the doubt at borders": patched("admercs.trees.growth.ZONE_LEAVES", 0),
    "no wider contexts": patched("admercs.trees.judges.SMALL_SHARE", 0.0),
    "wider contexts with all the odds": patched("admercs.evidence.noisy_or.WIDER_ODDS", 1.0),
    "no context explains what the table finds odd": patched(
        "admercs.evidence.excuses.EXPLAINED_ODDS", 1.0
    ),
    "any context may be suspected": patched("admercs.evidence.suspects.LEAST_GUILT", 0.0),
    "only contexts as guilty as the 90% quantile": patched(
        "admercs.evidence.suspects.LEAST_GUILT", 2.0
    ),
    "no narrow contexts": patched("admercs.evidence.suspects.LEAST_ROWS", 1 << 60),
    "no fine splits": patched("admercs.trees.growth.FINE_ROWS", 0),
    "what columns say of rows chosen by them counts in full": patched(
        "admercs.detector.suspects.OWN_WORD", 1.0
    ),
    "feedback with two columns too": patched("admercs.evidence.suspects.LEAST_COLUMNS", 0),
    "all rows of a context judge it": patched("admercs.evidence.feedback.JURY_ROWS", 1 << 60),
    "rows are not compared with each other": patched("admercs.detector.neighbours.MOST_CELLS", 0),
    "standing apart does not count": patched("admercs.detector.neighbours.APART", 0.0),
    "comparing rows is trusted in any table": patched(
        "admercs.detector.neighbours.find_trust", lambda *_: 1.0
    ),
    "centred feedback": detector(feedback="centred"),
    "no feedback": detector(n_iter=1),
    "no feedback, only leaf and table, added": views(np.add),
    "no feedback, leaf only": views(lambda leaf, _: leaf),
}


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def changed(changes: list[str]) -> Scores:
    """Return the detector with constants changed, each given as its name with the module, =, and a number."""

    def scores(X: np.ndarray) -> np.ndarray:
        with ExitStack() as stack:
            for change in changes:
                name, _, value = change.partition("=")
                stack.enter_context(patch(name, literal_eval(value)))
            return detector()(X)

    return scores


def run(
    benchmark: str, variant: str, scores: Scores, store: dict[str, Any], versions: int, cells: int
) -> None:
    """Run a variant on all sets of a benchmark that are not in the store yet."""
    for item in list_sets(benchmark):
        key = f"{benchmark}|{variant}|{item.name}|{item.version}"
        if item.version > versions or item.cells > cells or key in store:
            continue
        data = load_set(item)
        with quiet():
            evidence = scores(data.X)
        store[key] = [
            float(roc_auc_score(data.y, evidence)),
            float(average_precision_score(data.y, evidence)),
        ]


def summary(store: dict[str, Any], benchmark: str, variant: str, held: bool | None = None) -> str:
    """Return AUC and AP, averaged over versions first, with the spread over sets."""
    sets: dict[str, list[list[float]]] = {}
    for key, result in store.items():
        where, which, name, _ = key.split("|")
        is_held = name in HELD_BACK or (where == "HiCS" and not name.endswith("/0"))
        if (where, which) == (benchmark, variant) and held in (None, is_held):
            sets.setdefault(name, []).append(result)
    if not sets:
        return ""
    means = np.array([np.mean(results, axis=0) for results in sets.values()])
    auc, ap = means.mean(axis=0)
    auc_spread, ap_spread = means.std(axis=0)
    return f"{auc:.3f} ±{auc_spread:.2f}, {ap:.3f} ±{ap_spread:.2f}"


def as_markdown(store: dict[str, Any]) -> str:
    """Write the ablation table: AUC ± spread, AP ± spread."""
    lines = [
        "# What each idea is worth", "",
        "One run of `make ablation`: AUC and average precision, mean over sets ± standard deviation over sets.", "",
        "| | " + " | ".join(BENCHMARKS) + " |",
        "|---" * (len(BENCHMARKS) + 1) + "|",
    ]  # fmt: skip
    for variant in VARIANTS:
        cells = [summary(store, benchmark, variant) for benchmark in BENCHMARKS]
        lines.append(f"| {variant} | " + " | ".join(cells) + " |")
    for held, title in ((False, "default, sets used for choosing"), (True, "default, held back")):
        cells = [
            summary(store, b, "default", held) if b in ("Campos", "CamposHD", "HiCS") else ""
            for b in BENCHMARKS
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", action="append", choices=list(BENCHMARKS))
    parser.add_argument("--variant", action="append", choices=list(VARIANTS))
    parser.add_argument("--change", action="append", metavar="NAME=VALUE")
    parser.add_argument(
        "--versions", type=int, default=MAX_VERSION, help="of each set, with --change"
    )
    parser.add_argument("--cells", type=int, default=MAX_CELLS, help="at most, with --change")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if arguments.change:
        variants, store = {" ".join(arguments.change): changed(arguments.change)}, {}
        limits = arguments.versions, arguments.cells
    else:
        variants = {name: VARIANTS[name] for name in arguments.variant or VARIANTS}
        store = json.loads(STORE.read_text()) if STORE.exists() else {}
        limits = MAX_VERSION, MAX_CELLS
    for benchmark in arguments.benchmark or BENCHMARKS:
        for variant, scores in variants.items():
            try:
                run(benchmark, variant, scores, store, *limits)
            except DataNotFoundError as error:
                print(f"{benchmark} is left out: {error}", file=sys.stderr)
                break
            print(f"{benchmark:10} {variant:45} {summary(store, benchmark, variant)}", flush=True)
            if not arguments.change:
                STORE.write_text(json.dumps(store, indent=0, sort_keys=True))
    if not arguments.change:
        (RESULTS / "ablation.md").write_text(as_markdown(store))


if __name__ == "__main__":
    main()
