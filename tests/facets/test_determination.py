"""Columns that determine each other, beside the same figures counted row by row."""

import datetime as dt
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs import ADMERCS
from admercs.facets.determination import (
    choose_determiners,
    choose_pairs,
    code_values,
    count_pairs,
    dependence,
    learn_determiner,
    log_likelihoods,
    merge_counts,
    merge_tables,
    number_bits,
    sample_pairs,
    scattered_values,
)
from admercs.method.settings import Determined
from admercs.table import read_frame
from admercs.table.values import from_objects

PRIOR = Determined().prior
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", "z", None])),
    min_size=1,
    max_size=40,
)


def coded(values):
    found = code_values(from_objects(np.array(values, object), "column"), 1000)
    assert found is not None
    return found


def columns_of(rows):
    return {j: coded([row[j] for row in rows]) for j in range(len(rows[0]))}


def frame_of(rows):
    columns = {f"{j}": np.array([row[j] for row in rows], object) for j in range(len(rows[0]))}
    return read_frame(pd.DataFrame(columns, dtype=object), allow_empty=True)


def sampled(rows, pairs, share):
    is_text = [isinstance(value, str | None) for value in rows[0]]
    return sample_pairs(frame_of(rows), is_text, pairs, share)


def learn(rows, strength=1.0):
    return learn_determiner(count_pairs(frame_of(rows), [(0, 1)], 1000)[0], strength)


def addresses(n=320):
    """Every city has ten postal codes; one city is misspelt."""
    rows = [(f"{k % 20:05}", f"city {k % 20 // 10}") for k in range(n)]
    rows[40] = ("00000", "citty 0")
    return rows


@given(ROWS)
def test_as_counted_row_by_row(rows):
    determiner = learn(rows)
    columns = columns_of(rows)
    found = log_likelihoods(columns[1], [(columns[0], determiner)], PRIOR)
    groups = {a: [y for x, y in rows if x == a] for a in {x for x, _ in rows} - {None}}
    usual = {}
    for a, group in groups.items():
        known = [b for b in group if b is not None]
        if known and len(group) > 1:
            usual[a] = min(set(known), key=lambda b: (-known.count(b), b))
    first = {a: [b for b in groups[a] if b is not None] for a in usual}
    agreeing = sum(first[a].count(usual[a]) - 1 for a in usual)
    others = sum(len(first[a]) - 1 for a in usual)
    exceptions = (others - agreeing + 1) / (others + 1)
    for (a, b), log_omega in zip(rows, found, strict=True):
        expected = 0.0
        if a in usual:
            n, c, n_usual = len(groups[a]), groups[a].count(b), groups[a].count(usual[a])
            if n_usual > 1 and (c < n_usual or b is None):
                share = n_usual / (n - 1)
                p = (c - 1 + PRIOR * exceptions) / (n - 1 + PRIOR)
                expected = share * math.log(p) / math.sqrt(max(1, share))
        assert log_omega == pytest.approx(expected)


