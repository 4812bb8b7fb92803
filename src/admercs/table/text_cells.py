"""The cells of a column of texts: its distinct texts once, as UTF-8, and which one is in each row.

Python needs longer to touch a million texts one by one than all else takes that is done with a
table. So texts lie in one stretch of memory, kernels read them there, and few of them ever become
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from admercs._compile import kernel, read_only
from admercs.arrays import Bools, Bytes, Ints, Keys, ShortInts
from admercs.table.values import RawColumn

# What a character is, in bits. The bytes of a character behind its first are MORE.
DIGIT, LETTER, UPPER, LOWER, SPACE, NUMERAL, MORE = (1 << k for k in range(7))
_LAST_LETTER = 0x323AF  # characters behind it are neither letters nor digits
_BLOCK = 1 << 26  # bytes that are looked at together
_NUMBER = np.uint64(0xFFFFFFFF)  # the bits of a slot that hold the number of a text
Writer = Callable[..., None]


@kernel
def hash_texts(data: Bytes, start: Ints, hashes: Keys) -> None:
    """Write a number that looks random for each text, never 0."""
    for row in range(len(hashes)):
        own = np.uint64(0xCBF29CE484222325)
        for i in range(start[row], start[row + 1]):
            own = (own ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
        own = (own ^ (own >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        own = (own ^ (own >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[row] = max(own ^ (own >> np.uint64(31)), np.uint64(1))


@kernel
def number_texts(
    data: Bytes, start: Ints, hashes: Keys, slots: Keys, code: ShortInts, first: Ints
) -> int:
    """Give numbers to the distinct texts of rows, and return how many there are.

    `code` is -1 where a row is missing; it receives the numbers, and `first` the first row of each
    text. `slots` is a hash table of zeros, its size a power of two: a slot has the upper half of a
    hash, and the number counted from one.
    """
    n, mask, half = 0, np.uint64(len(slots) - 1), np.uint64(0xFFFFFFFF)
    for row in range(len(code)):
        if code[row] < 0:
            continue
        begin, size = start[row], start[row + 1] - start[row]
        slot, upper = hashes[row] & mask, hashes[row] & ~half
        while True:
            found = slots[slot]
            if found == 0:
                slots[slot] = upper | np.uint64(n + 1)
                code[row], first[n] = n, row
                n += 1
                break
            if found & ~half == upper:
                k = np.int64(found & half) - 1
                other, i = start[first[k]], 0
                if start[first[k] + 1] - other == size:
                    while i < size and data[begin + i] == data[other + i]:
                        i += 1
                    if i == size:
                        code[row] = k
                        break
            slot = (slot + np.uint64(1)) & mask
    return n


@kernel
def copy_texts(data: Bytes, start: Ints, rows: Ints, kept: Bytes, kept_start: Ints) -> None:
    """Copy the texts of some rows one behind the other."""
    to = 0
    kept_start[0] = 0
    for k in range(len(rows)):
        for i in range(start[rows[k]], start[rows[k] + 1]):
            kept[to] = data[i]
            to += 1
        kept_start[k + 1] = to


@kernel
def write_types(data: Bytes, known: Bytes, types: Bytes) -> None:
    """Write what the character is that begins with each byte, given what characters are."""
    for i in range(len(data)):
        first = np.int64(data[i])
        if first < 128:
            types[i] = known[first]
        elif first < 192:
            types[i] = MORE
        else:
            n_more = 1 + (first >= 224) + (first >= 240)
            point: Any = first & (63 >> n_more)
            for k in range(1, n_more + 1):
                point = point << 6 | (np.int64(data[i + k]) & 63)
            types[i] = known[min(point, len(known) - 1)]


@kernel
def measure_texts(data: Bytes, start: Ints, n_characters: ShortInts, n_spaces: ShortInts) -> None:
    """Count the characters and the spaces of each text."""
    for k in range(len(start) - 1):
        characters, spaces = 0, 0
        for i in range(start[k], start[k + 1]):
            characters += (data[i] & 0xC0) != 0x80
            spaces += data[i] == 32
        n_characters[k], n_spaces[k] = characters, spaces


class TextBlock(NamedTuple):
    """Some distinct texts."""

    data: Bytes
    start: Ints


class TextCells:
    """The cells of a column of texts; `code` is the number of the text of each row, -1: missing."""

    def __init__(self, data: Bytes, start: Ints, code: ShortInts) -> None:
        """Take the texts ``data[start[k]:start[k + 1]]`` of rows; `code` is -1 where missing."""
        data, start, n_rows = read_only(data), read_only(start), len(code)
        self._slots = np.zeros(1 << (2 * n_rows).bit_length(), np.uint64)
        hashes, first = np.empty(n_rows, np.uint64), np.empty(n_rows, np.int64)
        hash_texts(data, start, hashes)
        n = number_texts(data, start, read_only(hashes), self._slots, code, first)
        self.code, rows = code, first[:n]
        self._made: dict[Any, Any] = {}
        if n == n_rows:
            self.hashes, self.start, self.data = hashes, start, data
            return
        self.hashes = hashes[rows]
        kept_start = np.zeros(n + 1, np.int64)
        kept = np.empty(int((start[rows + 1] - start[rows]).sum()), np.uint8)
        copy_texts(data, start, read_only(rows), kept, kept_start)
        self.start, self.data = read_only(kept_start), read_only(kept)

    @classmethod
    def of(cls, texts: Iterable[Any], missing: Bools | None = None) -> TextCells:
        """Return the cells of some texts, those aside that are missing."""
        given = list(texts)
        for row in [] if missing is None else np.flatnonzero(missing).tolist():
            given[row] = ""
        parts = [text.encode("utf-8", "surrogatepass") for text in given]
        start = np.zeros(len(parts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=start[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), start, _codes(len(parts), missing))

    @classmethod
    def of_series(cls, series: nw.Series[Any]) -> TextCells | None:
        """Return the cells of a column as Arrow has them; None where that cannot be had."""
        try:
            import pyarrow as pa

            # Without its name: polars panics where that holds a NUL.
            array: Any = series.alias("").to_arrow()
            if isinstance(array, pa.ChunkedArray):
                array = array.combine_chunks()
            if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
                return None
            array = array.cast(pa.large_string())
        except (ImportError, ValueError, TypeError):  # no Arrow, or values of several types
            return None
        _, offsets, data = array.buffers()
        n, first = len(array), array.offset
        start = np.frombuffer(offsets, np.int64)[first : first + n + 1] if n else np.zeros(1, int)
        bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        return cls(bytes_, start, _codes(n, missing))

    def coded(self, numbers: Ints | ShortInts) -> TextCells:
        """Return the cells of rows that have these texts, by their numbers; -1 is missing."""
        other = object.__new__(TextCells)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _OF_ROWS})
        other.code, other._made = np.asarray(numbers, np.int32), {}
        return other

    def __len__(self) -> int:
        """Return the number of distinct texts."""
        return len(self.hashes)

    @cached_property
    def n(self) -> Ints:
        """How many rows have each text."""
        return np.bincount(self.code + 1, minlength=len(self) + 1)[1:]

    @cached_property
    def values(self) -> list[str]:
        """The distinct texts."""
        return self.decode(range(len(self)))

    @cached_property
    def sizes(self) -> tuple[ShortInts, ShortInts]:
        """The number of characters, and of spaces, of each text."""
        n_characters, n_spaces = np.empty((2, len(self)), np.int32)
        measure_texts(self.data, self.start, n_characters, n_spaces)
        return n_characters, n_spaces

    def is_missing(self) -> Bools:
        """Return which rows are missing."""
        missing: Bools = self.code < 0
        return missing

    def decode(self, places: Iterable[int]) -> list[str]:
        """Return some of the distinct texts."""
        memory, some = self.data.data, np.fromiter(places, np.int64)
        ends = zip(self.start[some].tolist(), self.start[some + 1].tolist(), strict=True)
        return [str(memory[start:stop], "utf-8", "surrogatepass") for start, stop in ends]

    def column(self, name: str) -> RawColumn:
        """Return the cells as objects."""
        missing = self.is_missing()
        texts = np.array([*self.values, None], object)[self.code]
        return RawColumn(name, "text", texts, missing if missing.any() else None)

    def find(self, texts: Sequence[str]) -> Ints:
        """Return the numbers of some texts; -1 for those that no row has."""
        wanted = TextCells.of(texts)
        return self.find_cells(wanted)[wanted.code]

    def find_cells(self, wanted: TextCells) -> Ints:
        """Return the numbers here of the distinct texts of other cells; -1 for unknown ones."""
        place, todo = np.full(len(wanted), -1), np.arange(len(wanted) if len(self) else 0)
        mask = np.uint64(len(self._slots) - 1)
        slot = wanted.hashes[todo] & mask
        while len(todo):
            k = (self._slots[slot] & _NUMBER).astype(np.int64) - 1
            here = (k >= 0) & (self.hashes[k] == wanted.hashes[todo])
            place[todo[here]] = k[here]
            further = (k >= 0) & ~here
            todo, slot = todo[further], (slot[further] + np.uint64(1)) & mask
        known = np.flatnonzero(place >= 0)
        pairs = zip(self.decode(place[known]), wanted.decode(known), strict=True)
        place[known[[one != other for one, other in pairs]]] = -1
        return place

    def head(self, n: int) -> TextCells:
        """Return the first distinct texts as those of as many rows."""
        return TextCells(self.data, self.start[: n + 1], np.zeros(n, np.int32))

    def without(self, texts: Sequence[str]) -> TextCells:
        """Return the cells with some texts taken as missing."""
        gone = self.find(texts)
        if (gone < 0).all():
            return self
        code = np.zeros(len(self), np.int32)
        code[gone[gone >= 0]] = -1
        return self._again(TextCells(self.data, self.start, code))

    def once(self, key: Any, make: Callable[[TextCells], Any]) -> Any:
        """Return what a function makes of the cells; it is called once for each key."""
        if key not in self._made:
            self._made[key] = make(self)
        return self._made[key]

    def derive(self, write: Writer, *more: Any, longer: int = 0, typed: bool = True) -> TextCells:
        """Return what a kernel writes for each text, which is at most so many bytes longer.

        It is called with a block, further arguments, and arrays to write texts and their ends into;
        `typed` says that it looks at what characters are, behind the block.
        """
        data, stops, n_written = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)], 0
        for block in self.blocks():
            out = np.empty(len(block.data) + longer * len(block.start), np.uint8)
            stop = np.empty(len(block.start) - 1, np.int64)
            types = (character_types(block.data),) if typed else ()
            write(*block, *types, *more, out, stop)
            data.append(out[: stop[-1]])
            stops.append(stop + n_written)
            n_written += len(data[-1])
        made, code = np.concatenate(data), np.zeros(len(self), np.int32)
        return self._again(TextCells(made, np.concatenate(stops), code))

    def blocks(self) -> Iterator[TextBlock]:
        """Yield stretches of the distinct texts that are not too long to be looked at together."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.start, self.start[first] + _BLOCK, "right")) - 1
            last = max(last, first + 1)
            start = self.start[first : last + 1]
            data = self.data[start[0] : start[-1]]
            yield TextBlock(data, read_only(start - start[0]))
            first = last

    def _again(self, texts: TextCells) -> TextCells:
        """Return the cells whose texts are those made of the distinct ones."""
        return texts.coded(np.append(texts.code, np.int32(-1))[self.code])


