"""What `ADMERCS()` flags by itself, and what it finds in generated cars.

    python benchmarks/flagged.py

Prints precision and recall of the automatic threshold on the first version of each set of up to
200,000 cells, and over twelve tables of cars the average precision and in how many of them a
context of mostly ordinary cars is called anomalous. A benchmark whose files are absent is left out.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.metrics import average_precision_score

from admercs import ADMERCS
from admercs.datasets import DataNotFoundError, make_electric_vehicles
from admercs.experiments.benchmarks import list_sets, load_set
from admercs.experiments.published import BENCHMARKS

MAX_CELLS = 200_000
N_TABLES = 12


def flagged(benchmark: str) -> np.ndarray:
    """Return per set the share flagged, its precision (NaN if nothing is flagged) and recall."""
    found = []
    for item in list_sets(benchmark):
        if item.version > 1 or item.cells > MAX_CELLS:
            continue
        data = load_set(item)
        odd, flags = np.asarray(data.y) != 0, ADMERCS().fit_predict(data.X) < 0
        hits = np.count_nonzero(odd & flags)
        precision = hits / flags.sum() if flags.any() else np.nan
        found.append((flags.mean(), precision, hits / odd.sum()))
    return np.array(found)


def cars() -> tuple[float, int]:
    """Return the mean average precision, and the number of tables with a false context."""
    precision, n_false = [], 0
    for seed in range(N_TABLES):
        data = make_electric_vehicles(seed, as_frame="pandas")
        odd = data.kind != "normal"
        model = ADMERCS().fit(data.table)
        precision.append(average_precision_score(odd, model.scores_))
        n_false += any(odd[list(context.members)].mean() < 0.5 for context in model.contexts_)
    return float(np.mean(precision)), n_false


def main() -> None:
    """Print both."""
    warnings.simplefilter("ignore", UserWarning)
    print("| | sets | flagged | precision | recall |\n|---|---|---|---|---|")
    for benchmark in BENCHMARKS:
        try:
            found = flagged(benchmark)
        except DataNotFoundError as error:
            print(f"{benchmark} is left out: {error}", file=sys.stderr)
            continue
        share, precise, recall = np.nanmean(found, axis=0)
        print(
            f"| {benchmark} | {len(found)} | {share:.1%} | {precise:.2f} | {recall:.2f} |",
            flush=True,
        )
    precision, n_false = cars()
    print(f"cars: average precision {precision:.3f},", end=" ")
    print(f"a false context in {n_false} of {N_TABLES} tables")


if __name__ == "__main__":
    main()
