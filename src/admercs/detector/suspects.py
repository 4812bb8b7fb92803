"""Finding the contexts that may be suspected, the rows being in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.detector.judge import Judge, run_blocks
from admercs.detector.model import Model
from admercs.evidence.suspects import (
    OWN_WORD,
    Aside,
    Asked,
    Columns,
    Floats,
    Ints,
    Own,
    Suspects,
    Yardstick,
    add_by_code,
    add_guilt,
    find_suspects,
    fixed_guilt,
)
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.trees.forest import Forest, Leaves
from admercs.trees.levels import Codes
from admercs.trees.rearranged import Rearranged, rearrange


class Trial(NamedTuple):
    """A model with narrow contexts, and which of its contexts are tried."""

    model: Model
    leaves: Leaves
    tried: NDArray[np.bool_]
    own: Own


class WitnessesInMemory:
    """All rows of a table as one piece (see ``evidence.suspects.Witnesses``)."""

    def __init__(
        self,
        model: Model,
        table: Prepared,
        codes: Codes,
        n_codes: int,
        leaves: Leaves,
        base: Floats,
        n_jobs: int = 1,
    ) -> None:
        self._model, self._table, self._n_jobs = model, table, n_jobs
        self._n_codes = n_codes
        self._codes, self._leaves, self._base = codes, leaves, base
        self._own: Own = {}

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        return float(np.quantile(self._base, level, method="inverted_cdf"))

    def guilt(self, yardstick: Yardstick) -> Ints:
        """Return per node the sum of its rows' guilt."""
        sums = np.zeros(len(self._model.forest.feature), np.int64)
        add_guilt(self._leaves, self._base, sums, yardstick)
        return sums

    def by_code(self, leaves: Sequence[int], yardstick: Yardstick) -> list[Ints]:
        """Return the number of rows of leaves and their guilt by the code of their target."""
        return list(
            guilt_by_code(
                leaves, self._model.forest, self._codes, self._leaves, self._base, self._own,
                yardstick, self._n_codes,
            )
        )  # fmt: skip

    def set_aside(self, asked: Mapping[int, Asked]) -> None:
        """Take less of what the rows of some leaves have against them in some columns."""
        self._own |= own_evidence(self._model, self._table, self._leaves, asked, self._n_jobs)

    def own_of(self, rearranged: Rearranged) -> Own:
        """Return what is set aside of the rows of narrow contexts."""
        return own_inside(self._own, rearranged, self._codes)


def guilt_by_code(
    wanted: Sequence[int],
    forest: Forest,
    codes: Codes,
    leaves: Leaves,
    base: Floats,
    own: Own,
    yardstick: Yardstick,
    n_codes: int,
) -> Ints:
    """Return for some leaves, in ascending order, the rows of a piece and their guilt per code of the target.

    Parameters
    ----------
    wanted : sequence of int
        The leaves.
    forest, codes, leaves : Forest, array, Leaves
        The trees, and of the piece's rows the codes (columns x rows) and the leaves.
    base : array
        The evidence of the piece's rows.
    own : dict
        Per leaf its rows, and what they do not testify with; leaves that are not in it testify with all they have.
    yardstick : Yardstick
    n_codes : int
        One more than the largest code there is.
    """
    sums = np.zeros((len(wanted), 2, n_codes), np.int64)
    guilt = fixed_guilt(base, yardstick)
    done = 0
    for tree, group in groupby(wanted, key=forest.tree_of):
        some = list(group)
        root, stop = forest.root[tree], forest.root[tree + 1]
        nodes = [_counted_from(root, forest.below(leaf)) for leaf in some]
        number, part = leaves.number[tree], sums[done : done + len(some)]
        plain = [place for place, leaf in enumerate(some) if leaf not in own]
        if plain:
            theirs = part[plain]
            add_by_code(
                number, codes[tree], guilt, [nodes[place] for place in plain], stop - root, theirs
            )
            part[plain] = theirs
        for place, leaf in enumerate(some):
            if leaf in own:
                rows = own[leaf].rows
                add_by_code(
                    number[rows], codes[tree][rows], fixed_guilt(*own[leaf].left_of(base, yardstick)),
                    nodes[place : place + 1], stop - root, part[place : place + 1],
                )  # fmt: skip
        done += len(some)
    return sums


def _counted_from(root: int, nodes: slice) -> slice:
    return slice(nodes.start - root, nodes.stop - root)


