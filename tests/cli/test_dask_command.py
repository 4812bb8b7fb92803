"""``admercs detect --dask``: the same findings, from worker processes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from admercs import ADMERCS
from admercs.cli import main
from tests.pipeline.dask_tables import differences, make_table


@pytest.fixture
def source(tmp_path: Path) -> str:
    table = make_table(900)[["a", "b", "kind", "when", "few"]]
    table[:500].to_parquet(tmp_path / "1.parquet", index=False)
    table[500:].to_parquet(tmp_path / "2.parquet", index=False)
    return str(tmp_path / "*.parquet")


def test_the_command_learns_the_same_model(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, further in {"memory": [], "dask": ["--dask", "--memory", "2GB"]}.items():
        model = str(tmp_path / f"{name}.admercs")
        files = sorted(map(str, tmp_path.glob("*.parquet"))) if further else [source]
        assert main(["detect", *files, "--jobs", "1", "--model", model, *further]) in (0, None)
        assert "Most anomalous" in capsys.readouterr().out
    known, found = (ADMERCS.load(tmp_path / f"{name}.admercs") for name in ("memory", "dask"))
    assert differences(known.model_, found.model_) == []
    assert known.offset_ == found.offset_


@pytest.fixture
def few_fit_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admercs.cli.learning.FIT_ROWS", 700)


@pytest.mark.usefixtures("few_fit_rows")
@pytest.mark.parametrize("by", ["files", "a query"])
def test_a_large_table_is_learned_from_as_a_whole(
    by: str,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = source if by == "files" else f"select * from '{source}'"
    model = str(tmp_path / "m.admercs")
    assert main(["detect", table, "--memory", "2GB", "--jobs", "1", "--model", model]) in (0, None)
    assert "learning from all 900 rows in worker processes" in capsys.readouterr().err
    assert ADMERCS.load(model).model_.n_rows == 900


@pytest.mark.usefixtures("few_fit_rows")
@pytest.mark.parametrize("how", [["--no-dask"], ["--fit-rows", "700"]])
def test_a_sample_is_learned_from_on_demand(
    how: list[str],
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = str(tmp_path / "m.admercs")
    assert main(["detect", source, "--model", model, *how]) in (0, None)
    assert "learning from 700 of 900 rows" in capsys.readouterr().err
    assert ADMERCS.load(model).model_.n_rows == 700


def test_all_rows_and_a_sample_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "x.csv", "--dask", "--fit-rows", "5"]) == 2
    assert "choose one" in capsys.readouterr().err


def test_no_room_for_the_temporary_copy(
    source: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    assert main(["detect", source, "--dask"]) == 1
    assert "temporary copy of the table" in (told := capsys.readouterr().err)
    assert "no space left" in told
