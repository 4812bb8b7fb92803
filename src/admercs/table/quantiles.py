"""Values at given ranks, found by counting rows in ever smaller cells.

A `RankSearch` says what to count next, `count_cells` counts it in a piece of a table, and
`merge_cells` adds up what was counted, so neither the order of the rows nor the cuts matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel, read_only
from admercs.arrays import Bools, Floats, Ints, Keys
from admercs.table.bins import edge_ranks, encode

FEW_RANKS = 4  # more are found by sorting
SORTED = 1 << 14  # up to so many values edges are exact: sorting is fast then
# The counts of so many cells fit into a processor's cache, and hardly any column needs more.
_N_CELLS = 1 << 14
_LARGEST, _SIGN = np.finfo(np.float64).max, np.uint64(1 << 63)


class Request(NamedTuple):
    """What to count next: the values within intervals, each cut into ``2**bits`` cells."""

    low: Floats  # both ends belong to an interval
    high: Floats
    bits: Ints
    even: bool  # a single interval, in cells of equal width; else of equally many numbers


class Cells(NamedTuple):
    """Occupied cells in ascending order: rows, smallest and largest value of each."""

    key: Ints
    rows: Ints
    low: Floats
    high: Floats

    def pick(self, chosen: Ints | Bools) -> Cells:
        """Return some of the cells."""
        return Cells(self.key[chosen], self.rows[chosen], self.low[chosen], self.high[chosen])


Ends = tuple[float, float]
Requests = dict[int, Request]  # by column
Count = Callable[[Requests], Mapping[int, Cells]]  # a pass over the whole table


@kernel
def _count_evenly(values, start, end, scale, count, low, high):  # type: ignore[no-untyped-def]
    last = np.float64(len(count) - 1)
    for i in range(np.uint64(len(values))):
        value = values[i]
        if start <= value <= end:
            # Every step is monotone, rounding included. Halves: the range itself may be infinite.
            place = (0.5 * value - 0.5 * start) * scale
            cell = np.uint64(place if place < last else last)
            count[cell] += 1
            low[cell] = min(low[cell], value)
            high[cell] = max(high[cell], value)


@kernel
def _count_inside(  # type: ignore[no-untyped-def]
    values, bits, codes, first_key, shift, offset, count, low, high
):
    sign, n_intervals = np.uint64(1 << 63), np.uint64(len(first_key))
    for i in range(np.uint64(len(values))):
        interval = np.uint64(codes[i] - 1)  # the first that does not end below the value
        if interval < n_intervals:
            key = bits[i]  # see `_ordered`
            key = np.uint64(0) - key if key > sign else key | sign
            if key >= first_key[interval]:
                cell = offset[interval] + ((key - first_key[interval]) >> shift[interval])
                count[cell] += 1
                low[cell] = min(low[cell], values[i])
                high[cell] = max(high[cell], values[i])


def _ordered(values: Floats) -> Keys:
    """Return integers in the order of the values; both zeros have the same one."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(bits > _SIGN, np.uint64(0) - bits, bits | _SIGN)


def count_cells(values: Floats, request: Request) -> Cells:
    """Count the values of a piece of a table; NaN and what lies in no interval is left out."""
    values = read_only(np.ascontiguousarray(values, dtype=np.float64))
    sizes = 1 << request.bits
    n_cells = int(sizes.sum())
    count = np.zeros(n_cells, np.int64)
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    if request.even:
        start, end = float(request.low[0]), float(request.high[0])
        scale = n_cells / max(0.5 * end - 0.5 * start, 1e-300)
        _count_evenly(values, start, end, scale, count, low, high)
    else:
        first_key = _ordered(request.low)
        spans = [int(span).bit_length() for span in _ordered(request.high) - first_key]
        shift = np.maximum(spans - request.bits, 0).astype(np.uint64)
        offset = (np.cumsum(sizes) - sizes).astype(np.uint64)
        codes = encode(values, request.high)
        bits = values.view(np.uint64)
        _count_inside(values, bits, codes, first_key, shift, offset, count, low, high)
    key = np.flatnonzero(count)
    return Cells(key, count[key], low[key] + 0.0, high[key] + 0.0)  # minus zero is zero


def merge_cells(pieces: Sequence[Cells]) -> Cells:
    """Merge the cells that pieces of a table counted for the same request."""
    joined = Cells(*map(np.concatenate, zip(*pieces, strict=True)))
    joined = joined.pick(np.argsort(joined.key, kind="stable"))
    if not len(joined.key):
        return joined
    first = np.flatnonzero(np.diff(joined.key, prepend=-1))
    rows = np.add.reduceat(joined.rows, first)
    ends = np.minimum.reduceat(joined.low, first), np.maximum.reduceat(joined.high, first)
    return Cells(joined.key[first], rows, *ends)


def count_requests(column: Callable[[int], Floats], requests: Requests) -> dict[int, Cells]:
    """Count what is requested of several columns; ``column(m)`` returns the values of one."""
    return {m: count_cells(column(m), request) for m, request in requests.items()}


def merge_requests(pieces: Sequence[Mapping[int, Cells]]) -> dict[int, Cells]:
    """Merge what pieces of a table counted for the same requests."""
    return {m: merge_cells([piece[m] for piece in pieces]) for m in pieces[0]}