def own_evidence(
    model: Model,
    table: Prepared,
    leaves: Leaves,
    asked: Mapping[int, Asked],
    n_jobs: int = 1,
) -> Own:
    """Return the rows of some leaves, and what they do not testify with of their evidence in some columns."""
    forest = model.forest
    position = np.array([column.position for column in model.schema.used])
    rows = {leaf: leaves.rows_among(forest.below(leaf)) for leaf in asked}
    some = np.unique(np.concatenate(list(rows.values())))
    place = {leaf: np.searchsorted(some, mine) for leaf, mine in rows.items()}
    own = {leaf: np.empty(len(mine)) for leaf, mine in rows.items()}
    judge = Judge(model)

    def work(start: int, stop: int) -> None:
        here = some[start:stop]
        values = table.some(here)
        cells = judge.own_cells(values, leaves.of(here))
        for leaf, mine in place.items():
            a, b = np.searchsorted(mine, [start, stop])
            its, columns = mine[a:b] - start, asked[leaf].columns
            said = cells[its][:, position[columns]]
            if asked[leaf].gaps:
                own[leaf][a:b] = (said * np.isnan(values[columns][:, its].T)).sum(axis=1)
            else:
                own[leaf][a:b] = (1 - OWN_WORD) * said.sum(axis=1)

    run_blocks(work, len(some), n_jobs)

    def share(question: Asked) -> float:
        less = 0.0 if question.gaps else (1 - OWN_WORD) * len(question.columns)
        return 1 - less / forest.n_trees

    return {leaf: Aside(mine, own[leaf], share(asked[leaf])) for leaf, mine in rows.items()}


def own_inside(own: Own, rearranged: Rearranged, codes: Codes) -> Own:
    """Return what rows of a piece do not testify with in the trial of the narrow contexts they are in."""
    inside: Own = {}
    narrowed = rearranged.narrowed
    for span, node in zip(narrowed.spans, narrowed.inside.tolist(), strict=True):
        rows, less, share = own[int(rearranged.was[span.leaf])]
        code = codes[narrowed.forest.tree_of(node)][rows]
        here = (code >= span.first) & (code <= span.last)
        inside[node] = Aside(rows[here], less[here], share)
    return inside


def columns_of(model: Model) -> Columns:
    """Return what is to be known of the columns of a model."""
    used = model.schema.used
    return Columns(
        [len(column.categories) if column.role == "nominal" else 0 for column in used],
        [column.n_missing > 0 for column in used],
    )


def rearranged_model(
    model: Model, suspects: Suspects, binning: Binning
) -> tuple[Model, Rearranged, NDArray[np.bool_]]:
    """Leave only splits that are needed, give narrow contexts leaves of their own; say which nodes are suspects."""
    arranged = rearrange(
        model.forest, suspects.keep, suspects.spans, binning.edges, binning.is_nominal
    )
    n_nodes = len(arranged.forest.feature)
    slot = np.full(n_nodes, -1, model.likelihoods.slot.dtype)
    slot[arranged.number] = model.likelihoods.slot[arranged.was]
    tried = np.zeros(n_nodes, np.bool_)
    tried[arranged.number] = suspects.leaves[arranged.was]
    tried[arranged.narrowed.inside] = True
    changed = replace(
        model,
        forest=arranged.forest,
        likelihoods=model.likelihoods._replace(slot=slot),
        log_lambda=np.full(n_nodes, -np.inf),
    )
    return changed, arranged, tried


def find_suspects_in_memory(
    model: Model,
    table: Prepared,
    binning: Binning,
    codes: Codes,
    leaves: Leaves,
    base: Floats,
    smallest_leaf: int,
    feedback: str | None,
    n_jobs: int = 1,
) -> Trial:
    """Find the contexts that may be suspected; narrow ones become leaves."""
    n_codes = int(binning.n_codes.max())
    rows = WitnessesInMemory(model, table, codes, n_codes, leaves, base, n_jobs)
    suspects = find_suspects(
        rows, model.forest, columns_of(model), n_codes, feedback, smallest_leaf,
        fine=model.settings.likelihood == "area",
    )  # fmt: skip
    if suspects.leave(model.forest):
        return Trial(model, leaves, suspects.leaves, {})
    model, arranged, tried = rearranged_model(model, suspects, binning)
    return Trial(model, arranged.relocate(leaves, codes), tried, rows.own_of(arranged))
