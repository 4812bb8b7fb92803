"""Finding the contexts that may be suspected, the rows lying on many workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.detector.model import Model
from admercs.detector.suspects import (
    columns_of,
    guilt_by_code,
    own_evidence,
    own_inside,
    rearranged_model,
)
from admercs.distributed.pieces import HalfRead, Piece, Placed, add_up
from admercs.distributed.quantiles import Quantiles
from admercs.distributed.run import Run
from admercs.evidence.suspects import (
    Asked,
    Floats,
    Ints,
    Own,
    Yardstick,
    add_guilt,
    find_suspects,
)
from admercs.table.bins import Binning
from admercs.trees.forest import Forest
from admercs.trees.rearranged import Rearranged


class TrialOnCluster(NamedTuple):
    """A model with narrow contexts, and which of its contexts are tried."""

    model: Model
    placed: list[Future]
    tried: NDArray[np.bool_]
    narrow: list[int]  # narrow contexts
    own: list[Future]  # per partition: what their rows do not testify with


class WitnessesOnCluster:
    """The rows of the training table before any context is suspected (see ``evidence.suspects.Witnesses``)."""

    def __init__(
        self,
        run: Run,
        model: Future,
        forest: Forest,
        n_codes: int,
        pieces: Sequence[Future],
        placed: Sequence[Future],
        base: Sequence[Future],
        columns: list[int],
    ) -> None:
        self._run, self._model, self._columns, self._n_codes = run, model, columns, n_codes
        self._pieces, self._placed, self._base = pieces, placed, base
        self._groups = run.groups(placed)
        self._n_nodes = len(forest.feature)
        self._forest = run.share(forest)
        self._own = [run.submit(nothing) for _ in placed]
        self._quantiles: Quantiles | None = None

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        if self._quantiles is None:
            self._quantiles = Quantiles(self._run, list(self._base))
        return self._quantiles.inverted(level)

    def guilt(self, yardstick: Yardstick) -> Ints:
        """Return per node the sum of its rows' guilt."""
        parts = [
            self._run.submit(
                sum_guilt, *self._of(group, self._placed, self._base), self._n_nodes, yardstick
            )
            for group in self._groups
        ]
        total: Ints = self._run.result(self._run.reduce(add_up, parts))
        return total

    def by_code(self, leaves: Sequence[int], yardstick: Yardstick) -> list[Ints]:
        """Return the number of rows of leaves and their guilt by the code of their target."""
        wanted = self._run.share(list(leaves))
        parts = [
            self._run.submit(
                sum_by_code, *self._of(group, self._pieces, self._placed, self._base, self._own),
                wanted, self._forest, self._n_codes, yardstick,
            )
            for group in self._groups
        ]  # fmt: skip
        return list(self._run.result(self._run.reduce(add_up, parts)))

    def set_aside(self, asked: Mapping[int, Asked]) -> None:
        """Take less of what the rows of some leaves have against them in some columns."""
        more = self._run.read(
            "suspects", own_of_part, self._model, self._run.share(dict(asked)),
            each=[self._placed], columns=self._columns,
        )  # fmt: skip
        self._own = [self._run.submit(or_, *pair) for pair in zip(self._own, more, strict=True)]

    def own_of(self, rearranged: Future) -> list[Future]:
        """Return what is set aside of the rows of narrow contexts."""
        return [
            self._run.submit(own_inside_part, own, piece, rearranged)
            for own, piece in zip(self._own, self._pieces, strict=True)
        ]

    @staticmethod
    def _of(group: Sequence[int], *many: Sequence[Future]) -> list[list[Future]]:
        return [[futures[p] for p in group] for futures in many]


def find_suspects_on_cluster(
    run: Run,
    model: Model,
    shared: Future,
    binning: Binning,
    pieces: Sequence[Future],
    placed: Sequence[Future],
    base: Sequence[Future],
    columns: list[int],
    smallest_leaf: int,
    feedback: str | None,
) -> TrialOnCluster:
    """Find the contexts that may be suspected; narrow ones become leaves.

    `shared` is the model where the workers find it; `columns` are those of the table that judging has to read.
    """
    n_codes = int(binning.n_codes.max())
    rows = WitnessesOnCluster(run, shared, model.forest, n_codes, pieces, placed, base, columns)
    suspects = find_suspects(
        rows, model.forest, columns_of(model), n_codes, feedback, smallest_leaf,
        fine=model.settings.likelihood == "area",
    )  # fmt: skip
    if suspects.leave(model.forest):
        return TrialOnCluster(model, list(placed), suspects.leaves, [], [])
    model, arranged, tried = rearranged_model(model, suspects, binning)
    parts = run.share(arranged)
    moved = [
        run.submit(relocate_part, piece, place, parts)
        for piece, place in zip(pieces, placed, strict=True)
    ]
    own = rows.own_of(parts)
    run.wait("", moved)
    run.wait("", own)
    return TrialOnCluster(model, moved, tried, arranged.narrowed.inside.tolist(), own)


def nothing() -> Own:
    """Return that nothing is set aside."""
    return {}


def sum_guilt(placed: list[Placed], base: list[Floats], n_nodes: int, yardstick: Yardstick) -> Ints:
    """Sum up the guilt of the rows of some partitions per leaf."""
    sums = np.zeros(n_nodes, np.int64)
    for place, evidence in zip(placed, base, strict=True):
        add_guilt(place.leaves, evidence, sums, yardstick)
    return sums


def sum_by_code(
    pieces: list[Piece],
    placed: list[Placed],
    base: list[Floats],
    own: list[Own],
    wanted: list[int],
    forest: Forest,
    n_codes: int,
    yardstick: Yardstick,
) -> Ints:
    """Sum up the rows of some leaves and their guilt by the code of their target, over some partitions."""
    parts = [
        guilt_by_code(wanted, forest, piece.codes, place.leaves, evidence, less, yardstick, n_codes)
        for piece, place, evidence, less in zip(pieces, placed, base, own, strict=True)
    ]
    return add_up(parts)


def own_of_part(part: Any, placed: Placed, model: Model, asked: dict[int, Asked]) -> Own:
    """Return what a partition's rows in some leaves do not testify with."""
    return own_evidence(model, HalfRead(part, model.schema, placed), placed.leaves, asked)


def own_inside_part(own: Own, piece: Piece, rearranged: Rearranged) -> Own:
    """Return what a partition's rows in narrow contexts do not testify with."""
    return own_inside(own, rearranged, piece.codes)


def relocate_part(piece: Piece, placed: Placed, rearranged: Rearranged) -> Placed:
    """Return the leaves of a partition's rows when leaves have been joined or split."""
    return placed._replace(leaves=rearranged.relocate(placed.leaves, piece.codes))
