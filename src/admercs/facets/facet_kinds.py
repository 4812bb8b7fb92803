"""The kinds of facets there are: what each is called, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

from admercs.facets.determination import KINDS
from admercs.facets.determined_columns import PlainDeterminer, say_of_column, says_sense
from admercs.facets.look_alikes import Known, spelling_of, spells_sense
from admercs.facets.relations import (
    RELATED,
    RELATION,
    Settings,
    is_relation,
    relation_name,
    residual_column,
)
from admercs.facets.text_shape import text_length, text_shape
from admercs.facets.value_kind import KIND_WORDS, value_kind
from admercs.table.columns import Facet
from admercs.table.values import Kind, RawColumn

Make = Callable[..., RawColumn]  # of the source columns and the settings


class FacetKind(NamedTuple):
    """A kind of facet."""

    name: (
        str | Callable[[Facet, Sequence[str]], str]
    )  # a text with places for names, or made of them
    make: Make
    kinds: tuple[Kind, ...]  # of the sources
    settings: tuple[Any, ...] = ()  # the types of the settings
    n_more: int = 0  # the most sources beside the first
    make_sense: Callable[..., bool] = lambda *_: True  # whether settings of these types fit


FACETS: dict[str, FacetKind] = {
    "kind": FacetKind("kind of {}", value_kind, tuple(KIND_WORDS)),
    "shape": FacetKind("the form of {}", text_shape, ("text",)),
    "length": FacetKind("the length of {}", text_length, ("text",)),
    "spelling": FacetKind(
        "the spelling of {}", spelling_of, ("text",),
        settings=(Known, Known, int, int, int, float), make_sense=spells_sense,
    ),
    "determined": FacetKind(
        "{} beside other columns", say_of_column, KINDS, n_more=100,
        settings=(float, tuple[PlainDeterminer, ...]), make_sense=says_sense,
    ),
    RELATION: FacetKind(
        relation_name, residual_column, RELATED, n_more=100,
        settings=Settings, make_sense=is_relation,
    ),
}  # fmt: skip


def facet_fits(facet: Facet, kinds: Sequence[Kind]) -> bool:
    """Say whether a facet, read from a file, can be made of columns of these kinds."""
    known = FACETS.get(facet.kind)
    if known is None or not 1 <= len(facet.sources) <= 1 + known.n_more:
        return False
    if not _is_of_type(facet.settings, tuple[known.settings]):  # type: ignore[name-defined]
        return False
    if not known.make_sense(len(facet.sources), *facet.settings):
        return False
    in_table = all(type(source) is int and 0 <= source < len(kinds) for source in facet.sources)
    return in_table and all(kinds[source] in known.kinds for source in facet.sources)


def _is_of_type(value: Any, hint: Any) -> bool:
    """Say whether a value is of a type, or a tuple of values of some types."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_is_of_type(value, each) for each in args)
    if origin is not tuple:
        return type(value) is hint
    if len(args) == 2 and isinstance(args[1], EllipsisType):
        return type(value) is tuple and all(_is_of_type(each, args[0]) for each in value)
    return type(value) is tuple and len(value) == len(args) and all(map(_is_of_type, value, args))


def facet_name(facet: Facet, names: Sequence[str]) -> str:
    """Return what a facet is called, given the names of the table's columns."""
    given, name = [names[source] for source in facet.sources], FACETS[facet.kind].name
    return name.format(*given) if isinstance(name, str) else name(facet, given)


def make_facet(facet: Facet, sources: Sequence[RawColumn], name: str) -> RawColumn:
    """Return the values of a facet for the rows of its source columns."""
    settings: tuple[Any, ...] = facet.settings
    return FACETS[facet.kind].make(name, *sources, *settings)
