"""Tables larger than a worker: fit and score on Dask with little memory, against the fit in memory.

Writes tables of mixed columns to disk as Parquet, fits and scores them on two worker processes of
one thread and 2 GB each, and compares time per row and core with the fit of a tenth of the table in
memory on one core. Time is given on the clock and as processor time, which other work on the
machine disturbs less.

    python benchmarks/scale.py                      # 1, 3 and 10 million rows
    python benchmarks/scale.py --rows 1000000
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
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
PART = 250_000
MEMORY = "4GB"  # of all workers
N_WORKERS = 2
COLUMNS = 20


def make_part(number: int, n: int) -> pd.DataFrame:
    """Generate rows of a mixed table: 13 numbers, 2 counts, 3 texts, a date, a flag; with gaps."""
    rng = np.random.default_rng([7, number])
    z, w = rng.normal(size=n), rng.normal(size=n)
    kind = rng.integers(0, 12, n)
    zone = (rng.gamma(2.0, 3.0, n)).astype(np.int64).clip(0, 30)
    columns: dict[str, Any] = {
        "load": z,
        "power": z**2 + rng.normal(scale=0.1, size=n),
        "phase": np.sin(2 * z) + rng.normal(scale=0.1, size=n),
        "strain": np.where(z > 0, z, -0.5 * z) + rng.normal(scale=0.1, size=n),
        "noise_a": rng.normal(size=n),
        "flow": w,
        "pressure": 3 * w + kind + rng.normal(scale=0.2, size=n),
        "heat": np.exp(0.5 * w) + rng.normal(scale=0.05, size=n),
        "drift": w * z + rng.normal(scale=0.2, size=n),
        "cost": rng.lognormal(2, 0.7, n) * (1 + kind),
        "speed": np.where(kind % 3 == 0, 20.0, 55.0) + rng.normal(scale=5, size=n),
        "level": rng.uniform(size=n),
        "noise_b": rng.standard_t(4, size=n),
        "zone": zone,
        "retries": rng.poisson(0.7 + 0.2 * zone, n),
        "kind": np.array([f"kind {c}" for c in "abcdefghijkl"])[kind],
        "site": np.array([f"site {k:03d}" for k in range(200)])[(zone * 6 + kind // 2) % 200],
        "state": np.where(rng.random(n) < 0.97, np.where(z > 1, "high", "normal"), "test"),
        "when": np.datetime64("2024-01-01", "s") + rng.integers(0, 31_536_000, n).astype("m8[s]"),
        "alarm": (z > 1.5) ^ (rng.random(n) < 0.01),
    }
    table = pd.DataFrame(columns)
    for name in ("power", "heat", "cost", "kind", "noise_b"):
        table.loc[rng.random(n) < 0.03, name] = None
    odd = rng.random(n) < 0.0005
    table.loc[odd, "pressure"] = -table.loc[odd, "pressure"]
    return table


def generate(folder: Path, n_rows: int) -> Path:
    """Write a table to disk, unless it is there already."""
    target = folder / f"table-{n_rows}"
    parts = -(-n_rows // PART)
    if len(list(target.glob("*.parquet"))) == parts:
        return target
    target.mkdir(parents=True, exist_ok=True)
    for number in range(parts):
        n = min(PART, n_rows - number * PART)
        make_part(number, n).to_parquet(target / f"{number:05d}.parquet", index=False)
    return target


def processor_time() -> float:
    return time.process_time()


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_memory(folder: Path) -> dict[str, float]:
    """Read, fit and score in this process, on one core; the second time, when all is compiled."""
    from admercs import ADMERCS

    ADMERCS().fit(make_part(0, 5_000)).score_samples(make_part(1, 5_000))
    clock, cpu = time.perf_counter(), processor_time()
    table = pd.read_parquet(folder)
    read = processor_time()
    model = ADMERCS().fit(table)
    fitted, fitted_cpu = time.perf_counter(), processor_time()
    model.score_samples(table)
    return {
        "rows": len(table),
        "read_cpu": read - cpu,
        "fit_clock": fitted - clock,
        "fit_cpu": fitted_cpu - cpu,
        "score_clock": time.perf_counter() - fitted,
        "score_cpu": processor_time() - fitted_cpu,
        "peak_mb": peak_megabytes(),
    }


def on_dask(folder: Path) -> dict[str, Any]:
    """Fit on worker processes and write scores to disk."""
    import dask.dataframe as dd

    from admercs import ADMERCS
    from admercs.pipeline.local_cluster import local_cluster

    phases: dict[str, float] = {}
    started = time.perf_counter()

    def tell(phase: str, _done: int, _total: int) -> None:
        phases[phase] = time.perf_counter() - started

    with local_cluster(MEMORY, N_WORKERS) as client:
        small = dd.from_pandas(make_part(0, 5_000), npartitions=2)
        ADMERCS().fit(small).score_samples(small).compute()
        table = dd.read_parquet(folder)

        def used() -> float:
            """Processor time of workers, client and scheduler so far."""
            return processor_time() + sum(client.run(processor_time).values())

        cpu, started = used(), time.perf_counter()
        model = ADMERCS(verbose=tell).fit(table)
        fit_clock, fit_cpu = time.perf_counter() - started, used()
        with tempfile.TemporaryDirectory() as out:
            model.score_samples(table).to_frame().to_parquet(out)
            score_clock = time.perf_counter() - started - fit_clock
        score_cpu = used() - fit_cpu
        return {
            "rows": model.model_.n_rows,
            "partitions": table.npartitions,
            "leaves": int((model.model_.forest.feature < 0).sum()),
            "rounds": model.n_iter_,
            "fit_clock": fit_clock,
            "fit_cpu": fit_cpu - cpu,
            "score_clock": score_clock,
            "score_cpu": score_cpu,
            "worker_peak_mb": max(client.run(peak_megabytes).values()),
            "client_peak_mb": peak_megabytes(),
            "phases": phases,
        }


def measured(what: str, folder: Path, copies: int = 1) -> dict[str, Any]:
    """Run a measurement in a process of its own, or several side by side; return the mean."""
    command = [sys.executable, __file__, "--measure", what, "--folder", str(folder)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    environment = {**os.environ, **threads}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(copies)
    ]
    outputs = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit(f"the measurement {what!r} failed")
    results: list[dict[str, Any]] = [json.loads(text.splitlines()[-1]) for text in outputs]
    if copies == 1:
        return results[0]
    return {key: sum(result[key] for result in results) / copies for key in results[0]}


def report(found: list[dict[str, Any]], machine: str) -> str:
    """Write the results down as a page."""
    lines = [
        "# Tables larger than a worker",
        "",
        f"Measured by `benchmarks/scale.py` on {machine}: tables of {COLUMNS} mixed columns in",
        f"Parquet files of {PART:,} rows, on {N_WORKERS} Dask workers of one thread and {MEMORY}",
        "together, against one core in memory with a tenth of the rows (on each core at the same",
        "time). Reading the files is part of all figures. µs are processor time per row (on Dask:",
        "of workers, client and scheduler), so they compare cores whatever else the machine did;",
        "the clock is given beside them. The load is the machine's one-minute average before:",
        "where it is above the number of cores, all figures suffer.",
        "",
        "| rows | load | Dask: fit, clock | fit, µs a row | score, µs a row | worker peak "
        "| client peak | in memory (a tenth): fit, µs a row | of it reading | score, µs a row "
        "| ratio fit | ratio fit + score |",
        "|---" * 12 + "|",
    ]
    for row in found:
        far, near = row["dask"], row["memory"]
        n, k = far["rows"], int(near["rows"])
        fits = 1e6 * far["fit_cpu"] / n, 1e6 * near["fit_cpu"] / k
        scores = 1e6 * far["score_cpu"] / n, 1e6 * near["score_cpu"] / k
        lines.append(
            f"| {n:,} | {row['load']:.1f} | {far['fit_clock']:.0f} s | {fits[0]:.1f} "
            f"| {scores[0]:.1f} | {far['worker_peak_mb']:.0f} MB | {far['client_peak_mb']:.0f} MB "
            f"| {fits[1]:.1f} | {1e6 * near['read_cpu'] / k:.1f} | {scores[1]:.1f} "
            f"| {fits[0] / fits[1]:.2f} "
            f"| {(fits[0] + scores[0]) / (fits[1] + scores[1]):.2f} |"
        )
    lines += ["", "How far the clock was at the end of each phase, in seconds:", ""]
    phases = list(found[-1]["dask"]["phases"])
    lines += ["| rows | " + " | ".join(phases) + " |", "|---" * (len(phases) + 1) + "|"]
    for row in found:
        at = row["dask"]["phases"]
        cells = [f"{at[phase]:.0f}" if phase in at else "–" for phase in phases]
        lines.append(f"| {row['dask']['rows']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "admercs-scale"
    )
    parser.add_argument("--measure", choices=["memory", "dask"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        work = in_memory if options.measure == "memory" else on_dask
        print(json.dumps(work(options.folder)))
        return
    found = []
    for rows in options.rows:
        row: dict[str, Any] = {
            "load": os.getloadavg()[0],
            # As many copies as workers: cores that are all busy are slower than a single busy one.
            "memory": measured("memory", generate(options.folder, rows // 10), N_WORKERS),
            "dask": measured("dask", generate(options.folder, rows)),
        }
        found.append(row)
        print(json.dumps(row), flush=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.json").write_text(json.dumps({"machine": machine, "found": found}, indent=1))
    (RESULTS / "scale.md").write_text(report(found, machine))
    print(report(found, machine))


if __name__ == "__main__":
    main()
