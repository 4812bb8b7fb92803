"""What the rows most like a row have against them counts against it, as far as the table bears it out."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles, make_synth_cs
from admercs.detector.judge import Judge
from admercs.detector.model import Model
from admercs.detector.neighbours import MOST_KNOWN, choose_rows
from admercs.detector.persist import ModelFileError
from admercs.detector.sanity import check_neighbours
from admercs.evidence.neighbours import APART, THIRD, WORD, Neighbours
from admercs.table import prepare, read_frame


def frauds(n: int = 400, bad: int = 20, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return shops of which some are alike: each a little odd in some of many columns, each in others."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    table = size[:, None] + rng.normal(size=(n, 8))
    y = np.arange(n) < bad
    table[:bad] = 1.5 + 0.5 * rng.normal(size=(bad, 8)) + 2 * (rng.random((bad, 8)) < 0.3)
    frame = pd.DataFrame(table, columns=[f"figure {k}" for k in range(8)])
    frame["town"] = rng.choice(["Linz", "Graz", "Wien"], n)
    frame.loc[rng.random(n) < 0.1, "figure 3"] = np.nan
    return frame, y


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return frauds()[0]


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(table)


def without(X: Any) -> ADMERCS:
    with patch("admercs.detector.neighbours.MOST_CELLS", 0):
        return ADMERCS().fit(X)


def hearing(X: Any) -> ADMERCS:
    """Return a model that does not mind how far away those most like a row are."""
    with patch("admercs.detector.neighbours.APART", 0.0):
        return ADMERCS().fit(X)


def evidence(model: ADMERCS, table: Any) -> np.ndarray:
    return -model.score_samples(table)


def working_values(model: Model, table: pd.DataFrame) -> np.ndarray:
    return prepare(read_frame(table), model.schema).block(0, len(table))


def by_hand(
    table: pd.DataFrame, guilt: np.ndarray, row: int, n_near: int
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return what comparing a row says, of a table of which all rows are known, by counting.

    What is heard, how far away the nearest are, and how far they and those as far as the last are in each column.
    """
    apart = np.empty((len(table), table.shape[1]))
    for place, name in enumerate(table):
        column = table[name]
        if name == "kind":
            apart[:, place] = 127 * (column != column[row]).to_numpy()
            continue
        rank = np.rint(254 * (column.rank() - 0.5) / column.notna().sum())
        unlike = (column.isna() != np.isnan(column[row])).to_numpy()
        both = (column.isna() & np.isnan(column[row])).to_numpy()
        between = (rank - rank[row]).abs().to_numpy()
        apart[:, place] = np.where(unlike, 127, np.where(both, 0, between))
    others = np.delete(np.arange(len(table)), row)
    apart = apart[others]
    away = apart.sum(axis=1)
    nearest = np.sort(away)[:n_near]
    weight = np.maximum(0, nearest[-1] + 1 - away)
    heard = weight @ guilt[others] / weight.sum()
    return heard, nearest.mean() / table.shape[1], apart[weight > 0].mean(axis=0)


def test_comparing_agrees_with_counting() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "count": rng.integers(0, 12, 150).astype(float),
            "size": rng.normal(size=150),
            "share": rng.random(150),
            "kind": rng.choice(["a", "b", "c"], 150).astype(object),
        }
    )
    table.loc[rng.random(150) < 0.2, "size"] = np.nan
    model = ADMERCS().fit(table).model_
    known = model.neighbours
    assert known.row.tolist() == list(range(150))
    company = known.meet(working_values(model, table))
    differences = known.differences(working_values(model, table))
    guilt = known.guilt / 4096
    for row in range(0, 150, 7):
        heard, away, apart = by_hand(table, guilt, row, known.n_near)
        np.testing.assert_allclose(company.heard[row], heard, rtol=1e-9)
        assert company.away[row] == pytest.approx(away, rel=1e-9)
        np.testing.assert_allclose(differences[:, row], apart, rtol=1e-9)
    assert known.usual == pytest.approx(np.quantile(company.away, 0.75))
    np.testing.assert_allclose(
        known.mostly, differences.mean(axis=1)
    )  # fewer than 200 rows: of all


