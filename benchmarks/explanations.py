"""Do explanations name the right attributes? The HiCS sets list each outlier's true subspaces.

An explanation of an outlier is right when all the attributes it names lie inside one of the
subspaces in which that row is an outlier. Compared are

- admercs: the target and the conditions of the first reason;
- OutlierTree: the suspicious column and its conditions; rows it does not flag have no explanation;
- SHAP on an isolation forest: the two attributes with the largest contributions.

Usage: ``python benchmarks/explanations.py [--data FOLDER] [--methods admercs …]``; writes
``benchmarks/results/explanations.json`` and ``explanations.md``. With ``--methods`` the results of
the other methods are kept as they are in the file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import shap
from outliertree import OutlierTree
from sklearn.ensemble import IsolationForest

from admercs import ADMERCS
from admercs.datasets import load_hics
from admercs.datasets.hics import HICS_DIMENSIONS, HICS_VERSIONS
from admercs.datasets.labelled import LabelledArray

FILE = Path(__file__).parent / "results" / "explanations.json"
Named = dict[int, set[int]]


def by_admercs(data: LabelledArray, rows: np.ndarray) -> Named:
    """Return the attributes of the first reason of each row."""
    frame = pd.DataFrame(data.X, columns=list(data.columns))
    model = ADMERCS().fit(frame)
    place = {name: k for k, name in enumerate(data.columns)}
    named: Named = {}
    for row, explanation in zip(rows, model.explain(frame.iloc[rows], top=1), strict=True):
        if explanation.reasons:
            named[int(row)] = {place[name] for name in explanation.reasons[0].attributes}
    return named


def by_outlier_tree(data: LabelledArray, rows: np.ndarray) -> Named:
    """Return the suspicious column and the conditions of each row that OutlierTree flags."""
    frame = pd.DataFrame(data.X, columns=list(data.columns))
    found = OutlierTree(nthreads=1).fit(frame, outliers_print=0, return_outliers=True)
    place = {name: k for k, name in enumerate(data.columns)}
    named: Named = {}
    for row in rows:
        line = found.iloc[int(row)]
        suspicious = line["suspicious_value"]
        if not isinstance(suspicious, dict) or "column" not in suspicious:
            continue
        conditions = line["conditions"] if isinstance(line["conditions"], list) else []
        names = {suspicious["column"], *(part["column"] for part in conditions)}
        named[int(row)] = {place[name] for name in names}
    return named


def by_shap(data: LabelledArray, rows: np.ndarray) -> Named:
    """Return the two attributes that SHAP holds responsible in an isolation forest."""
    forest = IsolationForest(random_state=0).fit(data.X)
    values = np.asarray(shap.TreeExplainer(forest).shap_values(data.X[rows]))
    order = np.argsort(values, axis=1)[:, :2]  # negative: towards anomalous
    return {int(row): set(top.tolist()) for row, top in zip(rows, order, strict=True)}


METHODS: dict[str, Callable[[LabelledArray, np.ndarray], Named]] = {
    "admercs": by_admercs,
    "OutlierTree": by_outlier_tree,
    "isolation forest + SHAP": by_shap,
}


def right(data: LabelledArray, named: Named) -> int:
    """Count the rows whose named attributes lie inside a true subspace of that row."""
    return sum(
        any(attributes <= set(data.subspaces[k]) for k in data.odd_subspaces[row])
        for row, attributes in named.items()
    )


def run(methods: list[str], folder: str | None) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for n_dims in HICS_DIMENSIONS:
        for version in HICS_VERSIONS:
            data = load_hics(n_dims, version, folder)
            rows = np.flatnonzero(data.y)
            for method in methods:
                start = time.perf_counter()
                named = METHODS[method](data, rows)
                lines.append(
                    {
                        "set": data.name,
                        "dims": n_dims,
                        "method": method,
                        "outliers": len(rows),
                        "explained": len(named),
                        "right": right(data, named),
                        "seconds": round(time.perf_counter() - start, 2),
                    }
                )
                print(lines[-1], flush=True)
    return lines


def table(lines: list[dict[str, object]]) -> str:
    """Return the results as a Markdown table: right explanations among all outliers."""
    frame = pd.DataFrame(lines)
    groups: list[tuple[str, pd.DataFrame]] = [
        (f"{dims} dims", part) for dims, part in frame.groupby("dims")
    ]
    groups += [("up to 50 dims", frame[frame.dims <= 50]), ("all 21 sets", frame)]
    text = [
        "# Do explanations name the right attributes?",
        "",
        "HiCS, share of the outliers whose explanation names only attributes of one of their true",
        "subspaces. In brackets: the same among the outliers that got an explanation at all.",
        "",
        f"| | outliers | {' | '.join(METHODS)} |",
        f"|---|---|{'---|' * len(METHODS)}",
    ]
    for name, part in groups:
        cells = []
        for method in METHODS:
            own = part[part.method == method]
            share = own.right.sum() / max(1, own.outliers.sum())
            among = own.right.sum() / max(1, own.explained.sum())
            cells.append(f"{share:.1%} ({among:.1%})")
        n = part[part.method == "admercs"].outliers.sum()
        text.append(f"| {name} | {n} | {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="the data folder")
    parser.add_argument("--methods", choices=list(METHODS), nargs="+", default=list(METHODS))
    options = parser.parse_args()
    kept = json.loads(FILE.read_text()) if FILE.exists() else []
    lines = [line for line in kept if line["method"] not in options.methods]
    lines += run(options.methods, options.data)
    order = list(METHODS)
    lines.sort(key=lambda line: (line["dims"], line["set"], order.index(line["method"])))
    report = table(lines)
    print(report)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(lines, indent=1) + "\n")
    FILE.with_suffix(".md").write_text(report)


if __name__ == "__main__":
    main()
