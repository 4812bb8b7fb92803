"""The best range of a leaf's target, against all ranges tried one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.arrays import Ints
from admercs.method.feedback import UNIT
from admercs.method.ranges import CodeRange, best_ranges
from admercs.table.bins import encode

codes = st.lists(st.tuples(st.integers(0, 5), st.floats(0, 3)), min_size=2, max_size=9)


def of_one(counts: Ints, excess: Ints, n_categories: int, least: float) -> CodeRange | None:
    """Return the best range of the second of two leaves; the first has no rows."""
    both = (np.stack([np.zeros_like(each), each]) for each in (counts, excess))
    none, found = best_ranges(*both, np.array([0, n_categories]), least)
    assert none is None
    return found


@given(per_code=codes, least=st.sampled_from([0.5, 1.75]))
def test_of_numbers_the_range_with_most_beyond_the_least(
    per_code: list[tuple[int, float]], least: float
) -> None:
    counts = np.array([rows for rows, _ in per_code])
    excess = np.array([int(rows * mean * UNIT) for rows, mean in per_code])
    beyond = excess - int(least * UNIT) * counts
    n = len(counts)
    amounts = [beyond[a : b + 1].sum() for a in range(1, n) for b in range(a, n)]
    found = of_one(counts, excess, 0, least)
    if max(amounts) <= 0:
        assert found is None
        return
    assert found is not None
    assert beyond[found.first : found.last + 1].sum() == max(amounts)
    assert found.first >= 1  # a missing value belongs to no range
    assert found.n_rows == counts[found.first : found.last + 1].sum()
    assert counts[found.first] > 0  # it begins with a value that rows have


@given(per_code=codes, grouped=st.booleans())
def test_of_categories_a_single_one_and_never_the_rare_ones(
    per_code: list[tuple[int, float]], grouped: bool
) -> None:
    counts = np.array([rows for rows, _ in per_code])
    excess = np.array([int(rows * mean * UNIT) for rows, mean in per_code])
    beyond = excess - int(1.75 * UNIT) * counts
    n_categories = max(1, len(counts) - 1 - grouped)
    known = beyond[1 : n_categories + 1]
    found = of_one(counts, excess, n_categories, 1.75)
    if known.max() <= 0:
        assert found is None
    else:
        assert found is not None
        assert found.first == found.last == 1 + int(known.argmax())
        assert found.n_rows == counts[found.first]


def test_a_range_ends_with_a_value_that_rows_have() -> None:
    counts = np.array([3, 5, 0, 0, 4, 0, 4, 0, 9])
    excess = np.array([0, 0, 0, 0, 16, 0, 12, 0, 0]) * int(UNIT)
    assert of_one(counts, excess, 0, 1.75) == CodeRange(4, 6, 8)


@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 4), (2, 3), (3, 4), (4, 4)])
def test_bounds_hold_the_values_of_the_codes(first: int, last: int) -> None:
    edges = np.array([-1.0, 0.5, 2.0])
    x = np.array([-1e300, -1.0, -0.9, 0.5, 0.6, 2.0, 2.1, 1e300, np.finfo(float).max, np.nan])
    code = encode(x, edges)
    low, high = CodeRange(first, last, 1).bounds(edges, nominal=False)
    np.testing.assert_array_equal((x > low) & (x <= high), (code >= first) & (code <= last))


def test_bounds_of_a_category() -> None:
    low, high = CodeRange(3, 3, 1).bounds(np.empty(0), nominal=True)
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    assert ((x > low) & (x <= high)).tolist() == [False, False, True, False, False]
