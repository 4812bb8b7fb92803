"""Small contexts answer to the wider one they are a part of."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from admercs import ADMERCS
from admercs.detector.judge import Judge
from admercs.detector.model import PRIOR_ODDS
from admercs.evidence.noisy_or import WIDER_ODDS
from admercs.method.tail import read_lowered


def bad_batch(seed: int = 0, n: int = 1000, good: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which the last batch, and no other, breaks a relation of two columns.

    A share `good` of that batch happens to fit it.
    """
    rng = np.random.default_rng(seed)
    batch, x = rng.random(n), rng.random(n)
    bad = batch > 0.965
    side = np.where(x > 0.5, 1.0, 0.0)
    side[bad] = np.where(rng.random(bad.sum()) < good, side[bad], 1 - side[bad])
    return np.column_stack([x, side + rng.normal(0, 0.05, n), batch]), bad


def test_anomalies_in_a_leaf_of_their_own_kind_are_found() -> None:
    for seed in range(5):
        X, bad = bad_batch(seed)
        found = average_precision_score(bad, ADMERCS(n_iter=1).fit(X).scores_)
        # Their own leaves find little odd about them: the tree has seen that they are different.
        with patch("admercs.trees.judges.SMALL_SHARE", 0.0):
            alone = average_precision_score(bad, ADMERCS(n_iter=1).fit(X).scores_)
        assert found > 0.85
        assert alone < 0.2


def test_the_reason_speaks_of_the_wider_context() -> None:
    X, bad = bad_batch()
    model = ADMERCS(n_iter=1).fit(X)
    forest = model.model_.forest
    explained = model.explain(X[bad])
    spoken = 0
    for row, values in zip(explained, X[bad], strict=True):
        first = row.reasons[0]
        node = next(a for a in forest.path(first.context) if forest.n[a] == first.n)
        spoken += node == forest.wider[first.context]
        holds = np.array([
            all(c.holds(x[int(c.attribute[1])]) for c in first.conditions) for x in X
        ])  # fmt: skip
        assert holds.sum() == first.n
        assert all(c.holds(values[int(c.attribute[1])]) for c in first.conditions)
    assert spoken > 0.5 * bad.sum()


def test_the_strongest_view_speaks_and_says_how_strong_it_is() -> None:
    X, _ = bad_batch(3, n=900)  # too few rows for a tail of their own
    with patch("admercs.trees.growth.ZONE_LEAVES", 0):  # and no benefit of the doubt
        model = ADMERCS(n_iter=1).fit(X).model_
    block, forest = np.ascontiguousarray(X.T), model.forest
    with patch("admercs.evidence.excuses.LEAST_ROWS", 1 << 60):  # and no excuses
        judge = Judge(model)
    judgement = judge.judge(block)
    spoken = set()
    for m, column in enumerate(block):
        leaf = judgement.leaf[m]
        judges = {
            "leaf": leaf,
            "table": np.full_like(leaf, forest.root[m]),
            "wider": forest.wider[leaf],
        }
        evidence = {}
        for name, nodes in judges.items():
            odds = PRIOR_ODDS * (WIDER_ODDS if name == "wider" else 1.0)
            log_omega = read_lowered(
                model.tail, model.likelihoods, m, np.maximum(nodes, forest.root[m]), column
            )
            evidence[name] = np.where(nodes < 0, 0.0, np.log1p(odds * np.expm1(-log_omega)))
            spoken |= {name} if np.any(judgement.node[m] == nodes) else set()
        strongest = np.max(list(evidence.values()), axis=0)
        np.testing.assert_allclose(judgement.pattern[m], strongest, rtol=1e-9, atol=1e-12)
        odds = np.where(judgement.node[m] == judges["wider"], WIDER_ODDS, 1.0) * PRIOR_ODDS
        said = np.log1p(odds * np.expm1(-judgement.log_omega[m]))
        np.testing.assert_allclose(said, strongest, rtol=1e-9, atol=1e-12)
    assert spoken == {"leaf", "wider", "table"}
    cells = judge.cells(block)
    np.testing.assert_allclose(judgement.cells().sum(axis=0), cells.sum(axis=1))


def test_two_columns_have_no_third_to_testify() -> None:
    X, _ = bad_batch(5, good=0.2)
    assert ADMERCS().fit(X).contexts_
    # The batch and what is wrong in it, without the column that says so.
    two = ADMERCS().fit(X[:, 1:])
    assert not two.contexts_
    assert np.all(two.model_.log_lambda == -np.inf)


@pytest.mark.parametrize("n", [1000, 4000, 10_000])
def test_a_bad_batch_is_found_in_small_and_in_larger_tables(n: int) -> None:
    """A fifth of its rows looks fine; the more rows, the more of those."""
    X, bad = bad_batch(5, n, good=0.2)
    model = ADMERCS().fit(X)
    assert average_precision_score(bad, model.scores_) > 0.85
    first = model.contexts_[0]
    assert bad[list(first.members)].mean() > 0.7
    assert first.score > 0.9


def test_a_bad_batch_is_a_context_however_large_the_table() -> None:
    X, bad = bad_batch(0, n=40_000, good=0.2)
    contexts = ADMERCS().fit(X).contexts_
    assert contexts
    assert contexts[0].n > 500
    assert bad[list(contexts[0].members)].mean() > 0.7