_OF_ROWS = ("code", "n", "_made")


def _codes(n: int, missing: Bools | None) -> ShortInts:
    return np.zeros(n, np.int32) if missing is None else -missing.astype(np.int32)


def texts_in(column: TextCells | RawColumn) -> TextCells:
    """Return the cells of a column of any kind, each as a text."""
    if isinstance(column, TextCells):
        return column
    return TextCells.of(map(str, column.values.tolist()), column.is_missing())


def character_types(data: Bytes) -> Bytes:
    """Return what the character is that begins with each byte of some texts."""
    is_plain = not len(data) or data.max() < 128
    types = np.empty(len(data), np.uint8)
    write_types(data, _types(128 if is_plain else _LAST_LETTER + 2), types)
    return read_only(types)


@cache
def _types(n: int) -> Bytes:
    """Return what the first `n` characters are."""
    characters = [chr(point) for point in range(n)]
    tests: list[Callable[[str], bool]] = [
        str.isdecimal, lambda c: c.isalnum() and not c.isdecimal(), str.isupper,
        lambda c: c.islower() or (c.istitle() and not c.isupper()), str.isspace, str.isdigit,
    ]  # fmt: skip
    found = np.zeros(n, np.uint8)
    for bit, test in zip((DIGIT, LETTER, UPPER, LOWER, SPACE, NUMERAL), tests, strict=True):
        found |= np.fromiter(map(test, characters), bool, n).astype(np.uint8) * np.uint8(bit)
    return read_only(found)
