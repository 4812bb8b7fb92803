"""Speed and memory: ours and the peers, side by side, in the same run.

Every measurement runs in a process of its own with one thread, so that peak memory means something
and nothing is warm by accident. Compilation is measured apart (`first fit`); all other figures are
taken after it.

    python benchmarks/speed.py            # everything, about half an hour
    python benchmarks/speed.py --quick    # the small tables only
    python benchmarks/speed.py --before ../before   # beside another work tree

    python benchmarks/speed.py --texts --before ../before   # text columns, and explaining

With `--before`, a work tree of an earlier commit is measured in the same run, in turn with this one
and with isolation forests, on tables of all shapes. It is also measured where the time goes. These
results come first on the page, and the other ones stay as they are. With `--texts` as well, tables
of ten numbers are measured in turn with the same tables and five columns of texts beside them.

All times are processor time: with one thread it is the time of a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
TIMEOUT = 900
THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def structured_table(n: int, m: int, seed: int = 0) -> np.ndarray:
    """Columns in groups of five that depend on each other, one of them noise; float64."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, m))
    for start in range(0, m, 5):
        z = rng.normal(size=n)
        group = [z, z**2, np.sin(2 * z), np.where(z > 0, z, -0.5 * z), rng.normal(size=n)]
        for k in range(start, min(start + 5, m)):
            X[:, k] = group[k - start] + rng.normal(scale=0.1, size=n)
    return X


def ours(X: np.ndarray) -> tuple[float, float]:
    from admercs import ADMERCS

    start = time.process_time()
    model = ADMERCS().fit(X)
    middle = time.process_time()
    model.score_samples(X)
    return middle - start, time.process_time() - middle


def isolation_forest(X: np.ndarray) -> tuple[float, float]:
    from sklearn.ensemble import IsolationForest

    start = time.process_time()
    model = IsolationForest(n_estimators=100, random_state=0, n_jobs=1).fit(X)
    middle = time.process_time()
    model.score_samples(X)
    return middle - start, time.process_time() - middle


def outlier_tree(X: np.ndarray) -> tuple[float, float]:
    import pandas as pd
    from outliertree import OutlierTree

    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    start = time.process_time()
    model = OutlierTree(nthreads=1).fit(frame, outliers_print=0)
    middle = time.process_time()
    model.predict(frame, outliers_print=0)
    return middle - start, time.process_time() - middle


def pyod(name: str) -> Callable[[np.ndarray], tuple[float, float]]:
    def run(X: np.ndarray) -> tuple[float, float]:
        import importlib

        module, cls = {"kNN": ("knn", "KNN"), "LOF": ("lof", "LOF"), "ECOD": ("ecod", "ECOD")}[name]
        model = getattr(importlib.import_module(f"pyod.models.{module}"), cls)()
        start = time.process_time()
        model.fit(X)  # scores the training rows as well: decision_scores_
        return time.process_time() - start, 0.0

    return run


def exact_trees(X: np.ndarray) -> tuple[float, float]:
    """Grow scikit-learn's exact trees, one per column."""
    from sklearn.tree import DecisionTreeRegressor

    start = time.process_time()
    for m in range(X.shape[1]):
        DecisionTreeRegressor(max_depth=10, min_samples_leaf=0.02).fit(
            np.delete(X, m, axis=1), X[:, m]
        )
    return time.process_time() - start, 0.0


def our_trees(X: np.ndarray) -> tuple[float, float]:
    """Read the table, bin its columns and grow all trees by the same criterion."""
    from admercs import ADMERCS, Method

    ends: dict[str, float] = {}

    def note(phase: str, done: int, total: int) -> None:
        if done == total:
            ends[phase] = time.process_time()

    method = Method().change({"trees.price": None})
    model = ADMERCS(method=method, n_iter=1, verbose=note)
    model.fit(X[:500])  # load the compiled code
    start = time.process_time()
    model.fit(X)
    return ends["trees"] - start, 0.0