def test_what_is_passed_on_is_what_breaks_patterns_beyond_the_typical_row(
    model: ADMERCS, table: pd.DataFrame
) -> None:
    judgement = Judge(model.model_).judge(working_values(model.model_, table))
    own = judgement.pattern.sum(axis=0)
    expected = np.maximum(0, own - np.median(own))
    guilt = model.model_.neighbours.guilt
    np.testing.assert_allclose(guilt.sum(axis=1) / 4096, expected, atol=1e-3)
    assert np.array_equal(guilt, np.rint(guilt))


def test_anomalies_of_one_kind_give_each_other_away() -> None:
    gains = []
    for seed in range(5):
        X, y = frauds(seed=seed)
        before, after = evidence(without(X), X), evidence(hearing(X), X)
        gains.append(average_precision_score(y, after) - average_precision_score(y, before))
        assert roc_auc_score(y, after) > roc_auc_score(y, before)
    assert np.mean(gains) > 0.02


def test_where_columns_are_noise_nothing_is_trusted() -> None:
    data = make_synth_cs(60, random_state=1)
    trusting, alone = ADMERCS().fit(data.X), without(data.X)
    assert trusting.model_.neighbours.trust < 0.5 * WORD
    precision = [average_precision_score(data.y, evidence(m, data.X)) for m in (trusting, alone)]
    assert abs(precision[0] - precision[1]) < 0.01


def test_a_row_is_not_its_own_witness() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    X[0, 0] += 30
    judged = hearing(X)
    alone = without(X)
    # Nobody is like it in being odd, so that next to nothing is added.
    assert evidence(judged, X)[0] == pytest.approx(evidence(alone, X)[0], rel=0.01)


def test_who_stands_apart_has_more_against_it() -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table
    model = ADMERCS().fit(table)
    known = model.model_.neighbours
    assert 0 < known.louder * THIRD <= APART
    away = known.meet(working_values(model.model_, table)).away
    before, after = evidence(hearing(table), table), evidence(model, table)
    factor = 1 + known.louder * np.maximum(0, away - known.usual)
    np.testing.assert_allclose(after, before * factor, rtol=1e-12)
    assert np.mean(factor > 1) == pytest.approx(0.25, abs=0.01)


def test_where_those_who_stand_apart_are_not_odd_it_does_not_count(model: ADMERCS) -> None:
    assert model.model_.neighbours.trust > 0
    assert model.model_.neighbours.louder == 0


def test_scoring_again_gives_the_same_scores(model: ADMERCS, table: pd.DataFrame) -> None:
    scores = -model.score_samples(table)
    np.testing.assert_array_equal(-np.expm1(-scores), model.scores_)
    np.testing.assert_array_equal(-model.score_samples(table[100:130]), scores[100:130])
    np.testing.assert_array_equal(model.score_cells(table).sum(axis=1), scores)


def test_neither_the_order_of_rows_nor_the_number_of_threads_matters(
    model: ADMERCS, table: pd.DataFrame
) -> None:
    order = np.random.default_rng(1).permutation(len(table))
    again = ADMERCS(n_jobs=2).fit(table.iloc[order])
    np.testing.assert_array_equal(again.scores_, model.scores_[order])


def test_copies_of_a_row_are_judged_alike(table: pd.DataFrame) -> None:
    twice = pd.concat([table, table.iloc[[5] * 4]], ignore_index=True)
    scores = ADMERCS().fit(twice).scores_
    assert np.all(scores[-4:] == scores[5])


@given(
    own=st.floats(0, 1e3), heard=st.lists(st.floats(0, 1e3), min_size=3, max_size=3),
    typical=st.floats(0, 10), trust=st.floats(0, WORD),
)  # fmt: skip
def test_the_stronger_one_speaks(
    own: float, heard: list[float], typical: float, trust: float
) -> None:
    known = Neighbours.nobody(3)._replace(typical=np.array([typical]), trust=np.array([trust]))
    added = known.added(np.array([heard]), np.array([own]))
    others = trust * max(0.0, sum(heard) - typical)
    assert np.all(added >= 0)
    assert own + added.sum() == pytest.approx(np.hypot(own, others), abs=1e-9)
    assert added.sum() <= others * (1 + 1e-9) + 1e-150


