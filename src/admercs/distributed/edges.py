"""Bin edges of a table in partitions: the same as those of the whole table, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

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
from admercs.table.schema import Schema
from admercs.table.summary import TableSummary

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_SAMPLED = 1 << 18
"""Values of a column that are sampled to guess from."""

MOST_COLLECTED = 1 << 23
"""Values of a column that are collected between candidates (64 MB); more are counted once more."""


class Found(NamedTuple):
    """What one reading tells about a column."""

    counts: Ints
    collected: Collected


def find_binning(
    run: Run, looks: Sequence[Future], summary: TableSummary, schema: Schema, max_bins: Bins
) -> Binning:
    """Find the bins of all columns; reads the table once, or not at all if values are few."""
    edges: list[Floats] = []
    open_columns: dict[int, int] = {}  # column → number of its values
    limit = MAX_EXACT if max_bins == "exact" else max_bins
    for m, column in enumerate(schema.used):
        told = summary.columns[column.position]
        edges.append(np.empty(0))
        if column.role != "numeric":
            continue
        if told.counts is not None and len(told.counts) <= limit:
            values = _as_working(told.counts, column.origin)
            edges[m] = edges_between(values[:-1], values[1:])
        else:
            open_columns[m] = told.n_present
    if open_columns and max_bins == "exact":
        found = _distinct_edges(run, schema, list(open_columns))
    elif open_columns:
        found = _quantile_edges(run, looks, schema, open_columns, limit)
    else:
        found = {}
    for m, ends in found.items():
        edges[m] = ends
    return make_binning(schema, edges, max_bins)


def _quantile_edges(
    run: Run, looks: Sequence[Future], schema: Schema, open_columns: dict[int, int], n_bins: int
) -> dict[int, Floats]:
    """Guess brackets, count and collect in one reading; read again only where a guess was wrong."""
    columns = list(open_columns)
    n_values = [open_columns[m] for m in columns]
    ranks = [edge_ranks(n, n_bins) for n in n_values]
    shared = run.share(schema)
    read = partial(run.read, "finding bins", columns=positions(schema, columns))
    samples = [run.submit(sample_columns, look, shared, columns) for look in looks]
    sample = run.reduce(merge_column_samples, samples)
    del samples
    brackets = run.submit(bracket_columns, sample, ranks, run.n_parts)
    edges = None
    if max(run.result(run.submit(guessed_values, sample, brackets))) <= MOST_COLLECTED:
        found = run.reduce(merge_found, read(count_and_collect, shared, columns, brackets))
        edges = run.result(run.submit(edges_if_right, brackets, found, ranks, n_values))
    if edges is None:
        candidates = run.submit(candidates_of, sample)
        edges = _search(run, read, (shared, columns), candidates, ranks, n_values)
    return dict(zip(columns, edges, strict=True))


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
            values = open_numbers(look.spread[position].to_frame(), schema, [m]).column(0)
            weight = np.full(len(values), told.n_present / max(1, len(values)))
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


def bracket_columns(
    samples: list[Sample], ranks: list[Ints], n_parts: int
) -> list[tuple[Floats, Ints]]:
    """Guess where the edges of each column lie."""
    brackets = []
    for sample, some in zip(samples, ranks, strict=True):
        # A partition's evenly spaced values are off by less than their weight. Such errors add up like
        # random ones; if the guess is wrong all the same, the count will tell.
        step = float(sample.weight.max(initial=1.0))
        brackets.append(bracket(sample, some, step * (1.5 + 1.3 * n_parts**0.5)))
    return brackets


def guessed_values(samples: list[Sample], brackets: list[tuple[Floats, Ints]]) -> list[float]:
    """Return about how many values of each column lie within brackets."""
    found = []
    for sample, (candidates, gaps) in zip(samples, brackets, strict=True):
        within = np.isin(np.searchsorted(candidates, sample.values), gaps)
        found.append(float(sample.weight[within].sum()))
    return found


def count_and_collect(
    part: Any, schema: Schema, columns: list[int], brackets: list[tuple[Floats, Ints]]
) -> list[Found]:
    """Count a partition's values at the ends of brackets and collect those within."""
    return [
        Found(
            count_candidates(values, candidates),
            collect(values_in_gaps(values, candidates, gaps)),
        )
        for values, (candidates, gaps) in zip(
            _in_order(part, schema, columns), brackets, strict=True
        )
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


def edges_if_right(
    brackets: list[tuple[Floats, Ints]],
    found: list[Found],
    ranks: list[Ints],
    n_values: list[int],
) -> list[Floats] | None:
    """Return the exact edges, or None if some rank lies outside of its bracket."""
    edges = []
    for (candidates, gaps), one, some, n in zip(brackets, found, ranks, n_values, strict=True):
        if not np.isin(wanted_gaps(one.counts, some, n), gaps).all():
            return None
        edges.append(edges_at(*rank_values(candidates, *one).following(some)))
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
