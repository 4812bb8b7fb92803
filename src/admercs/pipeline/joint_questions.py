"""Several questions about a table, answered by as few readings of it as possible.

A `Finder` is a generator: it yields a `Question`, receives what the pieces of the table answer, and
returns what it found. Finders go side by side. What they ask in the same round is one reading.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from admercs.facets import FacetFrame
from admercs.pipeline.rows import Digest, Rows
from admercs.table.frame import Frame

T = TypeVar("T")
Merge = Callable[[list[Any]], Any]


class Question(NamedTuple):
    """A question about some columns of a table."""

    function: Callable[..., Any]  # of a piece with these columns, and `shared`
    merge: Merge  # of the answers of all pieces
    places: list[int]
    shared: tuple[Any, ...] = ()
    digest: Digest | None = None  # what is needed of the merged answers, where these are large


class Answer(NamedTuple):
    """What pieces answer, with what is done with the answers of all pieces."""

    merge: Merge
    digest: Digest | None
    value: Any


Finder = Generator[Question, Any, T]


def find_together(rows: Rows, finders: Sequence[Finder[T]]) -> list[T]:
    """Return what each finder found."""
    found: dict[int, T] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(finders)))
    while answers:
        asked: dict[int, Question] = {}
        for k, answer in answers.items():
            try:
                asked[k] = finders[k].send(answer)
            except StopIteration as stop:
                found[k] = stop.value
        answers = dict(zip(asked, _answers(rows, list(asked.values())), strict=True))
    return [found[k] for k in range(len(finders))]


def _answers(rows: Rows, asked: list[Question]) -> list[Any]:
    if not asked:
        return []
    places = sorted({place for each in asked for place in each.places})
    own = [(each, [places.index(place) for place in each.places]) for each in asked]
    parts = rows.look_at("columns", answer_questions, places, shared=(own,))
    answers: list[Any] = rows.merge(merge_answers, parts, digest_answers)
    return answers


def answer_questions(frame: Frame, asked: list[tuple[Question, list[int]]]) -> list[Answer]:
    """Answer questions about a piece of a table; each comes with where its columns are."""
    return [
        Answer(each.merge, each.digest, each.function(FacetFrame(frame, (), own), *each.shared))
        for each, own in asked
    ]


def merge_answers(parts: list[list[Answer]]) -> list[Answer]:
    """Merge the answers of several pieces."""
    return [
        answers[0]._replace(value=answers[0].merge([each.value for each in answers]))
        for answers in zip(*parts, strict=True)
    ]


def digest_answers(answers: list[Answer]) -> list[Any]:
    """Return what is needed of the merged answers."""
    return [each.value if each.digest is None else each.digest(each.value) for each in answers]
