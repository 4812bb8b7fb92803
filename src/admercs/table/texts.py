"""Columns of text: counting and encoding them inside the library that holds them.

Turning a million texts into Python objects takes longer than everything else that is done with
their column, so it is left out wherever the library can do the work itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import repeat
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from admercs.arrays import Array, Bytes

_CHUNK = 65_536


def count_objects(values: Array, cap: int) -> dict[Any, int] | None:
    """Return how often each value occurs; None as soon as there are more than ``cap``."""
    counts: Counter[Any] = Counter()
    for start in range(0, len(values), _CHUNK):
        counts.update(values[start : start + _CHUNK].tolist())
        if len(counts) > cap:
            return None
    return dict(counts)


def count_texts(series: nw.Series[Any], cap: int) -> dict[Any, int] | None:
    """Return how often each text occurs, nulls aside; None if there are more than ``cap``."""
    present = series.alias("text").drop_nulls()
    sample = present.gather_every(max(1, len(present) // 4096))
    if 2 * sample.n_unique() > len(sample):
        # Hardly a text occurs twice: most likely the count can be given up after a few of them.
        return count_objects(present.to_numpy(), cap)
    table = present.value_counts(name="count")
    if len(table) > cap:
        return None
    return dict(zip(table["text"].to_list(), table["count"].to_list(), strict=True))


def encode_objects(values: Array, codes: Mapping[Any, int], other: int) -> Bytes:
    """Return the code of each value, ``other`` for those without."""
    return np.fromiter(map(codes.get, values.tolist(), repeat(other)), np.uint8, len(values))


def encode_texts(series: nw.Series[Any], codes: Mapping[Any, int], other: int) -> Bytes:
    """Return the code of each text, ``other`` for those without and 0 for null."""
    if series.implementation.is_pandas():  # its way of replacing values is a slow join
        number, distinct = series.to_native().factorize()
        new = [codes.get(text, other) for text in distinct]
        return np.array([*new, 0], np.uint8)[number]  # null has the number -1
    found = series.drop_nulls().unique().to_list()
    if not found:
        return np.zeros(len(series), np.uint8)
    new = [codes.get(text, other) for text in found]
    replaced = series.replace_strict(found, new, return_dtype=nw.UInt8)
    filled: Bytes = replaced.fill_null(0).to_numpy()
    return filled
