"""Order statistics found piece by piece are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.distributed.selection import (
    bracket,
    choose_candidates,
    collect,
    count_candidates,
    gap_sizes,
    interpolate,
    merge_collected,
    merge_samples,
    quantile_ranks,
    rank_values,
    take_sample,
    values_in_gaps,
    wanted_gaps,
)
from admercs.table.bins import edge_ranks, edges_at, find_edges


def values_of(shape: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "tied":
        return rng.integers(0, 300, n).astype(float)
    if shape == "half zero":
        return np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    if shape == "sorted":
        return np.sort(rng.normal(size=n))
    return np.exp(5 * rng.normal(size=n)) * rng.choice([-1, 1], n)


@pytest.mark.parametrize("shape", ["skewed", "tied", "half zero", "sorted"])
@pytest.mark.parametrize("seed", range(15))
def test_order_statistics_of_pieces_are_those_of_the_whole(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4000))
    x = values_of(shape, n, rng)
    pieces = np.split(x, np.sort(rng.integers(0, n + 1, 5)))
    sample = merge_samples([take_sample(piece, 50) for piece in pieces], 100)
    candidates = choose_candidates(sample, int(rng.integers(1, 60)))
    ordered = [np.sort(piece) for piece in pieces]
    counts = np.sum([count_candidates(piece, candidates) for piece in ordered], axis=0)
    n_bins = int(rng.integers(2, 40))
    levels = np.concatenate([[0.0, 1.0], rng.random(20)])
    low, high, share = quantile_ranks(levels, n)
    ranks = np.unique(np.concatenate([edge_ranks(n, n_bins), low, high]))
    gaps = wanted_gaps(counts, ranks, n)
    found = merge_collected([collect(values_in_gaps(piece, candidates, gaps)) for piece in ordered])
    assert gap_sizes(counts, gaps, n).sum() == found.times.sum()
    ranked = rank_values(candidates, counts, found)
    quantiles = interpolate(ranked.at(low), ranked.at(high), share)
    np.testing.assert_array_equal(quantiles, np.quantile(x, levels))
    guess, gaps = bracket(sample, ranks, 5 + n / 20)
    counts = np.sum([count_candidates(piece, guess) for piece in ordered], axis=0)
    if np.isin(
        wanted_gaps(counts, ranks, n), gaps
    ).all():  # else the guess was wrong, and is known to be
        found = merge_collected([collect(values_in_gaps(piece, guess, gaps)) for piece in ordered])
        np.testing.assert_array_equal(
            rank_values(guess, counts, found).at(ranks), np.sort(x)[ranks]
        )
    if len(np.unique(x)) > n_bins:
        edges = edges_at(*ranked.following(edge_ranks(n, n_bins)))
        np.testing.assert_array_equal(edges, find_edges(x, n_bins))
