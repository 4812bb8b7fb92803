"""Dirty tables, as people have them: how well their wrong cells are found.

    python benchmarks/dirty.py
    python benchmarks/dirty.py --set hospital --set dgov-fd
    python benchmarks/dirty.py --again "ADMERCS()"

The dirty file is read as a user would read it, by `pandas.read_csv` with its defaults; a cell is
wrong where it differs from the clean file. AUC, average precision and the best F1 over the cells;
the tables of a dgov folder are pooled. Results are kept in benchmarks/results/dirty.json, and a run
goes on where the last one stopped. The summary is dirty.md beside it.

The peer needs no labels either: the rarity of a value in its column (numbers in 20 bins), as in
histogram-based detectors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from measure import (
    RESULTS,
    Results,
    auc_ap,
    markdown,
    open_results,
    quiet,
    stop_without_data,
)
from sklearn.metrics import precision_recall_curve

from admercs import ADMERCS
from admercs.datasets import DirtyTable, list_dirty, load_dirty
from admercs.experiments.run import duration

BINS = 20
PUBLISHED = {
    "hospital": "dBoost .49 (0), Raha .72 (20), ETSB-RNN .97 (20)",
    "flights": "dBoost .66 (0), Raha .81 (20), ETSB-RNN .74 (20)",
}


def by_admercs(table: pd.DataFrame) -> np.ndarray:
    return ADMERCS().fit(table).score_cells(table)


def by_frequency(table: pd.DataFrame) -> np.ndarray:
    """Return minus the log of the share of each value, missing ones too, in its column."""
    return np.column_stack([_rarity(table.iloc[:, j]) for j in range(table.shape[1])])


def _rarity(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > BINS:
        column = pd.cut(column, BINS).astype(object)
    codes = pd.factorize(column, use_na_sentinel=False)[0]
    return -np.log(np.bincount(codes)[codes] / len(codes))


DETECTORS: dict[str, Callable[[pd.DataFrame], np.ndarray]] = {
    "ADMERCS()": by_admercs,
    "value frequency": by_frequency,
}


def figures(wrong: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Return AUC, average precision and the best F1 over cells."""
    auc, ap = auc_ap(wrong, scores)
    precision, recall, _ = precision_recall_curve(wrong, scores)
    best = (2 * precision * recall / np.maximum(precision + recall, 1e-300)).max()
    return {"auc": auc, "ap": ap, "f1": float(best)}


def measure_set(tables: list[DirtyTable], names: list[str]) -> dict[str, dict[str, float]]:
    """Return the figures of some detectors over the cells of all tables of a set."""
    wrong = np.concatenate([data.wrong.ravel() for data in tables])
    found = {}
    for name in names:
        start = time.perf_counter()
        with quiet():
            scores = np.concatenate([DETECTORS[name](data.table).ravel() for data in tables])
        seconds = round(time.perf_counter() - start, 2)
        found[name] = {**figures(wrong, scores), "share": float(wrong.mean()), "seconds": seconds}
    return found


def summary(results: Results, sets: dict[str, list[str]]) -> str:
    """Write the table of all sets."""
    rows = []
    for name, tables in sets.items():
        found = [results[name, detector] for detector in DETECTORS]
        cells = [f"{one['auc']:.2f} {one['ap']:.2f} {one['f1']:.2f}" for one in found]
        share = f"{found[0]['share']:.1%}"
        rows.append([name, str(len(tables)), share, *cells, PUBLISHED.get(name, "")])
    return "\n".join(
        [
            "# Wrong cells of dirty tables",
            "",
            "AUC, average precision and best F1 over the cells. The published F1 are of methods",
            "that are shown labelled rows (their number in brackets) or whose best setting was",
            "taken (0).",
            "",
            markdown(["", "tables", "wrong", *DETECTORS, "published F1"], rows),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", help="only this set; may be repeated")
    parser.add_argument("--again", choices=DETECTORS, help="compute its results again")
    options = parser.parse_args()
    sets: dict[str, list[str]] = {}
    for name in list_dirty():
        sets.setdefault(name.split("/")[0], []).append(name)
    if unknown := set(options.set or []) - set(sets):
        parser.error(f"unknown set {min(unknown)!r}; there are {', '.join(sets)}")
    chosen = {name: sets[name] for name in options.set or sets}
    results = open_results("dirty", options.again)
    start = time.monotonic()
    for done, (name, tables) in enumerate(chosen.items(), start=1):
        missing = [detector for detector in DETECTORS if (name, detector) not in results]
        if missing:
            found = measure_set([load_dirty(table) for table in tables], missing)
            for detector, figure in found.items():
                results[name, detector] = figure
        spent = duration(time.monotonic() - start)
        print(f"[{done}/{len(chosen)}] {name}: {len(tables)} tables; {spent} so far", flush=True)
    text = summary(results, chosen)
    if options.set is None:
        (RESULTS / "dirty.md").write_text(text)
    print(text)


if __name__ == "__main__":
    stop_without_data(main)
