"""The kinds of facets there are: what each is called, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from admercs.facets.text_shape import text_length, text_shape
from admercs.facets.value_kind import KIND_WORDS, value_kind
from admercs.table.columns import Facet
from admercs.table.values import Kind, RawColumn

Make = Callable[..., RawColumn]  # of the source columns and the settings


class FacetKind(NamedTuple):
    """A kind of facet."""

    name: str  # with a place for the names of the sources
    make: Make
    kinds: tuple[Kind, ...]  # of the sources
    n_sources: int = 1
    settings: tuple[type, ...] = ()  # the types of the settings


FACETS: dict[str, FacetKind] = {
    "kind": FacetKind("kind of {}", value_kind, tuple(KIND_WORDS)),
    "shape": FacetKind("the form of {}", text_shape, ("text",)),
    "length": FacetKind("the length of {}", text_length, ("text",)),
}


def facet_fits(facet: Facet, kinds: Sequence[Kind]) -> bool:
    """Say whether a facet, read from a file, can be made of columns of these kinds."""
    known = FACETS.get(facet.kind)
    if known is None or len(facet.sources) != known.n_sources:
        return False
    if tuple(map(type, facet.settings)) != known.settings:
        return False
    in_table = all(type(source) is int and 0 <= source < len(kinds) for source in facet.sources)
    return in_table and all(kinds[source] in known.kinds for source in facet.sources)


def facet_name(facet: Facet, names: Sequence[str]) -> str:
    """Return what a facet is called, given the names of the table's columns."""
    return FACETS[facet.kind].name.format(*(names[source] for source in facet.sources))


def make_facet(facet: Facet, sources: Sequence[RawColumn], name: str) -> RawColumn:
    """Return the values of a facet for the rows of its source columns."""
    settings: tuple[Any, ...] = facet.settings
    return FACETS[facet.kind].make(name, *sources, *settings)
