"""Sentences are grammatical for any names."""

from __future__ import annotations

import pytest

from admercs.explain.records import Typical
from admercs.explain.sentences import (
    Noun,
    consequences_sentence,
    converse_sentence,
    either_sentence,
    isolation_sentence,
    neighbours_sentence,
    pattern_sentence,
)

CARS = Noun.of("cars")


@pytest.mark.parametrize(
    ("plural", "singular"),
    [("cars", "car"), ("companies", "company"), ("boxes", "box"), ("people", "person")],
)
def test_nouns(plural: str, singular: str) -> None:
    assert Noun.of(plural).singular == singular


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["charging power"], " Charging power does not fit either."),
        (["x1", "age"], " x1 and age do not fit either."),
        (["doors"], " The value of doors does not fit either."),
        (["breathes"], " The value of breathes does not fit either."),
        (["doors", "class"], " Doors and class do not fit either."),
        (["status"], " Status does not fit either."),
        (["class"], " Class does not fit either."),
        (["TSH"], " TSH does not fit either."),
    ],
)
def test_what_does_not_fit_either(names: list[str], text: str) -> None:
    assert either_sentence(names) == text


def test_the_converse() -> None:
    assert converse_sentence("weight", ["model"]) == " Conversely, model follows from weight."
    both = converse_sentence("weight", ["model", "price"])
    assert both == " Conversely, model and price follow from weight."


def test_missing_and_recorded() -> None:
    empty, own = Typical("missing", share=1.0), "this row has f"
    text = pattern_sentence("Rows with sex = M (n = 9)", "pregnant", empty, own)
    assert (
        text
        == "Rows with sex = M (n = 9): pregnant is normally empty here (100%), but this row has f."
    )
    recorded = Typical("recorded", share=0.6)
    assert (
        pattern_sentence("All cars", "owner", recorded)
        == "All cars: owner is mostly recorded (60%)."
    )


def test_similar_rows() -> None:
    assert neighbours_sentence(CARS, ["row 7", "row 12"], ["price", "doors"]) == (
        "The cars most like this one (such as row 7 and row 12) are anomalous too, mostly in price "
        "and doors."
    )


def test_no_similar_row() -> None:
    text = isolation_sentence(CARS, "row 571", ["weight"], far=True)
    assert text == "No other car is much like this one (nearest: row 571, which differs in weight)."
    few = isolation_sentence(CARS, "row 571", ["weight"], far=False)
    assert few == "Few cars are much like this one (nearest: row 571, which differs in weight)."
    assert isolation_sentence(CARS, "row 571", [], far=True) == "Few cars are much like this one."


def test_what_follows_from_a_wrong_value() -> None:
    tell = consequences_sentence
    assert tell([], 1) == ""
    assert tell(["weight"], 1) == " Weight looks odd only because of it."
    assert tell(["x0", "eggs"], 1) == " x0 and eggs look odd only because of it."
    assert tell(["a", "b", "c"], 2) == " A, b and c look odd only because of these values."
    assert tell(["a", "b", "c", "d"], 1) == " A, b and 2 more look odd only because of it."
