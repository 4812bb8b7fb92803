"""Splitting leaves by their own target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs.detector.sanity import check_forest
from admercs.table.bins import bin_table
from admercs.table.frame import read_frame
from admercs.table.prepared import prepare
from admercs.table.schema import learn_schema
from admercs.table.summary import summarise
from admercs.trees.growth import TreeSettings, grow_forest
from admercs.trees.narrow import Narrowed, Span, narrow
from admercs.trees.walk import find_leaves


def make_table(n: int = 600) -> pd.DataFrame:
    """Numbers with holes, a column of few values, and categories, all depending on the first column."""
    rng = np.random.default_rng(1)
    x = rng.uniform(size=n)
    y = np.where(rng.random(n) < 0.1, np.nan, x + rng.normal(scale=0.3, size=n))
    few = (x * 3).astype(int) + rng.integers(0, 2, n)
    word = np.array(["a", "b", "c", None], object)[
        np.minimum(3, (x * 3).astype(int) + rng.integers(0, 2, n))
    ]
    return pd.DataFrame({"x": x, "y": y, "few": few, "word": word})


class Case:
    """A grown forest, and some of its leaves split."""

    def __init__(self, table: pd.DataFrame, choose: str) -> None:
        raw = read_frame(table)
        schema = learn_schema(summarise(raw))
        self.table = prepare(raw, schema)
        self.binning, self.codes = bin_table(self.table, schema)
        settings = TreeSettings("distribution", 10, 0.05, "auto", False)
        self.forest, self.leaves = grow_forest(
            self.codes, self.binning.edges, self.binning.n_codes, schema.used, self.table.column,
            settings, 1,
        )  # fmt: skip
        self.narrowed: Narrowed = narrow(
            self.forest, list(self._spans(choose)), self.binning.edges, self.binning.is_nominal
        )

    def _spans(self, choose: str):  # type: ignore[no-untyped-def]
        for tree in range(self.forest.n_trees):
            for leaf in self.forest.leaves(tree)[::2]:
                rows = self.leaves[tree] == leaf
                counts = np.bincount(
                    self.codes[tree, rows], minlength=self.binning.n_codes[tree]
                ).astype(np.int64)
                seen = np.flatnonzero(counts[1:]) + 1
                if len(seen) < 4 and not (choose == "lowest" and len(seen) > 1):
                    continue
                if self.binning.is_nominal[tree]:
                    first = last = seen[0]
                else:
                    k = len(seen) // 3
                    first, last = {
                        "middle": (seen[k], seen[-k - 1]),
                        "lowest": (seen[0], seen[k]),
                        "highest": (seen[-k - 1], seen[-1]),
                        "recorded": (seen[0], seen[-1]),
                    }[choose]
                    if counts[first : last + 1].sum() == counts.sum():
                        continue
                yield Span(int(leaf), int(first), int(last), counts)


@pytest.fixture(params=["middle", "lowest", "highest", "recorded"])
def case(request: pytest.FixtureRequest) -> Case:
    found = Case(make_table(), request.param)
    assert len(found.narrowed.spans) >= 2
    return found


def test_a_split_forest_is_a_forest(case: Case) -> None:
    check_forest(case.narrowed.forest, case.forest.n_trees)


def test_rows_are_where_walking_down_leads_them(case: Case) -> None:
    moved = case.narrowed.relocate(case.leaves, case.codes)
    found = np.empty(case.codes.shape, np.int32)
    block = np.ascontiguousarray(case.table.block(0, case.table.n_rows))
    find_leaves(case.narrowed.forest, block, found)
    for tree in range(case.forest.n_trees):
        np.testing.assert_array_equal(moved[tree], found[tree])
        counts = np.bincount(found[tree], minlength=len(case.narrowed.forest.feature))
        leaves = case.narrowed.forest.leaves(tree)
        np.testing.assert_array_equal(counts[leaves], case.narrowed.forest.n[leaves])
        assert (counts[leaves] > 0).all()


def test_a_narrow_context_holds_the_rows_of_its_leaf_in_the_range(case: Case) -> None:
    moved = case.narrowed.relocate(case.leaves, case.codes)
    for span, node in zip(case.narrowed.spans, case.narrowed.inside, strict=True):
        tree = case.forest.tree_of(span.leaf)
        code = case.codes[tree].astype(int)
        wanted = (case.leaves[tree] == span.leaf) & (code >= span.first) & (code <= span.last)
        np.testing.assert_array_equal(moved[tree] == node, wanted)
        assert case.narrowed.forest.n[node] == span.n_rows == wanted.sum()


def test_all_parts_of_a_leaf_are_judged_by_it(case: Case) -> None:
    forest, number = case.narrowed.forest, case.narrowed.number
    for span in case.narrowed.spans:
        tree = case.forest.tree_of(span.leaf)
        place = number[span.leaf]
        parts = [leaf for leaf in forest.leaves(tree) if place in forest.path(leaf)]
        assert len(parts) in {2, 3}
        assert (forest.scorer[parts] == number[case.forest.scorer[span.leaf]]).all()
        wider = case.forest.wider[span.leaf]
        assert (forest.wider[parts] == (number[wider] if wider >= 0 else -1)).all()
        assert forest.n[parts].sum() == case.forest.n[span.leaf]


def test_all_else_stays_as_it_was(case: Case) -> None:
    old, new, number = case.forest, case.narrowed.forest, case.narrowed.number
    whole = np.ones(len(number), bool)
    whole[[span.leaf for span in case.narrowed.spans]] = False
    for name in ("feature", "threshold", "bin", "missing_left", "n", "impurity"):
        np.testing.assert_array_equal(getattr(new, name)[number][whole], getattr(old, name)[whole])
    for name in ("left", "right", "parent", "scorer", "wider"):
        before = getattr(old, name)
        renumbered = np.where(before >= 0, number[before], -1)
        np.testing.assert_array_equal(getattr(new, name)[number][whole], renumbered[whole])


def test_a_missing_value_belongs_to_no_narrow_context() -> None:
    case = Case(make_table(), "recorded")
    tree = 1
    moved = case.narrowed.relocate(case.leaves, case.codes)
    assert not np.isin(moved[tree][case.codes[tree] == 0], case.narrowed.inside).any()


def test_leaves_too_deep_for_two_more_tests_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admercs.trees.narrow.DEEPEST", 0)
    case = Case(make_table(), "middle")
    assert not case.narrowed.spans
    for old, new in zip(case.forest, case.narrowed.forest, strict=True):
        np.testing.assert_array_equal(old, new)
