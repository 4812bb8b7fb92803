"""Which columns are made of the table's columns, decided from what its pieces tell."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from admercs.facets import choose_facets, summarise_facets
from admercs.facets.calendar_parts import (
    calendar_facets,
    count_dates,
    may_have_parts,
    merge_dates,
)
from admercs.facets.determination import (
    TEXTS,
    choose_determiners,
    count_pairs,
    may_repeat,
    merge_counts,
    merge_tables,
    rows_per_value,
    sample_pairs,
    sample_values,
)
from admercs.facets.determined_columns import facets_of_pairs, unrelated
from admercs.facets.relation_sample import (
    count_satisfied,
    merge_number_samples,
    sample_numbers,
)
from admercs.facets.relation_search import find_relations
from admercs.facets.relations import RELATED, is_equation, relation_facet
from admercs.facets.repeated_keys import (
    count_numbers,
    count_values,
    is_unique,
    key_facet,
    key_of_counts,
    may_be_key,
    merge_numbers,
    merge_values,
    repeated_numbers,
    repeated_values,
)
from admercs.facets.text_shape import TEXT_PARTS
from admercs.method.settings import Calendar, Determined, Facets, KeyColumns, Method, Relations
from admercs.pipeline.joint_questions import Finder, Question, find_together
from admercs.pipeline.rows import Rows
from admercs.table.columns import Facet
from admercs.table.schema import has_many_words
from admercs.table.summary import ColumnSummary, TableSummary, merge_columns


def make_columns(
    rows: Rows, summary: TableSummary, method: Method, smallest_leaf: int
) -> tuple[list[tuple[Facet, ColumnSummary]], list[int]]:
    """Return the facets of a table, with what its rows tell about them, and the places of keys."""
    facets = [*choose_facets(summary, method.columns, method.facets)]
    given = method.facets or Facets(calendar=None, keys=None, look_alikes=None, determined=None)
    finders = (
        determined_facets(summary, given.determined, smallest_leaf),
        date_facets(summary, given.calendar),
        key_facets(summary, given.keys),
        relation_facets(summary, method.relations),
    )
    determined, dates, of_keys, relations = find_together(rows, finders)
    equations = [facet.sources for facet in relations if is_equation(facet)]
    determined = [each for f in determined if (each := unrelated(f, equations)) is not None]
    facets += [
        *determined,
        *dates,
        *(facet for facet in of_keys if repeated_values(facet)),
        *relations,
    ]
    keys = given.keys
    places = [facet.sources[0] for facet in of_keys if keys and is_unique(facet, keys)]
    if not facets:
        return [], places
    sources = sorted({source for facet in facets for source in facet.sources})
    numbered = [replace(f, sources=tuple(map(sources.index, f.sources))) for f in facets]
    parts = rows.look_at("reading", summarise_facets, sources, shared=(numbered,))
    made = list(zip(facets, rows.merge(merge_columns, parts), strict=True))
    free = {
        facet.sources[0] for facet, shapes in made
        if facet.kind == "shape" and _is_free(summary.columns[facet.sources[0]], shapes, method)
    }  # fmt: skip
    return [
        (facet, each)
        for facet, each in made
        if facet.kind not in TEXT_PARTS or facet.sources[0] not in free
    ], places


def _is_free(column: ColumnSummary, shapes: ColumnSummary, method: Method) -> bool:
    """Say whether a column is free text: of its parts there is nothing to learn."""
    usual = 0 if shapes.counts is None else max(shapes.counts.values(), default=0)
    is_formless = usual < method.columns.form_share * column.n_present
    return is_formless and has_many_words(column, method.columns)


def determined_facets(
    summary: TableSummary, settings: Determined | None, smallest_leaf: int
) -> Finder[list[Facet]]:
    """Find the columns that other columns determine, and values written into rows of others.

    Trees know of columns of few values: their groups are leaves.
    """
    columns = summary.columns
    places = [j for j, column in enumerate(columns) if may_repeat(column)]
    if settings is None or len(places) < 2:
        return []
    names, kinds = [columns[j].name for j in places], [columns[j].kind for j in places]
    is_text = [kind in TEXTS for kind in kinds]
    share = settings.sample / summary.n_rows
    values = yield Question(sample_values, merge_tables, places, (is_text, share))
    repeats = [rows_per_value(table) for table in values]
    pairs = [
        (a, b)
        for a, rows in enumerate(repeats)
        if settings.scattered_repeats <= rows < smallest_leaf
        for b in range(len(places))
        if a != b
    ]
    if not pairs:
        return []
    # The more pairs, the fewer rows of each are looked at.
    share = min(settings.sample, settings.effort // len(pairs)) / summary.n_rows
    tables = yield Question(sample_pairs, merge_tables, places, (is_text, pairs, share))
    tables_of = dict(zip(pairs, tables, strict=True))
    chosen = choose_determiners(tables_of, names, kinds, share, smallest_leaf, settings)
    if not chosen.wanted:
        return []
    most = 2 * settings.max_values
    counts = yield Question(count_pairs, merge_counts, places, (chosen.wanted, most))
    counts_of = dict(zip(chosen.wanted, counts, strict=True))
    return facets_of_pairs(chosen, counts_of, [columns[j] for j in places], places, settings)


def date_facets(summary: TableSummary, settings: Calendar | None) -> Finder[list[Facet]]:
    """Find the parts of dates over which a table's dates are spread unevenly."""
    places = [j for j, column in enumerate(summary.columns) if may_have_parts(column)]
    if settings is None or not places:
        return []
    counted = yield Question(count_dates, merge_dates, places)
    return [
        facet
        for j, counts in zip(places, counted, strict=True)
        for facet in calendar_facets(j, summary.columns[j], counts, settings)
    ]


