import numpy as np
import pytest

from admercs.table.columns import Column

from .tools import make_forest, numeric

NOMINAL = Column("colour", 1, "nominal", "text", categories=("red", "green", "blue"), n_grouped=4)
DISCRETE = Column("doors", 2, "numeric", "integer", distinct=(2.0, 4.0, 5.0))


@pytest.fixture(scope="module")
def mixed():
    """A continuous, a nominal and a discrete target, three leaves each, some values missing."""
    rng = np.random.default_rng(7)
    n = 1500
    group = rng.integers(0, 3, n)
    values = [
        np.where(rng.random(n) < 0.04, np.nan, rng.normal(3.0 * group, 1 + group)),
        np.where(rng.random(n) < 0.5, group + 1.0, rng.integers(1, 5, n)),
        rng.choice([2.0, 4.0, 5.0], size=n, p=[0.05, 0.6, 0.35]),
    ]
    values[2][group == 2] = np.nan
    forest = make_forest(3, 3, 3)
    leaves = np.stack([forest.leaves(m)[group] for m in range(3)]).astype(np.int32)
    columns = [numeric(), NOMINAL, DISCRETE]
    return forest, values, leaves, columns
