"""Values as text, exactly as the table holds them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from admercs.explain.scored_rows import raw_texts
from admercs.table.frame import read_frame


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([38820.0, 0.1, 1e300, np.nan], ["38820", "0.1", "1e+300", None]),
        ([1234567, -7], ["1234567", "-7"]),
        ([True, False], ["true", "false"]),
        (["a, b", "", '{"a": [1, null]}'], ["a, b", "", '{"a": [1, null]}']),
        ([dt.date(2021, 3, 1)], ["2021-03-01"]),
        ([dt.time(14, 30, 5)], ["14:30:05"]),
        (pd.to_timedelta([90, 86401], unit="s"), ["0:01:30", "1 day, 0:00:01"]),
        (
            pd.to_datetime(
                ["2021-03-01", "2021-03-01 14:30", "2021-03-01 14:30:05.25"], format="ISO8601"
            ),
            ["2021-03-01", "2021-03-01 14:30:00", "2021-03-01 14:30:05.25"],
        ),
        (
            pd.to_datetime(["2021-07-01 12:00"]).tz_localize("Europe/Brussels"),
            ["2021-07-01 12:00:00+02:00"],
        ),
        (
            pd.to_datetime(["2021-07-01 12:00"]).tz_localize("+02:00"),
            ["2021-07-01 12:00:00+02:00"],
        ),
        (np.array(["-1044-03-15", "12021-01-01"], "M8[s]"), ["-1044-03-15", "12021-01-01"]),
        (np.array([0.1, 7], np.float32), ["0.1", "7"]),
    ],
)
def test_values(values, texts) -> None:
    column = read_frame(pd.DataFrame({"x": values})).column(0)
    assert raw_texts(column, np.arange(len(texts))) == texts
