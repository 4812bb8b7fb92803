"""What stands out in single columns is said with counts and the first rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.cli import main
from admercs.explain.scored_rows import score_rows
from admercs.report import Digest

N = 2000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.Series(
        np.datetime64("2020-01-01", "s") + rng.integers(0, 9, N) * np.timedelta64(1, "D")
    )
    table = pd.DataFrame(
        {
            "salary": [f"{x:.0f}" for x in rng.normal(3000, 300, N)],
            "price": [f"{x:.3f}".replace(".", ",") for x in rng.uniform(1, 9, N)],
            "weight": rng.normal(70, 10, N).round(1),
            "day": days.dt.strftime("%m/%d/%Y"),
            "plain": rng.lognormal(0, 2, N),
        }
    )
    table.loc[17, "salary"] = "n.a."
    table.loc[[30, 40, 50, 60], "salary"] = "?!"
    table.loc[range(0, 200, 10), "weight"] = -999.0
    return table


def found(model, table, cuts=()):
    digest = Digest(model.model_, -model.offset_, model.suspicious_line_)
    for start, stop in zip((0, *cuts), (*cuts, len(table)), strict=True):
        piece = table.iloc[start:stop]
        digest.add(score_rows(model.model_, piece, first=start + 1, count_from=1))
    return {(finding.column, finding.kind): finding for finding in digest.findings()}


def test_findings_are_said_with_counts_and_rows(table):
    findings = found(ADMERCS().fit(table), table)
    assert {key: str(finding) for key, finding in findings.items()} == {
        ("salary", "exceptions"): (
            '1,995 numbers and 5 texts, "?!" (4 times, rows 31, 41 and 51 first) and "n.a." '
            "(row 18)"
        ),
        ("price", "reading"): (
            "read as numbers with commas between thousands; the sign could be a decimal one as "
            "well (--decimal ,)"
        ),
        ("weight", "code"): "-999 occurs 20 times (rows 1, 11 and 21 first): a code for missing?",
        ("day", "reading"): (
            "read as dates with month/day/year; day and month could be exchanged as well "
            "(--dayfirst)"
        ),
    }
    exceptions = findings["salary", "exceptions"]
    assert (exceptions.n, exceptions.values) == (5, ("?!", "n.a."))
    assert json.loads(json.dumps(exceptions.to_dict()))["rows"] == ["row 31", "row 18"]


def test_a_second_form_and_negative_numbers_in_parentheses_are_said():
    rng = np.random.default_rng(0)
    given = rng.normal(100, 80, 300)
    money = [f"${x:.2f}" if x >= 0 else f"(${-x:.2f})" for x in given]
    large = [f"{x:,.2f}" if x >= 0 else f"({-x:,.2f})" for x in 100 * given]
    share = [f"{x:.2f}" + "%" * (k % 4 == 1) for k, x in enumerate(rng.uniform(10, 20, 300))]
    table = pd.DataFrame({"money": money, "share": share, "group": rng.choice(["a", "b"], 300)})
    table["large"] = large
    model = ADMERCS().fit(table)
    findings = {key: str(each) for key, each in found(model, table).items()}
    assert findings["money", "reading"] == (
        "read as numbers in $ with parentheses for negative ones"
    )
    assert findings["large", "reading"] == (
        "read as numbers with commas between thousands and parentheses for negative ones"
    )
    assert findings["share", "exceptions"].startswith("225 numbers and 75 texts, such as ")
    lost = pd.DataFrame(model.score_cells(table), columns=table.columns)["share"]
    assert lost[1::4].min() >= 0.3 > lost.drop(range(1, 300, 4)).quantile(0.9)


def test_pieces_give_the_same_findings(table):
    model = ADMERCS().fit(table)
    assert found(model, table, (16, 17, 900)) == found(model, table)


def test_options_settle_what_is_ambiguous(table):
    findings = found(ADMERCS(decimal=",", dayfirst=True).fit(table), table)
    assert findings["price", "reading"].text == "read as numbers with a decimal comma"
    assert findings["day", "reading"].text == "read as dates with day/month/year"


@pytest.mark.parametrize("n", [2, 20, 90])
def test_codes_are_far_and_shared(n):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(50, 5, N), "z": rng.normal(0, 1, N)})
    assert not found(ADMERCS().fit(table), table)
    table.loc[: n - 1, "x"] = 0.0
    table.loc[n, "x"] = -50.0
    findings = found(ADMERCS().fit(table), table)
    assert list(findings) == [("x", "code")]
    assert findings["x", "code"].values == ("0",)


def test_the_command_line_and_the_page_show_findings(table, tmp_path, capsys):
    table.to_csv(tmp_path / "t.csv", index=False)
    # DuckDB reads what is clean; what is not is read by the same rules as in Python.
    arguments = ["detect", str(tmp_path / "t.csv"), "--jobs", "1", "--top", "1"]
    assert main([*arguments, "--report", str(tmp_path / "t.html")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert 'salary: 1,995 numbers and 5 texts, "?!" (4 times, rows 31, 41 and 51 first)' in shown
    assert "weight: -999 occurs 20 times (rows 1, 11 and 21 first): a code for missing?" in shown
    assert "-999 occurs 20 times" in (tmp_path / "t.html").read_text()
    assert main([*arguments, "--json", "--missing", "-999", "--decimal", ","]) == 0
    columns = {each["name"]: each for each in json.loads(capsys.readouterr().out)["columns"]}
    assert [each["kind"] for each in columns["weight"]["findings"]] == ["gaps"]
    assert columns["weight"]["missing"] == 20
    assert columns["price"]["findings"][0]["text"] == "read as numbers with a decimal comma"


def test_look_alikes_and_gaps_are_told_with_their_rows():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"species": rng.choice(["Adelie", "Gentoo", "Chinstrap"], 900)})
    table["mass"] = rng.normal(4000, 500, 900)
    usual = (table["species"] == "Adelie").sum()
    for row, text in {5: "Adeile", 9: "gentoo", 12: "gentoo"}.items():
        usual -= table.loc[row, "species"] == "Adelie"
        table.loc[row, "species"] = text
    table.loc[[7, 8], "mass"] = np.nan
    table.loc[20:400, "wing"] = 1.5
    gentoo = (table["species"] == "Gentoo").sum()
    model = ADMERCS().fit(table)
    findings = found(model, table)
    assert {key: str(finding) for key, finding in findings.items()} == {
        ("species", "look-alike"): (
            f"'Adeile' (row 6) resembles 'Adelie' ({usual} times) and 'gentoo' (2 times, rows 10 "
            f"and 13) resembles 'Gentoo' ({gentoo} times)"
        ),
        ("mass", "gaps"): "2 of 900 missing (rows 8 and 9)",
    }
    assert findings["species", "look-alike"].n == 3
    assert found(model, table, (8, 13)) == findings


def test_names_codes_and_plurals_are_not_told_to_resemble_others():
    rng = np.random.default_rng(0)
    kind = rng.choice(["pale", "dark"], N)
    table = pd.DataFrame(
        {
            "beer": [f"Old {rng.choice(list('ABC'))}{k} {each} ale" for k, each in enumerate(kind)],
            "street": [f"{k} {each} street" for k, each in enumerate(rng.choice(["e", "w"], N))],
            "code": rng.choice(["al_hf-1", "al_hf-2", "al_hf-3"], N),
            "kind": kind,
        }
    )
    table.loc[3, "beer"] = "November Gale gale ale"
    table.loc[4, "street"], table.loc[5, "street"] = "4 w streets", "5 e sreet"
    table.loc[6, "code"], table.loc[7, "kind"] = "ak_hf-3", "pake"
    findings = found(ADMERCS().fit(table), table)
    told = {name: each.values for (name, kind), each in findings.items() if kind == "look-alike"}
    assert told == {"street": ("5 e sreet",), "kind": ("pake",)}
