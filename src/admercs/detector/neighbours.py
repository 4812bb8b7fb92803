"""Finding the rows that others are compared with, and how far they are to be trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from admercs.detector.judge import Judge, run_blocks
from admercs.detector.model import Model
from admercs.evidence.likeness import Likeness
from admercs.evidence.neighbours import (
    APART,
    THIRD,
    USUAL,
    WORD,
    Company,
    Neighbours,
    find_trust,
    passed_on,
)
from admercs.evidence.suspects import LEAST_COLUMNS
from admercs.table.bins import Binning
from admercs.trees.forest import Leaves

Floats = NDArray[np.float64]

# Others are compared with no more rows than these, however many there are.
MOST_KNOWN = 1000
# So many of them tell how far away others usually are in each column.
MOST_TELLING = 200
# In so few rows nobody is like anybody.
LEAST_ROWS = 20
# In a larger table comparing would take longer than all the rest.
MOST_CELLS = 500_000


def may_have_neighbours(n_rows: int, n_columns: int, feedback: str | None) -> bool:
    """Say whether the rows of a table are compared with each other."""
    possible = n_rows >= LEAST_ROWS and n_columns >= LEAST_COLUMNS
    return feedback == "relative" and possible and n_rows * n_columns <= MOST_CELLS


def find_neighbours(
    model: Model,
    binning: Binning,
    values: Floats,
    base: Floats,
    leaves: Leaves | None = None,
    n_jobs: int = 1,
) -> tuple[Neighbours, Floats] | None:
    """Return the rows that others are compared with, and the evidence after all have been.

    None if comparing says nothing.

    Parameters
    ----------
    model : Model
        With its anomalous contexts.
    binning : Binning
        The bins of its columns.
    values : ndarray of float64, columns x rows
        The training table.
    base : ndarray of float64
        The evidence against its rows before any context was suspected.
    leaves : Leaves, optional
        The rows' leaves, where they are known: walking all rows down takes time, and compiling that more.
    n_jobs : int, default=1
        Threads.
    """
    asked = _introduce(model, binning, values, float(np.median(base)), leaves)
    judge = Judge(model)
    company = Company(np.empty(values.shape[::-1]), np.empty(len(base)))
    cells = np.empty((len(base), len(model.schema.columns)))

    def listen(start: int, stop: int) -> None:
        block = np.ascontiguousarray(values[:, start:stop])
        company.heard[start:stop], company.away[start:stop] = asked.meet(block)
        where = None if leaves is None else leaves.of(slice(start, stop))
        cells[start:stop] = judge.own_cells(block, where)

    run_blocks(listen, len(base), n_jobs)
    heard = company.heard.sum(axis=1)
    found = asked._replace(
        typical=np.array([np.median(heard)]),
        trust=np.array([WORD * find_trust(_guilt(base), heard)]),
        usual=np.quantile(company.away, [USUAL]),
        mostly=_mostly(asked, values),
    )
    cells = Judge(replace(model, neighbours=found)).in_company(cells, company)
    trust = find_trust(_guilt(cells.sum(axis=1)), company.away)
    found = found._replace(louder=np.array([APART / THIRD * trust]))
    if found.trust == found.louder == 0.0:
        return None
    cells *= found.factor(company.away)[:, None]
    return found, cells.sum(axis=1)


def _mostly(known: Neighbours, values: Floats) -> Floats:
    """Return per column how far away from a row those most like it are on average, as some rows tell."""
    theirs = np.ascontiguousarray(values[:, known.row])
    some = np.argsort(_lots(theirs), kind="stable")[:MOST_TELLING]
    apart = known.differences(np.ascontiguousarray(theirs[:, some]))
    return np.array([math.fsum(each) / len(some) for each in apart])


def _guilt(evidence: Floats) -> Floats:
    """Return the evidence of rows beyond that of a typical one."""
    return np.maximum(0.0, evidence - np.median(evidence))


def _introduce(
    model: Model, binning: Binning, values: Floats, typical: float, leaves: Leaves | None
) -> Neighbours:
    """Return the rows that others are compared with, and what they pass on."""
    likeness = Likeness.of(binning, values)
    known = choose_rows(values)
    theirs = np.ascontiguousarray(values[:, known])
    acquitted = replace(model, log_lambda=np.full_like(model.log_lambda, -np.inf))
    cells = Judge(acquitted).own_cells(theirs, None if leaves is None else leaves.of(known))
    cells = cells[:, [column.position for column in model.schema.used]]
    return Neighbours.nobody(len(values))._replace(
        likeness=likeness,
        row=known,
        profile=likeness.profile(theirs),
        guilt=passed_on(cells, typical),
    )


def choose_rows(values: Floats) -> NDArray[np.int64]:
    """Return the numbers of the rows that others are compared with: all, or some at random.

    At random, and yet always the same ones: a table gives the same model each time, in parts and in any order of
    its rows.
    """
    n_rows = values.shape[1]
    if n_rows <= MOST_KNOWN:
        return np.arange(n_rows)
    return np.sort(np.argsort(_lots(values), kind="stable")[:MOST_KNOWN])


def _lots(values: Floats) -> NDArray[np.uint64]:
    """Draw a number for each row that depends on its values only; equal rows each draw their own."""
    # Minus zero is zero, and what is missing is missing.
    lots = np.zeros(values.shape[1], np.uint64)
    for column in values:
        lots = _scramble(lots ^ (np.nan_to_num(column, nan=np.pi) + 0.0).view(np.uint64))
    order = np.argsort(lots, kind="stable")
    ordered = lots[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    turn = np.arange(len(lots)) - np.repeat(first, np.diff(np.append(first, len(lots))))
    lots[order] = _scramble(ordered + turn.astype(np.uint64))
    return lots


def _scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn numbers into others that look random: the last steps of the generator splitmix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
