"""Values at the far ends of their columns: a sign where the ends of columns coincide."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from admercs import ADMERCS, Method
from admercs.method.far_ends import FarEnds, learn_ends
from admercs.method.neighbours import ReferenceRows
from admercs.method.rank_distance import RankDistance
from admercs.pipeline.score import Parts, Scorer, SingleViews, compared_evidence
from admercs.table.bins import Binning

from .test_neighbours import evidence, fit, frauds, references, working_values

NO_ENDS = Method().change({"neighbours.ends": 0.0})


def contaminated(seed: int = 0, n: int = 600, bad: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which a fifth lie near both ends of all columns, as groups of their own."""
    rng = np.random.default_rng(seed)
    size, side = rng.normal(size=n), rng.choice([-1, 1], n)
    X = 0.7 * size[:, None] + rng.normal(size=(n, 6))
    y = np.arange(n) < bad
    X[y] = 1.6 * side[y, None] + 0.8 * rng.normal(size=(bad, 6))
    return X, y


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return frauds(200, 20)[0]


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ADMERCS:
    return fit(table)


def single_views(model: ADMERCS, values: np.ndarray) -> tuple[Parts, np.ndarray]:
    """Return the parts of all rows, and what contexts alone and the whole table alone say."""
    told = SingleViews(np.arange(values.shape[1]), [])
    return Scorer(model.model_).score_alone(values, told=told), told.said[0]


def squared_ranks(table: pd.DataFrame) -> np.ndarray:
    """Return the squared centred rank of each number, 0 where there is none (rows x columns)."""
    numbers = table.select_dtypes("number")
    share = (numbers.rank() - 0.5) / numbers.notna().sum()
    return np.nan_to_num(((np.rint(254 * share) / 127 - 1) ** 2).to_numpy())