class RankSearch:
    """The search for the values at some ranks (from 0) among ``n`` values, NaN not counted.

    To know their ``ends`` saves passes over the table. A cell with at most ``tolerance`` rows is
    not cut further; of at most ``n_distinct`` distinct values all are found.
    """

    def __init__(
        self, ranks: Ints, n: int, ends: Ends | None = None, tolerance: int = 0, n_distinct: int = 0
    ) -> None:
        self._ranks, self._tolerance, self._n_distinct = ranks, max(1, tolerance), n_distinct
        low, high = np.reshape(ends or (-_LARGEST, _LARGEST), (2, 1))
        whole = Cells(np.array([0]), np.array([n]), low, high)
        self.cells = whole if n else whole.pick(np.array([], np.int64))
        # Cells of equal width suit most columns best, even after one extreme value took a pass;
        # but values of all magnitudes would take ever more passes.
        self._n_even = 2 if ends else 0
        self._ask(self.cells.low < self.cells.high)

    def _ask(self, is_open: Bools) -> None:
        self._open = is_open
        _, rows, low, high = self.cells.pick(is_open)
        # Intervals get cells by their rows.
        bits = np.log2(np.maximum(rows / max(1, rows.sum()) * _N_CELLS, 16)).astype(np.int64)
        self._n_even -= 1
        even = len(low) == 1 and self._n_even >= 0
        self.request = Request(low, high, bits, even) if len(low) else None

    def _home(self, ranks: Ints) -> Ints:
        """Return the cell that contains each rank."""
        home = np.searchsorted(np.cumsum(self.cells.rows), ranks, side="right")
        # Rounding may leave a value just outside of the range that was given.
        return np.minimum(home, len(self.cells.key) - 1)

    def answer(self, counted: Cells) -> None:
        """Put the merged counts in the place of the cells that were open."""
        both = [self.cells.pick(~self._open), counted]
        cells = Cells(*map(np.concatenate, zip(*both, strict=True)))
        cells = self.cells = cells.pick(np.argsort(cells.low))
        is_open = cells.low < cells.high
        if len(cells.key) > self._n_distinct:
            wanted = np.zeros(len(cells.key), bool)
            wanted[self._home(self._ranks)] = True
            is_open &= wanted & (cells.rows > self._tolerance)
        self._ask(is_open)

    def gaps(self) -> tuple[Floats, Floats]:
        """Return the values before and after the gaps behind wanted ranks; few values: all gaps."""
        last = len(self.cells.key) - 1
        few = last < self._n_distinct
        home = np.arange(last) if few else np.unique(self._home(self._ranks))
        home = home[home < last]
        return self.cells.high[home], self.cells.low[home + 1]

    def at(self, ranks: Ints) -> Floats:
        """Return the values at some of the wanted ranks; exact if the tolerance is zero."""
        return self.cells.low[self._home(ranks)]


def run_searches(searches: Mapping[int, RankSearch], count: Count) -> None:
    """Bring searches in several columns to their end."""
    while requests := {m: search.request for m, search in searches.items() if search.request}:
        for m, cells in count(requests).items():
            searches[m].answer(cells)


def linear_quantiles(levels: Floats, n: int, at: Callable[[Ints], Floats]) -> Floats:
    """Return quantiles of ``n`` values, bit for bit those of ``numpy.quantile``.

    `at` returns the values at some ranks.
    """
    place = levels * (n - 1)
    lower = np.floor(place)
    ranks = np.concatenate([lower, np.minimum(lower + 1, n - 1)]).astype(np.int64)
    below, above = np.split(at(ranks), 2)
    share, width = place - lower, above - below
    return np.where(share >= 0.5, above - width * (1 - share), below + width * share)


def counted_quantiles(levels: Floats, n: int, count: Count) -> Floats:
    """Return quantiles of the ``n`` values of column 0, which are counted in passes."""

    def at(ranks: Ints) -> Floats:
        search = RankSearch(ranks, n)
        run_searches({0: search}, count)
        return search.at(ranks)

    return linear_quantiles(levels, n, at)


def sorted_quantiles(values: Floats, levels: Floats) -> Floats:
    """Return quantiles of values (no NaN) in a fraction of the time of ``numpy.quantile``."""

    def at(ranks: Ints) -> Floats:
        ordered = values.copy()
        if len(ranks) > FEW_RANKS:
            ordered.sort()
            return ordered[ranks]
        found: dict[int, float] = {}
        for rank in sorted(set(ranks.tolist()), reverse=True):
            # Numpy is fast where it is asked for one value at a time, and for the largest one.
            if rank == len(ordered) - 1:
                found[rank] = ordered.max()
            else:
                ordered.partition(rank)
                found[rank] = ordered[rank]
                ordered = ordered[:rank]
        return np.array([found[rank] for rank in ranks.tolist()])

    return linear_quantiles(levels, len(values), at)


def edge_search(n_values: int, ends: Ends, max_bins: int) -> RankSearch:
    """Return the search for the edges of a column's bins: they lie in its gaps."""
    # Between an edge and its exact quantile lie at most .1% of the values and a quarter of a bin.
    tolerance = n_values // max(1000, 4 * max_bins) if n_values > SORTED else 0
    return RankSearch(edge_ranks(n_values, max_bins), n_values, ends, tolerance, max_bins)
