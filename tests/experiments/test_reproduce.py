"""The command: from nothing to a page, with what is absent named and what is damaged refused."""

from xml.etree import ElementTree

import numpy as np
import pytest

from admercs.experiments import benchmarks, figures, protocol, run
from admercs.experiments.algorithms import Scored
from admercs.experiments.command import main
from admercs.experiments.document import Document
from admercs.experiments.ranking import compare
from admercs.experiments.store import Result


@pytest.fixture
def instant(monkeypatch):
    """Algorithms that only look at the distance from the middle, but each a little different."""

    def algorithm(seed):
        def score(X, points):
            for point in points:
                # Points differ too, so that there is something to choose.
                noise = np.random.default_rng([seed, len(str(point))]).random(len(X))
                yield Scored(point, np.abs(X - 0.5).sum(axis=1) + 0.3 * noise, 0.01)

        return score

    for seed, name in enumerate(run.REGISTRY):
        monkeypatch.setitem(run.REGISTRY, name, algorithm(seed))


@pytest.fixture
def few_sets(monkeypatch):
    """Only four sets of Synth-C, and a few points of each grid."""
    grids = {name: grid[:: len(grid) // 8] for name, grid in protocol.GRIDS.items()}
    monkeypatch.setattr(protocol, "GRIDS", grids)
    whole = benchmarks._LISTS["Synth-C"]
    monkeypatch.setitem(benchmarks._LISTS, "Synth-C", lambda name: whole(name)[:4])


def test_a_whole_run(tmp_path, instant, few_sets, capsys, monkeypatch):
    monkeypatch.delenv("ADMERCS_DATA", raising=False)
    monkeypatch.setattr("admercs.datasets.folder._BESIDE_CHECKOUT", tmp_path / "none")
    arguments = ["--benchmark", "Synth-C", "--defaults", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out" / "index.html")
    page = (tmp_path / "out" / "index.md").read_text()
    assert "| AD-MERCS | " in page
    assert "(.96)" in page
    assert "| ADMERCS() | ." in page
    assert "How much AD-MERCS depends on its parameters" in page
    assert "| accidental inlier | 1 |" in page
    for reference in page.split("](")[1:]:
        picture = tmp_path / "out" / reference.split(")")[0]
        if picture.suffix == ".svg":
            ElementTree.parse(picture)
            assert "base64" not in picture.read_text()
        else:
            assert picture.read_bytes().startswith(b"\x89PNG")
    html = (tmp_path / "out" / "index.html").read_text()
    assert html.count("<table>") == page.count("| --- |\n")
    assert (tmp_path / "out" / "results.parquet").stat().st_size > 1000


def test_one_algorithm_again(tmp_path, instant, few_sets, monkeypatch):
    arguments = ["--benchmark", "Synth-C", "--quick", "--defaults", "--out", str(tmp_path)]
    assert main(arguments) == 0
    computed = []

    def counting(name, score):
        def count(X, points):
            computed.append(name)
            return score(X, points)

        return count

    for name, score in run.REGISTRY.items():
        monkeypatch.setitem(run.REGISTRY, name, counting(name, score))
    assert main(arguments) == 0
    assert computed == []
    assert main([*arguments, "--again", "ADMERCS()"]) == 0
    assert computed == ["ADMERCS()"] * 2


def test_raw_results_are_complete(tmp_path, instant, few_sets):
    from pyarrow import parquet

    main(["--benchmark", "Synth-C", "--quick", "--out", str(tmp_path)])
    table = parquet.read_table(tmp_path / "results.parquet")
    assert table.column_names == list(Result._fields)
    # Two groups of patterns, one set each, seven algorithms.
    assert table.num_rows == 14


def test_absent_sets_are_named(tmp_path, instant):
    (tmp_path / "data" / "campos" / "Wilt").mkdir(parents=True)
    arguments = ["--benchmark", "HiCS", "--benchmark", "Campos", "--quick"]
    status = main([*arguments, "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")])
    assert status == 0
    page = (tmp_path / "out" / "index.md").read_text()
    assert "Left out because their files are absent: Campos Arrhythmia, Campos" in page
    assert "HiCS 010/0" in page


def test_a_damaged_file_is_an_error_that_names_it(tmp_path, instant, capsys):
    folder = tmp_path / "data" / "campos" / "Wilt"
    folder.mkdir(parents=True)
    (folder / "Wilt_withoutdupl_norm_05.arff").write_text("@relation x\n@data\n")
    arguments = ["--benchmark", "Campos", "--quick", "--data", str(tmp_path / "data")]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 1
    assert "Wilt_withoutdupl_norm_05.arff" in capsys.readouterr().err


def test_a_damaged_store_is_an_error_that_names_it(tmp_path, capsys):
    (tmp_path / "results.sqlite").write_text("no database, but a file long enough to look like one")
    assert main(["--benchmark", "Synth-C", "--quick", "--out", str(tmp_path)]) == 1
    assert "results.sqlite is not a store of results" in capsys.readouterr().err


def test_wrong_options(tmp_path, capsys):
    assert main(["--jobs", "0"]) == 2
    assert main(["--data", str(tmp_path / "gone"), "--out", str(tmp_path)]) == 1
    assert "gone does not exist" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--benchmark", "Iris"])


def test_figures_are_the_same_every_time(tmp_path):
    results = [
        Result(algorithm, "{}", "Campos", name, 1, auc, auc, 1.0)
        for algorithm, shift in (("kNN", 0.0), ("LOF", 0.1), ("HBOS", 0.2))
        for name, auc in (("a", 0.5 + shift), ("b", 0.7 - shift))
    ]
    comparison = compare("Campos", results, ["kNN", "LOF", "HBOS"])
    for draw in (figures.critical_difference, figures.set_bars):
        first = draw(comparison, "auc", tmp_path / "first.svg").read_bytes()
        assert draw(comparison, "auc", tmp_path / "again.svg").read_bytes() == first


def test_html_escapes_text():
    page = Document("a < b")
    page.table(["x & y"], [["**<1>**"]])
    page.printed("p < q")
    html = page.html()
    assert "<h1>a &lt; b</h1>" in html
    assert "<b>&lt;1&gt;</b>" in html
    assert "x &amp; y" in html