@given(ROWS, st.integers(0, 40))
def test_pieces_add_up(rows, cut):
    cut = min(cut, len(rows))
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    pairs = [(0, 1), (1, 0)]
    counted = merge_counts([count_pairs(frame_of(part), pairs, 1000) for part in parts])
    assert counted == count_pairs(frame_of(rows), pairs, 1000)
    merged = merge_tables([sampled(part, pairs, 0.7) for part in parts])
    for one, other in zip(merged, sampled(rows, pairs, 0.7), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_numbers_are_counted_as_the_texts_they_stand_for(share):
    rows = [(k % 90 / 4, k % 70 // 2, k % 50 - 2.0) for k in range(700)]
    rows[3] = (math.nan, -0.0, 0.0)
    pairs = [(0, 1), (1, 2), (2, 0)]
    columns = [np.array(column, float) for column in zip(*rows, strict=True)]
    found = sample_pairs(read_frame(np.column_stack(columns)), [False] * 3, pairs, share)
    for (a, b), table in zip(pairs, found, strict=True):
        expected = Counter((row[a] + 0.0, row[b]) for row in rows if not math.isnan(row[a]))
        if share == 1:
            assert sorted(table.n.tolist()) == sorted(expected.values())
            assert len(set(table.a.tolist())) == len({x for x, _ in expected})
        else:  # all rows of some groups
            groups = Counter(row[a] + 0.0 for row in rows if not math.isnan(row[a]))
            sizes = [int(table.n[table.a == x].sum()) for x in set(table.a.tolist())]
            assert 0 < len(sizes) < len(groups)
            assert not Counter(sizes) - Counter(groups.values())


def test_equal_numbers_and_times_have_the_same_bits():
    large = 2**62 + 1
    columns = [
        ([0.0, -0.0, 3.0], [0, 0, 3]),
        ([large, large - 1], [large, large - 1]),
        (np.array(["2021-03-01"], "M8[s]"), np.array(["2021-03-01"], "M8[ns]")),
        (np.array(["2021-03-01"], "M8[us]"), np.array(["2021-03-01"], "M8[D]")),
    ]
    for one, other in columns:
        bits = [
            number_bits(read_frame(pd.DataFrame({"x": pd.Series(values)})).column(0))
            for values in (one, other)
        ]
        assert bits[0].tolist() == bits[1].tolist()
    exact = number_bits(read_frame(pd.DataFrame({"x": [large, large - 1]})).column(0))
    assert len(set(exact.tolist())) == 2


def test_dependence():
    rows = addresses()
    forth, back = sampled(rows, [(0, 1), (1, 0)], 1)
    assert dependence(forth, 1000, 3) > 0.98  # a postal code has a city
    assert dependence(back, 1000, 3) < 0.2  # and a city several codes
    rng = np.random.default_rng(0)
    chance = [(f"{rng.integers(20)}", f"{rng.integers(5)}") for _ in range(2000)]
    assert dependence(sampled(chance, [(0, 1)], 1)[0], 1000, 3) < 0.1
    assert dependence(sampled([("a", "x")] * 50, [(0, 1)], 1)[0], 1000, 3) == 0
    two_in_five = [(f"{k % 99}", f"{k % 99}" if k % 5 < 2 else f"{k}") for k in range(1485)]
    assert dependence(sampled(two_in_five, [(0, 1)], 1)[0], 1000, 3) == 0
    unique = [(f"{k}", "xy"[k % 2]) for k in range(100)]
    assert dependence(sampled(unique, [(0, 1)], 1)[0], 1000, 3) == 0


def test_misspelt_codes_do_not_hide_what_determines_them():
    rng = np.random.default_rng(0)
    state = np.where(np.arange(2000) % 100 < 2, "ak", "al").astype(object)
    state[rng.permutation(2000)[:52]] = "xl"  # more rows than those of the other state
    table = pd.DataFrame(
        {
            "zip": [f"Z{k % 100}" for k in range(2000)],
            "phone": [f"+1 {k % 100:03}" for k in range(2000)],
            "state": state,
        }
    )
    cells = ADMERCS().fit(table).score_cells(table)[:, 2]
    assert cells[state == "xl"].min() > cells[state != "xl"].max()


def test_a_share_of_the_groups_tells_the_same():
    rows = [(f"{k % 500}", f"{k % 500 // 7}") for k in range(10_000)]
    rows[:100] = [(a, "odd") for a, _ in rows[:100]]
    whole, part = (sampled(rows, [(0, 1)], share)[0] for share in (1, 0.2))
    assert 0.1 < len(part.a) / len(whole.a) < 0.3
    assert dependence(part, 1000, 3) == pytest.approx(dependence(whole, 1000, 3), abs=0.02)


def test_a_value_that_breaks_the_rule():
    rows = addresses()
    columns, determiner = columns_of(rows), learn(rows)
    found = log_likelihoods(columns[1], [(columns[0], determiner)], PRIOR)
    assert np.flatnonzero(found).tolist() == [40]
    group = determiner.groups["00000"]
    assert (group.usual, group.n, group.n_usual) == ("city 0", 16, 15)
    # A value that was never seen counts as if it were that of a training row.
    new = columns_of([("00000", "city 7"), ("99999", "city 7"), ("00000", None)])
    later = log_likelihoods(new[1], [(new[0], determiner)], PRIOR)
    assert later[0] == found[40] == later[2]
    assert later[1] == 0


def test_a_column_that_knows_nothing_of_a_row_has_no_say_in_it():
    determiner = learn(addresses())
    one, silent = (columns_of([(zip_code, ""), ("00001", "x")]) for zip_code in ("00000", "new"))
    alone = log_likelihoods(one[1], [(one[0], determiner)], PRIOR)
    beside = log_likelihoods(one[1], [(one[0], determiner), (silent[0], determiner)], PRIOR)
    assert beside[0] == alone[0] < 0


def test_several_columns_clear_those_that_a_wrong_one_contradicts():
    rows = [(f"{k % 40}", f"{k % 40}!", f"{k % 40}?") for k in range(400)]
    rows[7] = ("12", "7!", "7?")
    columns = columns_of(rows)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    counts = dict(zip(pairs, count_pairs(frame_of(rows), pairs, 1000), strict=True))
    cells = np.column_stack([
        log_likelihoods(
            columns[b],
            [(columns[a], learn_determiner(counts[a, b], 1.0)) for a in range(3) if a != b],
            PRIOR,
        )
        for b in range(3)
    ])  # fmt: skip
    assert np.flatnonzero(cells.any(axis=1)).tolist() == [7]
    assert cells[7].argmin() == 0
    assert cells[7, 0] < 1.9 * cells[7, 1:].min()


def scattered(rows):
    others = len(rows[0]) - 1
    counts = count_pairs(frame_of(rows), [(0, 1 + k) for k in range(others)], 1000)
    return scattered_values(counts, Determined())


def test_a_value_that_was_written_into_rows_of_others_is_scattered():
    def rows_of(zips):
        return [(zips(k), f"city {k % 50}", f"state {k % 50 // 5}") for k in range(500)]

    right = rows_of(lambda k: f"{k % 100:05}")
    written = rows_of(lambda k: "01907" if k % 23 == 0 else f"{k % 100:05}")
    assert scattered(right) == {}
    assert scattered(written) == {"01907": 22}
    # One column alone says little, and a few rows differ by chance.
    assert scattered([row[:2] for row in written]) == {}
    assert scattered(rows_of(lambda k: "01907" if k % 59 == 0 else f"{k % 100:05}")) == {}


def test_a_value_with_many_values_of_its_own_is_not_scattered():
    """A county of many towns: they differ as those of all counties do, but they are its own."""
    counties = ["Orange"] * 40 + [f"county {k % 40}" for k in range(400)]
    rows = [(county, f"town {k % 40} of {county}", f"mayor {k % 40} of {county}")
            for k, county in enumerate(counties)]  # fmt: skip
    assert scattered(rows) == {}


def test_the_strongest_are_chosen():
    strengths = {(a, 9): 0.9 - a / 100 for a in range(9)} | {(3, 2): 0.4, (4, 2): 0.5}
    chosen = choose_pairs(strengths, [f"column {k}" for k in range(10)], Determined(least=0.5))
    assert chosen == [(4, 2), (3, 2), *((a, 9) for a in range(5))]


@pytest.mark.parametrize(
    ("share", "of_texts", "of_numbers"), [(0.0, 2, 2), (0.4, 2, 0), (0.8, 0, 0)]
)
def test_numbers_have_to_determine_each_other_nearly_completely(share, of_texts, of_numbers):
    rng = np.random.default_rng(0)
    a = rng.permutation(3000) % 300
    b = np.where(rng.random(3000) < share, rng.permutation(3000) % 300, a)
    tables = dict(
        zip(pairs := [(0, 1), (1, 0)], sample_pairs(
            read_frame(np.column_stack([a, b])), [False] * 2, pairs, 1.0), strict=True
        )
    )  # fmt: skip
    for kinds, n in (
        (["text", "integer"], of_texts),
        (["text", "float"], (of_texts + of_numbers) // 2),
        (["integer", "integer"], of_numbers),
    ):
        chosen = choose_determiners(tables, ["a", "b"], kinds, 1.0, 60, Determined())
        assert len(chosen.of_target) == n


def test_too_many_values_and_other_kinds():
    assert code_values(from_objects(np.array(list("abcde"), object), "x"), 4) is None
    numbers = from_objects(np.array([3.0, 1.0, math.nan, 3], object), "x")
    numbers = code_values(numbers, 9)
    assert numbers.values == ["1", "3"]
    assert numbers.code.tolist() == [1, 0, -1, 1]
    assert code_values(from_objects(np.array([1.0, 2.0, 3.0], object), "x"), most=2) is None
    assert code_values(from_objects(np.array([1.5, 1.5, 2], object), "x"), 9).values == ["1.5", "2"]
    mixed = from_objects(np.array([7.0, "7", "x", None], object), "x")
    assert code_values(mixed, 9).code.tolist() == [0, 0, 1, -1]


def test_times_and_dates_are_codes_too():
    days = [dt.date(2021, 3, 1), None, dt.date(2021, 3, 1), dt.date(2020, 1, 1)]
    found = coded(days)
    assert found.code.tolist() == [1, -1, 1, 0]
    assert found.values == ["2020-01-01", "2021-03-01"]
    assert coded([dt.time(7, 10), dt.time(19, 45)]).values == ["07:10:00", "19:45:00"]
