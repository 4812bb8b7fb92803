"""One cell, several views: the strongest speaks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from admercs.method.strongest_view import keep_strongest, views_of_cells


def test_columns_that_one_attribute_speaks_about_have_no_views_to_compare() -> None:
    assert views_of_cells(np.array([2, 0, 1])) == []
    found = views_of_cells(np.array([2, 0, 2, 1, 0, 2]))
    assert [views.tolist() for views in found] == [[1, 4], [0, 2, 5]]


@given(arrays(float, (5, 7), elements=st.floats(0, 100)))
def test_only_the_strongest_view_of_a_cell_is_kept(evidence: np.ndarray) -> None:
    kept = evidence.copy()
    keep_strongest(kept, [np.array([0, 3, 4])])
    assert np.array_equal(kept[[1, 2]], evidence[[1, 2]])
    views, before = kept[[0, 3, 4]], evidence[[0, 3, 4]]
    assert np.array_equal(views.sum(axis=0), before.max(axis=0))
    assert (np.count_nonzero(views, axis=0) <= 1).all()
