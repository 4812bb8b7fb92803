"""What is done with one partition of the table, on the worker that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from admercs.distributed.selection import Sample, merge_samples, sketch_values
from admercs.table.frame import read_frame
from admercs.table.prepared import Prepared, prepare
from admercs.table.schema import Schema
from admercs.table.summary import TableSummary, merge_summaries, summarise
from admercs.table.values import RawColumn
from admercs.trees.forest import Leaves, leaf_type
from admercs.trees.grow import Layout
from admercs.trees.levels import find_turns
from admercs.trees.nodes import NodeArrays

N_PIVOTS = 1 << 13
"""Values of a column that its other values in a partition are compared with, to guess bin edges."""


class Spread(NamedTuple):
    """Some values of a column in ascending order, and how many each stands for."""

    raw: RawColumn
    weight: NDArray[np.float64]


class Look(NamedTuple):
    """What the first look at a partition tells."""

    summary: TableSummary
    spread: dict[int, Spread]  # per numeric column with many values, by its position


class Piece(NamedTuple):
    """What a worker keeps of a partition while trees are grown: a byte a cell."""

    codes: NDArray[np.uint8] | NDArray[np.uint16]  # M x n
    # Further forms of some targets, only where codes do not tell enough:
    moments: dict[int, NDArray[np.int32]]  # fixed-point values, for variance criteria
    values: dict[int, NDArray[np.unsignedinteger]]  # number of the distinct value, for few bins


class Placed(NamedTuple):
    """What a worker keeps of a partition once trees are grown: again a byte a cell."""

    leaves: Leaves
    codes: dict[int, NDArray[np.unsignedinteger]]  # of nominal columns, not to be read again

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaves.number.shape[1])


def only_codes(piece: Piece) -> Piece:
    """Return what is still needed of a partition once trees are grown and their leaves are counted."""
    return piece._replace(moments={}, values={})


class Walk(NamedTuple):
    """What finds the leaves of rows from their codes."""

    layout: Layout
    trees: list[NodeArrays]
    root: NDArray[np.int64]

    def leaves(self, codes: NDArray[Any]) -> Leaves:
        """Return the leaf of each row in each tree."""
        dtype = leaf_type(max((len(tree.feature) for tree in self.trees), default=1))
        number = np.empty((len(self.trees), codes.shape[1]), np.dtype(dtype))
        for nodes, out in zip(self.trees, number, strict=True):
            out[:] = find_turns(nodes, self.layout).walk(codes)
        return Leaves(number, self.root)

    def place(self, piece: Piece) -> Placed:
        """Return what is kept of a partition from now on."""
        nominal = np.flatnonzero(self.layout.is_nominal).tolist()
        return Placed(self.leaves(piece.codes), {m: piece.codes[m].copy() for m in nominal})


def open_part(part: Any, schema: Schema) -> Prepared:
    """Return the working values of a partition."""
    return prepare(read_frame(part, allow_empty=True), schema)


def open_numbers(part: Any, schema: Schema, numeric: Sequence[int]) -> Prepared:
    """Return the working values of some numeric columns of a partition that holds only them."""
    columns = [schema.used[m] for m in numeric]
    kinds = tuple(schema.kinds[column.position] for column in columns)
    columns = [replace(column, position=k) for k, column in enumerate(columns)]
    return open_part(part, replace(schema, columns=tuple(columns), kinds=kinds))


def positions(schema: Schema, numeric: Sequence[int]) -> list[int]:
    """Return where some numeric columns are in the table; one column at least, to read something."""
    return [schema.used[m].position for m in numeric] or [0]


def numeric_columns(schema: Schema) -> list[int]:
    """Return the used columns whose values codes do not tell."""
    return [m for m, column in enumerate(schema.used) if column.role == "numeric"]


def check_rows(n_rows: int, part: pd.DataFrame) -> None:
    """Raise a ValueError if a partition has changed since it was read first."""
    if len(part) != n_rows:
        raise ValueError(
            f"The partition had {n_rows:,} rows when it was read first and has {len(part):,} now: a "
            "table must not change while it is read."
        )


class HalfRead(Prepared):
    """A partition of which only numeric columns are read; the codes tell the nominal values."""

    def __init__(self, part: pd.DataFrame, schema: Schema, placed: Placed) -> None:
        self.n_columns, self.n_rows = len(schema.used), placed.n_rows
        numeric = numeric_columns(schema)
        self._place = {m: k for k, m in enumerate(numeric)}
        self._numbers = open_numbers(part, schema, numeric) if numeric else None
        self._nominal = placed.codes
        check_rows(self.n_rows, part)

    def column(self, m: int) -> NDArray[np.float64]:
        """Return the working values of used column ``m``."""
        if self._numbers is not None and m in self._place:
            return self._numbers.column(self._place[m])
        return _from_codes(self._nominal[m])

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return the working values of the rows ``start:stop``, one C row per used column."""
        stop = min(stop, self.n_rows)
        out = np.empty((self.n_columns, max(0, stop - start)))
        if self._numbers is not None:
            out[list(self._place)] = self._numbers.block(start, stop)
        for m, codes in self._nominal.items():
            out[m] = _from_codes(codes[start:stop])
        return out

    def some(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the working values of some rows."""
        return np.stack([self.column(m)[rows] for m in range(self.n_columns)])


def _from_codes(codes: NDArray[Any]) -> NDArray[np.float64]:
    values = codes.astype(np.float64)
    values[values == 0] = np.nan
    return values


def look_at(part: pd.DataFrame, number: int, nominal: Any, size: int) -> Look:
    """Summarise a partition and remember some values of its numeric columns."""
    frame = read_frame(part, allow_empty=True)
    summary = summarise(frame, nominal, partition=number)
    spread = {
        position: some_values(frame.column(position), size)
        for position, column in enumerate(summary.columns)
        if column.role == "numeric" and column.counts is None
    }
    return Look(summary, spread)


def some_values(raw: RawColumn, size: int) -> Spread:
    """Return some values of a column in ascending order, and how many each stands for."""
    present = raw.present()
    # Whole numbers may be too large for a float: those above the smallest are more likely not to be.
    numbers = present if raw.kind == "float" else present - present.min()
    chosen, weight = sketch_values(np.asarray(numbers, np.float64), N_PIVOTS)
    place = merge_samples([Sample(np.arange(len(chosen), dtype=np.float64), weight)], size)
    kept = chosen[place.values.astype(np.int64)]
    return Spread(replace(raw, values=present[kept], missing=None), place.weight)


def signatures(looks: list[Look | list[TableSummary]]) -> list[TableSummary]:
    """Return what must agree between partitions: names and types, without any counts."""
    found: list[TableSummary] = []
    for look in looks:
        if isinstance(look, list):
            found += look
            continue
        columns = tuple(replace(column, counts={}) for column in look.summary.columns)
        found.append(replace(look.summary, columns=columns))
    return found


def merge_looks(looks: list[Look | TableSummary]) -> TableSummary:
    """Merge the summaries of partitions."""
    return merge_summaries([look.summary if isinstance(look, Look) else look for look in looks])


def count_all_codes(pieces: list[Piece], n_codes: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Count how often each code occurs, per column."""
    counts = [np.zeros(n, np.int64) for n in n_codes]
    for piece in pieces:
        for m in range(len(counts)):
            counts[m] += np.bincount(piece.codes[m], minlength=len(counts[m]))
    return counts


def add_lists(pieces: list[list[NDArray[np.int64]]]) -> list[NDArray[np.int64]]:
    """Add up lists of arrays, place by place."""
    return [np.sum(arrays, axis=0) for arrays in zip(*pieces, strict=True)]


def add_up(sums: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Add up the sums of several partitions."""
    total: NDArray[np.int64] = np.sum(sums, axis=0)
    return total
