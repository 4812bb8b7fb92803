"""Bin edges of a table in partitions: the same as those of the whole table, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.distributed.drafts import (
    Bracket,
    Found,
    Limits,
    cuts_a_zone,
    draft_part,
    encode_part,
    found_in,
    merge_found,
    settle,
)
from admercs.distributed.pieces import Look, add_lists, open_numbers, positions
from admercs.distributed.run import Run
from admercs.distributed.selection import (
    N_CANDIDATES,
    Collected,
    Sample,
    bracket,
    choose_candidates,
    collect,
    count_candidates,
    find_cells,
    gap_sizes,
    merge_collected,
    merge_samples,
    rank_values,
    take_sample,
    values_in_gaps,
    wanted_gaps,
)
from admercs.table.bins import (
    MAX_BINS,
    MAX_EXACT,
    Binning,
    Bins,
    edge_ranks,
    edges_at,
    edges_between,
    make_binning,
)
from admercs.table.prepared import numeric_values
from admercs.table.schema import Schema
from admercs.table.summary import TableSummary

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_SAMPLED = 1 << 18
"""Values of a column that are sampled to guess from."""

MOST_DISTINCT = 1 << 14
"""Distinct values in a sample up to which each of them is counted (see `bracket`)."""

MOST_COLLECTED = 1 << 23
"""Values of a column that are collected between candidates (64 MB); more are counted once more."""


def encode_on_cluster(
    run: Run,
    looks: Sequence[Future],
    summary: TableSummary,
    schema: Schema,
    max_bins: Bins,
    limits: Limits,
) -> tuple[Binning, list[Future]]:
    """Find the bins of all columns and let the workers keep the table as codes.

    Reads the table once, if the first look was good enough to guess about where edges lie.

    Parameters
    ----------
    run : Run
    looks : sequence of future
        What the first look told about each partition.
    summary, schema
        What it told about the table.
    max_bins : int or "exact"
    limits : dict of int to tuple of float
        See `draft_part`.

    Returns
    -------
    binning : Binning
    pieces : list of future
        The `Piece` of each partition.
    """
    edges, open_columns = _settled_edges(summary, schema, max_bins)
    if open_columns and max_bins == "exact":
        edges |= _distinct_edges(run, schema, list(open_columns))
    elif open_columns:
        found, pieces = _quantile_edges(
            run, looks, schema, edges, open_columns, int(max_bins), limits
        )
        edges |= found
        if pieces is not None:
            return make_binning(schema, _in_row(edges), max_bins), pieces
    binning = make_binning(schema, _in_row(edges), max_bins)
    return binning, run.read("encoding", encode_part, run.share(schema), run.share(binning), limits)


def _in_row(edges: dict[int, Floats]) -> list[Floats]:
    return [edges[m] for m in range(len(edges))]


def _settled_edges(
    summary: TableSummary, schema: Schema, max_bins: Bins
) -> tuple[dict[int, Floats], dict[int, int]]:
    """Return the edges of columns with few values, and how many values the others have."""
    edges: dict[int, Floats] = {}
    open_columns: dict[int, int] = {}
    limit = MAX_EXACT if max_bins == "exact" else max_bins
    for m, column in enumerate(schema.used):
        told = summary.columns[column.position]
        edges[m] = np.empty(0)
        if column.role != "numeric":
            continue
        if told.counts is not None and len(told.counts) <= limit:
            values = _as_working(told.counts, column.origin)
            edges[m] = edges_between(values[:-1], values[1:])
        else:
            open_columns[m] = told.n_present
    return edges, open_columns


def _quantile_edges(
    run: Run,
    looks: Sequence[Future],
    schema: Schema,
    known: dict[int, Floats],
    open_columns: dict[int, int],
    n_bins: int,
    limits: Limits,
) -> tuple[dict[int, Floats], list[Future] | None]:
    """Guess brackets and encode in one reading; search the edges only where a guess was wrong."""
    columns = list(open_columns)
    n_values = [open_columns[m] for m in columns]
    ranks = [edge_ranks(n, n_bins) for n in n_values]
    shared = run.share(schema)
    samples = [run.submit(sample_columns, look, shared, columns) for look in looks]
    sample = run.reduce(merge_column_samples, samples)
    del samples
    grain = run.reduce(
        merge_grains, [run.submit(grain_of, look, shared, columns) for look in looks]
    )
    brackets = run.submit(bracket_columns, sample, columns, ranks, grain)
    if max(run.result(run.submit(guessed_values, sample, brackets))) <= MOST_COLLECTED:
        binning = run.share(make_binning(schema, _in_row(known), n_bins))
        drafts = run.read("encoding", draft_part, shared, binning, brackets, limits)
        parts = [run.submit(found_in, [drafts[p] for p in group]) for group in run.groups(drafts)]
        found = run.submit(
            edges_if_right, brackets, run.reduce(merge_found, parts), ranks, n_values
        )
        edges = run.result(found)
        if edges is not None:
            ends = dict(zip(columns, edges, strict=True))
            binning = run.share(make_binning(schema, _in_row(known | ends), n_bins))
            pieces = [run.submit(settle, draft, binning, brackets) for draft in drafts]
            run.wait("", pieces)
            return ends, pieces
        del drafts
    read = partial(run.read, "finding bins", columns=positions(schema, columns))
    candidates = run.submit(candidates_of, sample)
    edges = _search(run, read, (shared, columns), candidates, ranks, n_values)
    return dict(zip(columns, edges, strict=True)), None


def _search(
    run: Run,
    read: Callable[..., list[Future]],
    where: tuple[Future, list[int]],
    candidates: Future,
    ranks: list[Ints],
    n_values: list[int],
) -> list[Floats]:
    """Find the edges without guessing: count at many candidates, then collect between them."""
    while True:
        counts = run.reduce(add_lists, read(count_part, *where, candidates))
        gaps = run.submit(plan_gaps, counts, ranks, n_values)
        if max(run.result(run.submit(most_values, counts, gaps, n_values))) <= MOST_COLLECTED:
            break
        closer = run.reduce(merge_column_samples, read(sample_part, *where, candidates, gaps))
        candidates = run.submit(closer_candidates, candidates, gaps, closer)
    collected = run.reduce(merge_columns_collected, read(collect_part, *where, candidates, gaps))
    edges: list[Floats] = run.result(run.submit(edges_of, candidates, counts, collected, ranks))
    return edges


def sample_columns(look: Look, schema: Schema, columns: list[int]) -> list[Sample]:
    """Turn some values of a partition's columns into working values."""
    samples = []
    for m in columns:
        position = schema.used[m].position
        told = look.summary.columns[position]
        if position in look.spread:
            values = numeric_values(look.spread[position].raw, schema.used[m])
            weight = look.spread[position].weight
        else:
            counts = dict(sorted((told.counts or {}).items()))
            values = _as_working(counts, schema.used[m].origin)
            weight = np.array(list(counts.values()), np.float64)
        samples.append(Sample(values, weight))
    return samples


