"""The kinds of facets there are: what each is called, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from types import EllipsisType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

from admercs.facets.calendar_parts import (
    CLOCK,
    NOT_SET,
    PARTS,
    SET,
    TIMED,
    clock_makes_sense,
    part_of,
    time_of,
    timed_of,
)
from admercs.facets.calendar_parts import KINDS as DATES
from admercs.facets.determination import KINDS
from admercs.facets.determined_columns import PlainDeterminer, learned, say_of_column, says_sense
from admercs.facets.look_alikes import Known, spelling_of, spells_sense
from admercs.facets.relations import (
    RELATED,
    RELATION,
    Settings,
    is_relation,
    relation_name,
    residual_column,
)
from admercs.facets.repeated_keys import KINDS as KEY_KINDS
from admercs.facets.repeated_keys import (
    REPEATS,
    SCATTERED,
    PlainKnown,
    repeats_make_sense,
    repeats_of,
    scattered_of,
)
from admercs.facets.text_shape import text_length, text_part
from admercs.facets.value_kind import KIND_WORDS, OTHER, value_kind
from admercs.table.columns import Facet
from admercs.table.schema import EXACT
from admercs.table.text_cells import TextCells
from admercs.table.values import Kind, RawColumn

Make = Callable[..., RawColumn | TextCells]  # of the source columns and the settings
LARGEST = 1e300  # number in the settings of a facet


class FacetKind(NamedTuple):
    """A kind of facet."""

    name: (
        str | Callable[[Facet, Sequence[str]], str]
    )  # a text with places for names, or made of them
    make: Make
    kinds: tuple[Kind, ...]  # of the sources
    made: Kind  # of its values
    settings: tuple[Any, ...] = ()  # the types of the settings
    n_more: int = 0  # the most sources beside the first
    values: Collection[str] = ()  # that it may have, where these are known
    make_sense: Callable[..., bool] = lambda *_: True  # whether settings of these types fit
    learned: Callable[..., Any] | None = None  # what is made of the settings once
    of_codes: bool = False  # whether it is made of the texts of values of any kind
    is_condition: bool = True
    is_stated: bool = False


FACETS: dict[str, FacetKind] = {
    "kind": FacetKind(
        "kind of {}", value_kind, tuple(KIND_WORDS), "text", values={*KIND_WORDS.values(), OTHER}
    ),
    "shape": FacetKind("the form of {}", partial(text_part, "shape"), ("text",), "text"),
    "length": FacetKind("the length of {}", text_length, ("text",), "integer"),
    "first": FacetKind("the beginning of {}", partial(text_part, "first"), ("text",), "text"),
    "last": FacetKind("the end of {}", partial(text_part, "last"), ("text",), "text"),
    "spelling": FacetKind(
        "the spelling of {}", spelling_of, ("text",), "float",
        settings=(Known, Known, int, int, int, float, int, int, int), make_sense=spells_sense,
        is_condition=False, is_stated=True,
    ),
    CLOCK: FacetKind(
        "the time of {}", time_of, DATES, "time",
        settings=(int, bool), make_sense=clock_makes_sense,
    ),
    TIMED: FacetKind("the time of day in {}", timed_of, DATES, "text", values=(SET, NOT_SET)),
    **{
        kind: FacetKind(name, partial(part_of, kind), DATES, "text", values=PARTS[kind])
        for kind, name in (
            ("weekday", "the weekday of {}"),
            ("monthday", "the day of {}"),
            ("month", "the month of {}"),
        )
    },
    REPEATS: FacetKind(
        "repetitions of {}", repeats_of, KEY_KINDS, "float",
        settings=(int, PlainKnown), make_sense=repeats_make_sense,
        is_condition=False, is_stated=True,
    ),
    SCATTERED: FacetKind(
        "the rows that share {}", scattered_of, KINDS, "float", n_more=100,
        settings=(int, PlainKnown), make_sense=repeats_make_sense,
        is_condition=False, is_stated=True,
    ),
    "determined": FacetKind(
        "{} beside other columns", say_of_column, KINDS, "float", n_more=100,
        settings=(float, tuple[PlainDeterminer, ...]), make_sense=says_sense, learned=learned,
        of_codes=True,
        is_condition=False, is_stated=True,
    ),
    RELATION: FacetKind(
        relation_name, residual_column, RELATED, "float", n_more=100,
        settings=Settings, make_sense=is_relation, is_condition=False,
    ),
}  # fmt: skip


def facet_fits(facet: Facet, kind: Kind, kinds: Sequence[Kind], used: Container[int]) -> bool:
    """Say whether a facet, read from a file, can be made, and has values of a kind.

    The table's columns have some `kinds`, and those at some positions are `used`.
    """
    if facet.kind not in FACETS:
        return False
    known, sources = FACETS[facet.kind], facet.sources
    flags = (kind, facet.is_condition, facet.is_stated)
    return (
        1 <= len(sources) <= 1 + known.n_more
        and flags == (known.made, known.is_condition, known.is_stated)
        and all(type(source) is int and 0 <= source < len(kinds) for source in sources)
        and len(set(sources)) == len(sources)
        and all(kinds[source] in known.kinds for source in sources)
        and (facet.kind != RELATION or all(source in used for source in sources))
        and _is_of_type(facet.settings, tuple[known.settings])  # type: ignore[name-defined]
        and known.make_sense(len(sources), *facet.settings)
    )


def may_have(facet: Facet, values: Collection[Any]) -> bool:
    """Say whether a facet of a known kind may have some values."""
    known = FACETS[facet.kind].values
    return not known or set(values) <= set(known)


def _is_of_type(value: Any, hint: Any) -> bool:
    """Say whether a value is of a type, or a tuple of values of some types; numbers are finite."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_is_of_type(value, each) for each in args)
    if hint in (None, type(None)):
        return value is None
    if origin is not tuple:
        most = {int: EXACT, float: LARGEST}
        return type(value) is hint and (hint not in most or bool(abs(value) <= most[hint]))
    if len(args) == 2 and isinstance(args[1], EllipsisType):
        return type(value) is tuple and all(_is_of_type(each, args[0]) for each in value)
    return type(value) is tuple and len(value) == len(args) and all(map(_is_of_type, value, args))


def facet_name(facet: Facet, names: Sequence[str]) -> str:
    """Return what a facet is called, given the names of the table's columns."""
    given, name = [names[source] for source in facet.sources], FACETS[facet.kind].name
    return name.format(*given) if isinstance(name, str) else name(facet, given)


def make_facet(
    facet: Facet, sources: Sequence[RawColumn | TextCells], name: str
) -> RawColumn | TextCells:
    """Return the values of a facet for the rows of its source columns."""
    known = FACETS[facet.kind]
    settings = facet.settings if known.learned is None else (facet.once(known.learned),)
    return known.make(name, *sources, *settings)