def key_facets(summary: TableSummary, settings: KeyColumns | None) -> Finder[list[Facet]]:
    """Find the columns whose values hardly ever repeat, and the values that do."""
    if settings is None:
        return []
    columns = summary.columns
    texts = any(column.kind in ("text", "mixed") for column in columns)
    facets = [key_of_counts(j, column, settings, texts) for j, column in enumerate(columns)]
    places = [j for j, column in enumerate(columns) if may_be_key(column, settings, texts)]
    if places:
        share = settings.most / summary.n_rows
        n_present = [columns[j].n_present for j in places]
        repeated = partial(repeated_numbers, n_present=n_present, settings=settings)
        counted = yield Question(
            count_numbers, merge_numbers, places, (settings, share), digest=repeated
        )
        numbers = {
            j: (found, n)
            for j, (found, n) in zip(places, counted, strict=True)
            if found is not None
        }
        wanted = [found for found, _ in numbers.values()]
        asked = Question(count_values, merge_values, list(numbers), (settings, wanted))
        values = (yield asked) if numbers else []
        for (j, (_, n)), counts in zip(numbers.items(), values, strict=True):
            several = {value: count for value, count in counts.items() if count > 1}
            facets.append(key_facet(j, columns[j], several, n, settings))
    return sorted((facet for facet in facets if facet is not None), key=lambda f: f.sources)


def relation_facets(summary: TableSummary, settings: Relations | None) -> Finder[list[Facet]]:
    """Find the relations between the numeric and date columns of a table.

    Names settle which of equal columns comes first.
    """
    columns = summary.columns
    places = [
        j
        for j in sorted(range(len(columns)), key=lambda j: columns[j].name)
        if columns[j].role == "numeric" and columns[j].kind in RELATED
        and columns[j].low != columns[j].high
    ]  # fmt: skip
    if settings is None or len(places) < 2 or summary.n_rows < settings.min_rows:
        return []
    sample = yield Question(sample_numbers, merge_number_samples, places, (settings.rows,))
    is_date = np.array([bool(columns[j].unit) for j in places])
    found = find_relations(sample.values, is_date, settings)
    if not found:
        return []
    counts = yield Question(count_satisfied, np.add.reduce, places, (found,))
    return [
        relation_facet(formula._replace(sources=tuple(places[s] for s in formula.sources)), *count)
        for formula, count in zip(found, counts.tolist(), strict=True)
        if count[1] >= _least_share(formula.form, formula.exact, settings) * count[0] > 0
    ]


def _least_share(form: str, exact: bool, settings: Relations) -> float:
    """Return the share of all rows that have to satisfy a relation of the sample."""
    if form == "order":
        return settings.order_share
    return settings.exact_share if exact else 2 * settings.central - 1
