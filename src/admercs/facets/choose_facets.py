"""Which facets the columns of a table have."""

from __future__ import annotations

from collections.abc import Mapping

from admercs.facets.look_alikes import spelling_facet
from admercs.facets.text_shape import tokens_of, tokens_repeat
from admercs.method.settings import Columns, Facets
from admercs.table.columns import Facet
from admercs.table.schema import is_identifier
from admercs.table.summary import TableSummary
from admercs.table.text_cells import TextCells

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
