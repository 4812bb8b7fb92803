"""The cell to blame is the one whose repair removes most evidence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.facets import prepare
from admercs.pipeline.expected_values import ExpectedValues
from admercs.pipeline.repair_search import RepairSearch
from admercs.pipeline.score import Scorer
from admercs.table import read_frame
from tests.explain.conftest import mixed_table


def related(n: int = 600, seed: int = 0) -> np.ndarray:
    """Make five columns that follow from a hidden one, and a sixth that follows from none."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    columns = [hidden * scale + rng.normal(scale=0.05, size=n) for scale in (1, 2, -1, 3, 0.5)]
    return np.column_stack([*columns, rng.normal(size=n)])


def working_values(model: ADMERCS, X: object) -> np.ndarray:
    table = prepare(read_frame(X), model.model_.schema)
    return np.ascontiguousarray(table.block(0, table.n_rows))


def search(model: ADMERCS, X: object) -> tuple:
    values = working_values(model, X)
    parts = Scorer(model.model_).score(values)
    return values, parts, RepairSearch(model.model_).search(values, parts)


def test_the_wrong_cell_is_blamed_and_repaired() -> None:
    X = related()
    truth, places = X.copy(), [(i, i % 5) for i in range(0, 200, 7)]
    for row, column in places:
        X[row, column] *= -1
    model = ADMERCS().fit(X)
    _, _, found = search(model, X)
    position = model.model_.positions
    large = [(i, m) for i, m in places if abs(truth[i, m]) > truth[:, m].std()]
    assert {column for _, column in large} == set(range(5))
    for row, column in large:
        best = found.replacements[row][0]
        assert position[best.cells[0]] == column
        assert abs(best.values[0] - truth[row, column]) < 0.5 * abs(truth[row, column])


def test_removed_evidence_is_what_scoring_again_says() -> None:
    table = mixed_table(3, 300)
    model = ADMERCS().fit(table)
    values, parts, found = search(model, table)
    score = Scorer(model.model_).score

    def own(parts):
        return (parts.pattern + parts.isolation).sum(axis=0)

    changed = values.copy()
    for row, replacements in enumerate(found.replacements):
        removed = [each.removed for each in replacements]
        assert removed == sorted(removed, reverse=True)
        for each in replacements:
            block = values[:, [row]].copy()
            block[list(each.cells), 0] = each.values
            assert each.removed == pytest.approx(own(parts)[row] - own(score(block))[0], abs=1e-9)
            assert each.row == row
            assert each.removed > 0
        for first in replacements[:1]:
            changed[list(first.cells), row] = first.values
    again = score(changed)
    np.testing.assert_array_equal(found.pattern, again.pattern)
    for evidence, replacements in zip(parts.evidence(), found.replacements, strict=True):
        assert all(each.removed > 0.05 * evidence for each in replacements)
    assert sum(map(bool, found.replacements)) > 150


def test_rows_are_repaired_one_by_one() -> None:
    table = mixed_table(4, 300)
    model = ADMERCS().fit(table)
    together = search(model, table)[2].replacements
    order = np.random.default_rng(0).permutation(len(table))
    for start in range(0, 300, 7):
        some = order[start : start + 7]
        alone = search(model, table.iloc[some])[2].replacements
        for k, row in enumerate(some):
            assert [each._replace(row=0) for each in alone[k]] == [
                each._replace(row=0) for each in together[row]
            ]


def test_values_that_changed_places_are_found() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 800)
    low, high = 10.0 * kind + rng.normal(size=800), 10.0 * kind + 5 + rng.normal(size=800)
    X = np.column_stack([kind * 7 + rng.normal(size=800), low, high + 100])
    X[5, 1:] = X[5, 2:0:-1]
    model = ADMERCS().fit(X)
    best = search(model, X)[2].replacements[5][0]
    assert sorted(model.model_.positions[list(best.cells)]) == [1, 2]
    assert best.nodes == ()


def test_dates_change_places_in_the_units_of_each_other() -> None:
    rng = np.random.default_rng(1)
    start = np.datetime64("2024-01-01") + rng.integers(0, 700, 500)
    end = start + rng.integers(2, 5, 500)
    group = (start - start.min()).astype(int) // 50
    table = pd.DataFrame({"start": start, "end": end + np.timedelta64(5000, "D"), "group": group})
    table.loc[3, ["start", "end"]] = table.loc[3, ["end", "start"]].to_list()
    model = ADMERCS().fit(table)
    best = model.explain(table.iloc[[3]])[0].repairs[0]
    assert {best.column, *(each.column for each in best.also)} == {"start", "end"}
    expected = {each.column: each.expected for each in (best, *best.also)}
    assert expected["start"].date() == table.loc[3, "end"].date()


def test_two_wrong_cells_are_repaired_together() -> None:
    X = related(800, 5)
    row = int(np.abs(X[:, 0] - 1.4).argmin())
    X[row, 0], X[row, 4] = -X[row, 0], -X[row, 4]
    model = ADMERCS().fit(X)
    best = search(model, X)[2].replacements[row][0]
    assert sorted(model.model_.positions[list(best.cells)]) == [0, 4]


def test_expected_values_are_the_likeliest_of_their_context() -> None:
    table = mixed_table(2, 500)
    detector = ADMERCS().fit(table)
    model, values = detector.model_, working_values(detector, table)
    parts = Scorer(model).score_alone(values)
    expected = ExpectedValues(model).at(parts.leaf)
    score = Scorer(model)
    leaf = parts.leaf
    likeliest = score.own_likelihoods(expected, leaf)
    given = score.own_likelihoods(values, leaf)
    assert (likeliest >= given - 0.01).all()  # densities are tables
    names = [column.name for column in model.schema.used]
    job, codes = names.index("job"), model.schema.used[names.index("job")].categories
    assert set(expected[job]) <= set(range(1, len(codes) + 1))


def test_an_ordinary_table_needs_no_repair() -> None:
    X = np.random.default_rng(0).normal(size=(500, 4))
    model = ADMERCS().fit(X)
    told = [row for row in model.explain(X) if row.repair_text]
    assert len(told) < 0.1 * len(X)
    assert all(row.percentile > 89 for row in told)


def test_values_change_places_only_with_those_that_the_other_column_has() -> None:
    X = np.random.default_rng(0).normal([0, 30], [10, 10], (500, 2))
    X[3] = -20.0, -60.0  # no row has -60 in the first column
    model = ADMERCS().fit(X)
    values = np.column_stack([working_values(model, X)[:, 3], [5.0, 25.0]])
    promising = np.array([[0, 0], [1, 1]])
    found = RepairSearch(model.model_)._swaps(values, promising)
    assert found.row.tolist() == [1]
    assert found.values.tolist() == [[25.0, 5.0]]
