"""``admercs detect --dask``: the same findings, from worker processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from admercs import ADMERCS
from admercs.cli import main
from tests.distributed.conftest import differences, make_table


def test_the_command_learns_the_same_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = make_table(900)[["a", "b", "kind", "when", "few"]]
    table[:500].to_parquet(tmp_path / "1.parquet", index=False)
    table[500:].to_parquet(tmp_path / "2.parquet", index=False)
    source = str(tmp_path / "*.parquet")
    for name, further in {"memory": [], "dask": ["--dask", "--memory", "2GB"]}.items():
        model = str(tmp_path / f"{name}.admercs")
        assert main(["detect", source, "--jobs", "1", "--model", model, *further]) in (0, None)
        assert "Most anomalous" in capsys.readouterr().out
    known, found = (ADMERCS.load(tmp_path / f"{name}.admercs") for name in ("memory", "dask"))
    assert differences(known.model_, found.model_) == []
    assert known.offset_ == found.offset_
