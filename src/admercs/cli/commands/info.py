"""``admercs info``: what a model file holds."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from admercs.cli.console import Style, columns_text, counted, filled
from admercs.cli.work import load_model

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    model = load_model(options.model)
    about = describe(model, options.model)
    if options.json:
        print(json.dumps(about, ensure_ascii=False, indent=2))
    elif not options.quiet:
        print("\n".join(_lines(model, about, Style())))


def describe(model: Any, path: str) -> dict[str, Any]:
    """Return what a model file holds as a dict."""
    fitted = model.model_
    return {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "rows": fitted.n_rows,
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "kind": column.display,
                "reason": column.reason,
                "missing": column.n_missing,
                "values": len(column.categories) + column.n_grouped,
            }
            for column in model.columns_
        ],
        "trees": int(fitted.forest.n_trees),
        "contexts": int((fitted.forest.feature < 0).sum()),
        "anomalous_contexts": len(fitted.members),
        "threshold": {"score": -math.expm1(model.offset_), "evidence": -model.offset_},
        "parameters": {
            name: value
            for name, value in model.get_params().items()
            if name not in ("verbose", "n_jobs", "random_state")
        },
    }


def _lines(model: Any, about: dict[str, Any], style: Style) -> list[str]:
    from admercs.explanation.text import score_text
    from admercs.report import threshold_meaning

    changed = {
        name: value
        for name, value in about["parameters"].items()
        if value != getattr(type(model)(), name)
    }
    listed = ", ".join(f"{name} = {value}" for name, value in changed.items()) or "all as they come"
    size = about["bytes"]
    line = about["threshold"]
    threshold = (
        f"evidence {line['evidence']:.1f} (score {score_text(line['score'])}). "
        f"{threshold_meaning(model.contamination)}"
    )
    missing = [column.n_missing for column in model.columns_]
    return [
        f"{style.bold(about['file'])}: learned from {counted(about['rows'], 'row')}, "
        f"{counted(len(about['columns']), 'column')}, {size / 1000:,.0f} kB",
        *columns_text(model.columns_, missing, about["rows"], style),
        "",
        f"  trees      {about['trees']:,}, with {counted(about['contexts'], 'context')}, "
        f"{about['anomalous_contexts']:,} of them anomalous",
        *filled(threshold, style.width, "  threshold  ", " " * 13),
        *filled(listed, style.width, "  settings   ", " " * 13),
    ]