def test_reasons_name_rows_that_are_alike_and_odd(model: ADMERCS, table: pd.DataFrame) -> None:
    known = model.model_.neighbours
    values = working_values(model.model_, table)
    told = 0
    for row in model.explain(table.head(20), top=None):
        reasons = [reason for reason in row.reasons if reason.kind == "neighbours"]
        assert reasons == list(row.reasons[-len(reasons) :]) if reasons else True
        for reason in reasons:
            told += 1
            weight = known.nearest(values[:, int(row.label)])
            places = [known.row.tolist().index(other) for other in reason.rows]
            assert row.label not in reason.rows
            assert np.all(weight[places] > 0)
            assert np.all(known.guilt[places].sum(axis=1) > 0)
            assert reason.target in reason.text
    assert told > 10


def test_it_is_said_in_what_a_row_stands_apart() -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table
    model = ADMERCS().fit(table)
    known, values = model.model_.neighbours, working_values(model.model_, table)
    away = known.meet(values).away
    order = np.argsort(away)
    names = [column.name for column in model.model_.schema.used]
    for place in order[-20:].tolist():
        row = model.explain(table.iloc[[place]], noun="cars")[0]
        assert row.factor == pytest.approx(known.factor(away)[place])
        assert row.apart.startswith(f"All of this counts {row.factor:.1f} times: the cars most")
        further = known.differences(values[:, [place]])[:, 0] - known.mostly
        furthest = {names[m].split(" (")[0] for m in np.argsort(further)[-2:]}
        assert set(row.apart.rstrip(".").split("mostly in ")[-1].split(" and ")) <= furthest
        assert str(row).endswith(row.apart)
        assert row.apart in row._repr_html_()
    ordinary = model.explain(table.iloc[[int(order[0])]])[0]
    assert (ordinary.factor, ordinary.apart) == (1.0, "")


def test_something_is_named_where_a_row_is_near_in_all_columns_compared_with_others() -> None:
    rng = np.random.default_rng(0)
    copies = np.repeat(np.tile(np.arange(15.0)[:, None], 6), 31, axis=0)
    mild = rng.integers(0, 15, (15, 1)) + 0.3 + 0.01 * rng.random((15, 6))
    wild = rng.uniform(0, 15, size=(120, 6))
    table = np.vstack([copies, mild, wild])
    told = [row.apart for row in ADMERCS().fit(table).explain(table) if row.apart]
    assert told
    assert all("mostly in x" in text for text in told)


@pytest.mark.parametrize(
    "table",
    [
        np.random.default_rng(0).normal(size=(500, 2)),
        np.random.default_rng(0).normal(size=(19, 5)),
        np.random.default_rng(0).normal(size=(60_000, 9)),
    ],
    ids=["two columns", "nineteen rows", "many cells"],
)
def test_not_all_tables_are_compared(table: np.ndarray) -> None:
    assert len(ADMERCS().fit(table).model_.neighbours.row) == 0


@pytest.mark.parametrize("parameters", [{"n_iter": 1}, {"feedback": "centred"}])
def test_without_our_feedback_nobody_is_compared(parameters: dict[str, Any]) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    assert len(ADMERCS(**parameters).fit(X).model_.neighbours.row) == 0


def test_of_many_rows_some_are_known() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(5000, 4)) + rng.normal(size=(5000, 1)), 1)
    X[2000:3000] = X[0]
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = choose_rows(X.T)
    assert len(set(rows.tolist())) == MOST_KNOWN
    assert np.all(np.diff(rows) > 0)
    # Of equal rows as many as of others.
    assert 150 < np.sum((rows >= 2000) & (rows < 3000)) < 250
    model = ADMERCS().fit(X)
    assert model.model_.neighbours.row.tolist() == rows.tolist()
    np.testing.assert_array_equal(-np.expm1(model.score_samples(X)), model.scores_)


