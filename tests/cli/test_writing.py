"""Files are complete or not there, whatever happens."""

import errno
import os
import stat
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from admercs.cli.errors import UsageError, UserError
from admercs.cli.sinks import open_outputs

TABLE = pa.table({"row": [1, 2], "why": ['say "hi", you', None], "score": [0.5, 0.25]})


@contextmanager
def open_sink(path):
    with open_outputs(path) as outputs:
        yield outputs.sink


def left(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.jsonl"])
def test_writes_by_ending(tmp_path, name):
    path = tmp_path / name
    with open_sink(str(path)) as sink:
        sink.write(TABLE)
        sink.write(TABLE)
        assert not path.exists()
    assert left(tmp_path) == [name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    if name.endswith("parquet"):
        assert pq.read_table(path).num_rows == 4
    elif name.endswith("csv"):
        lines = path.read_text().splitlines()
        assert lines[0].replace('"', "") == "row,why,score"
        assert lines[1] == '1,"say ""hi"", you",0.5'
        assert len(lines) == 5
    else:
        assert '"why": "say \\"hi\\", you"' in path.read_text()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, UserError])
def test_an_interrupted_run_leaves_the_old_file(tmp_path, failure):
    path = tmp_path / "s.csv"
    path.write_text("old")

    def interrupted():
        with open_sink(str(path)) as sink:
            sink.write(TABLE)
            raise failure

    with pytest.raises(failure):
        interrupted()
    assert left(tmp_path) == ["s.csv"]
    assert path.read_text() == "old"


def test_a_full_disk_is_an_error_that_says_so(tmp_path, monkeypatch):
    path = tmp_path / "s.jsonl"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("admercs.cli.sinks.json.dumps", full)
    message = r"cannot write .*s\.jsonl: no space left"
    with pytest.raises(UserError, match=message), open_sink(str(path)) as sink:
        sink.write(TABLE)
    assert left(tmp_path) == ["s.jsonl"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_disk_that_really_is_full(tmp_path, monkeypatch, ending):
    """Everything that goes to the file ends in /dev/full, which refuses it like a full disk."""
    path = tmp_path / f"s.{ending}"
    real_open = os.open

    def opened(name, *arguments):
        handle = real_open(name, *arguments)
        return real_open("/dev/full", os.O_RDWR) if str(name).startswith(str(tmp_path)) else handle

    monkeypatch.setattr("os.open", opened)
    with pytest.raises(UserError, match="no space left"), open_sink(str(path)) as sink:
        sink.write(pa.concat_tables([TABLE] * 3))
    assert left(tmp_path) == []


def test_places_that_cannot_be_written_to_are_found_out_first(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"), open_sink("/none/s.csv"):
        pytest.fail("must not get here")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(UserError, match="it is a folder"), open_sink(str(tmp_path / "d.csv")):
        pytest.fail("must not get here")
    with pytest.raises(UsageError, match="must end in"), open_sink(str(tmp_path / "s.xls")):
        pytest.fail("must not get here")


def test_standard_output(capfdbinary):
    with open_sink("-") as sink:
        sink.write(TABLE)
    assert capfdbinary.readouterr().out.splitlines()[-1] == b"2,,0.25"
