"""Random tables are fitted, saved, scored and explained: a short part of what fuzzing does."""

import warnings
from collections import Counter
from pathlib import Path

from tests.fuzz import Random

# A text column of polars with NUL in its name; copies of a column, exchanged; nothing but 1e999.
ODD = [600522, 603435, 608009]


def test_random_tables_give_results_that_agree(tmp_path: Path) -> None:
    cases = Random(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Counter(cases.run(number) for number in [*range(40), *ODD])
    assert found["used"] > 25