def halves(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared ranks in the lower and in the upper half of each column."""
    numbers, far = table.select_dtypes("number"), squared_ranks(table)
    above = (numbers.rank() > (numbers.notna().sum() + 1) / 2).to_numpy()
    return np.where(above, 0, far), np.where(above, far, 0)


def test_the_weights_are_the_formula(model: ADMERCS, table: pd.DataFrame) -> None:
    known, (low, high) = references(model), halves(table)
    far, values = low + high, working_values(model, table)
    k, n, total = far.shape[1], len(far), far.sum(axis=1)
    alpha = k / (k - 1) * (1 - far.var(axis=0).sum() / total.var())
    weight = np.zeros((2, k))
    for side, one in enumerate((low, high)):
        for m in range(k):
            weight[side, m] = 1 + np.corrcoef(one[:, m], total - far[:, m])[0, 1]
    found = low @ weight[0] + high @ weight[1]
    parts, told = single_views(model, values)
    agreement = np.corrcoef(told)[0, 1]
    nearest = known.compare(values)._replace(ends=np.zeros(n))
    compared = compared_evidence(model.model_.method, known, parts.evidence(), nearest)
    before = sum((each for each in compared if each is not None), parts.evidence())
    most = 5 * agreement * alpha * np.quantile(before, 0.75)
    expected = most * np.minimum(1, found / np.quantile(found, 0.99))
    assert agreement > 0.1
    assert known.most == pytest.approx(most, rel=2e-3)
    np.testing.assert_allclose(known.compare(values).ends, expected, rtol=2e-3)


def test_contexts_and_the_whole_table_are_told_apart() -> None:
    X, _ = contaminated()
    model = fit(X)
    parts, told = single_views(model, working_values(model, X))
    # The least likely view of each value counts, and so no view has more than all together.
    assert np.all(told.max(axis=0) <= parts.pattern.sum(axis=0) + 1e-9)
    assert np.abs(told[0] - told[1]).max() > 1


def learnt(columns: np.ndarray) -> FarEnds:
    """Return what is learnt of columns whose values are codes from 1."""
    m, none = len(columns), np.zeros(len(columns), np.bool_)
    counts = [np.bincount(each, minlength=102) for each in columns]
    ranks = RankDistance.of(
        Binning((np.arange(1, 100.5),) * m, np.full(m, 102, np.int32), none, np.uint8), counts, none
    )
    profile = ranks.of_codes(list(columns))
    found = learn_ends(ranks, profile, np.ones(columns.shape[1], np.int64))
    # Rows that occur several times count as often.
    rows, times = np.unique(profile, axis=1, return_counts=True)
    again = learn_ends(ranks, rows, times)
    np.testing.assert_allclose(again.weight, found.weight, atol=1e-9)
    assert again.alpha == pytest.approx(found.alpha, abs=1e-9)
    assert again.top == pytest.approx(found.top)
    return found


def test_ends_that_coincide_count_more() -> None:
    rng = np.random.default_rng(0)
    own = rng.integers(1, 102, (4, 5000))
    alone, same = learnt(own), learnt(np.tile(own[:1], (4, 1)))
    assert alone.alpha < 0.1
    np.testing.assert_allclose(alone.weight, 1, atol=0.05)
    assert same.alpha == pytest.approx(1, abs=0.01)
    assert same.weight.min() > 1.3
    one_sided = own.copy()
    one_sided[1:, own[0] > 80] = own[0, own[0] > 80]  # only the upper ends
    weight = learnt(one_sided).weight
    assert weight[1].min() > weight[0].max() + 0.3
    assert learnt(np.ones((3, 50), np.int64)).alpha == 0


def test_where_columns_are_noise_far_ends_do_not_count() -> None:
    X = np.random.default_rng(1).normal(size=(2000, 8))
    known = references(fit(X))
    assert not known.ends.any()


def test_groups_at_the_ends_of_columns_are_found() -> None:
    gains = []
    for seed in range(3):
        X, y = contaminated(seed)
        found, without = (roc_auc_score(y, fit(X, method).scores_) for method in (None, NO_ENDS))
        gains.append(found - without)
    assert min(gains) > 0
    assert np.mean(gains) > 0.02


def test_two_columns_and_normal_rows_have_no_far_ends() -> None:
    X, _ = contaminated()
    assert references(fit(X)).ends.min() > 0
    assert not references(fit(X[:, :2])).ends.any()
    assert not references(ADMERCS(novelty=True).fit(X)).ends.any()


def test_rows_add_up_and_nothing_depends_on_their_order() -> None:
    X, _ = contaminated()
    model, order = fit(X), np.random.default_rng(3).permutation(len(X))
    parts = Scorer(model.model_).score(working_values(model, X))
    assert parts.ends is not None
    assert parts.far is not None
    assert parts.far.max() > 0.2
    np.testing.assert_allclose(parts.ends.sum(axis=0), parts.far, rtol=1e-9)
    np.testing.assert_allclose(model.score_cells(X).sum(axis=1), evidence(model, X), rtol=1e-9)
    again = fit(X[order])
    np.testing.assert_array_equal(again.scores_, model.scores_[order])
    known: list[ReferenceRows] = [references(each) for each in (model, again)]
    np.testing.assert_array_equal(known[0].ends, known[1].ends)


def test_reasons_name_the_columns() -> None:
    X, _ = contaminated()
    names = [f"figure {k}" for k in range(6)]
    frame = pd.DataFrame(X, columns=names)
    model = fit(frame)
    told = [
        reason
        for row in model.explain(frame.head(120), top=None)
        for reason in row.reasons
        if reason.kind == "ends"
    ]
    assert len(told) > 60
    far = [reason for reason in told if "of its values lie at the far ends of" in reason.text]
    assert len(far) > 30
    for reason in told:
        assert all(name in reason.text for name in reason.attributes)
    row = model.explain(frame.head(1), top=None)[0]
    assert sum(reason.evidence for reason in row.reasons) == pytest.approx(row.evidence, rel=1e-6)