def _as_working(counts: dict[Any, int], origin: int) -> Floats:
    return np.array(sorted(float(value - origin) for value in counts))


def merge_column_samples(samples: list[list[Sample]]) -> list[Sample]:
    """Merge samples, column by column."""
    return [merge_samples(parts, MOST_SAMPLED) for parts in zip(*samples, strict=True)]


class Grain(NamedTuple):
    """How many rows a sampled value stands for, per column, over the partitions."""

    squares: Floats  # summed up
    most: Floats
    least: Floats


def grain_of(look: Look, schema: Schema, columns: list[int]) -> Grain:
    """Return how many rows each sampled value of a partition stands for; none where all are known."""
    spreads = [look.spread.get(schema.used[m].position) for m in columns]
    rows = np.array([0.0 if spread is None else spread.weight.mean() for spread in spreads])
    return Grain(rows**2, rows, rows)


def merge_grains(parts: list[Grain]) -> Grain:
    """Put partitions together."""
    squares, most, least = zip(*parts, strict=True)
    return Grain(np.sum(squares, axis=0), np.max(most, axis=0), np.min(least, axis=0))


def bracket_columns(
    samples: list[Sample], columns: list[int], ranks: list[Ints], grain: Grain
) -> dict[int, Bracket]:
    """Guess where the edges of each column lie."""
    # A partition's count up to a value from another one is off by 0.7 of what one of its own sampled values
    # stands for (a value falls more likely into a wide gap), and such errors add up like random ones. Six
    # times that hardly ever happens in thousands of guesses; if one is wrong, the count will tell.
    others = np.sqrt(np.maximum(grain.squares - grain.least**2, 0.0))
    slack = 1.5 * grain.most + 4.2 * others
    return {
        m: Bracket(*bracket(sample, some, float(room), MOST_DISTINCT))
        for m, sample, some, room in zip(columns, samples, ranks, slack, strict=True)
    }


def guessed_values(samples: list[Sample], brackets: dict[int, Bracket]) -> list[float]:
    """Return about how many values of each column lie within brackets."""
    return [
        float(sample.weight[found.is_open()[find_cells(sample.values, found.candidates)]].sum())
        for sample, found in zip(samples, brackets.values(), strict=True)
    ]


