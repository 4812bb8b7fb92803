"""Random tables of what people have in theirs, and of what nobody should have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
Column = Callable[[int, Rng], Any]  # of so many rows

WORDS = ["Adelie", "Gentoo", "Chinstrap", "São Paulo", "Genève", "New York", "Łódź", "Zürich"]
ODD_TEXTS = [
    "", " ", "n.a.", "NULL", "nan", "-", "?", "0", "00", "-999", "1e999", "9" * 400, "31/02/2024",
    "2024-13-45", "9999-12-31", "0001-01-01", "24:61", "12,34,56", "(((", "%", "€", "=1+1",
    "<b>x</b>", "{}", "{0}", "%s", "\\", '"', "'", "\n", "\r\n\t", "\x00", "a\x00b", "\ufeffa",
    "\u202etxet", "שלום עולם", "مرحبا", "日本語", "नमस्ते", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "e\u0301", "ﬁ", "İ",
    "ß", "SÃ£o", "\u200b", "\u2028", "x" * 5000, "½", "٣", "１２", "\ue000",
    "\U0010ffff", "a" + "\u0300" * 60,
]  # fmt: skip
NAMES = [
    "", " ", "a b", "{}", "{0}", "%s", "%", "<i>", '"', "\x00", "\n", "שם", "👩‍👩‍👧", "x" * 300,
    "x0", "the form of c0", "typical", "and", "=", "c0", "NaN", "None", "\u202ec",
]  # fmt: skip
# Strings of a format are made of values of a random day or number.
DATES = [
    "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%Y%m%d", "%d %b %Y", "%B %d, %Y",
    "%Y-%m-%d %H:%M", "%d/%m/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+02:00",
    "%H:%M", "%H:%M:%S", "%I:%M %p", "%d-%m", "%Y",
]  # fmt: skip
NUMBERS: list[Callable[[float], str]] = [
    lambda x: f"{x:.2f}",
    lambda x: f"{x:,.2f}",
    lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    lambda x: f"€ {x:.1f}",
    lambda x: f"{x:.0f} %",
    lambda x: f"{x:.1f} kg",
    lambda x: f"({abs(x):.2f})" if x < 0 else f"{x:.2f}",
    lambda x: f"{x:.3e}",
    lambda x: f"{x:,.0f}".replace(",", "'"),
    lambda x: f"{round(x):05d}",
    lambda x: f"{x:.2f}-" if x < 0 else f"{x:.2f}",
    lambda x: f"{x:,.0f}".replace(",", "\u202f"),
]


def random_texts(n: int, seed: int = 0) -> list[str]:
    """Return texts of few characters, so that all kinds of them stand side by side."""
    rng = np.random.default_rng(seed)
    signs = [
        *"aAbBzZ019 .,-_@:;<>()\"$%/'+\t\n\0éÀßǅñ٣²½中あЖж–\u00a0\u2009\u2028−’😀𐐨ºⅧ\u0345İ",
        "\ud800", "a@b.cd", "x@y.com", "12", "Ab", "Straße", "STRASSE", "March", "mon", "EUR",
    ]  # fmt: skip
    lengths = rng.integers(0, rng.choice([3, 8, 20, 70], n) + 1)
    return ["".join(rng.choice(signs, length).tolist()) for length in lengths.tolist()]


def pick(values: Any, n: int, rng: Rng) -> np.ndarray:
    """Return some of the values, as objects: pandas cannot make texts of lone surrogates."""
    found = np.empty(len(values), object)
    found[:] = values
    return found[rng.integers(0, len(found), n)]


def spoilt(column: Any, rng: Rng) -> np.ndarray:
    """Return a column of objects of which some are odd texts."""
    column = np.asarray(column, object).copy()
    for k in rng.integers(0, len(column), rng.integers(0, 1 + max(1, len(column) // 12))):
        column[k] = ODD_TEXTS[rng.integers(len(ODD_TEXTS))]
    return column


def moments(n: int, rng: Rng) -> pd.Series:
    """Return days or moments within some years, or at working hours."""
    start = np.datetime64(["2024-01-01", "1969-12-30", "1899-12-31"][rng.integers(3)], "s")
    days = rng.integers(0, rng.choice([5, 400, 20_000]), n) * 86_400
    at = [0, rng.integers(0, 86_400, n), rng.integers(8, 18, n) * 3600][rng.integers(3)]
    return pd.Series(start + (days + at).astype("m8[s]"))


def dates_in_texts(n: int, rng: Rng) -> np.ndarray:
    formats = rng.choice(DATES, 1 if rng.random() < 0.7 else 2).tolist()
    texts = [moments(n, rng).dt.strftime(form).to_numpy(object) for form in formats]
    return spoilt(np.where(rng.random(n) < 0.9, texts[0], texts[-1]), rng)


def numbers_in_texts(n: int, rng: Rng) -> np.ndarray:
    form, other = (NUMBERS[k] for k in rng.integers(0, len(NUMBERS), 2))
    other = form if rng.random() < 0.7 else other
    values = (rng.normal(size=n) * 10.0 ** rng.integers(0, 7)).tolist()
    return spoilt([(form if rng.random() < 0.9 else other)(value) for value in values], rng)


def codes(n: int, rng: Rng) -> np.ndarray:
    """Return texts of one form, or of two: codes, telephone numbers, addresses, …"""
    forms: list[Callable[[int], str]] = [
        lambda k: f"{'ABC'[k % 3]}-{k % 7000:04d}",
        lambda k: f"+32 4{k % 90 + 10} {k % 89 + 10} {k % 79 + 10} 99",
        lambda k: f"0{k % 900_000_000 + 100_000_000}",
        lambda k: f"{WORDS[k % 3].lower()}.{k % 999}@example.com",
        lambda k: f"https://example.com/{k:x}?q={k % 7}",
        lambda k: f"{WORDS[k % 8]} {k % 97} {WORDS[k % 5]}",
        lambda k: " ".join(WORDS[(k >> step) % 8] for step in range(9)),
        lambda k: f"BE{k % 97:02d} {k % 9973:04d} {k % 9967:04d}",
        lambda k: str(k % 90_000 + 1000),
    ]
    one, other = (forms[k] for k in rng.integers(0, len(forms), 2))
    other = one if rng.random() < 0.6 else other
    numbers = rng.integers(0, 2**40, n).tolist()
    return spoilt([(one if rng.random() < 0.95 else other)(k) for k in numbers], rng)


def look_alikes(n: int, rng: Rng) -> np.ndarray:
    """Return words of which some are misspelt, in other case, or encoded twice."""
    words = pick(WORDS[: rng.integers(1, 9)], n, rng)
    changes: list[Callable[[str], str]] = [
        str.upper, lambda w: w + " ", lambda w: w[:2] + w[3:], lambda w: w[1] + w[0] + w[2:],
        lambda w: w.encode().decode("latin-1"), lambda w: w.replace("a", "á"), lambda w: w * 2,
    ]  # fmt: skip
    for k in rng.integers(0, n, rng.integers(0, 4)):
        words[k] = changes[rng.integers(len(changes))](words[k])
    return spoilt(words, rng) if rng.random() < 0.3 else words


def keys(n: int, rng: Rng) -> np.ndarray:
    """Return numbers or texts that do not repeat, but for some."""
    numbers = rng.permutation(n) + rng.integers(0, 10_000)
    for k in rng.integers(0, n, rng.integers(0, 3)):
        numbers[k] = numbers[0]
    if rng.random() < 0.5:
        return numbers
    return np.array([f"O-{k:06d}" for k in numbers], object)


def objects(n: int, rng: Rng) -> Any:
    """Return values of several types in one column."""
    kinds: list[Any] = [
        1, -3, 2**70, 2.5, float("nan"), np.float32(0.1), np.int64(7), Decimal("1.10"), True, None,
        pd.NA, pd.NaT, "a", "", "1", "2024-01-01", np.str_("b"), dt.date(2024, 2, 29),
        dt.datetime(2024, 1, 1, 3), dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.time(3, 12),
        dt.timedelta(days=-1), pd.Timestamp("2024-01-01"), np.datetime64("2024-01-01"),
        np.bool_(False), np.timedelta64(3, "h"),
    ]  # fmt: skip
    most = int(rng.integers(1, 6))
    return pd.Series(pick(pick(kinds, most, rng), n, rng), dtype=object)


PLAIN: list[Column] = [
    lambda n, rng: rng.normal(size=n),
    lambda n, rng: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300),
    lambda n, rng: rng.standard_cauchy(n),
    lambda n, rng: np.round(rng.lognormal(4, 1, n), 2),
    lambda n, rng: np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
    lambda n, rng: np.where(rng.random(n) < 0.05, -999, rng.integers(0, 90, n)),
    lambda n, rng: np.full(n, rng.normal()),
    lambda n, rng: np.full(n, np.nan),
    lambda n, rng: rng.integers(0, rng.integers(1, 20), n),
    lambda n, rng: rng.integers(-(2**62), 2**62, n),
    lambda n, rng: rng.integers(0, 2**64, n, dtype=np.uint64),
    lambda n, rng: rng.normal(size=n).astype(np.float16),
    lambda n, rng: rng.choice([1e308, -1e308, 0.0, 5e-324], n),
    lambda n, rng: rng.random(n) < rng.random(),
    lambda n, rng: rng.integers(-20_000, 20_000, n).astype("M8[D]").astype("M8[ns]"),
    lambda n, rng: pd.to_timedelta(rng.integers(0, 10**9, n), "s"),
    lambda n, rng: pd.Series(pd.date_range("2020", periods=n, freq="h", tz="Europe/Brussels")),
    lambda n, rng: pd.Categorical(rng.choice(["low", "high"], n)),
    lambda n, rng: pd.array(rng.integers(0, 9, n), dtype="Int64"),
    lambda n, rng: rng.integers(-(2**40), 2**40, n).astype(f"M8[{rng.choice(['s', 'ms', 'us'])}]"),
    lambda n, rng: rng.integers(-(2**62), 2**62, n).astype(f"m8[{rng.choice(['s', 'ms', 'us'])}]"),
    lambda n, rng: pd.Series(
        rng.choice(np.array(["0001-01-01", "9999-12-31T23:59"], "M8[s]"), n)
    ).dt.tz_localize(rng.choice(["UTC", "+14:00", "-12:00", "Europe/Brussels"])),
    moments,
]  # fmt: skip
TEXTS: list[Column] = [
    lambda n, rng: pick(["a", "b", "", "ä", "\udcff", "nan"], n, rng),
    lambda n, rng: np.array([f"t{k}" for k in rng.integers(0, rng.integers(1, 400), n)], object),
    lambda n, rng: pick(pick(ODD_TEXTS, 1 + rng.integers(20), rng), n, rng),
    dates_in_texts,
    numbers_in_texts,
    codes,
    look_alikes,
    keys,
    objects,
]


def dependent(table: pd.DataFrame, rng: Rng) -> Any:
    """Return a column that follows from one or two others, but for some rows; None: no such."""
    numbers = [j for j in range(table.shape[1]) if table.dtypes.iloc[j].kind in "fi"]
    days = [j for j in range(table.shape[1]) if table.dtypes.iloc[j] == "datetime64[s]"]
    n, kind = len(table), rng.integers(4)
    if kind == 0 or not (numbers or days):
        own = table.iloc[:, rng.integers(table.shape[1])]
        codes = pd.factorize(own.map(repr))[0]
        if rng.random() < 0.3:
            return own.copy()
        found = pick(WORDS, 1 + int(codes.max()), rng)[codes]
        return spoilt(found, rng) if rng.random() < 0.5 else found
    if days and (kind == 1 or not numbers):
        later = rng.integers(0, 9, n) * 86_400
        return table.iloc[:, days[0]] + pd.Series(later.astype("m8[s]"), index=table.index)
    a, b = (table.iloc[:, j].to_numpy(float) for j in rng.choice(numbers, 2))
    with np.errstate(all="ignore"):
        made = [a + b, a - b, a * b, a / b, 1.21 * a, -a, 3 * a + 2 * b, np.maximum(a, b)]
        made += [a + rng.normal(size=n), np.round(0.21 * a, 2), a + abs(b)]
        found = made[rng.integers(len(made))]
    found = np.where(np.isfinite(found), found, np.nan)
    found[rng.integers(0, n, rng.integers(0, 3))] *= 10.0 ** rng.integers(-3, 4)
    return np.where(np.isfinite(found), found, np.nan)


def random_table(rng: Rng) -> pd.DataFrame:
    """Return a table of few columns, some of which depend on others, with gaps."""
    n = int(rng.integers(1, 120) if rng.random() < 0.8 else rng.integers(120, 400))
    n_columns, share = int(rng.integers(1, 8)), rng.random()
    table = pd.DataFrame(index=range(n))
    for k in range(n_columns):
        if k and rng.random() < 0.35:
            column = dependent(table, rng)
        else:
            makers = TEXTS if rng.random() < share else PLAIN
            column = makers[rng.integers(len(makers))](n, rng)
        is_object = isinstance(column, np.ndarray) and column.dtype == object
        column = pd.Series(column, dtype=object if is_object else None)
        if rng.random() < 0.25:
            column = column.mask(pd.Series(rng.random(n) < rng.random()))
        table[f"c{k}"] = column
    if rng.random() < 0.1:
        names = pick(NAMES, n_columns, rng).tolist()
        table.columns = [
            f"{name}{k}" if name in names[:k] else name for k, name in enumerate(names)
        ]
    if rng.random() < 0.1:
        rows = np.arange(n)
        rows[rng.integers(0, n, 2)] = 0
        table = table.iloc[rows].reset_index(drop=True)
    return table


def other_rows(table: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Return rows of a table with values exchanged, missing, or never seen."""
    rows = table.iloc[rng.integers(0, len(table), int(rng.integers(1, 30)))].reset_index(drop=True)
    for j in range(rows.shape[1]):
        column, kind = rows.iloc[:, j], rng.integers(6)
        if kind == 0:
            column = column.sample(frac=1, random_state=int(rng.integers(2**31)))
            column.index = rows.index
        elif kind == 1:
            column = column.mask(pd.Series(rng.random(len(rows)) < rng.choice([0.3, 1.0])))
        elif kind == 2 and column.dtype == object:
            column = pd.Series(spoilt(column, rng), dtype=object)
        elif kind == 3 and column.dtype == float:
            column = column * rng.choice([0.0, -1.0, 1e3, 1e-3])
        rows.isetitem(j, column)
    return rows


def in_another_library(table: pd.DataFrame, rng: Rng) -> Any:
    """Return the table as it is, or in another container where that can hold it."""
    kind = rng.integers(8)
    if kind < 2 and any(isinstance(value, np.datetime64) for value in table.to_numpy(object).flat):
        return table  # pyarrow crashes where a column of objects has it beside a numpy number
    try:
        if kind == 0:
            import polars

            return polars.from_pandas(table)
        if kind == 1:
            import pyarrow

            return pyarrow.Table.from_pandas(table, preserve_index=False)
    except Exception:  # values of several types, lone surrogates, names: another error each
        return table
    if kind == 2:
        return {name: table[name].to_numpy() for name in table.columns}
    return table.to_numpy(object) if kind == 3 else table
