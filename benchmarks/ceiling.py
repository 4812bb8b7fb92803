"""What could be reached on the synthetic benchmarks by somebody who knew how they were made.

    make ceiling        # about two minutes

A row is scored by how unlikely it is under the pattern it was drawn from, estimated from 200,000
fresh draws that hold no outliers. On Synth-C&S the true subspaces are known too, and the
unlikeliest of the five counts. No detector sees any of this, so its figures lie below.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs.datasets import LabelledArray, draw_pattern, synth_c, synth_cs

FILE = Path(__file__).parent / "results" / "ceiling.md"
N_DRAWS = 200_000
NEIGHBOURS = 100  # the distance to so many of the draws stands for the density


def chance(pattern: str, points: np.ndarray) -> np.ndarray:
    """Return for each point the share of fresh draws that are no likelier than it."""
    fresh = draw_pattern(pattern, N_DRAWS, 12345)
    # Both are scaled to the range of the normal points, which a hundred thousand draws exceed a
    # little.
    low, high = np.quantile(fresh, [0.5 / len(points), 1 - 0.5 / len(points)], axis=0)
    tree = cKDTree((fresh - low) / (high - low))
    reference = np.sort(tree.query(tree.data[:20_000], k=NEIGHBOURS)[0][:, -1])
    distance = tree.query(points, k=NEIGHBOURS)[0][:, -1]
    return 1 - np.searchsorted(reference, distance) / len(reference) - 1e-6 * distance


def unlikeliness(data: LabelledArray) -> np.ndarray:
    """Score the rows of a set by its least likely subspace."""
    names = [data.name]
    if data.origin.startswith("generated: "):
        names = data.origin.removeprefix("generated: ").split(", ")
    chances = [
        chance(name, data.X[:, list(pair)])
        for name, pair in zip(names, data.subspaces, strict=True)
    ]
    return -np.min(chances, axis=0)


def main() -> None:
    lines = ["# What could be reached", "", "| | AUC | average precision |", "|---|---|---|"]
    for title, sets in (("Synth-C", synth_c()), ("Synth-C&S", synth_cs())):
        found = []
        for data in sets:
            score = unlikeliness(data)
            found.append((roc_auc_score(data.y, score), average_precision_score(data.y, score)))
            print(title, data.name, *np.round(found[-1], 3), flush=True)
        auc, precision = np.mean(found, axis=0)
        lines.append(f"| {title} | {auc:.3f} | {precision:.3f} |")
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("\n".join([*lines, ""]))
    print(FILE.read_text())


if __name__ == "__main__":
    main()
