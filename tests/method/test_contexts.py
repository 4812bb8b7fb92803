"""What anomalous contexts add to their rows, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.method.feedback import Contexts, ContextStep, context_evidence
from admercs.method.settings import Feedback, NoisyOr, Odds

from ..density.tools import make_forest

PAPER = Feedback(most=None)
# Two trees: nodes 0 … 2 and 3 … 5; the leaves are 1, 2, 4 and 5.
FOREST = make_forest(2, 2)
CONTEXTS = Contexts(
    leaf=np.array([1, 4, 5], np.int32),
    low=np.array([-np.inf, 0.5, -np.inf]),
    high=np.array([np.inf, 2.0, 1.0]),
    n=np.array([10, 20, 30]),
    log_lambda=np.log([0.9, 0.3, 1e-3]),
    redundant=np.zeros(3, np.uint64),
    member_ptr=np.array([0, 2, 3, 5]),
    member=np.array([7, 8, 1, 0, 4]),
)


def test_a_context_is_a_leaf_or_a_range_of_its_target() -> None:
    assert [CONTEXTS.is_range(k) for k in range(3)] == [False, True, True]
    assert [CONTEXTS.at(leaf) for leaf in range(7)] == [-1, 0, -1, -1, 1, 2, -1]
    assert [CONTEXTS.members(k).tolist() for k in range(3)] == [[7, 8], [1], [0, 4]]
    assert Contexts.none().at(3) == -1


def test_a_range_holds_its_end_and_no_missing_value() -> None:
    x = np.array([-1e300, 0.5, 0.6, 2.0, 2.1, np.nan])
    step = ContextStep(CONTEXTS, FOREST, Feedback(), Odds())

    def inside(leaf: int) -> list[bool]:
        tree = int(leaf > 2)
        leaves = np.full((2, len(x)), [[2], [3]], np.int32)
        leaves[tree] = leaf
        return (step.apply(leaves, np.stack([x, x]), np.zeros((2, len(x))))[tree] > 0).tolist()

    assert all(inside(1))  # a whole leaf: missing values, too
    assert inside(4) == [False, False, True, True, False, False]
    assert inside(5) == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("feedback", "evidence"),
    [
        (Feedback(), Odds()),
        (Feedback(most=0.2), Odds()),
        (Feedback(most=None), Odds()),
        (PAPER, NoisyOr(0.9)),
        (PAPER, NoisyOr(1.0)),
    ],
)
def test_rows_of_a_context_get_what_its_score_is_worth(
    feedback: Feedback, evidence: Odds | NoisyOr
) -> None:
    rng = np.random.default_rng(0)
    leaf = np.stack([rng.choice([1, 2], 200), rng.choice([4, 5], 200)]).astype(np.int32)
    block = rng.normal(1, 1, (2, 200))
    block[rng.random(block.shape) < 0.1] = np.nan
    block[1, :60] = np.repeat([0.5, 1.0, 2.0], 20)  # at the ends of ranges
    log_omega = -rng.exponential(size=(2, 200))
    found = ContextStep(CONTEXTS, FOREST, feedback, evidence).apply(leaf, block, log_omega)
    lam = np.exp(CONTEXTS.log_lambda)
    for (tree, i), added in np.ndenumerate(found):
        k = CONTEXTS.at(int(leaf[tree, i]))
        x = block[tree, i]
        if k < 0 or (CONTEXTS.is_range(k) and not CONTEXTS.low[k] < x <= CONTEXTS.high[k]):
            assert added == 0
        elif isinstance(evidence, Odds):
            most = np.inf if feedback.most is None else feedback.most
            assert added == pytest.approx(min(most, -np.log(1 - lam[k])))
        else:
            omega, gamma = np.exp(log_omega[tree, i]), evidence.gamma_delta
            v = lam[k] + (1 - lam[k]) * (1 - omega)
            expected = np.log(1 - gamma * (1 - omega)) - np.log(1 - gamma * v)
            assert added == pytest.approx(expected, rel=1e-9)
    assert np.count_nonzero(found) > 100


def test_the_limit() -> None:
    log_not_lambda, log_omega = np.log([0.9, 0.5, 1e-6]), np.zeros(3)
    found = context_evidence(log_not_lambda, log_omega, Feedback(), Odds())
    np.testing.assert_allclose(found, [-np.log(0.9), -np.log(0.5), 1.0])


def test_a_context_of_groups_holds_the_rows_of_all_of_them() -> None:
    forest = make_forest(4)  # the root, and two nodes of two leaves each: 1 and 4
    one = Contexts(*(column[:1] for column in CONTEXTS[:6]), np.array([0, 0]), np.empty(0, int))
    step = ContextStep(one, forest, Feedback(), Odds())
    leaf = np.array([[2, 3, 5, 6]], np.int32)
    assert (step.apply(leaf, np.zeros((1, 4)), np.zeros((1, 4)))[0] > 0).tolist() == [
        True, True, False, False,
    ]  # fmt: skip