ALGORITHMS: dict[str, Callable[[np.ndarray], tuple[float, float]]] = {
    "admercs": ours,
    "before": ours,  # the package of another work tree, see --before
    "IsolationForest": isolation_forest,
    "OutlierTree": outlier_tree,
    "kNN": pyod("kNN"),
    "LOF": pyod("LOF"),
    "ECOD": pyod("ECOD"),
    "admercs, trees only": our_trees,
    "scikit-learn's exact trees": exact_trees,
}
# Peers that need hours on a table are left out there.
TABLES: dict[tuple[int, int], list[str]] = {
    (10_000, 10): [name for name in ALGORITHMS if name != "before"],
    (100_000, 10): [name for name in ALGORITHMS if name != "before"],
    (100_000, 50): ["admercs", "IsolationForest", "OutlierTree", "kNN", "LOF", "ECOD"],
    (1_000_000, 10): [
        "admercs", "IsolationForest", "OutlierTree", "ECOD", "admercs, trees only",
        "scikit-learn's exact trees",
    ],
    (1_000_000, 50): ["admercs", "IsolationForest"],
}  # fmt: skip
# What changes with the number of columns, and what every user waits for.
BESIDE = [
    (1_000, 10), (10_000, 10), (1_000, 500), (1_000, 600), (1_000, 1000), (1_000, 2000),
    (100_000, 10), (100_000, 50), (100_000, 200), (1_000_000, 10),
]  # fmt: skip
BEFORE = "the commit 32b514a"
TOO_LONG = {(1_000, 1000), (1_000, 2000)}  # minutes, for work trees of long ago
FEW_CELLS = 100_000  # a table of no more is measured nine times, and the median counts
SHARES = [(1_000, 600), (100_000, 50), (1_000_000, 10)]  # where it is shown what takes the time
# What the phases of a fit are called on the page; those that are not listed are "other".
PHASES = {
    "columns": "relations", "reading": "reading", "encoding": "encoding", "trees": "trees",
    "densities": "densities", "conditions": "conditions", "scoring": "scoring",
    "own columns": "feedback", "feedback": "feedback", "references": "neighbours",
    "comparing": "neighbours",
}  # fmt: skip
QUICK = [(10_000, 10), (100_000, 10)]
GROWTH_N = [(n, 10) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000)]
GROWTH_M = [(100_000, m) for m in (5, 10, 20, 50)]


def measure(algorithm: str, n: int, m: int) -> dict[str, Any]:
    """Run one algorithm on one table in this process."""
    X = structured_table(n, m)
    if algorithm in ("admercs", "before"):
        ours(X[:5000])  # load the compiled code; few rows have too shallow trees for all of it
    turns = [ALGORITHMS[algorithm](X) for _ in range(9 if n * m <= FEW_CELLS else 1)]
    fit, score = np.median(turns, axis=0).tolist()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"fit": fit, "score": score, "peak_mb": peak, "table_mb": X.nbytes / 2**20}


def phases(n: int, m: int) -> dict[str, float]:
    """Return what the phases of a fit take; screening is part of the trees."""
    from admercs import ADMERCS

    X, spent = structured_table(n, m), dict.fromkeys([*PHASES.values(), "other"], 0.0)
    ADMERCS(n_jobs=1).fit(X[:5000])
    last = time.process_time()

    def note(phase: str, *_: int) -> None:
        nonlocal last
        now = time.process_time()
        spent[PHASES.get(phase, "other")] += now - last
        last = now

    ADMERCS(n_jobs=1, verbose=note).fit(X)
    note("the end")
    return spent


def text_columns(n: int, seed: int = 1) -> dict[str, list[str]]:
    """Return phone numbers, e-mail addresses, names, zip codes and product codes."""
    rng = np.random.default_rng(seed)
    ends = [a + b for a in ("Mue", "Schm", "Bra", "Wel", "Kla") for b in ("ller", "idt", "un", "s")]
    first, last, domain, kind = (
        rng.choice(values, n).tolist()
        for values in (["ann", "ben", "carl", "dora", "emil", "ida"], ends,
                       ["mail.com", "example.org", "web.de"], ["AB", "CD", "XY"])
    )  # fmt: skip
    code = rng.choice(["+32", "+49", "+33", "+1"], n, p=[0.5, 0.3, 0.15, 0.05]).tolist()
    number = rng.integers(0, 10**9, (3, n)).tolist()
    places = (7919 * (rng.zipf(1.3, n) % 20_000) % 100_000).tolist()
    digits = [f"{k:09d}" for k in number[0]]
    rows = zip(first, last, number[1], domain, strict=True)
    return {
        "phone": [f"{c} {d[:3]} {d[3:6]} {d[6:]}" for c, d in zip(code, digits, strict=True)],
        "email": [f"{a}.{b.lower()}{k % 10**6}@{d}" for a, b, k, d in rows],
        "name": [f"{a.capitalize()} {b}" for a, b in zip(first, last, strict=True)],
        "zip": [f"{place:05d}" for place in places],
        "code": [f"{a}-{k % 10**6:06d}" for a, k in zip(kind, number[2], strict=True)],
    }


