"""The worked examples: animals and cars, with the detector as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from admercs import ADMERCS
from admercs.datasets import DataNotFoundError, load_table, make_electric_vehicles
from admercs.experiments.document import Document
from admercs.experiments.figures import draw_cars, draw_scores

__all__ = ["add_examples"]

_TOP = 10


def add_examples(page: Document, folder: Path, data: str | Path | None = None) -> None:
    """Add the zoo (where its table is at hand) and the cars to a page."""
    try:
        zoo = load_table("zoo", data, as_frame="dict")
    except DataNotFoundError as error:
        page.heading("Animals")
        page.text(f"Left out: {error}.")
    else:
        _animals(page, folder, zoo)
    _cars(page, folder)


def _animals(page: Document, folder: Path, zoo: dict[str, np.ndarray]) -> None:
    import pandas as pd

    names = zoo["animal_name"]
    table = pd.DataFrame({k: v for k, v in zoo.items() if k not in ("animal_name", "class_type")})
    model = ADMERCS().fit(table)
    evidence = -model.score_samples(table)
    worst = np.argsort(-evidence, kind="stable")[:_TOP]
    page.heading("Animals")
    page.text("The most anomalous animals of the zoo, and why the first three are.")
    path = folder / "figures" / "zoo.svg"
    draw_scores([str(names[i]) for i in worst], evidence[worst], path)
    page.figure(path.relative_to(folder), "Evidence against the most anomalous animals")
    _reasons(page, model, table, worst[:3], names, "animals")


def _cars(page: Document, folder: Path) -> None:
    cars = make_electric_vehicles(random_state=0, as_frame="pandas")
    model = ADMERCS().fit(cars.table)
    evidence = -model.score_samples(cars.table)
    page.heading("Cars")
    page.text(
        "A generated table of electric cars, made to show the kinds of anomaly clearly: an "
        "illustration, not a measure. How many normal cars score higher than the anomalies of "
        "each kind:"
    )
    normal = np.sort(evidence[~cars.is_anomaly])
    kinds = [kind for kind in dict.fromkeys(cars.kind.tolist()) if kind != "normal"]
    rows = []
    for kind in sorted(kinds):
        above = normal.size - np.searchsorted(normal, evidence[cars.rows(kind)], side="right")
        rows.append([kind, str(above.size), f"{np.median(above):.0f}", f"{above.max():.0f}"])
    page.table(["kind", "cars", "median", "most"], rows)
    path = folder / "figures" / "cars.png"
    draw_cars(cars, evidence, path)
    page.figure(path.relative_to(folder), "Evidence against each car (darker is more)")
    shown = [cars.rows(kind)[0] for kind in sorted(kinds)]
    _reasons(page, model, cars.table, shown, cars.kind, "cars")


def _reasons(
    page: Document, model: ADMERCS, table: Any, rows: Any, names: np.ndarray, noun: str
) -> None:
    """Add the explanations of some rows, under their names."""
    explained = model.explain(table.iloc[list(rows)], noun=noun)
    text = "\n\n".join(
        f"{names[row]}\n{explanation}" for row, explanation in zip(rows, explained, strict=True)
    )
    page.printed(text)
