"""Relations in words: what holds between columns, and how a row breaks it."""

from __future__ import annotations

import math

from admercs.arrays import Floats
from admercs.explain.access import Model
from admercs.explain.column_words import percent
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Pattern, Relation, Typical
from admercs.facets.relations import Formula, formula_of
from admercs.pipeline.related_cells import RelatedCells
from admercs.table.columns import Facet


def relations(model: Model, *, noun: str = "rows") -> list[Relation]:
    """Return the relations between columns, exact ones first, then by the share of rows."""
    words = ModelWords(model, noun)
    found = [_record(words, m) for m in model.related]
    return sorted(found, key=lambda each: (not each.exact, -each.share, each.formula))


def relation_patterns(model: Model, *, noun: str = "rows") -> list[Pattern]:
    """Return the relations as normal patterns of the whole table."""
    return [
        Pattern(
            node=-1,
            target=each.columns[0],
            conditions=(),
            typical=Typical("values", share=each.share, text=each.formula),
            n=model.n_rows,
            strength=0.0,
            text=each.text,
        )
        for each in relations(model, noun=noun)
    ]


def broken_sentence(words: ModelWords, relation: int, values: Floats) -> str:
    """State a relation, and how a row with some working values breaks it."""
    formula = _formula(words, relation)
    attributes = words.access.model.related[relation]
    columns = [words.column(m) for m in attributes]
    own = [float(values[m]) for m in attributes]
    shown = [column.exact_text(x) for column, x in zip(columns, own, strict=True)]
    general = _general(words, relation)
    if formula.form == "order":
        if columns[0].column.unit:
            return f"{general}, but here by {_days(float(values[relation]))}."
        return f"{general}, but here {shown[0]} > {shown[1]}."
    related, block = RelatedCells(words.access.model), values[:, None]
    first = columns[0]
    expected = formula.expected(related.plain(relation, block)[1:])
    right_value = float(related.working(attributes[0], expected)[0])
    # The difference has to be visible, and a small expected value must not be rounded to 0.
    apart = abs(own[0] - right_value)
    size = min(apart, abs(float(expected[0])) or apart) / 20
    if formula.exact:
        step = min(2 * formula.tolerance or first.step / 10, size)
    else:
        step = max(size, min(first.step / 10, apart))
    target = first.text(right_value, step)
    shown[0] = first.exact_text(own[0], step)
    if not formula.exact:
        return f"{general}; expected {target}, here {shown[0]}."
    right = formula.words(["", *shown[1:]]).partition("= ")[2]
    if right == target:
        return f"{general}; here {shown[0]} ≠ {target}."
    return f"{general}; here {shown[0]} ≠ {right} ({target} expected)."


def _record(words: ModelWords, relation: int) -> Relation:
    """Describe a relation."""
    formula, facet = _formula(words, relation), _facet(words, relation)
    n, satisfied = facet.settings[-2:]
    columns = words.access.model.schema.columns
    return Relation(
        columns=tuple(columns[source].name for source in facet.sources),
        formula=formula.words(_names(words, relation)),
        exact=formula.exact,
        n=n,
        exceptions=n - satisfied,
        share=satisfied / n,
        text=f"{_general(words, relation)}.",
    )


def _general(words: ModelWords, relation: int) -> str:
    """State a relation without its stop."""
    formula, names = _formula(words, relation), _names(words, relation)
    n, satisfied = _facet(words, relation).settings[-2:]
    rows = words.noun.plural
    if formula.form == "order":
        first, second = (words.column(m) for m in words.access.model.related[relation])
        never, of = "never", f"all {n:,}"
        if satisfied < n:
            never, of = "hardly ever", f"{n - satisfied:,} of {n:,}"
        if first.column.unit:
            return f"{second.name} is {never} before {first.name} ({of})"
        return f"{first.name} is {never} above {second.name} ({of})"
    if formula.exact:
        who = f"all {rows}" if satisfied == n else f"{percent(satisfied / n)} of the {rows}"
        return f"{formula.words(names)} for {who}"
    return formula.words(names).replace(" ≈ ", " is about ")


def _facet(words: ModelWords, relation: int) -> Facet:
    facet = words.access.columns[relation].facet
    if facet is None:
        raise ValueError(f"attribute {relation} is no relation")
    return facet


def _formula(words: ModelWords, relation: int) -> Formula:
    return formula_of(_facet(words, relation))


def _names(words: ModelWords, relation: int) -> list[str]:
    return [words.column(m).name for m in words.access.model.related[relation]]


def _days(days: float) -> str:
    """Write a number of days."""
    for size, unit in ((1.0, "day"), (1 / 24, "hour"), (1 / 1440, "minute"), (1 / 86400, "second")):
        if days >= size or unit == "second":
            break
    amount = days / size
    text = (
        f"{amount:,.0f}" if amount >= 10 or math.isclose(amount, round(amount)) else f"{amount:.1f}"
    )
    return f"{text} {unit}{'' if text == '1' else 's'}"
