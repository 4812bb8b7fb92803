"""From a fitted model and a table to the dict behind the page."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.explain import score_rows
from admercs.report import Digest, Report, summary_of, threshold_meaning
from tests.report.wide import wide_table


@pytest.fixture(scope="module")
def cars():
    return make_electric_vehicles(random_state=0, as_frame="pandas").table


@pytest.fixture(scope="module")
def model(cars):
    return ADMERCS().fit(cars)


@pytest.fixture(scope="module")
def summary(model, cars):
    return model.report(cars, name="cars", noun="cars").to_dict()


def test_the_dict_is_json_and_complete(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(summary) == {
        "format", "version", "generator", "name", "created", "n_rows", "n_columns", "n_trained",
        "n_flagged", "n_suspicious", "n_association", "threshold", "histogram", "columns",
        "distributions", "rows", "contexts", "patterns", "values", "findings",
    }  # fmt: skip


def fields(part):
    """Return the names of all fields of a part of a summary."""
    if isinstance(part, list):
        return {name for each in part for name in fields(each)}
    if not isinstance(part, dict):
        return set()
    return {*part, *(name for value in part.values() for name in fields(value))}


def test_every_field_is_described(summary):
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`(\w+)`", page.split("## The report from Python")[1]))
    assert fields(summary) - {"format", "version"} <= described


def test_scores_and_flags_are_the_models(summary, model, cars):
    evidence = -model.score_samples(cars)
    assert summary["n_rows"] == len(cars)
    assert summary["n_flagged"] == (model.predict(cars) == -1).sum()
    suspicious = (-model.score_samples(cars) > model.suspicious_line_).sum()
    assert summary["n_suspicious"] == suspicious - summary["n_flagged"]
    rows = summary["rows"]
    assert [row["row"] for row in rows] == np.argsort(-evidence, kind="stable")[
        : len(rows)
    ].tolist()
    for row in rows:
        assert row["evidence"] == pytest.approx(evidence[row["row"]], abs=1e-4)
        assert row["flagged"] == (model.predict(cars.iloc[[row["row"]]])[0] == -1)


def test_the_column_to_look_at_first_is_that_of_the_repair(summary):
    told = [row for row in summary["rows"] if row["repair"]]
    assert told
    for row in told:
        bare = summary["columns"][row["column"]]["name"].partition(" (")[0]
        assert bare in row["repair"]
    for row in summary["rows"]:
        assert row["repair"] or row["column"] == row["reasons"][0]["target"]


def test_reasons_and_rest_make_the_whole(summary):
    for row in summary["rows"]:
        listed = sum(reason["share"] for reason in row["reasons"])
        assert listed + row["rest"] == pytest.approx(1, abs=2e-3)
        assert sum(row["cells"]) == pytest.approx(row["evidence"], rel=5e-3)


def test_values_are_those_of_the_table(summary, cars):
    names = [column["name"] for column in summary["columns"]]
    assert names == list(cars.columns)
    for row in summary["rows"]:
        raw = cars.iloc[row["row"]]
        for name, text in zip(names, row["values"], strict=True):
            if text is None:
                assert raw[name] != raw[name] or raw[name] is None
            elif name == "production date":
                assert text == str(raw[name].date())
            elif name == "heat pump":
                assert text == ("true" if raw[name] else "false")
            elif isinstance(raw[name], str):
                assert text == raw[name]
            else:
                assert float(text) == float(raw[name])


def test_values_are_original_and_complete():
    letter = "Dear Sir or Madam, " * 100
    table = pd.DataFrame(
        {
            "seen": pd.to_datetime(["2021-03-01 14:30:05", "2021-03-02 00:00:00"] * 30),
            "paid": [1234567, 7] * 30,
            "letter": [f"{letter}{k}" for k in range(60)],
            "data": ['{"a": [1, 2], "b": null}', "[]"] * 30,
        }
    )
    model = ADMERCS().fit(table)
    rows = {row["row"]: row["values"] for row in model.report(table).to_dict()["rows"]}
    assert rows[0] == ["2021-03-01 14:30:05", "1234567", f"{letter}0", '{"a": [1, 2], "b": null}']
    assert rows[1] == ["2021-03-02", "7", f"{letter}1", "[]"]


def test_similar_rows_are_named_as_the_table_names_them(summary):
    labels = {f"row {number}" for number in range(1000)}
    named = [
        r["neighbours"]
        for row in summary["rows"]
        for r in row["reasons"]
        if r["kind"] == "neighbours"
    ]
    assert named
    assert all(set(names) <= labels for names in named)


def test_histogram_counts_every_row_on_its_side_of_the_threshold(summary, model, cars):
    edges, counts = summary["histogram"]["edges"], summary["histogram"]["counts"]
    assert len(edges) == len(counts) + 1
    assert edges == sorted(edges)
    assert sum(counts) == len(cars)
    line = summary["threshold"]["evidence"]
    above = sum(count for edge, count in zip(edges, counts, strict=False) if edge >= line - 1e-9)
    assert above == summary["n_flagged"]
    assert edges[-1] >= max(row["evidence"] for row in summary["rows"]) - 1e-3


@pytest.mark.parametrize("threshold", [300.0, 1e300])
def test_a_threshold_beyond_all_evidence(cars, threshold):
    model = ADMERCS(contamination={"evidence": threshold}).fit(cars)
    report = model.report(cars).to_dict()
    assert report["n_flagged"] == 0
    assert report["threshold"]["evidence"] == threshold
    assert sum(report["histogram"]["counts"]) == len(cars)
    assert report["histogram"]["edges"] == sorted(report["histogram"]["edges"])
    json.dumps(report, allow_nan=False)


def test_what_is_said_of_isolation_is_about_the_same_row(summary, cars, model):
    rows = summary["rows"]
    explained = model.explain(cars.iloc[[row["row"] for row in rows]], top=None, noun="cars")
    told = 0
    for row, explanation in zip(rows, explained, strict=True):
        texts = [reason["text"] for reason in row["reasons"] if reason["kind"] == "isolation"]
        # Of a part of the table it is not known that it is one of the training table.
        others = [r.text for r in explanation.reasons if r.kind == "isolation"]
        assert texts in ([], [text.replace("training row", "row") for text in others])
        told += len(texts)
    assert told > 5


def test_plots_have_what_they_need(summary):
    kinds = set()
    for row in summary["rows"]:
        for reason in row["reasons"]:
            if reason["kind"] == "context":
                assert summary["contexts"][reason["context"]]["counts"]
                continue
            if reason["kind"] in ("isolation", "neighbours"):
                assert reason["neighbours"]
                continue
            if reason["kind"] == "relation":
                continue
            if "distribution" not in reason:  # what the value of another column says
                assert re.search(
                    r" (typically|mostly) have \w+ = .* \(\d+ of \d+\)", reason["text"]
                )
                continue
            column = summary["columns"][reason["target"]]
            shape = summary["distributions"][reason["distribution"]]
            kinds.add(shape["kind"])
            assert shape["kind"] == column["distribution"]["kind"]
            if shape["kind"] == "curve":
                assert max(shape["y"]) == 100
                assert reason["value"] is None or math.isfinite(reason["mark"])
                for low, high in reason["typical"]:
                    assert low <= high
            elif reason["value"] is not None:
                label = column["distribution"]["labels"][reason["mark"]]
                assert reason["value"].startswith(label)
    assert kinds == {"curve", "bars"}


def test_only_columns_of_the_table_have_plots():
    """A plot shows a column, and what comes round in dates has other values."""
    rng = np.random.default_rng(0)
    days = np.busday_offset("2024-01-01", rng.integers(0, 200, 1000), roll="forward")
    table = pd.DataFrame({"day": days.astype("M8[s]"), "x": rng.normal(size=1000)})
    table.loc[5, "day"] = pd.Timestamp("2024-03-10")
    told = ADMERCS().fit(table).report(table, rows=1).to_dict()["rows"][0]["reasons"]
    assert "weekday" in told[0]["text"]
    assert "distribution" not in told[0]


def test_a_text_that_is_no_number_is_no_value_in_plots():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=600)})
    table["paid"] = [f"{x:.2f}" for x in rng.lognormal(3, 1, 600)]
    table.loc[7, "paid"] = "later"
    row = ADMERCS().fit(table).report(table, rows=1).to_dict()["rows"][0]
    plots = [reason for reason in row["reasons"] if "distribution" in reason]
    assert "which is no number" in plots[0]["text"]
    assert plots[0]["presence"]
    assert plots[0]["value"] is None


def test_curves_and_marks_are_on_the_clock_of_the_zone():
    rng = np.random.default_rng(0)
    days = pd.Series(pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.uniform(8, 18, 300), "h"))
    table = pd.DataFrame({"x": rng.normal(size=300), "at": days})
    table.loc[7, "at"] += pd.Timedelta("3D")
    found = []
    for zone in (None, "UTC", "Pacific/Kiritimati", "-11:30"):
        zoned = table.assign(at=table["at"].dt.tz_localize(zone))
        page = ADMERCS().fit(zoned).report(zoned, rows=1).to_dict()
        marks = [each.get("mark") for each in page["rows"][0]["reasons"] if each["target"] == 1]
        found.append([page["columns"][1]["distribution"]["start"], *filter(None, marks)])
    assert len(found[0]) > 1
    for other in found[1:]:
        assert other == pytest.approx(found[0], abs=1000)


def test_a_mark_inside_no_typical_region(summary):
    """A value that is odd in its context lies outside of what is typical there."""
    for row in summary["rows"][:20]:
        for reason in row["reasons"]:
            if reason.get("mark") is not None and reason["share"] > 0.2:
                assert not any(low <= reason["mark"] <= high for low, high in reason["typical"])


def test_pieces_add_up_to_the_whole(model, cars, summary):
    digest = Digest(model.model_, -model.offset_, model.suspicious_line_)
    for start in range(0, len(cars), 130):
        part = cars.iloc[start : start + 130]
        labels = list(part.index)
        digest.add(score_rows(model.model_, part, labels=labels, first=start))
    whole = summary_of(digest, name="cars", noun="cars", meaning=summary["threshold"]["meaning"])
    assert {**whole, "created": ""} == {**summary, "created": ""}


def test_few_rows_are_kept_of_many(model, cars):
    digest = Digest(model.model_, -model.offset_, model.suspicious_line_, rows=10)
    for start in range(0, len(cars), 50):
        digest.add(score_rows(model.model_, cars.iloc[start : start + 50], first=start))
    top = digest.top().numbers
    expected = np.argsort(model.score_samples(cars), kind="stable")[:10]
    assert top.tolist() == expected.tolist()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_tables_give_the_same(model, cars, summary, library):
    table = pa.Table.from_pandas(cars, preserve_index=False)
    if library == "polars":
        pl = pytest.importorskip("polars")
        table = pl.from_arrow(table)
    report = model.report(table, name="cars", noun="cars")
    assert {**report.to_dict(), "created": ""} == {**summary, "created": ""}


def test_new_rows_with_unseen_and_missing_values(model, cars):
    new = cars.tail(3).copy()
    new["colour"] = ["turquoise", None, "red"]
    new["range (km)"] = [np.nan, 1e9, 400]
    report = model.report(new, labels=["a", "b", "c"])
    rows = {row["label"]: row for row in report.to_dict()["rows"]}
    colour = list(cars.columns).index("colour")
    assert rows["a"]["values"][colour] == "turquoise"
    assert rows["b"]["values"][colour] is None
    assert any("turquoise" in reason["text"] for reason in rows["a"]["reasons"])
    report.html()


def test_facade(model, cars, tmp_path, monkeypatch, summary):
    report = Report(summary)
    assert repr(report).startswith("<Report on cars: ")
    report.write_html(tmp_path / "cars.html")
    assert (tmp_path / "cars.html").read_text(encoding="utf-8") == report.html()
    assert [path.name for path in tmp_path.iterdir()] == ["cars.html"]
    assert "<iframe" in report._repr_html_()
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert report.open().as_uri() == opened[0]
    changed = report.to_dict()
    changed["rows"].clear()
    assert report.to_dict()["rows"]


def test_columns_in_another_order_and_without_names(model, cars, summary):
    shuffled = cars[list(cars.columns)[::-1]]
    found = model.report(shuffled, name="cars", noun="cars").to_dict()
    assert {**found, "created": ""} == {**summary, "created": ""}
    plain = np.random.default_rng(0).normal(size=(200, 3))
    plain[:, 2] = 7.0  # set aside
    with pytest.warns(UserWarning, match="set aside"):
        nameless = ADMERCS().fit(plain)
    rows = nameless.report(plain).to_dict()["rows"]
    assert rows[0]["values"][2] == "7"
    frame = pa.table({"a": plain[:, 0], "b": plain[:, 1], "c": plain[:, 2]})
    with pytest.warns(UserWarning, match="feature names"):
        named = nameless.report(frame).to_dict()
    assert named["rows"] == rows


def test_words_for_thresholds():
    assert "1 in 500" in threshold_meaning("auto")
    assert "score 0.9" in threshold_meaning({"score": 0.9})


def test_bad_arguments(model, cars):
    with pytest.raises(ValueError, match="rows must be at least 1"):
        model.report(cars, rows=0)
    with pytest.raises(ValueError, match="2 labels for 1000 rows"):
        model.report(cars, labels=["a", "b"])


def test_size_of_500_rows_of_30_columns():
    table = wide_table()
    model = ADMERCS(contamination={"evidence": 0.0}).fit(table)
    page = model.report(table, rows=500).html()
    assert len(page.encode()) < 3_000_000
