"""Codes of partitions whose bin edges are still being found: one reading serves for both.

Before the reading it is known between which values each edge lies. Rows outside of these brackets need nothing
but their *zone*, the place between two brackets; only of the few rows within brackets the values are kept until the
edges are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.fitting import target_codes
from admercs.density.likelihoods import DISCRETE, column_kind
from admercs.distributed.pieces import Piece, open_part
from admercs.distributed.selection import (
    Collected,
    collect,
    cumulate_cells,
    find_cells,
    merge_collected,
)
from admercs.table.bins import Binning, encode, encode_column
from admercs.table.schema import Schema
from admercs.trees.targets import fixed_point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger]
Limits = dict[int, tuple[float, float]]


class Bracket(NamedTuple):
    """Where the edges of a column lie: in some of the gaps between candidates."""

    candidates: Floats
    gaps: Ints

    def is_open(self) -> NDArray[np.bool_]:
        """Say for each cell (see `find_cells`, missing first) whether edges may lie in it."""
        found = np.zeros(2 * len(self.candidates) + 2, np.bool_)
        found[2 * self.gaps + 1] = True
        return found

    def zones(self) -> Codes:
        """Return the zone of each cell, missing first; an open cell is in none and any will do."""
        is_open = self.is_open()
        starts = ~is_open[1:]
        starts[1:] &= is_open[1:-1]
        zones = np.concatenate([[0], np.cumsum(starts)])
        return zones.astype(np.uint8 if zones[-1] < 256 else np.uint16)

    def codes(self, edges: Floats) -> Codes:
        """Return the code of each cell that edges do not cut, missing first."""
        codes = np.zeros(2 * len(self.candidates) + 2, np.int64)
        codes[1] = 1
        codes[2::2] = 1 + np.searchsorted(edges, self.candidates, side="left")
        codes[3::2] = 1 + np.searchsorted(edges, self.candidates, side="right")
        return codes.astype(np.uint16)


class Found(NamedTuple):
    """What is known of the order of a column's values: those up to candidates, those in gaps."""

    counts: Ints
    collected: Collected


class Inside(NamedTuple):
    """The rows of a partition in the brackets of a column."""

    rows: NDArray[np.int32]
    values: Floats
    counts: Ints  # rows per cell, inside of brackets and outside


class Draft(NamedTuple):
    """A partition whose codes wait for some columns' edges."""

    codes: list[Codes]  # per column: codes, or zones where the edges are not known
    inside: dict[int, Inside]
    moments: dict[int, NDArray[np.int32]]  # as in a Piece
    values: dict[int, Codes]


def draft_part(
    part: Any,
    schema: Schema,
    binning: Binning,
    brackets: Mapping[int, Bracket],
    limits: Limits,
) -> Draft:
    """Encode a partition as far as the edges are known.

    Parameters
    ----------
    part : DataFrame
    schema : Schema
    binning : Binning
        Without the edges of columns that have brackets.
    brackets : mapping of int to Bracket
    limits : dict of int to tuple of float
        Smallest and largest value of the targets that are predicted as numbers.
    """
    table = open_part(part, schema)
    codes: list[Codes] = []
    inside, values = {}, {}
    for m, column in enumerate(schema.used):
        x = table.column(m)
        if m in brackets:
            cells = find_cells(x, brackets[m].candidates)
            n_cells = 2 * len(brackets[m].candidates) + 2
            rows = np.flatnonzero(brackets[m].is_open()[cells])
            counts = np.bincount(cells, minlength=n_cells)[1:]
            inside[m] = Inside(rows.astype(np.int32), x[rows], counts)
            codes.append(brackets[m].zones()[cells])
        else:
            codes.append(np.empty(table.n_rows, binning.dtype))
            encode_column(x, column, binning.edges[m], codes[m])
        if column_kind(column) == DISCRETE:
            told = target_codes(column, binning.edges[m], codes[m], _just(x))
            if told is not codes[m]:
                values[m] = told
    moments = {m: fixed_point(table.column(m), *ends) for m, ends in limits.items()}
    return Draft(codes, inside, moments, values)


def _just(values: Floats) -> Callable[[], Floats]:
    return lambda: values


def encode_part(part: Any, schema: Schema, binning: Binning, limits: Limits) -> Piece:
    """Encode a partition with edges that are all known."""
    return settle(draft_part(part, schema, binning, {}, limits), binning, {})


def found_in(drafts: list[Draft]) -> list[Found]:
    """Return what the rows of some partitions tell about the edges, column by column."""
    return [
        Found(
            cumulate_cells(np.sum([draft.inside[m].counts for draft in drafts], axis=0)),
            collect(np.concatenate([draft.inside[m].values for draft in drafts])),
        )
        for m in drafts[0].inside
    ]


def merge_found(parts: list[list[Found]]) -> list[Found]:
    """Merge what was counted and collected, column by column."""
    return [
        Found(
            np.sum([one.counts for one in found], axis=0),
            merge_collected([one.collected for one in found]),
        )
        for found in zip(*parts, strict=True)
    ]


def cuts_a_zone(bracket: Bracket, counts: Ints, n_values: int, edges: Floats) -> bool:
    """Say whether values of the same zone have different codes, so that the bracket was wrong."""
    codes, zones, is_open = bracket.codes(edges), bracket.zones(), bracket.is_open()
    per_cell = np.diff(np.concatenate([[0], counts.T.ravel(), [n_values]]))
    full = np.flatnonzero(per_cell) + 1
    full = full[~is_open[full]]
    same_zone = zones[full[1:]] == zones[full[:-1]]
    return bool(np.any(same_zone & (codes[full[1:]] != codes[full[:-1]])))


def settle(draft: Draft, binning: Binning, brackets: Mapping[int, Bracket]) -> Piece:
    """Give the rows of a partition their codes, now that all edges are known."""
    n_rows = len(draft.codes[0]) if draft.codes else 0
    codes = np.empty((len(draft.codes), n_rows), np.dtype(binning.dtype))
    for m, rough in enumerate(draft.codes):
        if m not in brackets:
            codes[m] = rough
            continue
        inside, edges = draft.inside[m], binning.edges[m]
        codes[m] = _codes_of_zones(brackets[m], inside.counts, edges).astype(binning.dtype)[rough]
        codes[m, inside.rows] = encode(inside.values, edges)
    return Piece(codes, draft.moments, draft.values)


def _codes_of_zones(bracket: Bracket, counts: Ints, edges: Floats) -> Codes:
    """Return the code of each zone: that of its cells with any rows."""
    zones = bracket.zones()
    codes = np.zeros(int(zones[-1]) + 1, np.uint16)
    full = np.concatenate([[False], counts > 0]) & ~bracket.is_open()
    codes[zones[full]] = bracket.codes(edges)[full]
    return codes
