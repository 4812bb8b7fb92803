"""``admercs demo``: the embedded example, from table to report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from admercs.cli.options import make_parser
from admercs.cli.sinks import whole_file, writing

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command: write the cars to a file and detect what is odd about them."""
    from pyarrow import csv

    from admercs.cli.commands import detect
    from admercs.datasets import make_electric_vehicles

    folder = Path(options.folder)
    path = folder / "cars.csv"
    cars = make_electric_vehicles(random_state=0, as_frame="pyarrow").table
    with writing(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    with whole_file(str(path)) as temporary, writing(str(path)):
        csv.write_csv(cars, temporary)
    arguments = ["detect", str(path), "--noun", "cars", "--top", "5"]
    arguments += ["--report", str(folder / "report.html")]
    arguments += ["--out", str(folder / "scores.csv"), "--model", str(folder / "cars.admercs")]
    arguments += ["--jobs", str(options.jobs)]
    for flag in ("json", "quiet", "debug"):
        arguments += [f"--{flag}"] if getattr(options, flag) else []
    if not (options.quiet or options.json):
        print(f"$ admercs {' '.join(arguments)}\n", file=sys.stderr)
    detect.run(make_parser().parse_args(arguments))
