"""Bin codes: each used column as small integers, which is all that the trees see."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.table.columns import Column
from admercs.table.prepared import Prepared
from admercs.table.schema import Schema

MAX_BINS = 254
"""Bins of values that fit into a byte beside the code 0 for missing."""

MAX_EXACT = 65_534
"""Distinct values that fit into two bytes beside the code 0 for missing."""

Bins = int | Literal["exact"]

# From so many values on, edges are selected rather than sorted out of all values.
_SELECT_FROM = 1 << 14
_SAMPLE = 4096
# Few values share a cell with a quantile, and a cell's number fits into two bytes.
_CELLS = 1 << 14


class Binning(NamedTuple):
    """Where the bins of each used column end.

    Code 0 is missing. Of a numeric column, ``x <= edges[k]`` if and only if ``code <= k + 1``. The
    codes of a nominal column are its working values.
    """

    edges: tuple[NDArray[np.float64], ...]
    n_codes: NDArray[np.int32]
    is_nominal: NDArray[np.bool_]
    wide: bool

    @property
    def dtype(self) -> type[np.uint8] | type[np.uint16]:
        """The type of the codes."""
        return np.uint16 if self.wide else np.uint8


def edge_ranks(n_values: int, n_bins: int) -> NDArray[np.int64]:
    """Return the ranks (from 0) of the values after which a bin ends.

    Bin ``k`` is to end after the ``ceil(k n / n_bins)`` smallest values: an edge lies between the
    value of that rank and the next larger one. So the edges of a table in parts are those of the
    whole as soon as the values at these ranks are known.

    Examples
    --------
    >>> edge_ranks(10, 4)
    array([2, 4, 7])
    """
    k = np.arange(1, n_bins, dtype=np.int64)
    ranks = -(-k * n_values // n_bins) - 1
    return np.unique(ranks[ranks >= 0])


def edges_between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an edge for each pair of neighbouring values, ``low <= edge < high``.

    Halves are added up, since the sum of two large numbers may overflow; where no number lies
    between the two the edge is the lower one.

    Examples
    --------
    >>> edges_between(np.array([1.0, -1e308]), np.array([2.0, 1e308]))
    array([1.5, 0. ])
    """
    middle = np.maximum(low * 0.5 + high * 0.5, low)
    return np.where(middle < high, middle, low) + 0.0


