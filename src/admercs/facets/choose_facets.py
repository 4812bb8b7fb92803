"""Which facets the columns of a table have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from admercs.facets.determination import (
    KINDS,
    Determiner,
    Pair,
    PairCounts,
    PairTable,
    choose_pairs,
    code_values,
    count_pairs,
    dependence,
    learn_determiner,
    merge_counts,
    merge_pairs,
    sample_pairs,
    scattered_values,
)
from admercs.facets.determined_columns import determined_facet
from admercs.facets.look_alikes import spelling_facet
from admercs.facets.repeated_keys import scattered_facet
from admercs.facets.text_shape import tokens_of, tokens_repeat
from admercs.method.settings import Columns, Facets
from admercs.table.columns import Facet
from admercs.table.frame import Frame
from admercs.table.schema import is_identifier
from admercs.table.summary import ColumnSummary, TableSummary
from admercs.table.text_cells import TextCells


class Looking(Protocol):
    """Rows whose table can be looked at as it was given, piece by piece."""

    def look(
        self, function: Callable[..., Any], merge: Callable[[list[Any]], Any], shared: Any
    ) -> Any:
        """Return what a function says about every piece of the table, merged."""


Made = tuple[Facet, ...]


def choose_facets(summary: TableSummary, columns: Columns, settings: Facets | None) -> Made:
    """Return the facets of all columns that follow from their summaries, in their order."""
    if settings is None:
        return ()
    found: list[Facet] = []
    for position, column in enumerate(summary.columns):
        if column.n_unread:
            found.append(Facet("kind", (position,)))
        if column.kind != "text" or not column.n_present:
            continue
        counts = {str(text): count for text, count in (column.counts or {}).items()}
        texts = TextCells.of(counts)
        # Texts that occur twice on average are categories, but rare ones: their form tells more.
        if is_identifier(column, columns, columns.min_repeats):
            found += [Facet(kind, (position,)) for kind in ("shape", "length")]
            repeated = repeated_tokens(texts, counts, settings)
            found += [Facet(kind, (position,)) for kind in repeated]
        if settings.look_alikes is not None:
            spelling = spelling_facet(position, texts, counts, settings.look_alikes)
            found += [spelling] if spelling else []
    return tuple(found)


def repeated_tokens(texts: TextCells, counts: Mapping[str, int], settings: Facets) -> list[str]:
    """Return which of the first and the last words of texts, which occur so often, repeat."""
    n, most, repeats = [*counts.values()], settings.rare_tokens, settings.token_repeats
    kinds = ("first", "last") if counts else ()  # there may be more texts than are counted
    return [kind for kind in kinds if tokens_repeat(tokens_of(texts, kind), n, most, repeats)]


def find_determined(
    rows: Looking, summary: TableSummary, settings: Facets | None, smallest_leaf: int
) -> Made:
    """Return the facets of columns that other columns determine; reads the table twice.

    Trees know of columns of few values: their groups are leaves.
    """
    chosen = None if settings is None else settings.determined
    columns = [j for j, column in enumerate(summary.columns) if _may_repeat(column)]
    is_text = [column.kind in ("text", "mixed") for column in summary.columns]
    pairs = [(a, b) for a in columns for b in columns if a != b and (is_text[a] or is_text[b])]
    if chosen is None or not pairs:
        return ()
    # The more pairs, the fewer rows of each are looked at.
    n_rows = min(chosen.sample, chosen.effort // len(pairs))
    share = n_rows / summary.n_rows
    shared = (columns, pairs, share, 2 * chosen.max_values)
    tables = rows.look(pairs_of_piece, merge_tables, shared)
    most = share * chosen.max_values
    known = {
        pair: (table, strength)
        for pair, table in zip(pairs, tables, strict=True)
        if (strength := dependence(table, most, chosen.scattered_repeats, smallest_leaf))
    }
    names = [column.name for column in summary.columns]
    strengths = {
        pair: dependence(table, most, chosen.min_repeats) for pair, (table, _) in known.items()
    }
    strongest = choose_pairs(strengths, names, chosen)
    # Of each column those that follow from it.
    turned = choose_pairs(
        {(b, a): strength for (a, b), (_, strength) in known.items()}, names, chosen
    )
    wanted = [*strongest, *((a, b) for b, a in turned if (a, b) not in strongest)]
    if not wanted:
        return ()
    found = rows.look(counts_of_piece, merge_counts, (wanted, 2 * chosen.max_values))
    counts = dict(zip(wanted, found, strict=True))
    by_target: dict[int, list[tuple[int, Determiner]]] = {}
    for a, b in strongest:
        determiner = learn_determiner(counts[a, b], strengths[a, b])
        by_target.setdefault(b, []).append((a, determiner))
    by_source: dict[int, dict[int, PairCounts]] = {}
    for b, a in turned:
        by_source.setdefault(a, {})[b] = counts[a, b]
    scattered = [
        scattered_facet((a, *of_a), summary.columns[a], scattered_values([*of_a.values()], chosen))
        for a, of_a in by_source.items()
    ]
    return (
        *(determined_facet(b, determiners, chosen.prior) for b, determiners in by_target.items()),
        *(facet for facet in scattered if facet is not None),
    )


def _may_repeat(column: ColumnSummary) -> bool:
    """Say whether a column may determine others or be determined."""
    if column.kind not in KINDS or column.n_present < 2:
        return False
    # Of numbers of many values it is not known here how often they repeat.
    counts = column.counts
    return len(counts) > 1 if counts is not None else column.role == "numeric"


def pairs_of_piece(
    frame: Frame, columns: list[int], pairs: list[Pair], share: float, most: int
) -> list[PairTable | None]:
    """Count pairs of values in some groups of a part of a table."""
    coded = {j: code_values(frame.texts(j) or frame.column(j), most) for j in columns}
    return sample_pairs(coded, pairs, share)


def merge_tables(parts: list[list[PairTable | None]]) -> list[PairTable | None]:
    """Add up the counts of the parts of a table."""
    return [merge_pairs(each) for each in zip(*parts, strict=True)]


def counts_of_piece(frame: Frame, pairs: list[Pair], most: int) -> list[PairCounts]:
    """Count all pairs of values of some columns of a part of a table."""
    columns = sorted({j for pair in pairs for j in pair})
    coded = {j: code_values(frame.texts(j) or frame.column(j), most) for j in columns}
    return count_pairs(coded, pairs)
