"""Scoring: parts add up, and neither blocks, threads nor the order of rows change anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.facets import prepare
from admercs.pipeline import score
from admercs.pipeline.model import Model
from admercs.pipeline.score import (
    Parts,
    Scorer,
    join_parts,
    run_blocks,
    score_cells,
    score_evidence,
)
from admercs.table import Prepared, read_frame

from ..method.test_settings import shops

METHODS = {
    "default": Method(),
    "paper": Method.paper("Synth-I"),
    "no marginal view": replace(Method(), marginal=False, neighbours=None),
    "alone": replace(Method(), feedback=None, neighbours=None),
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    table = shops(700)
    table["noise"] = np.random.default_rng(0).normal(size=700)  # a tree without a split
    table["same"] = 1.0  # a column that is set aside
    return table


@pytest.fixture(scope="module", params=METHODS)
def model(request: pytest.FixtureRequest, table: pd.DataFrame) -> ADMERCS:
    with pytest.warns(UserWarning, match="same"):
        return ADMERCS(method=METHODS[request.param]).fit(table)


@pytest.fixture(scope="module")
def prepared(model: ADMERCS, table: pd.DataFrame) -> Prepared:
    return prepare(read_frame(table), model.model_.schema)


def parts_of(model: ADMERCS, table: Prepared) -> Parts:
    return Scorer(model.model_).score(table.block(0, table.n_rows))


def take(parts: Parts, rows: np.ndarray | slice) -> Parts:
    some: Any = (None if part is None else part[..., rows] for part in parts)
    return Parts(*some)


def same_parts(one: Parts, other: Parts) -> None:
    for name, a, b in zip(one._fields, one, other, strict=True):
        if a is None or b is None:
            assert a is b
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_parts_add_up(model: ADMERCS, prepared: Prepared) -> None:
    parts = parts_of(model, prepared)
    evidence = parts.evidence()
    np.testing.assert_allclose(parts.cells().sum(axis=0), evidence, rtol=1e-12)
    for part in (parts.pattern, parts.context, parts.isolation, parts.neighbours):
        assert part is None or part.min() >= 0
    np.testing.assert_array_equal(score_evidence(model.model_, prepared), evidence)
    cells = score_cells(model.model_, prepared)
    credited = model.model_.credited
    np.testing.assert_array_equal(cells, by_column(parts.cells(), model))
    assert not np.delete(cells, credited, axis=1).any()  # set aside


def by_column(cells: np.ndarray, model: ADMERCS) -> np.ndarray:
    """Add up the evidence of the attributes that is credited to each column (rows x columns)."""
    columns = np.zeros((cells.shape[1], len(model.columns_)))
    for position, evidence in zip(model.model_.credited, cells, strict=True):
        columns[:, position] += evidence
    return columns


def test_training_rows_have_their_training_scores(model: ADMERCS, prepared: Prepared) -> None:
    evidence = score_evidence(model.model_, prepared)
    np.testing.assert_array_equal(-np.expm1(-evidence), model.scores_)


def test_leaves_that_are_known_change_nothing(model: ADMERCS, prepared: Prepared) -> None:
    scorer, block = Scorer(model.model_), prepared.block(0, prepared.n_rows)
    found = scorer.score(block)
    same_parts(scorer.score(block, found.leaf), found)


@pytest.mark.parametrize("block", [1, 7, 350, 699, 700])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_neither_blocks_nor_threads_change_anything(
    model: ADMERCS,
    prepared: Prepared,
    table: pd.DataFrame,
    block: int,
    n_jobs: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = parts_of(model, prepared)
    n = 60 if block == 1 else 700
    some = prepare(read_frame(table.head(n)), model.model_.schema)
    monkeypatch.setattr(score, "BLOCK", block)
    cuts = [*range(0, n, block), n]
    blocks = [Scorer(model.model_).score(some.block(a, b)) for a, b in pairwise(cuts)]
    same_parts(join_parts(blocks), take(whole, slice(0, n)))
    np.testing.assert_array_equal(score_evidence(model.model_, some, n_jobs), whole.evidence()[:n])
    np.testing.assert_array_equal(
        score_cells(model.model_, some, n_jobs), by_column(whole.cells(), model)[:n]
    )


def test_the_order_of_rows_changes_nothing(
    model: ADMERCS, prepared: Prepared, table: pd.DataFrame
) -> None:
    order = np.random.default_rng(1).permutation(len(table))
    moved = prepare(read_frame(table.iloc[order]), model.model_.schema)
    same_parts(parts_of(model, moved), take(parts_of(model, prepared), order))


def test_no_rows(model: ADMERCS, prepared: Prepared) -> None:
    block = prepared.block(0, 0)
    assert Scorer(model.model_).score(block).evidence().shape == (0,)


def test_a_tree_without_a_split_is_counted_once(model: ADMERCS, prepared: Prepared) -> None:
    fitted: Model = model.model_
    stumps = np.flatnonzero(np.diff(fitted.forest.root) == 1)
    parts = parts_of(model, prepared)
    assert not parts.speaker[stumps].any()
    assert len(stumps) or fitted.method.trees.price is None  # the paper splits noise


def test_neighbours_are_added_after_everything_else(model: ADMERCS, prepared: Prepared) -> None:
    known, block = model.model_.references, prepared.block(0, prepared.n_rows)
    scorer = Scorer(model.model_)
    alone, together = scorer.score_alone(block), scorer.score(block)
    if known is None:
        same_parts(alone, together._replace(credited=None))
        return
    nearest = known.compare(block)
    np.testing.assert_array_equal(alone.pattern, together.pattern)
    assert together.isolation is not None
    assert together.neighbours is not None
    np.testing.assert_allclose(together.isolation.sum(axis=0), together.alone, rtol=1e-12)
    np.testing.assert_allclose(together.neighbours.sum(axis=0), together.passed, rtol=1e-12)
    own = alone.evidence() + together.isolation.sum(axis=0)
    others = known.weight * np.maximum(0, nearest.evidence - known.typical)
    np.testing.assert_allclose(together.evidence(), np.hypot(own, others), rtol=1e-9)


def test_blocks_are_worked_on_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "BLOCK", 10)
    seen: list[tuple[int, int]] = []
    run_blocks(lambda a, b: seen.append((a, b)), 25, 3)
    assert sorted(seen) == [(0, 10), (10, 20), (20, 25)]

    def fails(start: int, stop: int) -> None:
        if start == 10:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_blocks(fails, 25, 2)
