"""Finding idle tests from the codes and leaves that the workers hold."""

from __future__ import annotations

from collections.abc import Sequence

from distributed import Future

from admercs.distributed.pieces import Piece, Placed
from admercs.distributed.run import Run
from admercs.table.bins import Binning
from admercs.trees.forest import Forest
from admercs.trees.grow import Layout, layout_of
from admercs.trees.idle import Search, trees_to_search, with_idle
from admercs.trees.strays import (
    Bits,
    Question,
    Rows,
    Shape,
    Survey,
    find_strays,
    merge_surveys,
    merge_unseen,
    survey,
)


def idle_tests_on_cluster(
    run: Run, pieces: Sequence[Future], placed: Sequence[Future], binning: Binning, forest: Forest
) -> Forest:
    """Let the nodes of a forest know which tests of their paths are idle; a round trip per question.

    Parameters
    ----------
    run : Run
    pieces : sequence of future
        The `Piece` of each partition.
    placed : sequence of future
        The `Placed` of each partition.
    binning : Binning
    forest : Forest
    """
    trees, layout = trees_to_search(forest), layout_of(binning)
    if not trees:
        return forest
    shared = run.share((forest, layout))
    groups = [([pieces[p] for p in g], [placed[p] for p in g]) for g in run.groups(pieces)]
    parts = [run.submit(survey_trees, *group, shared, trees) for group in groups]
    surveys = run.result(run.reduce(merge_tree_surveys, parts))
    searches = {
        tree: Search(Shape.of(forest, tree, layout), found) for tree, found in surveys.items()
    }
    while questions := open_questions(searches):
        asked = run.share(questions)
        parts = [run.submit(ask_trees, *group, shared, asked) for group in groups]
        for tree, unseen in run.result(run.reduce(merge_answers, parts)).items():
            searches[tree].answer(unseen)
    return with_idle(forest, {tree: search.idle for tree, search in searches.items()})


def open_questions(searches: dict[int, Search]) -> dict[int, Question]:
    """Return what is still to be asked, by tree."""
    questions = {tree: search.question for tree, search in searches.items()}
    return {tree: question for tree, question in questions.items() if question is not None}


def survey_trees(
    pieces: list[Piece], placed: list[Placed], shared: tuple[Forest, Layout], trees: list[int]
) -> dict[int, Survey]:
    """Survey the rows of some partitions in each tree."""
    forest, layout = shared
    rows = rows_of(pieces, placed)
    samples = [some.sample() for some in rows]
    return {tree: survey(Shape.of(forest, tree, layout), rows, samples) for tree in trees}


def ask_trees(
    pieces: list[Piece],
    placed: list[Placed],
    shared: tuple[Forest, Layout],
    questions: dict[int, Question],
) -> dict[int, Bits]:
    """Look for strays among the rows of some partitions."""
    forest, layout = shared
    rows = rows_of(pieces, placed)
    return {
        tree: find_strays(Shape.of(forest, tree, layout), question, rows)
        for tree, question in questions.items()
    }


def rows_of(pieces: list[Piece], placed: list[Placed]) -> list[Rows]:
    """Put the codes of rows and their leaves together."""
    pairs = zip(pieces, placed, strict=True)
    return [Rows(piece.codes, place.leaves.number) for piece, place in pairs if place.n_rows]


def merge_tree_surveys(parts: list[dict[int, Survey]]) -> dict[int, Survey]:
    """Put surveys together, tree by tree."""
    return {tree: merge_surveys([part[tree] for part in parts]) for tree in parts[0]}


def merge_answers(parts: list[dict[int, Bits]]) -> dict[int, Bits]:
    """Put answers together, tree by tree."""
    return {tree: merge_unseen([part[tree] for part in parts]) for tree in parts[0]}
