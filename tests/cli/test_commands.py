"""The commands from file to findings, with the real detector."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from admercs.cli import main
from admercs.cli.options import columns_that_fit


@pytest.fixture(scope="module")
def done(tmp_path_factory, people_csv):
    """Run detect once, with everything it can write."""
    folder = tmp_path_factory.mktemp("done")
    arguments = ["detect", people_csv, "--id", "name", "--noun", "people", "--quiet"]
    arguments += ["--out", folder / "scores.parquet", "--report", folder / "report.html"]
    arguments += ["--model", folder / "people.admercs", "--keep"]
    assert main([str(argument) for argument in arguments]) == 0
    return folder


def test_detect_tells_what_it_found(run, people_csv):
    status, out, err = run("detect", people_csv, "--id", "name", "--noun", "people", "--top", 3)
    assert status == 0
    assert err == ""
    assert "people.csv: 300 rows, 5 columns" in out
    assert re.search(r"numeric +age, income, since", out)
    assert re.search(r"nominal +job, member", out)
    assert re.search(r"\d+ rows? flagged", out)
    top = out.split("Most anomalous\n")[1]
    assert top.startswith("p17   score")
    assert "income" in "".join(top.split("\n")[1:3])
    assert "of the evidence" in top
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_similar_rows_are_called_by_their_labels(run, people_csv):
    _, out, _ = run("detect", people_csv, "--id", "name", "--json", "--top", 20, "--why", 20)
    told = [
        (row["label"], reason["labels"])
        for row in json.loads(out)["anomalies"]
        for reason in row["reasons"]
        if reason["labels"]
    ]
    assert told
    for label, labels in told:
        assert all(re.fullmatch(r"p\d+", each) and each != label for each in labels)


def test_detect_writes_scores_with_reasons(done, people):
    table = pq.read_table(done / "scores.parquet")
    assert table.num_rows == people.num_rows
    assert table.column_names[:7] == [
        "row", "score", "evidence", "anomaly", "by_association", "reasons", "reasons_json",
    ]  # fmt: skip
    for name in people.column_names:
        assert table.column(name).to_pylist() == people.column(name).to_pylist()
    rows = table.to_pylist()
    worst = max(rows, key=lambda row: row["evidence"])
    assert (worst["row"], worst["name"], worst["anomaly"]) == (18, "p17", True)
    reasons = json.loads(worst["reasons_json"])
    told = worst["reasons"].split(" | ")
    assert told == [reason["text"] for reason in reasons]
    assert {"kind", "target", "conditions", "share"} <= set(reasons[0])
    assert all(row["reasons"] is None for row in rows if not row["anomaly"])


def test_model_scores_its_own_table_alike(run, done, people_csv, tmp_path):
    out = tmp_path / "again.csv"
    model = done / "people.admercs"
    status, _, _ = run("score", model, people_csv, "--id", "name", "--out", out, "--quiet")
    assert status == 0
    found = csv.read_csv(out)
    before = pq.read_table(done / "scores.parquet")
    assert found.column("evidence").to_pylist() == before.column("evidence").to_pylist()
    assert found.column_names[:2] == ["row", "name"]


def test_score_reads_a_bounded_number_of_rows(run, done, people_csv, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    model = done / "people.admercs"
    common = ["--id", "name", "--reasons", "all", "--quiet"]
    run("score", model, people_csv, "--out", whole, "--report", tmp_path / "w.html", *common)
    monkeypatch.setattr("admercs.cli.reader.SourceTable.batch_rows", 70)
    run("score", model, people_csv, "--out", parts, "--report", tmp_path / "p.html", *common)
    assert whole.read_text() == parts.read_text()
    assert _data(tmp_path / "w.html") == _data(tmp_path / "p.html")


def _data(path):
    found = re.search(r'id="report-data">(.*?)</script>', path.read_text(encoding="utf-8"))
    data = json.loads(found[1])
    return {name: value for name, value in data.items() if name != "created"}


def test_detect_learns_from_a_reference_of_normal_rows(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=700)
    y = 2 * x + rng.normal(scale=0.2, size=700)
    y[611] += 6
    clean, new = tmp_path / "clean.csv", tmp_path / "new.csv"
    csv.write_csv(pa.table({"x": x[:600], "y": y[:600]}), clean)
    csv.write_csv(pa.table({"x": x[600:], "y": y[600:]}), new)
    scores, model = tmp_path / "scores.csv", tmp_path / "clean.admercs"
    status, out, _ = run("detect", "--reference", clean, new, "--out", scores, "--model", model)
    assert status == 0
    assert "scored with" in out
    found = csv.read_csv(scores).to_pydict()
    assert int(np.argmax(found["evidence"])) == 11
    # The same in two steps: a model of normal rows, and new rows.
    other, again = tmp_path / "other.admercs", tmp_path / "again.csv"
    assert run("detect", clean, "--novelty", "--model", other)[0] == 0
    assert run("score", other, new, "--out", again)[0] == 0
    assert csv.read_csv(again).to_pydict()["evidence"] == found["evidence"]


def test_detect_learns_from_a_sample_above_a_limit(run, people_csv, tmp_path):
    out = tmp_path / "s.csv"
    status, text, err = run("detect", people_csv, "--id", "name", "--fit-rows", 200, "--out", out)
    assert status == 0
    assert "learning from 200 of 300 rows" in err
    assert "300 rows, learned from 200 of them" in text
    assert csv.read_csv(out).num_rows == 300


def test_explain_by_number_label_and_top(run, done, people_csv):
    model = done / "people.admercs"
    status, by_number, _ = run("explain", model, people_csv, "--row", 18)
    assert status == 0
    assert by_number.startswith("row 18   score")
    status, by_label, _ = run(
        "explain",
        model,
        people_csv,
        "--id",
        "name",
        "--row",
        "p17",
        "--row",
        "p3",
        "--noun",
        "people",
    )
    assert status == 0
    assert by_label.startswith("p17   score")
    assert "\n\np3   score" in by_label
    status, top, _ = run("explain", model, people_csv, "--id", "name", "--top", 2, "--json")
    assert next(row["label"] for row in json.loads(top)) == "p17"
    status, _, err = run("explain", model, people_csv, "--row", 301)
    assert (status, err) == (1, "admercs: people.csv has no row 301; it has 300 rows.\n")
    status, _, err = run("explain", model, people_csv, "--row", "p17")
    assert status == 1
    assert "rows are counted from 1" in err


def test_patterns_and_info(run, done):
    model = done / "people.admercs"
    status, out, _ = run("patterns", model, "--noun", "people", "--top", 4)
    assert status == 0
    assert out.startswith("  1. income is about 50 × age")
    assert "  2. People with" in out
    status, out, _ = run("patterns", model, "--json")
    assert any(pattern["strength"] > 0 for pattern in json.loads(out))
    status, out, _ = run("info", model)
    assert status == 0
    assert "learned from 300 rows, 5 columns" in out
    assert "chance of about 1 in 500" in out
    status, out, _ = run("info", model, "--json")
    about = json.loads(out)
    assert about["rows"] == 300
    assert next(column["name"] for column in about["columns"]) == "age"


def test_json_for_machines(run, people_csv):
    status, out, err = run("detect", people_csv, "--id", "name", "--json", "--top", 2)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["rows"] == 300
    assert found["flagged"] >= 1
    assert found["anomalies"][0]["label"] == "p17"
    assert {column["role"] for column in found["columns"]} == {"numeric", "nominal"}


def test_scores_on_standard_output_leave_it_clean(run, people_csv):
    status, out, err = run("detect", people_csv, "--id", "name", "--out", "-")
    assert status == 0
    assert csv.read_csv(pa.BufferReader(out.encode())).num_rows == 300
    assert "Most anomalous" in err


def test_demo(run, tmp_path):
    status, out, _ = run("demo", "--out", tmp_path / "demo")
    assert status == 0
    assert "orders.csv: 2,000 rows, 13 columns" in out
    assert "(1,000 times too large?), nothing about this\n  order would be odd." in out
    assert re.search(r"weight \(kg\): [\d,]+ kg, expected [\d.]+ kg", out)
    assert "report.html" in out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"orders.csv", "orders.admercs", "scores.csv", "report.html"}


def test_threshold_and_contamination(run, people_csv):
    _, out, _ = run("detect", people_csv, "--id", "name", "--contamination", "0.1", "--json")
    assert json.loads(out)["flagged"] == 30
    _, out, _ = run("detect", people_csv, "--id", "name", "--threshold", "0.5", "--json")
    assert json.loads(out)["threshold"]["score"] == pytest.approx(0.5)
    status, _, err = run("detect", people_csv, "--contamination", "0.1", "--threshold", "0.5")
    assert status == 2
    assert "exclude each other" in err


def test_columns_that_are_set_aside_are_named(run, tmp_path):
    rows = "\n".join(f"{i},same,{i % 7},t{i}" for i in range(100))
    (tmp_path / "t.csv").write_text(f"x,constant,y,key\n{rows}\n")
    status, out, err = run("detect", "t.csv")
    assert (status, err) == (0, "")
    assert re.search(r"set aside +constant: ", out)
    assert re.search(r"text +key", out)


BAD_TABLES = {
    "one usable value": ("x\n1\n1\n1\n", "No column can be used"),
    "infinity": ("x,y\n1,2\ninf,3\n2,4\n", "x"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_the_detector_refuses(run, tmp_path, case):
    text, message = BAD_TABLES[case]
    (tmp_path / "bad.csv").write_text(text)
    status, out, err = run("detect", "bad.csv")
    assert (status, out) == (1, "")
    assert err.startswith("admercs: bad.csv: ")
    assert message in err
    assert "Traceback" not in err


def test_table_that_does_not_match_the_model(run, done, tmp_path):
    model = done / "people.admercs"
    (tmp_path / "new.csv").write_text("age,job,colour\n30,clerk,red\n")
    status, _, err = run("score", model, "new.csv")
    assert status == 1
    assert "new.csv does not match" in err
    assert "it lacks income, member, since" in err
    text = "since,job,age,income,member,extra\n2024-01-05,pilot,30,abc,true,1\n"
    (tmp_path / "words.csv").write_text(text)
    status, _, err = run("score", model, "words.csv")
    assert status == 1
    assert "income" in err
    (tmp_path / "ok.csv").write_text(text.replace("abc", "2500"))
    status, out, err = run("score", model, "ok.csv", "--top", 1)
    assert status == 0
    assert "not in the model and left out: extra" in err
    assert "row 1   score" in out


def test_model_files_that_are_none(run, done, tmp_path, people_csv):
    status, _, err = run("info", "none.admercs")
    assert (status, err.startswith("admercs: cannot read none.admercs: no such file")) == (1, True)
    (tmp_path / "text.admercs").write_text("hello")
    assert run("score", "text.admercs", people_csv)[0] == 1
    newer = tmp_path / "newer.admercs"
    with (
        zipfile.ZipFile(done / "people.admercs") as old,
        zipfile.ZipFile(newer, "w") as new,
    ):
        for item in old.infolist():
            content = old.read(item)
            if item.filename == "model.json":
                header = json.loads(content)
                header["format_version"] += 1
                content = json.dumps(header).encode()
            new.writestr(item, content)
    status, _, err = run("info", newer)
    assert status == 1
    assert "newer" in err
    assert "in format 2" in err
    assert "Use that version" in err


@pytest.mark.parametrize("option", ["--out", "--report", "--model"])
def test_outputs_that_cannot_be_written_are_found_before_the_work(run, people_csv, option):
    name = "s.csv" if option == "--out" else "file"
    status, out, err = run("detect", people_csv, option, f"/no/such/{name}")
    assert (status, out) == (1, "")
    assert f"cannot write /no/such/{name}: no such file or folder" in err


def test_outputs_do_not_replace_each_other_or_what_is_read(run, done, people_csv, tmp_path):
    table = tmp_path / "people.csv"
    table.write_bytes(people_csv.read_bytes())
    status, _, err = run("detect", table, "--out", "./people.csv")
    assert (status, "is what is read" in err) == (2, True)
    status, _, err = run("detect", table, "--report", "x", "--model", "./x")
    assert (status, "--model ./x is written by --report already" in err) == (2, True)
    model = done / "people.admercs"
    status, _, err = run("score", model, table, "--report", model)
    assert (status, "is what is read" in err) == (2, True)
    assert table.read_bytes() == people_csv.read_bytes()


def test_standard_output_that_is_full():
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "admercs", "completion", "bash"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.startswith("admercs: cannot write standard output: no space left")
    assert "Traceback" not in ran.stderr


def test_a_failed_run_leaves_no_file(run, tmp_path):
    (tmp_path / "bad.csv").write_text("x\n1\n1\n")
    arguments = ["--out", "s.csv", "--report", "r.html", "--model", "m.admercs"]
    assert run("detect", "bad.csv", *arguments)[0] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv"]


@pytest.mark.parametrize("how", ["duckdb", "python"])
def test_interrupting_the_reader(run, people_csv, monkeypatch, how):
    def interrupted(*_):
        raise RuntimeError("Query interrupted") if how == "duckdb" else KeyboardInterrupt

    monkeypatch.setattr("admercs.cli.reader.next", interrupted, raising=False)
    status, _, err = run("detect", people_csv)
    assert status == 130
    assert "interrupted" in err


def test_a_bug_is_not_blamed_on_the_table(run, people_csv, monkeypatch):
    def broken(*_, **__):
        raise ValueError("broken")

    monkeypatch.setattr("admercs.estimator.fit_model", broken)
    status, _, err = run("detect", people_csv)
    assert status == 1
    assert "something went wrong that should not have: ValueError: broken" in err


def test_a_bug_is_no_traceback_unless_asked_for(run, people_csv, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr("admercs.ADMERCS.fit", broken)
    status, _, err = run("detect", people_csv)
    assert status == 1
    assert "Traceback" not in err
    assert "--debug" in err
    status, _, err = run("detect", people_csv, "--debug")
    assert status == 1
    assert "Traceback" in err


def test_too_many_columns(run, tmp_path, monkeypatch):
    names = ",".join(f"c{i}" for i in range(3_000))
    row = ",".join("1" for _ in range(3_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{row}\n{row}\n")
    status, _, err = run("detect", "wide.csv", "--max-columns", "2999")
    assert status == 1
    assert "wide.csv has 3,000 columns" in err
    assert "--max-columns" in err
    assert columns_that_fit() > 3_000  # of any machine of these days
    # The limit is where the memory ends.
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 200_000, "SC_PAGE_SIZE": 4096}.get)
    assert 1_000 < columns_that_fit() < 2_000
    status, _, err = run("detect", "wide.csv")
    assert status == 1
    assert f"{columns_that_fit():,} columns at most" in err


def test_a_million_categories(run, tmp_path):
    source = (
        "select 'v' || range as v, range % 7 as x, range % 5 + range % 7 as y from range(1000000)"
    )
    status, out, _err = run("detect", source, "--fit-rows", 20000, "--top", 1)
    assert status == 0
    assert "text       v" in out
    assert "1,000,000 rows, learned from 20,000" in out


INTERRUPTED = """
import signal
import sys
from admercs import ADMERCS
from admercs.cli import main
def slow(*arguments):
    print("fitting", flush=True)
    while True:
        pass
# A shell may have started the tests in the background, deaf to SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
ADMERCS.fit = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_ends_cleanly(tmp_path, people_csv, number, status):
    arguments = ["detect", people_csv, "--out", tmp_path / "s.csv", "--model", tmp_path / "m"]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "fitting\n"
        time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == status
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_rows_that_the_limit_cuts_are_counted(run, tmp_path):
    rng = np.random.default_rng(0)
    heavy = pa.table({f"x{k}": rng.standard_t(2, 3000) for k in range(4)})
    csv.write_csv(heavy, tmp_path / "heavy.csv")
    _, out, _ = run("detect", tmp_path / "heavy.csv", "--json")
    n = json.loads(out)["suspicious"]
    assert n > 1
    _, out, _ = run("detect", tmp_path / "heavy.csv")
    assert f"{n:,} more rows look suspicious: evidence above" in out
    _, out, _ = run("detect", tmp_path / "heavy.csv", "--contamination", "0.1", "--json")
    assert json.loads(out)["suspicious"] == 0