def test_which_rows_are_known_does_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(3000, 4)) + rng.normal(size=(3000, 1)), 1)
    order = rng.permutation(3000)
    known = X[choose_rows(X.T)]
    again = X[order][choose_rows(X[order].T)]
    np.testing.assert_array_equal(np.sort(known, axis=0), np.sort(again, axis=0))
    np.testing.assert_array_equal(ADMERCS().fit(X[order]).scores_, ADMERCS().fit(X).scores_[order])


def test_a_table_of_equal_rows() -> None:
    X = np.tile([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (50, 1))
    assert np.all(np.isfinite(ADMERCS().fit(X).scores_))


def rewritten(source: Path, target: Path, version: int, left_out: tuple[str, ...]) -> Path:
    with zipfile.ZipFile(source) as new, zipfile.ZipFile(target, "w") as old:
        header = {**json.loads(new.read("model.json")), "format_version": version}
        old.writestr("model.json", json.dumps(header))
        for name in new.namelist():
            if name != "model.json" and not name.startswith(left_out):
                old.writestr(name, new.read(name))
    return target


def test_a_model_saved_before_rows_were_compared(table: pd.DataFrame, tmp_path: Path) -> None:
    alone = without(table)
    alone.save(tmp_path / "new.admercs")
    old = rewritten(
        tmp_path / "new.admercs", tmp_path / "old.admercs", 2, ("likeness/", "neighbours/")
    )
    np.testing.assert_array_equal(evidence(ADMERCS.load(old), table), evidence(alone, table))


def test_a_model_saved_before_it_mattered_how_far_away_they_are(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    deaf = hearing(table)
    deaf.save(tmp_path / "new.admercs")
    new_parts = tuple(f"neighbours/{name}" for name in ("usual", "louder", "mostly"))
    old = rewritten(tmp_path / "new.admercs", tmp_path / "old.admercs", 3, new_parts)
    np.testing.assert_array_equal(evidence(ADMERCS.load(old), table), evidence(deaf, table))


def test_a_model_file_without_its_neighbours_is_damaged(model: ADMERCS, tmp_path: Path) -> None:
    model.save(tmp_path / "new.admercs")
    cut = rewritten(tmp_path / "new.admercs", tmp_path / "cut.admercs", 3, ("neighbours/guilt",))
    with pytest.raises(ModelFileError, match=r"neighbours/guilt"):
        ADMERCS.load(cut)


@pytest.mark.parametrize(
    "name", ["row", "profile", "guilt", "typical", "trust", "usual", "louder", "mostly"]
)
def test_neighbours_that_do_not_fit(model: ADMERCS, name: str) -> None:
    known, n_columns = model.model_.neighbours, len(model.model_.schema.used)
    check_neighbours(known, n_columns)
    broken = known._replace(**{name: np.concatenate([getattr(known, name)] * 2)})
    with pytest.raises(ValueError, match="neighbours/"):
        check_neighbours(broken, n_columns)


@pytest.mark.parametrize("name", ["edges", "first", "place", "is_nominal"])
def test_likeness_that_does_not_fit(model: ADMERCS, name: str) -> None:
    known, n_columns = model.model_.neighbours, len(model.model_.schema.used)
    likeness = known.likeness
    broken = likeness._replace(**{name: np.concatenate([getattr(likeness, name)] * 2)})
    with pytest.raises(ValueError, match="likeness/"):
        check_neighbours(known._replace(likeness=broken), n_columns)


def test_new_rows_with_what_nobody_had(model: ADMERCS, table: pd.DataFrame) -> None:
    new = table.head(3).copy()
    new["town"] = ["Rom", None, "Linz"]
    new.iloc[2, :8] = np.nan
    assert np.all(np.isfinite(model.score_samples(new)))
    again = replace(model.model_, neighbours=Neighbours.nobody(len(model.model_.schema.used)))
    assert np.all(Judge(again).cells(working_values(again, new)).sum(axis=1) >= 0)