def find_edges(
    values: NDArray[np.float64], max_bins: Bins = MAX_BINS, name: str = ""
) -> NDArray[np.float64]:
    """Return the edges of the bins of a column: exact quantiles, or every distinct value by itself.

    Parameters
    ----------
    values : ndarray of float64
        Working values in any order; NaN is missing.
    max_bins : int or "exact", default=254
        With at most that many distinct values (and always for ``"exact"``) each gets its own bin.
    name : str
        The column's name, for the message.

    Returns
    -------
    ndarray of float64
        Ascending edges, one less than there are bins.

    Raises
    ------
    ValueError
        ``"exact"`` with more than 65,534 distinct values.

    Examples
    --------
    >>> find_edges(np.array([1.0, 4.0, np.nan, 2.0, 2.0]))
    array([1.5, 3. ])
    >>> find_edges(np.arange(100.0), max_bins=4)
    array([24.5, 49.5, 74.5])
    """
    missing = np.isnan(values)
    present = values[~missing] if missing.any() else values
    limit = MAX_EXACT if max_bins == "exact" else max_bins
    if len(present) >= max(_SELECT_FROM, _SAMPLE) and max_bins != "exact":
        sample = np.sort(present[:: len(present) // _SAMPLE])
        if np.count_nonzero(sample[1:] != sample[:-1]) >= limit:  # then so has the column
            return _select_edges(present, sample, limit)
    ordered = np.sort(present)
    differs = ordered[1:] != ordered[:-1]
    n_distinct = min(1, len(ordered)) + int(np.count_nonzero(differs))
    if n_distinct <= limit:
        ends = np.flatnonzero(differs)
        return edges_between(ordered[ends], ordered[ends + 1])
    if max_bins == "exact":
        raise ValueError(
            f"Column {name!r} has {n_distinct:,} distinct values, and exact bins go up to "
            f"{MAX_EXACT:,}: use a number of bins, such as max_bins={MAX_BINS}."
        )
    return _edges_after(ordered, edge_ranks(len(ordered), limit))


def _select_edges(
    present: NDArray[np.float64], sample: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """Find exact quantiles among the few values that share a cell of a fine grid with one of them.

    The sample, in order, only says where to lay the grid.
    """
    cells = _Grid.on(sample, _CELLS).cells(present)
    counts = np.bincount(cells, minlength=_CELLS)
    ranks = edge_ranks(len(present), n_bins)
    home = np.searchsorted(np.cumsum(counts), ranks, side="right")
    # The next larger value lies in the same cell or in the next one that has any.
    filled = np.flatnonzero(counts)
    following = np.minimum(np.searchsorted(filled, home) + 1, len(filled) - 1)
    wanted = np.zeros(_CELLS, np.bool_)
    wanted[home] = wanted[filled[following]] = True
    left_out = np.cumsum(np.where(wanted, 0, counts))
    return _edges_after(np.sort(present[wanted[cells]]), ranks - left_out[home])


def _edges_after(ordered: NDArray[np.float64], ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the edges between the values at some ranks and the next larger values."""
    low = ordered[ranks]
    following = np.searchsorted(ordered, low, side="right")
    inside = following < len(ordered)  # nothing is larger than the largest value
    return edges_at(low[inside], ordered[following[inside]])


class _Grid(NamedTuple):
    """Cells that are narrow in the middle of a column and ever wider towards its ends.

    A value at distance d from the middle lies at d / (spread + d), mirrored below the middle: tails of any
    length fit between -1 and 1.
    Every step of the computation is monotone, rounding included: the cell never decreases with the value.
    """

    middle: float
    spread: float
    n_cells: int

    @classmethod
    def on(cls, ordered: NDArray[np.float64], n_cells: int) -> _Grid:
        """Lay cells by some values in their order."""
        if not len(ordered):
            return cls(0.0, 0.0, n_cells)
        low, middle, high = ordered[[len(ordered) // 4, len(ordered) // 2, 3 * len(ordered) // 4]]
        return cls(float(middle), float(0.5 * high - 0.5 * low), n_cells)

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.uint16]:
        """Return the cell of each value that is not missing."""
        out = np.empty(len(values), np.uint16)
        half = self.n_cells / 2
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            with np.errstate(all="ignore"):
                away = values[part] - self.middle
                place = self.spread / (np.abs(away) + self.spread)
            place -= 1.0
            place *= -half
            np.copysign(place, away, out=place)
            place += half
            # Without any spread a value in the middle has no place (0 / 0); fmin passes it over.
            out[part] = np.fmin(place, self.n_cells - 1, out=place)
        return out


_CHUNK = 1 << 15  # values that stay in the cache from one step to the next


def edges_at(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges for the values at the :func:`edge_ranks` and the next larger value of each.

    Examples
    --------
    >>> edges_at(np.array([1.0, 1.0, 3.0]), np.array([2.0, 2.0, 5.0]))
    array([1.5, 4. ])
    """
    first = np.ones(len(low), dtype=bool)
    first[1:] = low[1:] != low[:-1]
    return edges_between(low[first], high[first])


@kernel
def _encode(values, middle, spread, below_cell, padded, first_step, codes):  # type: ignore[no-untyped-def]
    # A grid (see `_Grid.cells`) tells most edges below a value and a search the rest. All searches take the same
    # steps, so no branch can be guessed wrong. The edges are padded with infinities for the longest search.
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    last, one = np.float64(len(below_cell) - 1), np.uint64(1)
    half = np.float64(len(below_cell)) / 2.0
    for i in range(np.uint64(len(values))):
        value = values[i]
        away = value - middle
        place = half * (1.0 - spread / (abs(away) + spread))
        place = half + (place if away >= 0.0 else -place)
        place = place if place < last else last  # NaN, too
        below = np.uint64(below_cell[np.uint64(place)])
        step = np.uint64(first_step)
        while step > 0:
            below += step * np.uint64(padded[below + step - one] < value)
            step >>= one
        codes[i] = (below + one) * np.uint64(not np.isnan(value))


def encode(
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the code of each value: 0 for NaN, else 1 + the number of edges below it.

    Parameters
    ----------
    values : ndarray of float64
        Working values of a numeric column.
    edges : ndarray of float64
        From :func:`find_edges`.
    out : ndarray of uint8 or uint16, optional
        Where to put the codes.

    Examples
    --------
    >>> encode(np.array([0.0, 1.5, 1.6, np.nan]), np.array([1.5, 3.0]))
    array([1, 1, 2, 0], dtype=uint8)
    """
    if out is None:
        out = np.empty(len(values), np.uint8 if len(edges) < MAX_BINS else np.uint16)
    grid = _Grid.on(edges, _CELLS if len(values) > _CELLS else 64)
    in_cell = np.bincount(grid.cells(edges), minlength=grid.n_cells)
    below_cell = (np.cumsum(in_cell) - in_cell).astype(np.uint16)
    longest = 2 ** int(in_cell.max()).bit_length() // 2
    padded = np.append(edges, np.full(2 * longest, np.inf))
    _encode(
        read_only(np.ascontiguousarray(values, dtype=np.float64)), grid.middle, grid.spread, below_cell, padded,
        longest, out,
    )  # fmt: skip
    return out


def bin_table(
    prepared: Prepared, schema: Schema, max_bins: Bins = MAX_BINS, n_jobs: int | None = None
) -> tuple[Binning, NDArray[Any]]:
    """Find the bins of every used column and encode the table, reading each column once.

    Parameters
    ----------
    prepared : Prepared
        The training table.
    schema : Schema
        Its columns.
    max_bins : int or "exact", default=254
        See :func:`find_edges`; codes take one byte up to 254 bins and two beyond, and for
        ``"exact"``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. The result is the same for any number.

    Returns
    -------
    binning : Binning
        Where the bins end.
    codes : ndarray of uint8 or uint16 of shape (M, N)
        The code of every value, a contiguous row per used column.

    Examples
    --------
    >>> from admercs.table import learn_schema, prepare, read_frame, summarise
    >>> table = read_frame([[1.5, "red"], [2.5, "blue"], [None, "red"]])
    >>> schema = learn_schema(summarise(table))
    >>> binning, codes = bin_table(prepare(table, schema), schema)
    >>> codes
    array([[1, 2, 0],
           [1, 2, 1]], dtype=uint8)
    >>> binning.edges[0], binning.n_codes
    (array([2.]), array([3, 4], dtype=int32))
    """
    _check_bins(max_bins)
    wide = max_bins == "exact" or max_bins > MAX_BINS
    codes = np.empty((prepared.n_columns, prepared.n_rows), np.uint16 if wide else np.uint8)

    def bin_column(m: int) -> NDArray[np.float64]:
        column = schema.used[m]
        values = prepared.column(m)
        edges = find_edges(values, max_bins, column.name) if column.role == "numeric" else _NO_EDGES
        encode_column(values, column, edges, codes[m])
        return edges

    edges = _in_threads(bin_column, prepared.n_columns, n_jobs)
    return make_binning(schema, edges, max_bins), codes


def make_binning(
    schema: Schema, edges: list[NDArray[np.float64]], max_bins: Bins = MAX_BINS
) -> Binning:
    """Put the edges of all used columns together; those of nominal columns are empty."""
    _check_bins(max_bins)
    is_nominal = np.array([column.role == "nominal" for column in schema.used], dtype=bool)
    n_codes = [
        len(column.categories) + 2 if column.role == "nominal" else len(edges[m]) + 2
        for m, column in enumerate(schema.used)
    ]
    wide = max_bins == "exact" or max_bins > MAX_BINS
    return Binning(tuple(edges), np.array(n_codes, dtype=np.int32), is_nominal, wide)


def encode_table(
    prepared: Prepared, schema: Schema, binning: Binning, n_jobs: int | None = None
) -> NDArray[Any]:
    """Encode a table with bins that are known already.

    Parameters
    ----------
    prepared : Prepared
        A table, or a part of one.
    schema : Schema
        The columns of the training table.
    binning : Binning
        Where the bins of its columns end.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. The result is the same for any number.

    Returns
    -------
    ndarray of uint8 or uint16 of shape (M, N)
        The code of every value, a contiguous row per used column.
    """
    codes = np.empty((prepared.n_columns, prepared.n_rows), binning.dtype)

    def encode_one(m: int) -> None:
        encode_column(prepared.column(m), schema.used[m], binning.edges[m], codes[m])

    _in_threads(encode_one, prepared.n_columns, n_jobs)
    return codes


_NO_EDGES = np.empty(0)


def encode_column(
    values: NDArray[np.float64], column: Column, edges: NDArray[np.float64], out: NDArray[Any]
) -> None:
    """Write the codes of a column's working values, be it numeric or nominal."""
    if column.role == "numeric":
        encode(values, edges, out)
    else:
        out[:] = np.nan_to_num(values, nan=0.0)


def _check_bins(max_bins: Bins) -> None:
    if max_bins == "exact" or (isinstance(max_bins, int) and 2 <= max_bins <= MAX_EXACT):
        return
    raise ValueError(f"max_bins must be 'exact' or from 2 to {MAX_EXACT:,}, not {max_bins!r}.")


def _in_threads(function: Any, n_items: int, n_jobs: int | None) -> list[Any]:
    n_threads = min(effective_n_jobs(n_jobs), n_items)
    if n_threads == 1:
        return [function(m) for m in range(n_items)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, range(n_items)))