def edges_if_right(
    brackets: dict[int, Bracket],
    found: list[Found],
    ranks: list[Ints],
    n_values: list[int],
) -> list[Floats] | None:
    """Return the exact edges, or None if some edge lies outside of its bracket."""
    edges = []
    for one, told, some, n in zip(brackets.values(), found, ranks, n_values, strict=True):
        if not np.isin(wanted_gaps(told.counts, some, n), one.gaps).all():
            return None
        ends = edges_at(*rank_values(one.candidates, *told).following(some))
        if cuts_a_zone(one, told.counts, n, ends):
            return None
        edges.append(ends)
    return edges


def candidates_of(samples: list[Sample]) -> list[Floats]:
    """Choose candidates, column by column."""
    return [choose_candidates(sample) for sample in samples]


def _in_order(part: Any, schema: Schema, columns: list[int]) -> Any:
    table = open_numbers(part, schema, columns)
    for k in range(len(columns)):
        values = table.column(k)
        yield np.sort(values[~np.isnan(values)])


def count_part(
    part: Any, schema: Schema, columns: list[int], candidates: list[Floats]
) -> list[Ints]:
    """Count a partition's values below and up to each candidate."""
    pairs = zip(_in_order(part, schema, columns), candidates, strict=True)
    return [count_candidates(values, some) for values, some in pairs]


def plan_gaps(counts: list[Ints], ranks: list[Ints], n_values: list[int]) -> list[Ints]:
    """Find the gaps between candidates where the edges lie."""
    return [wanted_gaps(*column) for column in zip(counts, ranks, n_values, strict=True)]


def most_values(counts: list[Ints], gaps: list[Ints], n_values: list[int]) -> list[int]:
    """Return how many values of each column lie in the gaps."""
    return [int(gap_sizes(*column).sum()) for column in zip(counts, gaps, n_values, strict=True)]


def sample_part(
    part: Any, schema: Schema, columns: list[int], candidates: list[Floats], gaps: list[Ints]
) -> list[Sample]:
    """Sample a partition's values in the gaps only."""
    columns_with = zip(_in_order(part, schema, columns), candidates, gaps, strict=True)
    return [take_sample(values_in_gaps(*column), N_CANDIDATES) for column in columns_with]


def closer_candidates(
    candidates: list[Floats], gaps: list[Ints], samples: list[Sample]
) -> list[Floats]:
    """Choose new candidates within the gaps, and keep those that bound them."""
    closer = []
    for some, gap, sample in zip(candidates, gaps, samples, strict=True):
        bounds = np.union1d(gap, gap - 1)
        bounds = bounds[(bounds >= 0) & (bounds < len(some))]
        closer.append(np.union1d(some[bounds], choose_candidates(sample)))
    return closer


def collect_part(
    part: Any, schema: Schema, columns: list[int], candidates: list[Floats], gaps: list[Ints]
) -> list[Collected]:
    """Collect a partition's values in the gaps."""
    columns_with = zip(_in_order(part, schema, columns), candidates, gaps, strict=True)
    return [collect(values_in_gaps(*column)) for column in columns_with]


def merge_columns_collected(pieces: list[list[Collected]]) -> list[Collected]:
    """Merge collected values, column by column."""
    return [merge_collected(parts) for parts in zip(*pieces, strict=True)]


def edges_of(
    candidates: list[Floats], counts: list[Ints], collected: list[Collected], ranks: list[Ints]
) -> list[Floats]:
    """Return the edges at exact ranks."""
    columns = zip(candidates, counts, collected, ranks, strict=True)
    return [
        edges_at(*rank_values(some, count, found).following(rank))
        for some, count, found, rank in columns
    ]


def _distinct_edges(run: Run, schema: Schema, columns: list[int]) -> dict[int, Floats]:
    """Give every distinct value a bin of its own."""
    parts = run.read(
        "finding bins",
        distinct_part,
        run.share(schema),
        columns,
        columns=positions(schema, columns),
    )
    distinct = run.result(run.reduce(merge_distinct, parts))
    for m, values in zip(columns, distinct, strict=True):
        if len(values) > MAX_EXACT:
            raise ValueError(
                f"Column {schema.used[m].name!r} has more than {MAX_EXACT:,} distinct values, which "
                f"is as many as exact bins go: use a number of bins, such as max_bins={MAX_BINS}."
            )
    return {
        m: edges_between(values[:-1], values[1:])
        for m, values in zip(columns, distinct, strict=True)
    }


def distinct_part(part: Any, schema: Schema, columns: list[int]) -> list[Floats]:
    """Return a partition's distinct values per column, as many as matter."""
    return [np.unique(values)[: MAX_EXACT + 1] for values in _in_order(part, schema, columns)]


def merge_distinct(pieces: list[list[Floats]]) -> list[Floats]:
    """Merge distinct values, column by column."""
    return [
        np.unique(np.concatenate(parts))[: MAX_EXACT + 1] for parts in zip(*pieces, strict=True)
    ]
