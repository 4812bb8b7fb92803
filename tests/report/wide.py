"""A table of 30 columns with many dependencies, so that every row has much to tell."""

import numpy as np
import pyarrow as pa


def wide_table(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 8, n_rows)
    columns = {}
    for j in range(22):
        columns[f"measurement number {j}"] = (rng.normal(3 * group, 1 + j / 22) ** 2).round(4)
    for j in range(8):
        names = np.array([f"category {k} of {j}" for k in range(12)])
        columns[f"property {j}"] = names[(group + rng.integers(0, 2 + j, n_rows)) % 12]
    return pa.table(columns)
