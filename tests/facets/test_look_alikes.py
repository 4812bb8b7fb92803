"""Look-alikes, beside a slow oracle that compares every text with every other."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.facets.look_alikes import Dictionary, differ_by_one, fold, words_of
from admercs.method.settings import LookAlikes
from admercs.table.text_cells import TextCells
from tests.facets import text_oracles
from tests.random_tables import random_texts

SETTINGS = LookAlikes()
TEXTS = st.text("abc1 é", max_size=7)


def edits(one: str, other: str) -> int:
    """Optimal string alignment distance, by the table that every textbook shows."""
    cost = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i, a in enumerate(one, start=1):
        for j, b in enumerate(other, start=1):
            cost[i, j] = min(cost[i - 1, j] + 1, cost[i, j - 1] + 1, cost[i - 1, j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost[i, j] = min(cost[i, j], cost[i - 2, j - 2] + 1)
    return cost[len(one), len(other)]


@given(TEXTS, TEXTS)
def test_one_edit(one, other):
    if one != other:
        assert differ_by_one(one, other) == (edits(one, other) == 1)


def resemble(text: str, other: str, two_from: int) -> bool:
    one, two = fold(text), fold(other)
    if one == two:
        return True
    bare = ["".join(c for c in each if not c.isdigit()) for each in (one, two)]
    is_long = len(one) == len(two) >= two_from
    in_two = is_long and sum(a != b for a, b in zip(one, two, strict=True)) <= 2
    is_code = len(one) == len(two) < SETTINGS.shortest and one != two[::-1]
    in_one = edits(one, two) == 1 and one != "" != two and not is_code
    return (in_one or in_two) and bare[0] != bare[1]


@pytest.mark.parametrize("two_from", [10, 4])
@given(counts=st.dictionaries(TEXTS, st.integers(1, 40), max_size=12), text=TEXTS)
def test_as_every_pair_compared(counts, text, two_from):
    frequent = [each for each in counts if counts[each] >= 3]

    def alike(text: str) -> list[str]:
        found = [each for each in frequent if each != text and resemble(text, each, two_from)]
        return sorted(found, key=lambda each: (-counts[each], each))

    slips = Counter(
        other
        for each in frequent
        for other in alike(each)[:1]
        if counts[other] >= SETTINGS.ratio * counts[each]
    )
    own = counts.get(text, 1)
    alike_ones = [
        each for each in alike(text)
        if min(len(fold(each)), len(fold(text))) >= 3 or fold(each) == fold(text)
        or slips[each] >= 3
    ]  # fmt: skip
    expected = next(iter(alike_ones), None)
    if expected is not None:
        n = counts[expected]
        is_far = n >= SETTINGS.ratio * own and n * max(1, slips[expected]) >= own * own
        expected = expected if is_far else None
    settings = replace(SETTINGS, two_from=two_from)
    assert Dictionary(counts, settings).find(text) == expected


@given(st.dictionaries(TEXTS, st.integers(1, 40), max_size=12), TEXTS)
def test_what_is_kept_answers_as_all_counts_do(counts, text):
    whole = Dictionary(counts, SETTINGS)
    kept = Dictionary(dict(whole.kept()), SETTINGS)
    assert kept.look_alike(text) == whole.look_alike(text)
    assert kept.discount == whole.discount


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Adeile", "Adelie"),
        ("Bxrminghxm", "Birmingham"),
        ("ADELIE", "Adelie"),
        (" Adelie ", "Adelie"),
        ("Adélie", "Adelie"),
        ("Adelie\u00a0", "Adelie"),
        ("ZÃ¼rich", "Zürich"),
        ("Zurich", "Zürich"),
    ],
)
def test_resembles(text, other):
    counts = {other: 152, text: 1, "Gentoo": 119, "Chinstrap": 68}
    found = Dictionary(counts, SETTINGS).look_alike(text)
    assert found is not None
    assert (found.other, found.n, found.n_other) == (other, 1, 152)
    assert found.log_likelihood == pytest.approx(math.log(1 / 153))


@pytest.mark.parametrize("text", ["OH", "Room 12", "Gentoo", "Wes-t-ern", "Wextexn", ""])
def test_does_not_resemble(text):
    counts = {"OK": 900, "Room 13": 300, "Western": 50, text: 1}
    assert Dictionary(counts, SETTINGS).find(text) is None


def test_where_frequent_texts_resemble_each_other_a_look_alike_says_less():
    alike = {"LANE": 30, "LAKE": 40, "WAKE": 35, "CLARK": 60}
    apart = {"LANE": 30, "BOSTON": 40, "DENVER": 35, "CLARK": 60}
    found = [Dictionary(counts | {"LANEX": 1}, SETTINGS) for counts in (alike, apart)]
    likelihoods = [each.look_alike("LANEX").log_likelihood for each in found]
    assert likelihoods[1] < likelihoods[0] < 0
    assert found[0].discount == pytest.approx(1 - 3 / 5)


def test_what_occurs_often_is_no_slip():
    codes = {"SVI": 760, "SVHC": 275, "SVHD": 31, "other": 1615}
    assert Dictionary(codes, SETTINGS).find("SVHD") is None
    assert Dictionary(codes | {"SVHD": 4}, SETTINGS).find("SVHD") == "SVHC"


def test_where_slips_are_many_each_may_occur_often():
    counts = {"Issued": 1013, "Isued": 34, "Expired": 200}
    assert Dictionary(counts, SETTINGS).find("Isued") is None
    counts |= {"ssued": 30, "Issude": 5}
    assert Dictionary(counts, SETTINGS).find("Isued") == "Issued"
    assert Dictionary(counts | {"Isued": 300}, SETTINGS).find("Isued") is None


def test_codes_that_lack_a_character_are_slips_where_several_do():
    sizes = {"L": 400, "M": 380, "S": 300, "XL": 15, "XS": 9}
    assert not any(map(Dictionary(sizes, SETTINGS).find, sizes))
    states = {"PA": 969, "P A": 20, "A": 21, "P": 15, "AP": 11, "OH": 9, "VA": 5}
    found = Dictionary(states, SETTINGS)
    assert [*map(found.find, states)] == [None, *4 * ["PA"], None, None]


def words_by_text(texts):
    found = words_of(TextCells.of(texts), SETTINGS.shortest_word)
    by_text = {text: set() for text in texts}
    for text, word in zip(found.text.tolist(), found.word.tolist(), strict=True):
        by_text[texts[text]].add(found.words[word])
    return by_text


def test_words():
    texts = ["541 Wes 25th Street", "12 West Street, West", "ÉCOLE école_2 x", ""]
    assert [*words_by_text(texts).values()] == [{"street"}, {"west", "street"}, {"école"}, set()]


def test_more_words_than_a_language_has_are_none():
    texts = TextCells.of(["one word", "another word", "three more words"])
    assert len(words_of(texts, 3).words) == len(words_of(texts, 3, 6).words) == 6
    assert [len(each) for each in words_of(texts, 3, 5)] == [0, 0, 0]


def test_words_are_those_of_a_regular_expression():
    texts = list(dict.fromkeys(random_texts(20_000)))
    assert words_by_text(texts) == {text: text_oracles.words_of(text) for text in texts}


@pytest.mark.parametrize("text", ["\0", "a\0b", "مرحبا", "👩‍👩‍👧", "x" * 10_000, "\ud7ff", "ﬁ"])
def test_odd_texts(text):
    found = Dictionary({text: 9, text + "a": 1}, SETTINGS).look_alike(text + "a")
    is_short = min(len(fold(text)), len(fold(text + "a"))) < SETTINGS.shortest
    is_long = len(text) > SETTINGS.longest
    assert (found is None) == (is_short or is_long)
    assert found is None or found.other == text
