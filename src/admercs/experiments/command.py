"""``admercs reproduce``: one command from data to a page of results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from admercs.datasets import DamagedFileError, DataNotFoundError
from admercs.experiments.published import ALGORITHMS, BENCHMARKS, DEFAULTS

__all__ = ["add_arguments", "main", "reproduce", "run"]

_EPILOG = (
    "The Campos and HiCS collections are looked for in the folder given by --data or by the "
    "variable ADMERCS_DATA. Interrupt at any time: the next run goes on where this one stopped."
)


def reproduce(
    out: str | Path = "reproduction",
    *,
    benchmarks: Sequence[str] = BENCHMARKS,
    scope: Literal["search", "published", "quick"] = "search",
    defaults: bool = False,
    again: Sequence[str] = (),
    data: str | Path | None = None,
    jobs: int = 1,
) -> Path:
    """Repeat the paper's experiments and write a page of results.

    Parameters
    ----------
    out : path, default="reproduction"
        Folder for the store of results and the page. What the store holds is not computed again.
    benchmarks : sequence of str, default=all six
        Which benchmarks to run.
    scope : {"search", "published", "quick"}, default="search"
        "search": choose parameters by the paper's protocol. "published": all sets with the
        parameters the paper selected. "quick": one set per group with these.
    defaults : bool, default=False
        Also run ``ADMERCS()``, untuned, beside the tuned peers.
    again : sequence of str, default=()
        Algorithms whose stored results are thrown away first, because their code has changed.
    data : path, optional
        Data folder; sets that are absent are named and left out.
    jobs : int, default=1
        Processes.

    Returns
    -------
    page : Path
        The HTML page.
    """
    from admercs.experiments.page import write_page
    from admercs.experiments.protocol import run_protocol
    from admercs.experiments.store import Store

    folder = Path(out)
    with Store(folder / "results.sqlite") as store:
        for algorithm in again:
            store.forget(algorithm)
        outcome = run_protocol(
            store, benchmarks, scope=scope, defaults=defaults, data=data, jobs=jobs
        )
        return write_page(outcome, store.all(), folder, data)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to a parser."""
    parser.epilog = _EPILOG
    parser.add_argument(
        "--benchmark",
        action="append",
        choices=BENCHMARKS,
        metavar="NAME",
        help=f"run this benchmark only; may be repeated ({', '.join(BENCHMARKS)})",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one set per group, published parameters only"
    )
    parser.add_argument(
        "--defaults", action="store_true", help="also run ADMERCS() without any tuning"
    )
    parser.add_argument(
        "--no-search",
        action="store_true",
        help="all sets, but with the published parameters instead of a grid search",
    )
    parser.add_argument(
        "--again",
        action="append",
        default=[],
        choices=(*ALGORITHMS, DEFAULTS),
        metavar="ALGORITHM",
        help="throw the stored results of this algorithm away first; may be repeated "
        f"({', '.join((*ALGORITHMS, DEFAULTS))})",
    )
    parser.add_argument("--data", type=Path, help="folder with campos/, hics/ and tables")
    parser.add_argument(
        "--out", type=Path, default=Path("reproduction"), help="folder for results and page"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")


def run(args: argparse.Namespace) -> int:
    """Run the command with parsed options; return the exit status."""
    if args.jobs < 1:
        print("admercs reproduce: --jobs must be at least 1", file=sys.stderr)
        return 2
    try:
        page = reproduce(
            args.out,
            benchmarks=tuple(dict.fromkeys(args.benchmark or BENCHMARKS)),
            scope="quick" if args.quick else "published" if args.no_search else "search",
            defaults=args.defaults,
            again=args.again,
            data=args.data,
            jobs=args.jobs,
        )
    except (DamagedFileError, DataNotFoundError, ImportError) as error:
        print(f"admercs reproduce: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; run the same command again to go on.", file=sys.stderr)
        return 130
    print(page)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command from a list of arguments."""
    parser = argparse.ArgumentParser(
        prog="admercs reproduce", description="Repeat the experiments of the AD-MERCS paper."
    )
    add_arguments(parser)
    return run(parser.parse_args(argv))
