"""Finders go side by side, and each round of their questions is one reading of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from admercs.pipeline.joint_questions import Finder, Question, find_together
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from admercs.table.frame import Frame


def total(frame: Frame, factor: int) -> list[int]:
    return [factor * int(frame.column(j).values.sum()) for j in range(frame.n_columns)]


def add_up(parts: list[list[int]]) -> list[int]:
    return [sum(each) for each in zip(*parts, strict=True)]


def sums(places: list[int], rounds: int) -> Finder[list[int]]:
    """Ask for the sums of some columns, each round for their multiples by the last answer."""
    found: list[int] = [1]
    for _ in range(rounds):
        found = yield Question(total, add_up, places, (found[0],))
    return found


class CountedRows(RowsInMemory):
    """Rows that remember which columns were looked at in each reading."""

    looked: tuple[tuple[int, ...], ...] = ()

    def look_at(self, phase: str, function, places, *, shared=()):  # type: ignore[no-untyped-def]
        self.looked += (tuple(places),)
        return super().look_at(phase, function, places, shared=shared)


def test_questions_of_a_round_are_one_reading() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6], "d": [0, 0]})
    rows = CountedRows(read_frame(table))
    rows.summary("auto")
    rows.looked = ()
    found = find_together(rows, [sums([2, 0], 1), sums([], 0), sums([1], 3)])
    assert found == [[11, 3], [1], [7**3]]
    assert rows.looked == ((0, 1, 2), (1,), (1,))


def test_what_is_needed_of_large_answers_is_decided_where_they_are() -> None:
    def finder() -> Finder[int]:
        found: int = yield Question(total, add_up, [0, 1], (1,), digest=max)
        return found

    table = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    rows = CountedRows(read_frame(table))
    rows.summary("auto")
    assert find_together(rows, [finder(), sums([0], 1)]) == [7, [3]]


def test_without_questions_nothing_is_read() -> None:
    rows = CountedRows(read_frame(np.zeros((3, 2))))
    assert find_together(rows, [sums([0], 0)]) == [[1]]
    assert find_together(rows, []) == []
    assert rows.looked == ()
