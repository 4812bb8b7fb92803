"""Errors are put where they are said to be, and tables with errors are read with them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from admercs.datasets import (
    ERRORS,
    DamagedFileError,
    DataNotFoundError,
    exchange_values,
    insert_errors,
    list_dirty,
    list_oddbench,
    load_dirty,
    load_oddbench,
)


@pytest.fixture
def odd(tmp_path):
    """A data folder with one set: 30 rows to learn from, 12 to test, one column constant."""
    (tmp_path / "oddbench").mkdir()
    rng = np.random.default_rng(0)
    parts = {"train": rng.random((30, 3)), "test": rng.random((12, 3))}
    parts["train"][:, 1] = 7.0
    names = np.array(["a", "b", "c"])
    labels = np.arange(12) < 2
    np.savez(tmp_path / "oddbench" / "Tiny.npz", test_labels=labels, feature_names=names, **parts)
    return tmp_path


def test_an_oddbench_set_without_its_constant_column(odd):
    assert list_oddbench(odd) == ["Tiny"]
    assert list_oddbench(odd, max_bytes=10) == []
    data = load_oddbench("Tiny", odd)
    assert (data.train.shape, data.test.shape) == ((30, 2), (12, 2))
    assert data.columns == ("a", "c")
    assert data.y.tolist() == [True] * 2 + [False] * 10


def test_rows_of_a_large_part_are_drawn_with_their_labels(odd):
    whole, drawn = load_oddbench("Tiny", odd), load_oddbench("Tiny", odd, max_rows=12)
    order = np.random.default_rng(0).permutation(30)[:12]
    np.testing.assert_array_equal(drawn.train, whole.train[order])
    np.testing.assert_array_equal(drawn.test, whole.test)
    few = load_oddbench("Tiny", odd, max_rows=5)
    order = np.random.default_rng(0).permutation(12)[:5]
    np.testing.assert_array_equal(few.y, whole.y[order])
    np.testing.assert_array_equal(few.test, whole.test[order])


def test_absent_and_damaged_sets_are_named(odd):
    with pytest.raises(DataNotFoundError, match="the OddBench set Huge is absent"):
        load_oddbench("Huge", odd)
    with pytest.raises(DataNotFoundError, match="the dirty tables are absent"):
        list_dirty(odd)
    with pytest.raises(DataNotFoundError, match="the dirty table beers is absent"):
        load_dirty("beers", odd)
    (odd / "oddbench" / "Tiny.npz").write_bytes(b"PK\x03\x04 but no more")
    with pytest.raises(DamagedFileError, match=r"Tiny\.npz"):
        load_oddbench("Tiny", odd)
    (odd / "oddbench" / "Tiny.npz").unlink()
    with pytest.raises(DataNotFoundError, match="OddBench is absent"):
        list_oddbench(odd)


@pytest.fixture
def dirty(tmp_path):
    folder = tmp_path / "dirty" / "dgov-x" / "Beers"
    folder.mkdir(parents=True)
    files = {
        "dirty": 'name,size\n"Pub, dark",486.0\nAle,N/A\nStout x,3\n',
        "clean": 'name,size\n"Pub, dark",486\nAle,\nStout,3\n',
    }
    for name, text in files.items():
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.write(text)
    return tmp_path


def test_a_dirty_table_and_where_it_is_wrong(dirty):
    assert list_dirty(dirty) == ["dgov-x/Beers"]
    data = load_dirty("dgov-x/Beers", dirty)
    assert data.wrong.tolist() == [[False, False], [False, True], [True, False]]
    assert data.table["size"].isna().tolist() == [False, True, False]
    assert data.texts[:, 1].tolist() == ["486.0", "N/A", "3"]


def test_files_of_different_size_are_refused(dirty):
    with gzip.open(dirty / "dirty" / "dgov-x" / "Beers" / "clean.csv.gz", "wt") as file:
        file.write("name,size\nAle,3\n")
    with pytest.raises(DamagedFileError, match="the dirty file is 3 x 2, the clean one 1 x 2"):
        load_dirty("dgov-x/Beers", dirty)


@pytest.mark.parametrize("error", ERRORS)
def test_only_wrong_values_change_and_by_enough(error):
    X = np.random.default_rng(1).normal([5, -20, 0.5], [1, 4, 0.1], (1500, 3))
    data = insert_errors(X, error)
    np.testing.assert_array_equal(data.X != X, data.wrong)
    assert data.y.sum() == 30
    assert (
        np.abs(data.X - X)[data.wrong] > (np.ones((1500, 3)) * X.std(axis=0) / 2)[data.wrong]
    ).all()
    assert (data.wrong.sum(axis=1)[data.y] == (2 if error == "swap" else 1)).all()
    np.testing.assert_array_equal(insert_errors(X, error).X, data.X)
    assert (insert_errors(X, error, 1).y != data.y).any()


def test_exchanged_values_occur_in_their_column():
    X = np.random.default_rng(1).random((400, 3))
    data = exchange_values(X)
    assert data.y.sum() == 10
    for row, column in np.argwhere(data.wrong):
        assert data.X[row, column] in X[:, column]


def test_a_row_without_a_place_for_an_error_stays_as_it_is():
    X = np.zeros((50, 2))
    assert not insert_errors(X, "factor 10").wrong.any()
    with pytest.raises(ValueError, match="unknown error 'typo'"):
        insert_errors(X, "typo")
