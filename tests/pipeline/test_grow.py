"""Trees grown from pieces of a table are the trees grown from the whole table."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from admercs.datasets import make_electric_vehicles
from admercs.method.settings import Trees
from admercs.pipeline import grow as grow_module

from ..rows_in_pieces import RowsInPieces
from ..trees.tools import grow, grow_rows, same_forest


@pytest.mark.parametrize("price", [0.55, None])
@pytest.mark.parametrize("max_depth", [0, 3, 10])
@pytest.mark.parametrize("cuts", [[7, 7, 300], [0, 500], [1, 2, 3, 4]])
def test_pieces_grow_the_trees_of_the_whole(
    price: float | None, max_depth: int, cuts: list[int]
) -> None:
    table = make_electric_vehicles(1, as_frame="pandas").table
    settings = replace(Trees(), price=price, max_depth=max_depth)
    whole = grow(table, settings)
    forest, leaves, codes, _, code_counts = grow_rows(RowsInPieces(table, cuts), settings)
    same_forest(whole.forest, forest)
    assert len(leaves) == len(cuts) + 1
    np.testing.assert_array_equal(np.concatenate(leaves, axis=1), whole.leaves)
    np.testing.assert_array_equal(np.concatenate(codes, axis=1), whole.codes)
    for own, expected in zip(code_counts, whole.code_counts, strict=True):
        np.testing.assert_array_equal(own, expected)


def test_conditions_are_about_allowed_inputs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_electric_vehicles(1, as_frame="pandas").table
    n = grow(table, Trees()).forest.n_trees
    # Each tree may look at the three columns before its own, some of numbers, some of categories.
    allowed = [np.sort((m - np.arange(1, 4)) % n) for m in range(n)]
    monkeypatch.setattr(grow_module, "allowed_inputs", lambda *_: allowed)
    whole = grow(table, Trees()).forest
    forest, *_ = grow_rows(RowsInPieces(table, [100, 900]), Trees())
    same_forest(whole, forest)
    used = [np.unique(whole.feature[slice(*ends)]) for ends in pairwise(whole.root)]
    assert all(np.isin(used[m], [-1, *allowed[m]]).all() for m in range(n))
    assert sum(len(each) > 1 for each in used) >= 3
