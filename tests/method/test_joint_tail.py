"""Joint tail: rows near the ends of several columns at once, in tables where ends go together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.method.joint_tail import (
    UNIT,
    JointScale,
    JointTailStep,
    find_ends,
    learn_joint_tail,
    read_surprise,
    sum_products,
    sum_surprises,
)
from admercs.method.settings import JointTail, Tail

SHARES = Tail().shares
N = 2000


def sizes(seed: int = 0, n: int = N, shared: float = 1.0) -> pd.DataFrame:
    """Columns that are large together as far as `shared` says, and one of few values."""
    rng = np.random.default_rng(seed)
    size = shared * rng.normal(size=n)
    table = {f: size + rng.normal(size=n) for f in ("length", "width", "weight")}
    return pd.DataFrame(table | {"doors": rng.choice([2.0, 3.0, 4.0, 5.0], n)})


def two_sided(column: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return −log of twice the share of rows at a value or beyond; half of those that are equal."""
    below = (column[None] < x[:, None]).sum(axis=1) + (column[None] == x[:, None]).sum(axis=1) / 2
    share = np.minimum(below, len(column) - below) / len(column)
    return -np.log(np.minimum(1.0, 2 * share))


@pytest.fixture(scope="module")
def model() -> ADMERCS:
    return ADMERCS().fit(sizes())


def surprises(model: ADMERCS, table: pd.DataFrame) -> dict[str, np.ndarray]:
    used = model.model_.schema.used
    return {
        (name := used[end.column].name): read_surprise(end, table[name].to_numpy()) / UNIT
        for end in model.model_.ends
    }


def test_surprise_is_that_of_the_share_of_rows_further_out(model: ADMERCS) -> None:
    table = sizes()
    found = surprises(model, table)
    assert found.keys() == set(table)
    for name in ("length", "width", "weight"):
        # Between two of the quantiles that are kept, the share is interpolated.
        expected = two_sided(table[name].to_numpy(), table[name].to_numpy())
        assert np.abs(found[name] - expected).mean() < 0.15
        assert np.corrcoef(found[name], expected)[0, 1] > 0.98
    doors = table["doors"].to_numpy()
    np.testing.assert_allclose(found["doors"], two_sided(doors, doors), atol=1 / UNIT)


def test_missing_values_and_values_beyond(model: ADMERCS) -> None:
    names = [column.name for column in model.model_.schema.used]
    end = next(end for end in model.model_.ends if names[end.column] == "length")
    x = np.array([np.nan, 1e6, -1e6, np.inf, end.middle])
    found = read_surprise(end, x) / UNIT
    assert found[0] == 0
    assert found[4] < 0.2
    np.testing.assert_allclose(found[1:4], np.log(N), atol=1 / UNIT)  # half a row beyond


def test_text_has_no_ends_and_one_column_alone_has_none() -> None:
    table = sizes()[["length"]].assign(town=np.random.default_rng(1).choice(list("abc"), N))
    fitted = ADMERCS().fit(table).model_
    assert fitted.ends == []
    assert fitted.joint_tail is None


def test_independent_columns_do_not_count() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(N, 8))
    with_it, without = ADMERCS().fit(X), ADMERCS(method=Method(joint_tail=None)).fit(X)
    evidence = [-model.score_samples(X) for model in (with_it, without)]
    assert np.abs(evidence[0] - evidence[1]).max() < 0.01


def oracle(totals: np.ndarray, columns: np.ndarray, evidence: np.ndarray) -> float:
    """Return (α r)² log 5 / (q90 − median), in floating point."""
    m = len(columns)
    alpha = m / (m - 1) * (1 - columns.var(axis=1).sum() / totals.var())
    r = np.corrcoef(totals, evidence)[0, 1]
    middle, high = np.quantile(totals, [0.5, 0.9])
    return (alpha * r) ** 2 * np.log(5) / (high - middle)


def test_what_is_learnt_agrees_with_the_formula(model: ADMERCS) -> None:
    ends, table = model.model_.ends, sizes()
    block = np.stack([table[column.name] for column in model.model_.schema.used])
    evidence = np.random.default_rng(2).exponential(size=N) + np.abs(block).max(axis=0)
    read = sum_surprises(ends, block.__getitem__, N)
    products = sum_products(read.total, evidence)
    middle, high = np.quantile(read.total, [0.5, 0.9])
    scale = learn_joint_tail(JointTail(weight=3.0), read.sums, products, middle, high)
    assert scale is not None
    columns = np.stack([read_surprise(end, block[end.column]) for end in ends]).astype(float)
    expected = 3 * oracle(columns.sum(axis=0), columns, np.rint(evidence * UNIT))
    assert scale.slope == pytest.approx(expected)
    assert scale.middle == middle
    # In pieces: the same sums.
    parts = [slice(0, 700), slice(700, N)]
    halves = [block[:, part] for part in parts]
    pieces = [sum_surprises(ends, half.__getitem__, half.shape[1]) for half in halves]
    np.testing.assert_array_equal(sum(piece.sums for piece in pieces), read.sums)
    both = [sum_products(p.total, evidence[part]) for p, part in zip(pieces, parts, strict=True)]
    np.testing.assert_array_equal(sum(both), products)


def test_evidence_that_disagrees_is_no_reason_to_count() -> None:
    total = np.arange(100.0)
    sums = np.array([[2000, 2950], [90_000, 120_000]])
    against = sum_products(total, 10 - total / 10)
    assert learn_joint_tail(JointTail(), sums, against, 50.0, 90.0) is None
    alike = sum_products(np.full(100, 7.0), total)
    assert learn_joint_tail(JointTail(), sums, alike, 7.0, 7.0) is None


def test_what_is_added_is_credited_to_the_columns(model: ADMERCS) -> None:
    table = sizes(1)
    block = np.stack([table[column.name] for column in model.model_.schema.used])
    fitted = model.model_
    scale = JointScale(middle=2.0 * UNIT, slope=1.0 / UNIT)
    own = np.linspace(0, 5, N)
    added, cells = JointTailStep(fitted.ends, scale, 0.1).apply(block, own)
    np.testing.assert_allclose(cells.sum(axis=0), added, rtol=1e-12, atol=1e-15)
    total = sum(read_surprise(end, block[end.column]).astype(float) for end in fitted.ends) / UNIT
    o = np.log1p(0.1 * np.expm1(np.maximum(0.0, total - 2)))
    np.testing.assert_allclose(added, np.sqrt(own**2 + o**2) - own, atol=1e-12)
    assert (added[total <= 2] == 0).all()


def test_a_row_at_the_end_of_all_columns_is_found_and_told() -> None:
    table = sizes()
    table.loc[7, ["length", "width", "weight"]] = [4.0, 4.1, 4.0]
    model = ADMERCS().fit(table)
    row = model.explain(table, top=None).rows[7]
    joint = next(reason for reason in row.reasons if reason.kind == "joint")
    assert joint.text.startswith("This row is near the ends of several columns at once, mostly of ")
    assert "among the highest 0." in joint.text
    assert sum(reason.evidence for reason in row.reasons) == pytest.approx(row.evidence)
    # A pair of ends that are opposite is as near to them.
    low = -table
    text = ADMERCS().fit(low).explain(low, top=None).rows[7].reasons
    assert any("among the lowest 0." in reason.text for reason in text if reason.kind == "joint")


def test_facets_and_other_quantiles_are_no_ends(model: ADMERCS) -> None:
    fitted = model.model_
    none = find_ends(
        fitted.likelihoods, fitted.forest.root, np.ones(len(fitted.schema.used), bool), SHARES
    )
    assert none == []
