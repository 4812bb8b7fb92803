"""Look-alikes: rare texts that resemble a far more frequent text of the same column.

Two texts resemble each other if they are equal but for case, spaces, accents and broken encoding,
if one character is too many, missing, exchanged or in the place of its neighbour, or if two of at
least ten are exchanged. Texts that differ in digits only are two numbers and no look-alikes. Codes
of less than three characters differ by nature: one that is exchanged makes another code, and one
too many or too few is a slip only where at least three frequent texts resemble the same code.
Words are compared as whole texts are, each with the words of the whole column.

A text that occurs c times is a slip beside one that occurs C times if C is at least 4 c, and if
c² is at most C, times the number of frequent texts that resemble the same one: where slips are
many, each may occur often.

How likely it is that a text is right that occurs c times beside one that occurs C times: with g the
share of the column's frequent texts that resemble another frequent text (LANE and LAKE),

    ω = (c / (c + C)) ** (1 - g).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Bytes, Floats, Ints
from admercs.method.settings import LookAlikes
from admercs.table.columns import Facet
from admercs.table.text_cells import LETTER, MORE, TextCells, character_types, texts_in
from admercs.table.values import RawColumn

_SPACES, _DIGITS = re.compile(r"\s+"), re.compile(r"\d")
_MOST_WORDS = 1 << 32  # that are told apart
_MOST_KNOWN = 1 << 20  # distinct words of a column; of more none is looked at
_LARGEST, _LONGEST = 1 << 30, 1 << 12  # what a file may ask for


Known = tuple[tuple[str, int], ...]  # how often texts occur
Key = str | tuple[int, int, str]  # what is left of a text without a character, or a third of one


class LookAlike(NamedTuple):
    """What a text, or a word of it, resembles."""

    text: str
    n: int
    other: str
    n_other: int
    log_likelihood: float


def fold(text: str) -> str:
    """Return a text without what is hard to see: case, accents, spaces, broken encoding.

    Examples
    --------
    >>> fold(" Zürich"), fold("ZURICH"), fold("ZÃ¼rich")
    ('zurich', 'zurich', 'zurich')
    """
    if not text.isascii():
        for encoding in ("cp1252", "latin-1"):
            try:
                text = text.encode(encoding).decode("utf-8")
                break
            except UnicodeError:
                continue
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(each for each in parts if not unicodedata.combining(each))
    return _SPACES.sub(" ", text).strip().casefold()


def differ_by_one(one: str, other: str) -> bool:
    """Say whether one edit, or two neighbours that change places, make two texts equal.

    Examples
    --------
    >>> differ_by_one("Adeile", "Adelie"), differ_by_one("Adelie", "Adele")
    (True, True)
    >>> differ_by_one("Adelie", "Gentoo")
    False
    """
    if len(one) > len(other):
        one, other = other, one
    if len(other) - len(one) > 1:
        return False
    k = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[k:] == other[k + 1 :]
    exchanged = one[k : k + 2] == other[k : k + 2][::-1] and one[k + 2 :] == other[k + 2 :]
    return one[k + 1 :] == other[k + 1 :] or exchanged


def differ_in_two(one: str, other: str) -> bool:
    """Say whether two texts of one length have other characters in at most two places.

    Examples
    --------
    >>> differ_in_two("Birminghxm", "Birmingham"), differ_in_two("Bxrminghxm", "Birmingham")
    (True, True)
    >>> differ_in_two("Birmingham", "Washington")
    False
    """
    return sum(map(str.__ne__, one, other)) <= 2


class Dictionary:
    """The frequent texts of a column, to be asked for look-alikes."""

    def __init__(self, counts: Mapping[str, int], settings: LookAlikes) -> None:
        self._counts, self._settings = counts, settings
        frequent = [text for text, count in counts.items() if count >= settings.min_count]
        frequent.sort(key=lambda text: (-counts[text], text))
        self.frequent = [t for t in frequent if len(t) <= settings.longest][: settings.most]
        self._most = max(map(counts.__getitem__, self.frequent), default=0)
        self._slips: Counter[str] = Counter()  # how many frequent texts resemble a text
        self._equal: dict[str, list[str]] = defaultdict(list)
        self._bare: dict[str, str] = {}  # folded texts without digits
        for text in self.frequent:
            folded = fold(text)
            self._equal[folded].append(text)
            self._bare[folded] = _DIGITS.sub("", folded)
        self._bares = set(self._bare.values())
        self._slips.update(filter(None, map(self._beside_which, self.frequent)))
        self._most_slips = max(self._slips.values(), default=0)
        comparable = [self._has_equals(text) for text in self.frequent if not self.find(text)]
        self.discount = 1 - sum(comparable) / (len(comparable) + 1)

    @cached_property
    def _halves(self) -> set[tuple[int, str]]:
        """The ends of texts; one edit leaves one as it is: most texts are dismissed by that."""
        return {half for folded in self._bare for half in _halves(folded, len(folded))}

    @cached_property
    def _near(self) -> dict[Key, dict[str, list[str]]]:
        """Folded texts by what is left of them without one character, and by their thirds.

        Texts that differ by one edit are equal once a character of each, or of one, is left out;
        two other letters leave a third of a text as it is.
        They are grouped by what they are without digits: equal ones differ in digits only.
        """
        near: dict[Key, dict[str, list[str]]] = {}
        for folded, bare in self._bare.items():
            for key in (*_shortened(folded), *self._parts(folded)):
                near.setdefault(key, {}).setdefault(bare, []).append(folded)
        return near

    def resembling(self, text: str) -> list[str]:
        """Return the frequent texts that a text resembles, the most frequent first."""
        if len(text) > self._settings.longest:
            return []
        folded = fold(text)
        found = {each for each in self._equal.get(folded, ()) if each != text}
        bare = _DIGITS.sub("", folded)
        if not self._bares <= {bare}:  # else they are numbers of one form
            parts = self._beside(self._parts(folded), bare)
            near = {other for other in parts if differ_in_two(folded, other)}
            lengths = (len(folded) - 1, len(folded), len(folded) + 1)
            if any(half in self._halves for length in lengths for half in _halves(folded, length)):
                for other in self._beside(_shortened(folded), bare):
                    # Short codes of one length differ in one character by nature.
                    is_code = len(other) == len(folded) < self._settings.shortest
                    if differ_by_one(folded, other) and not (is_code and other != folded[::-1]):
                        near.add(other)
            found.update(each for other in near for each in self._equal[other])
        return sorted(found, key=lambda each: (-self._counts[each], each))

    def _beside(self, keys: Iterable[Key], bare: str) -> Iterator[str]:
        """Yield the folded texts with one of some keys that differ not in digits alone."""
        for key in keys:
            for other_bare, texts in self._near.get(key, {}).items():
                yield from texts if bare != other_bare else ()

    def _parts(self, folded: str) -> list[Key]:
        """Return the thirds of a text in which two letters may be wrong; none of a short one."""
        n = len(folded)
        ends = (0, n // 3, 2 * n // 3, n) if n >= self._settings.two_from else ()
        return [(n, a, folded[a:b]) for a, b in pairwise(ends)]

    def find(self, text: str) -> str | None:
        """Return the most frequent text that a text resembles, if it is far more frequent."""
        count = self._counts.get(text, 1)
        if not self._is_far(count, self._most, self._most_slips):  # as most texts are
            return None
        found = self.resembling(text)
        best = next((other for other in found if not self._is_other_code(text, other)), None)
        far = best is not None and self._is_far(count, self._counts[best], self._slips[best])
        return best if far else None

    def _is_other_code(self, text: str, other: str) -> bool:
        """Say whether two texts are short codes: that they resemble each other is a chance."""
        ends = fold(text), fold(other)
        is_short = min(map(len, ends)) < self._settings.shortest and len({*ends}) > 1
        return is_short and self._slips[other] < self._settings.min_count

    def _beside_which(self, text: str) -> str | None:
        """Return the most frequent text that a text resembles, if it is more frequent."""
        if not self._is_far(self._counts.get(text, 1), self._most, math.inf):
            return None
        best = next(iter(self.resembling(text)), None)
        times = self._settings.ratio * self._counts.get(text, 1)
        return best if best is not None and self._counts[best] >= times else None

    def _is_far(self, count: int, other: int, n_slips: float) -> bool:
        """Say whether a text is far more frequent than another, which so many resemble.

        What occurs often is no slip, but where slips are many, each may occur more often.
        """
        return other >= self._settings.ratio * count and other * max(1, n_slips) >= count * count

    def look_alike(self, text: str) -> LookAlike | None:
        """Return what a text resembles and how likely it is nevertheless right."""
        other = self.find(text)
        if other is None:
            return None
        count, other_count = self._counts.get(text, 1), self._counts[other]
        log_likelihood = self.discount * math.log(count / (count + other_count))
        return LookAlike(text, count, other, other_count, log_likelihood)

    def log_likelihoods(self, texts: Sequence[str]) -> Floats:
        """Return the log likelihood that each text is right beside what it resembles."""
        found = (self.look_alike(text) if self.frequent else None for text in texts)
        return np.array([0.0 if each is None else each.log_likelihood for each in found])

    def kept(self) -> Known:
        """Return the counts that a dictionary needs to answer all questions as this one does."""
        # What is not known was seen once.
        rare = (text for text, count in self._counts.items() if count > 1 and self.find(text))
        return tuple((text, self._counts[text]) for text in sorted({*self.frequent, *rare}))

    def _has_equals(self, text: str) -> bool:
        for other in self.resembling(text):
            rare, frequent = sorted((text, other), key=self._counts.__getitem__)
            if not self._is_far(self._counts[rare], self._counts[frequent], self._slips[frequent]):
                return True
        return False


def _halves(folded: str, length: int) -> tuple[tuple[int, str], tuple[int, str]]:
    """Return the ends of a text that it may share with another of some length."""
    half = (length - 1) // 2
    return (length, folded[:half]), (-length, folded[len(folded) - half :])


def _shortened(folded: str) -> set[str]:
    """Return a text and all that is left of it without one character, if that is anything."""
    return {folded, *(folded[:k] + folded[k + 1 :] for k in range(len(folded)))} - {""}


@kernel
def write_words(
    data: Bytes, start: Ints, types: Bytes, shortest: int, out: Bytes, stop: Ints, text: Ints
) -> int:
    """Write the words of texts, of so many letters at least, and of which text each is; count them.

    Their letters are made small where they are English ones.
    """
    n, to = 0, 0
    for k in range(len(start) - 1):
        i = start[k]
        while i < start[k + 1]:
            n_letters, begin = 0, to
            while i < start[k + 1] and types[i] & (LETTER | MORE):
                # More bytes follow a letter, or begin where something else has begun.
                if types[i] & LETTER:
                    n_letters += 1
                if n_letters:
                    out[to] = data[i] | 32 if 65 <= data[i] <= 90 else data[i]
                    to += 1
                i += 1
            if n_letters >= shortest:
                stop[n + 1], text[n] = to, k
                n += 1
            else:
                to = begin
            if i < start[k + 1] and not types[i] & LETTER:
                i += 1
    return n


class Words(NamedTuple):
    """The words of distinct texts, each once in a text."""

    text: Ints  # the place of the text
    word: Ints  # that of the word
    words: list[str]  # in lower case


def words_of(texts: TextCells, shortest: int, most_words: float = math.inf) -> Words:
    """Return the words of distinct texts that have so many letters at least, in lower case.

    Return none of more than so many distinct ones: these are no words.

    Examples
    --------
    >>> words_of(TextCells.of(["541 West 25th Street, West of the park"]), 4).words
    ['west', 'street', 'park']
    """
    known: dict[str, int] = {}
    numbers = [np.zeros(0, np.int64)]
    n_before = 0
    for block in texts.blocks():
        most = len(block.data) // shortest + 1
        out, stop = np.empty(len(block.data), np.uint8), np.zeros(most + 1, np.int64)
        text = np.empty(most, np.int64)
        types = character_types(block.data)
        n = write_words(*block, types, shortest, out, stop, text)
        found = TextCells(out[: stop[n]], stop[: n + 1], np.zeros(n, np.int32))
        folded = [known.setdefault(word.casefold(), len(known)) for word in found.values]
        if len(known) > most_words:
            return Words(np.zeros(0, np.int64), np.zeros(0, np.int64), [])
        word = np.array(folded, np.int64)[found.code]
        numbers.append(np.unique((text[:n] + n_before) * _MOST_WORDS + word))
        n_before += len(block.start) - 1
    text, word = np.divmod(np.unique(np.concatenate(numbers)), _MOST_WORDS)
    return Words(text, word, [*known])


class Spelling:
    """What the texts of a column resemble, as a whole or by a word."""

    def __init__(self, texts: Known, words: Known, *settings: float) -> None:
        chosen = LookAlikes(*settings)  # type: ignore[arg-type]
        self._shortest_word = chosen.shortest_word
        self._texts = Dictionary(dict(texts), chosen)
        self._words = Dictionary(dict(words), chosen)

    def look_alike(self, text: str) -> LookAlike | None:
        """Return the look-alike of a text or of one of its words that is least likely right."""
        words = words_of(TextCells.of([text]), self._shortest_word).words
        found = [self._texts.look_alike(text), *map(self._words.look_alike, words)]
        known = [each for each in found if each is not None]
        return min(known, key=lambda each: each.log_likelihood, default=None)

    def log_likelihoods(self, texts: TextCells, words: Words | None = None) -> Floats:
        """Return the log likelihood that each distinct text is right beside what it resembles."""
        found = self._texts.log_likelihoods(texts.values)
        if not self._words.frequent:
            return found
        words = words_of(texts, self._shortest_word) if words is None else words
        np.minimum.at(found, words.text, self._words.log_likelihoods(words.words)[words.word])
        return found


def spelling_facet(
    position: int, texts: TextCells, counts: Mapping[str, int], settings: LookAlikes
) -> Facet | None:
    """Return the facet of a column of texts, which occur so often.

    Return None if nothing in it resembles anything.
    """
    words = words_of(texts, settings.shortest_word, _MOST_KNOWN)
    n = np.bincount(words.word, np.array([*counts.values()])[words.text], len(words.words))
    words_counts = dict(zip(words.words, n.astype(int).tolist(), strict=True))
    if not any(_some_is_rare(each, settings) for each in (counts, words_counts)):
        return None
    facet_settings = (
        Dictionary(counts, settings).kept(),
        Dictionary(words_counts, settings).kept(),
        *astuple(settings),
    )
    if not spelling_by(*facet_settings).log_likelihoods(texts, words).any():
        return None
    return Facet("spelling", (position,), facet_settings, is_condition=False, is_stated=True)


def _some_is_rare(counts: Mapping[str, int], settings: LookAlikes) -> bool:
    """Say whether any text is rare beside the most frequent one."""
    least, most = min(counts.values(), default=0), max(counts.values(), default=0)
    return 0 < most >= max(settings.ratio, least) * least


@lru_cache(maxsize=16)
def spelling_by(*settings: Any) -> Spelling:
    """Return what the settings of a facet say; it takes long to make ready."""
    return Spelling(*settings)


def spelling_of(name: str, column: RawColumn | TextCells, *settings: Any) -> RawColumn:
    """Return the log likelihood that each text is right beside what it resembles."""
    texts = texts_in(column)
    found = texts.once(
        spelling_by(*settings), lambda each: spelling_by(*settings).log_likelihoods(each)
    )
    return RawColumn(name, "float", np.append(found, 0.0)[texts.code])


def spells_sense(n_sources: int, texts: Known, words: Known, *settings: float) -> bool:
    """Say whether settings, read from a file, can be computed with."""
    known, chosen = (*texts, *words), LookAlikes(*settings)  # type: ignore[arg-type]
    longest = chosen.longest
    counts = [count for _, count in known]
    # Each text is kept once for each of its characters.
    size = sum(len(text) ** 2 for text, _ in known if len(text) <= longest)
    small = size <= _LARGEST and max(longest, chosen.shortest_word) <= _LONGEST
    return n_sources == 1 and small and min((*counts, *settings), default=1) >= 1
