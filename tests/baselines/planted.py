"""Small tables with planted subspaces, on which HiCS here and in ELKI are compared."""

import numpy as np

N_ROWS, N_ODD = 300, 12


def line_and_ring(rng):
    x, angle = rng.random(N_ROWS), rng.uniform(0, 2 * np.pi, N_ROWS)
    return [x, 1 - x, np.cos(angle), np.sin(angle)], [(0, 1), (2, 3)], 1


def product(rng):
    x, y = rng.random((2, N_ROWS))
    return [x, y, x * y], [(0, 1, 2)], 2


def line_in_noise(rng):
    x = rng.random(N_ROWS)
    return [x, 1 - x], [(0, 1)], 1


def three_lines(rng):
    x, y, z = rng.random((3, N_ROWS))
    return [x, x, y, 1 - y, z, z], [(0, 1), (2, 3), (4, 5)], 0


def clusters(rng):
    centres = np.array([[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [1, 1, 1, 1, 1]])
    return list(centres[rng.integers(0, 4, N_ROWS)].T.astype(float)), [(0, 1, 2), (3, 4)], 1


def make(name):
    """Return rows (rounded, so that text holds them exactly) and which of them are odd."""
    rng = np.random.default_rng(sum(map(ord, name)))
    columns, subspaces, n_noise = SETS[name](rng)
    X = np.column_stack(columns) + rng.normal(0, 0.03, (N_ROWS, len(columns)))
    odd = rng.permutation(N_ROWS)[:N_ODD]
    for k, row in enumerate(odd):
        # Values of other rows: common one by one, wrong together.
        for column in subspaces[k % len(subspaces)]:
            X[row, column] = X[rng.integers(N_ROWS), column]
    X = np.column_stack([X, rng.random((N_ROWS, n_noise))])
    return X.round(6), np.isin(np.arange(N_ROWS), odd)


SETS = {f.__name__: f for f in (line_in_noise, line_and_ring, product, clusters, three_lines)}
