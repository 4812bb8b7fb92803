"""Choosing reference rows and comparing all rows with them, piece by piece.

Rows are compared by their codes alone, so the table is read only where reference rows come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from admercs.arrays import Codes, Floats, Ints, Keys
from admercs.method.neighbours import (
    Nearest,
    ReferenceRows,
    Told,
    add_moments,
    correlation_weight,
    make_references,
    may_have_neighbours,
    merge_told,
    moments,
    n_references,
    passed_on,
)
from admercs.method.rank_distance import RankDistance
from admercs.method.settings import Method, Neighbours
from admercs.method.views import RELATION
from admercs.pipeline.model import Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import (
    BLOCK,
    Scorer,
    compared_evidence,
    run_blocks,
    sum_in_order,
)
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.table.row_keys import ReferenceSample, find_keys, merge_keys, sample_keys
from admercs.trees.forest import Leaves
from admercs.trees.row_sample import draw

MIDDLE = np.array([0.5])


class RowParts(NamedTuple):
    """What is kept of the rows of each piece."""

    codes: Kept
    leaves: Kept
    keys: Kept  # see `row_keys`
    base: Kept  # their plain evidence, without that of contexts …
    model: Model  # … by this model


class Wanted(NamedTuple):
    """Which rows are to be references."""

    keys: Keys
    most: Ints  # how often
    typical: float  # the evidence of the median row
    passed: float  # the most evidence of a value that is passed on


def rank_columns(model: Model, binning: Binning, code_counts: Sequence[Ints]) -> RankDistance:
    """Return how far values are apart, by how often each code occurs."""
    return RankDistance.of(binning, code_counts, model.is_facet)


def find_references(
    rows: Rows, model: Model, ranks: RankDistance, kept: RowParts, settings: Neighbours
) -> ReferenceRows:
    """Return the rows that all rows are compared with; what is usual is still to be learnt."""
    some = rows.keep("", sample_keys, kept.keys, shared=(settings.sample,))
    sample: ReferenceSample = rows.merge(merge_keys, some)
    drawn = draw(sample.times, n_references(settings, model.n_rows, ranks.n_compared))
    chosen, most = np.unique(drawn, return_counts=True)
    typical = float(rows.quantiles(kept.base, MIDDLE)[0])
    wanted = Wanted(sample.keys[chosen], most, typical, settings.most)
    parts = kept.codes, kept.leaves, kept.keys, rows.first_rows()
    told = rows.read("references", told_of_piece, *parts, shared=(kept.model, wanted))
    return make_references(settings, ranks, rows.merge(merge_told, told))


def told_of_piece(
    table: Prepared, codes: Codes, leaves: Leaves, keys: Keys, first: int, model: Model,
    wanted: Wanted,
) -> Told:  # fmt: skip
    """Find the rows of a piece that references stand for, and what they pass on."""
    here, reference = find_keys(keys, wanted.keys)
    scorer, cells = model.once(Scorer), [np.empty((0, len(codes)))]
    for start in range(0, len(here), BLOCK):
        some = here[start : start + BLOCK]
        block = table.some(some)
        parts = scorer.score_alone(block, leaves.of(some))
        plain = scorer.plain(parts, block)
        # That a value does not fit the others of its row says nothing about rows like it.
        cells.append(np.where(parts.speaker == RELATION, 0.0, plain).T)
    excess = passed_on(np.concatenate(cells), wanted.typical, wanted.passed)
    return Told(wanted.most, excess, codes[:, here].T, reference, here + first).first()


def compare_rows(
    rows: Rows, model: Model, ranks: RankDistance, kept: RowParts, evidence: Kept
) -> tuple[Model, Kept]:
    """Return the model with reference rows, and the evidence of all rows after comparing them."""
    settings = model.method.neighbours
    if settings is None or not may_have_neighbours(settings, model.n_rows, ranks.n_compared):
        return model, evidence
    found = find_references(rows, model, ranks, kept, settings)
    nearest = rows.keep("comparing", nearest_of_piece, kept.codes, shared=(found, rows.n_jobs))
    columns = [rows.pick(nearest, k) for k in range(3)]
    small, large, typical = (float(rows.quantiles(each, MIDDLE)[0]) for each in columns)
    weight = 0.0
    if found.ranks.n_compared >= settings.min_columns and settings.weight > 0:
        middle = float(rows.quantiles(kept.base, MIDDLE)[0])
        sums = rows.keep("", moments, kept.base, columns[2], shared=(middle,))
        weight = settings.weight * correlation_weight(rows.merge(add_moments, sums))
    found = replace(found, usual=np.array([small, large]), typical=typical, weight=weight)
    shared = model.method, found
    evidence = rows.keep("", add_compared, evidence, nearest, shared=shared)
    return replace(model, references=found), evidence


def nearest_of_piece(
    codes: Codes, found: ReferenceRows, n_jobs: int
) -> tuple[Floats, Floats, Floats]:
    """Compare the rows of a piece: distances at both scales and neighbour evidence."""
    n_rows = codes.shape[1]
    distance, evidence = np.empty((2, n_rows)), np.empty(n_rows)

    def work(start: int, stop: int) -> None:
        block = found.ranks.of_codes(list(codes[:, start:stop]))
        nearest = found.compare_profile(block)
        distance[:, start:stop], evidence[start:stop] = nearest.distance.T, nearest.evidence

    run_blocks(work, n_rows, n_jobs)
    return distance[0], distance[1], evidence


def add_compared(
    evidence: Floats, nearest: tuple[Floats, Floats, Floats], method: Method, found: ReferenceRows
) -> Floats:
    """Add to the evidence of a piece's rows what comparing them tells."""
    small, large, passed = nearest
    total, none = np.empty(len(evidence)), np.empty((0, 2), np.int64)

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        distance = np.stack([small[some], large[some]], axis=1)
        known, own = Nearest(distance, passed[some], none), evidence[some]
        alone, added = compared_evidence(method, found, own, known)
        total[some] = sum_in_order([part for part in (own, alone, added) if part is not None])

    run_blocks(work, len(evidence), 1)
    return total
