"""What is done with one partition of the table, on the worker that has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.distributions import column_kind
from admercs.density.fitting import target_codes
from admercs.density.likelihoods import DISCRETE
from admercs.detector.judge import BLOCK
from admercs.table.bins import Binning, encode_table
from admercs.table.frame import read_frame
from admercs.table.prepared import Prepared, prepare
from admercs.table.schema import Schema
from admercs.table.summary import TableSummary, merge_summaries, summarise
from admercs.trees.forest import Forest
from admercs.trees.targets import fixed_point
from admercs.trees.walk import find_leaves


class Look(NamedTuple):
    """What the first look at a partition tells."""

    summary: TableSummary
    sample: Any  # some rows, in the table's own type


class Piece(NamedTuple):
    """What a worker keeps of a partition while trees are grown: a byte a cell."""

    codes: NDArray[np.uint8] | NDArray[np.uint16]  # M x n
    # Further forms of some targets, only where codes do not tell enough:
    moments: dict[int, NDArray[np.int32]]  # fixed-point values, for variance criteria
    values: dict[int, NDArray[np.unsignedinteger]]  # number of the distinct value, for few bins


def open_part(part: Any, schema: Schema) -> Prepared:
    """Return the working values of a partition."""
    return prepare(read_frame(part, allow_empty=True), schema)


def look_at(part: Any, number: int, nominal: Any, sample_size: int) -> Look:
    """Summarise a partition and take a sample of its rows."""
    summary = summarise(read_frame(part, allow_empty=True), nominal, partition=number)
    return Look(summary, part.iloc[:: max(1, -(-len(part) // sample_size))])


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


def encode_part(
    part: Any, schema: Schema, binning: Binning, limits: dict[int, tuple[float, float]]
) -> Piece:
    """Encode a partition; `limits` are those of the targets that are predicted as numbers."""
    table = open_part(part, schema)
    codes = encode_table(table, schema, binning, n_jobs=1)
    moments = {m: fixed_point(table.column(m), *ends) for m, ends in limits.items()}
    values = {}
    for m, column in enumerate(schema.used):
        if column_kind(column) == DISCRETE:
            told = target_codes(column, binning.edges[m], codes[m], _column(table, m))
            if told is not codes[m] and not np.shares_memory(told, codes):
                values[m] = told
    return Piece(codes, moments, values)


def _column(table: Prepared, m: int) -> Any:
    return lambda: table.column(m)


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


def leaves_of_table(table: Prepared, forest: Forest) -> NDArray[np.int32]:
    """Return the leaf of each row in each tree."""
    leaves = np.empty((table.n_columns, table.n_rows), np.int32)
    for start in range(0, table.n_rows, BLOCK):
        block = table.block(start, start + BLOCK)
        found = np.empty(block.shape, np.int32)
        find_leaves(forest, block, found)
        leaves[:, start : start + BLOCK] = found
    return leaves
