"""Rows are scored once, in blocks, and the parts of their scores make the reasons."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.explain import score_rows, scored_rows


@pytest.fixture
def n_scored(monkeypatch) -> list[int]:
    """Return a list that gets the number of rows of each block that is scored."""
    sizes: list[int] = []

    class CountingScorer(scored_rows.Scorer):
        def score(self, block, leaf=None, cells=True):
            sizes.append(block.shape[1])
            return super().score(block, leaf, cells)

    monkeypatch.setattr(scored_rows, "Scorer", CountingScorer)
    return sizes


def test_explaining_scores_each_row_once(model, table, n_scored) -> None:
    model.explain(table)
    assert sum(n_scored) == len(table)


def test_only_the_best_are_scored_with_their_cells(model, table, n_scored) -> None:
    best = model.top(table, 5)
    assert sum(n_scored) == 5
    assert [row.label for row in best] == np.argsort(model.score_samples(table))[:5].tolist()


def test_scoring_again_in_blocks_gives_the_same(model, table, n_scored, monkeypatch) -> None:
    chosen = np.arange(len(table))[::-3]
    kept = score_rows(model.model_, table, keep="parts").rows(chosen)
    monkeypatch.setattr(scored_rows, "BLOCK", 50)
    again = score_rows(model.model_, table).rows(chosen)
    assert max(n_scored[-3:]) <= 50
    for one, other in zip(kept.parts, again.parts, strict=True):
        assert np.array_equal(one, other)
    assert kept.explain(model.model_, 3) == again.explain(model.model_, 3)


def test_texts_only_if_asked_for(model, table) -> None:
    scored = score_rows(model.model_, table.assign(job="astronaut"))
    assert scored.rows(np.arange(2)).texts == [[], []]
    assert scored.rows(np.arange(1), texts=True).texts[0][0] == "astronaut"
    (unknown,) = scored.rows(np.arange(1)).unknown
    assert {model.model_.schema.used[m].name: text for m, text in unknown.items()} == {
        "job": "astronaut"
    }


def named(model, rows) -> set[str]:
    reasons = [reason for row in rows for reason in row.reasons if reason.kind == "neighbours"]
    assert reasons
    return {label for reason in reasons for label in reason.labels}


def test_training_rows_have_the_names_of_the_training_table(model, table) -> None:
    people = table.set_index("p" + table.index.astype(str))
    assert named(model, model.explain(people)) <= set(people.index)
    others = {f"training row {k}" for k in range(len(table))}
    assert named(model, model.explain(people.iloc[1:])) <= others


def test_parts_of_the_training_table_number_its_rows(model, table) -> None:
    scored = score_rows(model.model_, table.iloc[:200], first=1, count_from=1)
    rows = scored.rows(np.arange(200)).explain(model.model_, None)
    assert named(model, rows) <= {f"row {k + 1}" for k in range(len(table))}


def test_sums_over_rows_need_no_columns(model, table) -> None:
    rows, columns = (score_rows(model.model_, table, keep=each) for each in ("rows", "columns"))
    np.testing.assert_array_equal(rows.evidence, columns.evidence)
    np.testing.assert_array_equal(rows.evidence, -model.score_samples(table))
    np.testing.assert_array_equal(rows.association, columns.association)
    np.testing.assert_allclose(columns.column_evidence.sum(), rows.evidence.sum())
