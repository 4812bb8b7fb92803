"""A sample of rows is the same in any order and in any pieces."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.trees.row_sample import merge_samples, sample_rows


@pytest.mark.parametrize("most", [50, 20_000])
@pytest.mark.parametrize("n_codes", [3, 200])
def test_neither_order_nor_pieces_matter(most: int, n_codes: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, (5, 3000)).astype(np.uint8)
    whole = sample_rows(codes, most)
    distinct = np.unique(codes, axis=1)
    assert whole.codes.shape[1] == min(most, distinct.shape[1])
    assert np.all(np.diff(whole.hash.astype(float)) >= 0)
    known = {tuple(row) for row in distinct.T.tolist()}
    assert all(tuple(row) in known for row in whole.codes.T.tolist())
    moved = codes[:, rng.permutation(3000)]
    pieces = [sample_rows(piece, most) for piece in np.split(moved, [0, 10, 1000], axis=1)]
    merged = merge_samples([merge_samples(pieces[:2]), merge_samples(pieces[2:])])
    np.testing.assert_array_equal(merged.codes, whole.codes)
    np.testing.assert_array_equal(merged.hash, whole.hash)
    np.testing.assert_array_equal(merged.times, whole.times)
    rows, times = np.unique(codes, axis=1, return_counts=True)
    often = dict(zip(map(tuple, rows.T.tolist()), times.tolist(), strict=True))
    assert [often[tuple(row)] for row in whole.codes.T.tolist()] == whole.times.tolist()


def test_a_short_cut_changes_nothing() -> None:
    codes = np.random.default_rng(1).integers(0, 250, (4, 5000)).astype(np.uint16)
    plain = sample_rows(codes, 700)  # too many for the short cut
    np.testing.assert_array_equal(sample_rows(codes, 300).codes, plain.codes[:, :300])


def test_rows_are_drawn_as_often_as_they_occur() -> None:
    codes = np.repeat(np.arange(200, dtype=np.uint8), np.arange(200))[None]
    sample = sample_rows(codes, 30_000)
    every = sample.draw()
    np.testing.assert_array_equal(np.sort(sample.codes[0, every]), codes[0])
    some = np.bincount(sample.codes[0, sample._replace(most=2000).draw()], minlength=200)
    assert abs(some.sum() - 2000) < 60
    assert np.all(np.abs(some - np.arange(200) * 2000 / codes.shape[1]) < 1)