def text_cost(n: int, m: int, library: str) -> dict[str, float]:
    """Measure fitting and scoring a table of numbers, without and with five columns of texts.

    Both in turn, in this process; the minimum of two counts.
    """
    import pandas as pd
    import polars as pl

    from admercs import ADMERCS

    numbers, texts = structured_table(n, m), text_columns(n)
    table: Any = pl.DataFrame({**{f"x{j}": x for j, x in enumerate(numbers.T)}, **texts})
    if library != "polars":
        table = pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
        table = table.astype(dict.fromkeys(texts, object))
    plain = table[[name for name in table.columns if name not in texts]]
    ADMERCS(n_jobs=1).fit(table[:3000]).score_samples(table[:3000])
    spent: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(2):
        for name, X in (("without", plain), ("with", table)):
            start = time.process_time()
            ADMERCS(n_jobs=1).fit(X).score_samples(X)
            spent[name].append(time.process_time() - start)
    return {name: min(each) for name, each in spent.items()}


def explaining(n: int, m: int, top: str) -> dict[str, float]:
    """Measure explaining some rows beyond scoring all: the most anomalous ones, or all (0)."""
    from admercs import ADMERCS

    X = structured_table(n, m)
    model = ADMERCS(n_jobs=1).fit(X)
    model.top(X[:2000], 20)
    spent: dict[str, list[float]] = {"score": [], "explain": []}
    for _ in range(2):
        start = time.process_time()
        model.score_samples(X)
        spent["score"].append(time.process_time() - start)
        start = time.process_time()
        model.top(X, int(top)) if int(top) else model.explain(X)
        spent["explain"].append(time.process_time() - start)
    return {name: min(each) for name, each in spent.items()}


CHILDREN: dict[str, Callable[..., dict[str, Any]]] = {
    "text cost": text_cost,
    "explaining": explaining,
}


def in_process(algorithm: str, n: int, m: int, source: str = "", *more: object) -> dict[str, Any]:
    """Run one measurement in a process of its own; `source` has the package, if elsewhere."""
    command = [sys.executable, __file__, "--one", *map(str, (algorithm, n, m, *more))]
    elsewhere = {"PYTHONPATH": source} if source else {}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, check=True,
            env={**os.environ, **THREADS, **elsewhere},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"more than {TIMEOUT} s"}
    except subprocess.CalledProcessError as error:
        return {"error": (error.stderr or "failed").strip().splitlines()[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def start_up() -> dict[str, float]:
    """Measure importing, the first fit ever and a first fit in a new process."""
    fit = (
        "import time; t = time.process_time(); import numpy as np; from admercs import ADMERCS; "
        "X = np.random.default_rng(0).normal(size=(1000, 10)); X[:, 1] += 5 * X[:, 0]; "
        "ADMERCS().fit(X); "
        "print(time.process_time() - t)"
    )
    result = {}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **THREADS, "NUMBA_CACHE_DIR": cache}
        for name, code in {
            "import admercs": "import time; t = time.process_time(); import admercs; "
            "print(time.process_time() - t)",
            "first fit ever, 1,000 x 10": fit,
            "first fit in a new process": fit,
        }.items():
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True,
                env=environment,
            )  # fmt: skip
            result[name] = float(done.stdout)
    return result


def model_size() -> float:
    """Return the size in MB of the model file of 1,000,000 x 50 rows."""
    from admercs import ADMERCS

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.admercs"
        ADMERCS().fit(structured_table(1_000_000, 50)).save(path)
        return path.stat().st_size / 2**20


def total(result: dict[str, Any]) -> float:
    return result["fit"] + result["score"]


