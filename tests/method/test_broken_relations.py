"""The cell that a broken relation is credited to, and what holds counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from admercs.method.broken_relations import Look, RelationStep
from admercs.method.settings import Relations
from admercs.method.views import ANCESTOR, MARGINAL, OWN, RELATION, BlockViews

# Attributes 0 to 3 are columns; 4 is a relation of 0, 1 and 2, and 5 one of 2 and 3.
CELLS = {4: (0, 1, 2), 5: (2, 3)}


def views_of(own: list[float], table: list[float], residual: float = 1.0) -> BlockViews:
    """Return the views of one row, from log ω by the leaf and by the whole table."""
    block = np.full((6, 1), residual)
    speaker, relation = np.zeros((6, 1), np.uint8), np.full((6, 1), -1, np.int32)
    leaf = np.zeros((6, 1), np.int32)
    columns = (np.array(values, float)[:, None] for values in (own, table))
    return BlockViews(leaf, block, *columns, [], speaker, relation)


class Fake:
    """Relations that are solved by the number of the cell, and then leave nothing."""

    def __init__(
        self,
        cells: Mapping[int, Sequence[int]],
        unsolved: Sequence[int] = (),
        exact: Sequence[int] = (),
    ) -> None:
        self.cells, self._unsolved, self.exact = cells, unsolved, exact

    def plain(self, relation: int, block: np.ndarray) -> list[np.ndarray]:
        return [block[m] for m in self.cells[relation]]

    def solved(self, relation: int, place: int, plain: Sequence[np.ndarray]) -> np.ndarray:
        m = self.cells[relation][place]
        return np.full(len(plain[0]), np.nan if m in self._unsolved else m)

    def residual(self, relation: int, block: np.ndarray) -> np.ndarray:
        """Return the sum of the cells."""
        return np.sum(self.plain(relation, block), axis=0)


def look_up(then: Mapping[tuple[int, float], float]) -> Look:
    """Return a look at log ω by attribute and value; all others are likely."""

    def look(m: int, leaf: np.ndarray, x: np.ndarray) -> np.ndarray:
        assert len(leaf) == len(x)
        return np.array([then.get((m, float(value)), 0.0) for value in x])

    return look


def apply(
    views: BlockViews,
    equations: tuple[int, ...] = (),
    then: Mapping[tuple[int, float], float] | None = None,
    related: Fake | None = None,
) -> None:
    """Apply the step; `then` is log ω of an attribute that has another value."""
    related, has_marginal = related or Fake(CELLS), np.ones(6, bool)
    RelationStep(related, equations, has_marginal, look_up(then or {}), 0.1, Relations()).apply(
        views
    )


def test_the_cell_of_both_broken_relations_is_credited() -> None:
    views = views_of([-1, -1, -1, -1, -9, -8], [0] * 6)
    apply(views)
    np.testing.assert_array_equal(views.speaker[:, 0], [OWN, OWN, RELATION, OWN, OWN, OWN])
    np.testing.assert_array_equal(views.log_omega[:, 0], [-1, -1, -9, -1, 0, 0])
    np.testing.assert_array_equal(views.relation[:, 0], [-1, -1, 4, -1, -1, -1])
    assert not views.marginal[4:].any()


def test_a_cell_that_is_odder_than_the_relation_speaks_for_itself() -> None:
    views = views_of([-1, -12, -1, -1, -9, 0], [0] * 6)
    apply(views)
    np.testing.assert_array_equal(views.log_omega[:, 0], [-1, -12, -1, -1, 0, 0])
    assert (views.relation == -1).all()


def test_the_own_oddity_of_a_cell_decides_among_equals() -> None:
    views = views_of([-1, -5, -1, -1, 0, 0], [0, 0, 0, 0, -9, 0])
    apply(views)
    assert views.speaker[1, 0] == RELATION
    assert views.speaker[4, 0] == MARGINAL  # which view of the relation has spoken
    assert views.log_omega[1, 0] == -9


def test_relations_of_different_cells_are_credited_to_as_many() -> None:
    views = views_of([-2, -1, -1, -2, -9, -8], [0] * 6)
    apply(views, related=Fake({4: (0, 1), 5: (2, 3)}))
    np.testing.assert_array_equal(views.log_omega[:, 0], [-9, -1, -1, -8, 0, 0])
    np.testing.assert_array_equal(views.relation[:4, 0], [4, -1, -1, 5])


def test_a_cell_that_would_be_odd_once_put_right_is_not_credited() -> None:
    views = views_of([-3, -2, -1, -1, -9, 0], [0] * 6)
    apply(views, then={(0, 0.0): -8.0})
    assert (views.relation[:, 0] == [-1, 4, -1, -1, -1, -1]).all()


def test_a_cell_that_would_break_another_relation_is_not_credited() -> None:
    views = views_of([-1, -1, -3, -1, -9, 0], [0] * 6)
    # With 2 in place of 1, relation 5 has the sum 3 instead of 2.
    apply(views, then={(5, 3.0): -8.0})
    assert views.relation[2, 0] == -1
    assert views.relation[0, 0] == 4


def test_a_cell_that_a_relation_says_nothing_about_is_not_credited() -> None:
    views = views_of([-9, -1, -1, -1, -9, 0], [0] * 6)
    apply(views, related=Fake(CELLS, unsolved=[0]))
    assert (views.relation[:, 0] == [-1, 4, -1, -1, -1, -1]).all()


def test_what_a_change_does_not_explain_is_credited_to_another_cell() -> None:
    views = views_of([-1, -1, -5, -1, -9, -9], [0] * 6)
    # Whatever is put right by one relation, the other one stays broken.
    apply(views, then={(5, 3.0): -9.0, (4, 5.0): -9.0, (4, 4.0): -9.0})
    np.testing.assert_array_equal(views.relation[:, 0], [-1, -1, 4, 5, -1, -1])
    np.testing.assert_array_equal(views.log_omega[:4, 0], [-1, -1, -9, -9])


@pytest.mark.parametrize("likely", [-0.1, np.log(Relations().holds) + 1e-9])
def test_a_relation_that_holds_says_nothing(likely: float) -> None:
    views = views_of([-1, -1, -1, -1, likely, 0], [0] * 6)
    apply(views)
    np.testing.assert_array_equal(views.log_omega[:, 0], [-1, -1, -1, -1, 0, 0])


def test_a_relation_with_a_missing_value_says_nothing() -> None:
    views = views_of([-1, -1, -1, -1, -9, -9], [0] * 6, residual=np.nan)
    apply(views, equations=(4, 5))
    np.testing.assert_array_equal(views.log_omega[:, 0], [-1, -1, -1, -1, 0, 0])


def test_cells_of_an_equation_that_holds_count_once() -> None:
    views = views_of([-1, -1, -1, -1, 0, 0], [-7, -7, -5, -6, 0, 0])
    apply(views, equations=(4,))
    np.testing.assert_array_equal(views.marginal[:4, 0], [-7, 0, 0, -6])
    np.testing.assert_array_equal(views.log_omega[:4, 0], [-1, 0, 0, -1])
    views = views_of([-1, -1, -1, -1, -9, 0], [-7, -7, -5, -6, 0, 0])
    apply(views, equations=(4,))
    np.testing.assert_array_equal(np.sort(views.marginal[:3, 0]), [-7, -5, 0])
    assert views.log_omega.min() == -9


def evidence(log_omega: float, odds: float) -> float:
    return float(np.log1p(odds * np.expm1(-log_omega)))


@pytest.mark.parametrize("residual", [-3.5, -9.0, -60.0])
def test_a_broken_exact_relation_is_as_likely_an_error_as_not_before_looking(
    residual: float,
) -> None:
    views = views_of([-1, -1, -3, -1, residual, 0], [0] * 6)
    apply(views, related=Fake(CELLS, exact=[4]))
    credited = views.log_omega[:, 0].argmin()
    # What counts later on are the odds of 0.1 : 1, with which the step was made.
    counted = evidence(views.log_omega[credited, 0], 0.1)
    assert counted == pytest.approx(evidence(residual, Relations().odds))
    views = views_of([-1, -1, -3, -1, residual, 0], [0] * 6)
    apply(views)
    assert views.log_omega.min() == residual


def test_how_many_times_the_odds_of_a_rare_value() -> None:
    assert Relations().times(0.1) == pytest.approx(10)
    assert Relations(odds=0.01).times(0.1) == 1
    assert Relations().times(0.0) == 1  # nothing counts then


def test_an_exact_relation_says_no_less_than_a_rare_value() -> None:
    views, related = views_of([-1, -1, -1, -1, -9, 0], [0] * 6), Fake(CELLS, exact=[4])
    settings = Relations(odds=0.01)
    RelationStep(related, (), np.ones(6, bool), look_up({}), 0.1, settings).apply(views)
    assert views.log_omega.min() == -9


def test_rows_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(0)
    own, table = -rng.exponential(3, (2, 6, 200))
    speaker = rng.choice([OWN, ANCESTOR], (6, 200)).astype(np.uint8)

    def applied(rows: slice) -> BlockViews:
        some = [array[:, rows].copy() for array in (own, table, speaker)]
        shape = some[0].shape
        leaf, relation = np.zeros(shape, np.int32), np.full(shape, -1, np.int32)
        views = BlockViews(leaf, np.ones(shape), some[0], some[1], [], some[2], relation)
        apply(views, equations=(5,))
        return views

    whole, parts = applied(slice(None)), [applied(slice(0, 77)), applied(slice(77, 200))]
    for name in ("log_omega", "marginal", "speaker", "relation"):
        joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
        np.testing.assert_array_equal(joined, getattr(whole, name))
