"""Trees grown from pieces of a table are the trees grown from the whole table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from admercs.datasets import make_electric_vehicles
from admercs.method.settings import Trees

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