def as_markdown(report: dict[str, Any]) -> str:
    """Write the results page."""
    lines = [
        "## Beside other detectors", "",
        f"One run of `make speed`{report.get('note', '')}, one thread each, "
        f"{report['machine']}.", "",
        "| table | algorithm | fit s | score s | times admercs | peak MB |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for table in report["tables"]:
        for name, result in table["results"].items():
            base = "admercs, trees only" if "trees" in name else "admercs"
            size = f"{table['n']:,} × {table['m']}"
            if "error" in result:
                lines.append(f"| {size} | {name} | {result['error']} | | | |")
                continue
            reference = table["results"].get(base, {})
            ratio = f"{total(result) / total(reference):.2f}" if "fit" in reference else ""
            lines.append(
                f"| {size} | {name} | {result['fit']:.2f} | {result['score']:.2f} "
                f"| {ratio} | {result['peak_mb']:.0f} |"
            )
    lines += ["", "| | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.2f} |" for name, seconds in report["start_up"].items()]
    if "model_mb" in report:
        lines += ["", f"The model of 1,000,000 × 50 takes {report['model_mb']:.1f} MB on disk."]
    lines += ["", "![How cost grows with rows and columns](speed-peers.svg)", ""]
    return "\n".join(lines)


def beside_as_markdown(report: dict[str, Any]) -> list[str]:
    """Write what was measured beside an earlier work tree."""
    lines = [
        "# Speed and memory", "",
        f"`python benchmarks/speed.py --before ../before`, {report['machine']}: processor time of",
        "fitting and scoring all rows, one thread each, in turn with an isolation forest and",
        f"{BEFORE}.",
        *report.get("notes", []), "",
        "| table | fit s | score s | isolation forest s | times | before s | before / now "
        "| peak, times the table |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in report["beside"]:
        new, forest, old = (row["results"][k] for k in ("admercs", "IsolationForest", "before"))
        before = " | " if old is None else f"{total(old):.2f} | {total(old) / total(new):.2f}"
        lines.append(
            f"| {row['n']:,} × {row['m']:,} | {new['fit']:.3f} | {new['score']:.3f} "
            f"| {total(forest):.2f} | {total(new) / total(forest):.2f} | {before} "
            f"| {new['peak_mb'] / new['table_mb']:.1f} |"
        )
    names = list(dict.fromkeys([*PHASES.values(), "other"]))
    lines += [
        "", "Where the time of a fit goes, in seconds; screening is part of the trees:", "",
        f"| table | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|",
    ]  # fmt: skip
    for row in report["phases"]:
        spent = " | ".join(f"{row['seconds'][name]:.2f}" for name in names)
        lines.append(f"| {row['n']:,} × {row['m']:,} | {spent} |")
    return [*lines, "", "![How cost grows, and where the time goes](speed.svg)", ""]


def draw_beside(report: dict[str, Any], path: Path) -> None:
    """Plot how cost grows with rows and columns, beside the commit before, and its shares."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    rows = [row for row in report["beside"] if row["m"] == 10]
    columns = [row for row in report["beside"] if row["n"] == 1000 and row["m"] != 600]
    for ax, key, some, label in (
        (axes[0], "n", rows, "rows (10 columns)"),
        (axes[1], "m", columns, "columns (1,000 rows)"),
    ):
        for name, style in (("admercs", "o-"), ("before", "x:"), ("IsolationForest", "s--")):
            known = sorted((r[key], total(r["results"][name])) for r in some if r["results"][name])
            ax.loglog(*zip(*known, strict=True), style, label=name, color="black", markersize=4)
        ax.set_xlabel(label)
        ax.set_ylabel("fit + score, seconds, one thread")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
    places, left = range(len(report["phases"])), [0.0] * len(report["phases"])
    for name in dict.fromkeys([*PHASES.values(), "other"]):
        spent = [row["seconds"] for row in report["phases"]]
        share = [each[name] / sum(each.values()) for each in spent]
        axes[2].barh(places, share, left=left, label=name)
        left = [a + b for a, b in zip(left, share, strict=True)]
    axes[2].set_yticks(places, [f"{r['n']:,} × {r['m']:,}" for r in report["phases"]])
    axes[2].set_xlabel("share of the time of a fit")
    axes[2].legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path)


def draw(report: dict[str, Any], path: Path) -> None:
    """Plot how cost grows with rows and with columns."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    plots = [("growth_n", "n", "rows (10 columns)"), ("growth_m", "m", "columns (100,000 rows)")]
    for ax, (key, size, label) in zip(axes, plots, strict=True):
        for name, style in (("admercs", "o-"), ("IsolationForest", "s--")):
            x = [point[size] for point in report[key]]
            y = [total(point["results"][name]) for point in report[key]]
            ax.loglog(x, y, style, label=name, color="black", markersize=4)
        ax.set_xlabel(label)
        ax.set_ylabel("fit + score, seconds, one thread")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
    figure.savefig(path)


def run(quick: bool) -> dict[str, Any]:
    """Measure everything, saying how far it is."""
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "start_up": start_up(),
        "tables": [],
    }

    def row(n: int, m: int, names: list[str]) -> dict[str, Any]:
        results = {}
        for name in names:
            results[name] = in_process(name, n, m)
            print(f"{n:>9,} x {m:<3} {name:28} {results[name]}", flush=True)
        return {"n": n, "m": m, "results": results}

    for (n, m), names in TABLES.items():
        if not quick or (n, m) in QUICK:
            report["tables"].append(row(n, m, names))
    both = ["admercs", "IsolationForest"]
    sizes = [s for s in GROWTH_N if not quick or s[0] <= 100_000]
    report["growth_n"] = [row(n, m, both) for n, m in sizes]
    report["growth_m"] = [row(n, m, both) for n, m in GROWTH_M if not quick or m <= 10]
    if not quick:
        report["model_mb"] = model_size()
    return report


def compare(before: str) -> dict[str, Any]:
    """Measure this work tree, another one and isolation forests in turn; return all."""
    rows: list[dict[str, Any]] = []
    where = {"before": str(Path(before).resolve() / "src"), "admercs": "", "IsolationForest": ""}
    for n, m in BESIDE:
        results = {
            name: None if name == "before" and (n, m) in TOO_LONG else in_process(name, n, m, path)
            for name, path in where.items()
        }
        rows.append({"n": n, "m": m, "results": results})
        print(f"{n:>9,} x {m:<5}", results, flush=True)
    shares = [{"n": n, "m": m, "seconds": phases(n, m)} for n, m in SHARES]
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    return {"beside": rows, "phases": shares, "machine": machine}


TEXT_TABLES = [(100_000, "polars"), (1_000_000, "polars"), (1_000_000, "pandas objects")]
EXPLAINED = [(50_000, 10, 0), (1_000_000, 20, 1000)]


def compare_texts(before: str) -> dict[str, Any]:
    """Measure text columns and explaining, in this work tree and in another one in turn."""
    where = {"before": str(Path(before).resolve() / "src"), "now": ""}
    texts, explained = [], []
    for n, library in TEXT_TABLES:
        found = {k: in_process("text cost", n, 10, path, library) for k, path in where.items()}
        texts.append({"n": n, "library": library, **found})
        print(texts[-1], flush=True)
    for n, m, top in EXPLAINED:
        found = {k: in_process("explaining", n, m, path, top) for k, path in where.items()}
        explained.append({"n": n, "m": m, "top": top, **found})
        print(explained[-1], flush=True)
    return {"texts": texts, "explained": explained, "before": before_name(before)}


def before_name(before: str) -> str:
    """Return which commit another work tree is of."""
    command = ["git", "-C", before, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def texts_as_markdown(report: dict[str, Any]) -> list[str]:
    """Write what text columns and explanations cost."""
    lines = [
        "## Text columns, and explaining", "",
        "`python benchmarks/speed.py --texts --before ../before`: fitting and scoring ten numeric",
        "columns without and with five columns of texts (phone numbers, e-mail addresses, names,",
        "zip codes, product codes), processor time, one thread, beside the commit",
        f"{report['before']}.",
        "", "| rows | held by | without s | with s | ratio | ratio before |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in report["texts"]:
        now, ratios = row["now"], [row[k]["with"] / row[k]["without"] for k in ("now", "before")]
        lines.append(
            f"| {row['n']:,} | {row['library']} | {now['without']:.2f} | {now['with']:.2f} "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} |"
        )
    lines += [
        "", "Explaining rows, three reasons and the repairs of each, beyond scoring the table:", "",
        "| table | rows explained | s | s before |", "|---|---|---|---|",
    ]  # fmt: skip
    for row in report["explained"]:
        now, before = (row[k]["explain"] - row[k]["score"] for k in ("now", "before"))
        which = f"the {row['top']:,} most anomalous" if row["top"] else "all"
        lines.append(f"| {row['n']:,} × {row['m']} | {which} | {now:.2f} | {before:.2f} |")
    return [*lines, ""]


def write_pages() -> None:
    """Write the page from the results that are kept."""
    beside = json.loads((RESULTS / "speed-beside.json").read_text())
    peers = as_markdown(json.loads((RESULTS / "speed.json").read_text()))
    texts = texts_as_markdown(json.loads((RESULTS / "speed-texts.json").read_text()))
    lines = [*beside_as_markdown(beside), *texts, peers]
    (RESULTS / "speed.md").write_text("\n".join(lines))
    draw_beside(beside, RESULTS / "speed.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--before", help="a work tree of an earlier commit")
    parser.add_argument("--texts", action="store_true", help="text columns and explaining")
    arguments = parser.parse_args()
    if arguments.texts:
        report = compare_texts(arguments.before)
        (RESULTS / "speed-texts.json").write_text(json.dumps(report, indent=1))
        write_pages()
        return
    if arguments.before:
        report = compare(arguments.before)
        (RESULTS / "speed-beside.json").write_text(json.dumps(report, indent=1))
        write_pages()
        return
    if arguments.one:
        name, n, m, *more = arguments.one
        found = CHILDREN.get(name, partial(measure, name))(int(n), int(m), *more)
        print(json.dumps(found))
        return
    report = run(arguments.quick)
    page = as_markdown(report)
    print(page)
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "speed.json").write_text(json.dumps(report, indent=1))
        draw(report, RESULTS / "speed-peers.svg")
        write_pages()


if __name__ == "__main__":
    main()
