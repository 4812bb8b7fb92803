import numpy as np

from admercs.density.ragged import owners, pointers, ranges, totals


def test_pieces_one_after_the_other():
    ptr = pointers(np.array([2, 0, 3]))
    assert ptr.tolist() == [0, 2, 2, 5]
    assert owners(ptr).tolist() == [0, 0, 2, 2, 2]
    numbers, owner = ranges(np.array([5, 9, 2]), np.array([7, 8, 3]))
    assert numbers.tolist() == [5, 6, 2]
    assert owner.tolist() == [0, 0, 2]


def test_sums_of_pieces():
    assert totals(np.array([0, 2, 2]), np.array([1.0, 2.0, 0.5]), 3).tolist() == [1, 0, 2.5]
    assert totals(np.empty(0, np.int64), np.empty(0), 2).dtype == np.float64
