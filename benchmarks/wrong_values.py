"""One wrong value in an ordinary row: how well the row and the cell are found.

    python benchmarks/wrong_values.py               # exchanged values
    python benchmarks/wrong_values.py --errors all  # also factors, signs, swapped columns, zeros
    python benchmarks/wrong_values.py --errors sign "factor 10" --first 5
    python benchmarks/wrong_values.py --detectors "ridge residuals" LOF

Up to 2,000 normal rows of the smaller sets of OddBench; in 2% of them one value is made wrong (see
`admercs.datasets.insert_errors`). Results are kept in benchmarks/results/wrong_values.json, and a
run goes on where the last one stopped; --again drops the results of one detector first. The summary
is wrong_values.md beside it. OutlierTree takes part if it is installed (extra "benchmark").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import measure
import numpy as np
from measure import EXCHANGED, Case, Results, auc_ap, list_cases, load_wrong
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler

from admercs import ADMERCS
from admercs.datasets import ERRORS

SEED, FOLDS = 0, 5
NAME = "ADMERCS()"
FIGURES = {
    "rows AUC": "auc",
    "rows AP": "ap",
    "by oddest cell": "oddest",
    "cells AP": "cells",
    "culprit first": "culprit",
    "by repair": "repair",
    "true value typical": "typical",
}
# The best repair of each row: its column, and what is typical there.
Repairs = Callable[[np.ndarray], list[tuple[int, Any] | None]]


class Scores(NamedTuple):
    """How odd rows are, and their cells and repairs where a detector says that."""

    rows: np.ndarray
    cells: np.ndarray | None = None
    repairs: Repairs | None = None


def by_admercs(X: np.ndarray) -> Scores:
    model = ADMERCS().fit(X)
    position = {column.name: column.position for column in model.columns_}

    def repairs(rows: np.ndarray) -> list[tuple[int, Any] | None]:
        firsts = (row.repairs[:1] for row in model.explain(X[rows], top=0))
        return [(position[best[0].column], best[0].typical) if best else None for best in firsts]

    return Scores(-model.score_samples(X), model.score_cells(X), repairs)


def by_residuals(make_model: Callable[[], Any], X: np.ndarray) -> Scores:
    """Predict each column from the others, for rows not seen; robust z of the residuals."""
    X = StandardScaler().fit_transform(X)
    folds = KFold(FOLDS, shuffle=True, random_state=SEED)
    cells = np.empty(X.shape)
    for column in range(X.shape[1]):
        others = np.delete(X, column, axis=1)
        predicted = cross_val_predict(make_model(), others, X[:, column], cv=folds)
        cells[:, column] = robust_z(X[:, column] - predicted)
    return Scores(cells.max(axis=1), cells)


def robust_z(residual: np.ndarray) -> np.ndarray:
    """Return how far residuals are from their median, in units of their spread."""
    away = np.abs(residual - np.median(residual))
    # Where more than half of the values are predicted exactly, the median of the rest is no unit.
    spread = 1.4826 * np.median(away) or residual.std() or 1.0
    return away / spread


def by_lof(X: np.ndarray) -> Scores:
    scaled = StandardScaler().fit_transform(X)
    return Scores(-LocalOutlierFactor().fit(scaled).negative_outlier_factor_)


def by_outlier_tree(X: np.ndarray) -> Scores:
    """Score the rows that OutlierTree flags, and the cell it names; all others are alike."""
    import pandas as pd
    from outliertree import OutlierTree

    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    found = OutlierTree(nthreads=1).fit(frame, outliers_print=0, return_outliers=True)
    cells = np.zeros(X.shape)
    for row, (value, score) in enumerate(
        zip(found["suspicious_value"], found["outlier_score"], strict=True)
    ):
        if isinstance(value, dict) and "column" in value:
            # The smaller its score, the rarer is the value.
            cells[row, int(value["column"].removeprefix("x"))] = 1 / (1e-9 + score)
    return Scores(cells.max(axis=1), cells)


DETECTORS: dict[str, Callable[[np.ndarray], Scores]] = {
    NAME: by_admercs,
    "ridge residuals": partial(by_residuals, Ridge),
    "boosted trees' residuals": partial(
        by_residuals, partial(HistGradientBoostingRegressor, random_state=SEED)
    ),
    "LOF": by_lof,
}
if find_spec("outliertree"):
    DETECTORS["OutlierTree"] = by_outlier_tree


def measured(detector: Callable[[np.ndarray], Scores], case: Case) -> dict[str, float] | None:
    """Return the figures of a detector; None where no place for an error was found."""
    if not case.y.any():
        return None
    scores = detector(case.fit)
    auc, ap = auc_ap(case.y, scores.rows)
    found = {"auc": auc, "ap": ap}
    if scores.cells is not None and case.wrong is not None:
        found["oddest"] = auc_ap(case.y, scores.cells.max(axis=1))[1]
        found["cells"] = auc_ap(case.wrong.ravel(), scores.cells.ravel())[1]
        rows = np.flatnonzero(case.y)
        oddest = scores.cells[rows].argmax(axis=1)
        found["culprit"] = float(case.wrong[rows, oddest].mean())
        if scores.repairs is not None:
            found |= _of_repairs(case, rows, oddest, scores.repairs(rows))
    return found


def _of_repairs(
    case: Case, rows: np.ndarray, oddest: np.ndarray, repairs: list[tuple[int, Any] | None]
) -> dict[str, float]:
    """Say how often the best repair is about the wrong cell, and knows its true value.

    Where a row has no repair, its oddest cell counts as blamed.
    """
    blamed = [k if best is None else best[0] for k, best in zip(oddest, repairs, strict=True)]
    found = {"repair": float(case.wrong[rows, blamed].mean())}
    inside = [
        _is_typical(case.right[row, best[0]], best[1])
        for row, best in zip(rows, repairs, strict=True)
        if best is not None and case.wrong[row, best[0]] and best[1] is not None
    ]
    return found | ({"typical": float(np.mean(inside))} if inside else {})


def _is_typical(value: float, typical: Any) -> bool:
    if typical.kind == "values":
        return any(known == value for known, _ in typical.shares)
    return any(low is None or low <= value <= high for low, high in typical.intervals)


def summary(results: Results, errors: list[str], names: list[str], title: str) -> str:
    """Write a table for each kind of error."""
    text = [
        f"# Wrong values in ordinary rows{title}",
        "",
        "Means over the sets. Rows: is the row with a wrong value found? By oddest cell: if rows",
        "are ordered by their oddest cell instead of by all evidence. Cells: is the value found",
        "among all values of the table? Culprit first: how often the wrong cell is the oddest of",
        "its row; by repair: how often the best repair is about it. True value typical: of those",
        "repairs, how many say that the true value is typical.",
        "",
    ]
    for error in errors:
        rows = []
        known = [name for name in names if results[error, name, NAME] is not None]
        for detector in DETECTORS:
            keys = [(error, name, detector) for name in known]
            found = [results[key] for key in keys if key in results]
            cells = [_mean([one[f] for one in found if f in one]) for f in FIGURES.values()]
            rows.append([detector, f"{len(found)}", *cells])
        text += [f"## {error}", "", measure.markdown(["", "sets", *FIGURES], rows)]
    return "\n".join(text)


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.3f}" if values else "–"


def main() -> None:
    parser = measure.new_parser(__doc__, DETECTORS)
    parser.add_argument("--errors", nargs="+", choices=[*ERRORS, "all"], default=["exchange"])
    parser.add_argument("--detectors", nargs="+", choices=list(DETECTORS), default=list(DETECTORS))
    options = parser.parse_args()
    errors = list(ERRORS) if "all" in options.errors else options.errors
    results = measure.open_results("wrong_values", options.again)
    names = list(list_cases(EXCHANGED, options.half))[: options.first]
    tasks = {(error, name): partial(load_wrong, name, error) for error in errors for name in names}
    methods = {
        name: partial(measured, DETECTORS[name])
        for name in dict.fromkeys([NAME, *options.detectors])
    }
    measure.run(results, tasks, methods)
    title = f", half “{options.half}”" if options.half else ""
    measure.publish("wrong_values", options, summary(results, errors, names, title))


if __name__ == "__main__":
    measure.stop_without_data(main)
