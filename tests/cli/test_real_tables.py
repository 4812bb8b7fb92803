"""Real tables from real files, where they are at hand."""

import json

import pyarrow.parquet as pq
import pytest

from admercs.datasets.folder import DataNotFoundError, data_folder


@pytest.fixture(scope="module")
def data():
    try:
        return data_folder()
    except DataNotFoundError as error:
        pytest.skip(str(error))


def test_titanic(run, data, tmp_path):
    arguments = ["--id", "name", "--noun", "passengers", "--report", "t.html", "--out", "t.parquet"]
    status, out, err = run("detect", data / "titanic.csv", *arguments)
    assert (status, err) == (0, "")
    assert "1,309 rows, 13 columns" in out
    assert "text       ticket" in out
    assert "assengers with" in out
    scores = pq.read_table("t.parquet")
    assert scores.num_rows == 1309
    assert "name" in scores.column_names
    assert (tmp_path / "t.html").stat().st_size < 3_000_000


def test_adult_compressed(run, data):
    status, out, _ = run("detect", data / "adult.csv.gz", "--json", "--top", 3)
    assert status == 0
    found = json.loads(out)
    assert found["rows"] == 32_561
    missing = {column["name"]: column["missing"] for column in found["columns"]}
    assert missing["occupation"] > 1000  # written as "?" in the file


def test_kdd_by_query_and_sample(run, data):
    source = data / "kddcup99" / "corrected.gz"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    query = f"select * from read_csv('{source}', header = false) limit 60000"
    status, out, err = run("detect", query, "--fit-rows", 10_000, "--json", "--top", 1)
    assert status == 0
    assert "learning from 10,000 of 60,000 rows" in err
    assert json.loads(out)["rows"] == 60_000


def test_arff(run, data):
    source = data / "campos" / "Glass" / "Glass_withoutdupl_norm.arff"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    status, out, _ = run("detect", source, "--ignore", "id,outlier")
    assert status == 0
    assert "214 rows, 7 columns" in out
