"""Which columns a tree looks at in a wide table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from admercs.method.settings import Trees
from admercs.pipeline.grow import allowed_inputs, tree_inputs
from admercs.table import read_frame
from admercs.table.bins import Binning
from admercs.table.schema import learn_schema
from admercs.table.summary import summarise
from admercs.trees.row_sample import sample_rows
from admercs.trees.screening import dependence, parts_of

from .tools import grow, mixed

PARTS, SAMPLE = Trees().search.parts, Trees().search.sample


def marks_of(parts: np.ndarray) -> np.ndarray:
    return np.concatenate([parts == k for k in range(PARTS)]).astype(np.float32)


def test_all_pairs_have_pearsons_chi_squared() -> None:
    grown = grow(mixed(2), Trees(), nominal=[2, 3])
    triples = zip(grown.codes, grown.binning.n_codes, grown.binning.is_nominal, strict=True)
    parts = np.stack([parts_of(*each, PARTS) for each in triples])
    assert parts.max() <= PARTS
    found = dependence(marks_of(parts), slice(1, 3), PARTS)
    for row, m in enumerate((1, 2)):
        for k in range(len(parts)):
            shared = np.zeros((PARTS + 1, PARTS + 1))
            np.add.at(shared, (parts[m], parts[k]), 1)
            shared = shared[shared.any(axis=1)][:, shared.any(axis=0)]
            expected = chi2_contingency(shared, correction=False).statistic
            n = parts.shape[1]
            assert found[row, k] - n == pytest.approx(expected, rel=1e-4, abs=0.05)


def test_parts_hold_equally_many_rows_and_ties_stay_together() -> None:
    codes = np.repeat(np.arange(1, 41), 10).astype(np.uint8)
    assert np.bincount(parts_of(codes, 42, False, PARTS))[1:].tolist() == [100] * 4
    heavy = np.where(np.arange(400) < 300, 5, codes).astype(np.uint8)
    assert len(np.unique(parts_of(heavy, 42, False, PARTS)[heavy == 5])) == 1


def wide(pattern: str, n_columns: int = 120, n: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, n_columns))
    if pattern == "cross":
        X[:, 100] = X[:, 7] * rng.choice([-1, 1], n) + rng.normal(scale=0.02, size=n)
    else:
        angle = rng.uniform(0, 2 * np.pi, n)
        X[:, 7], X[:, 100] = np.cos(angle), np.sin(angle)
    return X


def screened(X: np.ndarray, most: int) -> list[set[int]]:
    """Return the columns of the table that each column's tree looks at."""
    settings = replace(Trees(), inputs=most)
    grown = grow(X, settings)
    schema = learn_schema(summarise(read_frame(X), "auto"))
    sample = sample_rows(grown.codes, SAMPLE)
    layouts = tree_inputs(allowed_inputs(schema), sample, grown.binning, settings)
    assert all(layout.candidates > 250 * (X.shape[1] - 2) for layout in layouts)
    return [set(layout.inputs.tolist()) for layout in layouts]


@pytest.mark.parametrize("pattern", ["cross", "ring"])
def test_columns_without_a_shift_of_the_mean_find_each_other(pattern: str) -> None:
    looks = screened(wide(pattern), most=10)
    assert all(len(inputs) == 10 for inputs in looks)
    assert 100 in looks[7]
    assert 7 in looks[100]
    forest = grow(wide(pattern), Trees()).forest
    assert forest.feature[forest.root[7]] == 100
    assert forest.feature[forest.root[100]] == 7


def test_the_choice_depends_on_no_order() -> None:
    X, rng = wide("ring")[:, 80:110], np.random.default_rng(5)
    rows, columns = rng.permutation(len(X)), rng.permutation(30)
    one, two = screened(X, 6), screened(X[rows], 6)
    assert one == two
    # The sampled rows of a short table are all its rows.
    moved = screened(X[:, columns], 6)
    assert [{int(columns[k]) for k in moved[m]} for m in np.argsort(columns)] == one


def test_every_allowed_input_is_looked_at_up_to_the_limit() -> None:
    X = np.random.default_rng(0).normal(size=(300, 12))
    grown, settings = grow(X, Trees()), Trees()
    allowed = [np.array([0, 3, 5])] * 12
    layouts = tree_inputs(allowed, sample_rows(grown.codes, SAMPLE), grown.binning, settings)
    assert all(layout.inputs.tolist() == [0, 3, 5] for layout in layouts)
    narrow = tree_inputs(
        allowed, sample_rows(grown.codes, SAMPLE), grown.binning, replace(settings, inputs=2)
    )
    assert all(set(layout.inputs) < {0, 3, 5} and len(layout.inputs) == 2 for layout in narrow)


def test_binning_is_not_needed_where_nothing_is_left_out() -> None:
    none = Binning((), np.empty(0, np.int32), np.empty(0, bool), np.uint8)
    assert tree_inputs([], sample_rows(np.empty((0, 5), np.uint8), SAMPLE), none, Trees()) == []
