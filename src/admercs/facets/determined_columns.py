"""What other columns say about the cells of a column, as a facet; see `determination`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from admercs.facets.determination import (
    Determiner,
    DeterminingPairs,
    Group,
    Pair,
    PairCounts,
    coded_values,
    learn_determiner,
    log_likelihoods,
    log_of_pair,
    scattered_values,
)
from admercs.facets.repeated_keys import scattered_facet
from admercs.method.settings import Determined
from admercs.table.columns import Facet
from admercs.table.summary import ColumnSummary
from admercs.table.values import RawColumn

# The value of A, the usual value of B, the rows, those with the usual value, and other values.
PlainGroup = tuple[str, str, int, int, tuple[tuple[str | None, int], ...]]
TINY = 1e-100  # logarithms are taken of products of numbers of at least this size
PlainDeterminer = tuple[float, float, tuple[PlainGroup, ...]]  # λ, 1 − D, groups


class Contradiction(NamedTuple):
    """A column whose value speaks against that of another one."""

    source: int  # its place among the sources of the facet
    value: str
    group: Group
    weight: float


def facets_of_pairs(
    chosen: DeterminingPairs, counts: Mapping[Pair, PairCounts], columns: Sequence[ColumnSummary],
    places: Sequence[int], settings: Determined,
) -> list[Facet]:  # fmt: skip
    """Return the facets of columns that determine each other; `places` are theirs in the table."""
    by_target: dict[int, list[tuple[int, Determiner]]] = {}
    for a, b in chosen.of_target:
        determiner = learn_determiner(counts[a, b], chosen.strengths[a, b])
        by_target.setdefault(places[b], []).append((places[a], determiner))
    by_source: dict[int, dict[int, PairCounts]] = {}
    for a, b in chosen.of_source:
        by_source.setdefault(a, {})[b] = counts[a, b]
    scattered = [
        scattered_facet(
            (places[a], *(places[b] for b in of_a)),
            columns[a],
            scattered_values([*of_a.values()], settings),
        )
        for a, of_a in by_source.items()
    ]
    return [
        *(determined_facet(b, determiners, settings.prior) for b, determiners in by_target.items()),
        *(facet for facet in scattered if facet is not None),
    ]


def unrelated(facet: Facet, formulas: Sequence[Collection[int]]) -> Facet | None:
    """Return a facet without the columns that stand in an equation with its own; None if all do.

    The equation says more: which of its columns is wrong.
    """
    if facet.kind != "determined":
        return facet
    own, *others = facet.sources
    prior, plain = facet.settings
    kept = [
        (place, said)
        for place, said in zip(others, plain, strict=True)
        if not any(own in formula and place in formula for formula in formulas)
    ]
    sources = (own, *(place for place, _ in kept))
    settings = (prior, tuple(said for _, said in kept))
    return replace(facet, sources=sources, settings=settings) if kept else None


def determined_facet(
    target: int, determiners: Sequence[tuple[int, Determiner]], prior: float
) -> Facet:
    """Return the facet of a column, given the positions of others and what they say about it."""
    sources = (target, *(position for position, _ in determiners))
    plain = tuple(_plain(determiner) for _, determiner in determiners)
    settings = (float(prior), plain)
    return Facet("determined", sources, settings, is_condition=False, is_stated=True)


def _plain(determiner: Determiner) -> PlainDeterminer:
    groups = tuple(
        (value, group.usual, group.n, group.n_usual, tuple(group.others.items()))
        for value, group in determiner.groups.items()
    )
    return determiner.strength, determiner.exceptions, groups


class Determiners(NamedTuple):
    """What other columns say about a column."""

    prior: float
    each: list[Determiner]


def learned(prior: float, plain: Sequence[PlainDeterminer]) -> Determiners:
    """Return what the settings of a facet say; it takes long to make ready."""
    return Determiners(
        prior,
        [
            Determiner(s, e, {value: Group(b, n, m, dict(c)) for value, b, n, m, c in groups})
            for s, e, groups in plain
        ],
    )


def say_of_column(name: str, *sources_and_learned: Any) -> RawColumn:
    """Return log ω of the first source by what the others say."""
    *sources, known = sources_and_learned
    target, *others = sources
    views = list(zip(others, known.each, strict=True))
    return RawColumn(name, "float", log_likelihoods(target, views, known.prior))


def contradictions(values: Sequence[str | None], facet: Facet) -> list[Contradiction]:
    """Return the columns that speak against the first of some values of a row, strongest first."""
    known, (target, *others) = facet.once(learned), values
    found = []
    for place, (own, determiner) in enumerate(zip(others, known.each, strict=True), 1):
        group = None if own is None else determiner.groups.get(own)
        if own is None or group is None or group.usual == target:
            continue
        log_p = log_of_pair(group, target, determiner, known.prior)
        weight = -determiner.strength * group.n_usual / (group.n - 1) * log_p
        if log_p < 0:
            found.append(Contradiction(place, own, group, weight))
    return sorted(found, key=lambda each: -each.weight)


def texts_of(raw: RawColumn) -> list[str | None]:
    """Return the values of a column as the texts that facets know them by; None is missing."""
    coded = coded_values(raw)
    values = [*coded.values, None]
    return [values[code] for code in coded.code.tolist()]


def says_sense(n_sources: int, prior: float, plain: Sequence[PlainDeterminer]) -> bool:
    """Say whether settings, read from a file, can be computed with."""
    return (
        prior >= TINY
        and len(plain) == n_sources - 1
        and all(
            0 <= strength <= 1
            and TINY <= exceptions <= 1
            and all(n > 1 and 1 <= n_usual <= n and all(1 <= c <= n for _, c in others)
                    for _, _, n, n_usual, others in groups)
            for strength, exceptions, groups in plain
        )
    )  # fmt: skip
