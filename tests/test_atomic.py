"""A file is complete or not there, and has the right permissions."""

import errno
import os
import re
import stat
import threading
import zipfile

import pytest

from admercs.atomic import atomic_write


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def umask():
    """Set a umask that is not the usual one."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as stream:
        stream.write(b"\xff\n")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"\xff\n"
    assert names(tmp_path) == ["file"]


def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask):
    with atomic_write(tmp_path / "new"):
        pass
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_the_umask_of_the_process_is_left_alone(tmp_path, monkeypatch):
    def refused(_):
        raise AssertionError("other threads would see this")

    monkeypatch.setattr("os.umask", refused)
    with atomic_write(tmp_path / "new") as stream:
        stream.write(b"x")


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    with atomic_write(path) as stream:
        (temporary,) = (name for name in tmp_path.iterdir() if name != path)
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        stream.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted():
        with atomic_write(path) as stream:
            stream.write(b"half")
            raise failure

    with pytest.raises(failure):
        interrupted()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path, monkeypatch):
    real = os.open
    monkeypatch.setattr("os.open", lambda path, *more: (real(path, *more), fill())[1])

    def fill():
        return real("/dev/full", os.O_RDWR)

    with pytest.raises(OSError, match="No space") as caught, atomic_write(tmp_path / "f") as stream:
        stream.write(b"x")
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == []


def test_places_that_cannot_be_written_to(tmp_path):
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pytest.fail("must not get here")
    there = re.escape(str(tmp_path / "none" / "file"))
    with pytest.raises(FileNotFoundError, match=there), atomic_write(tmp_path / "none" / "file"):
        pytest.fail("must not get here")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(path) as stream:
        stream.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert path.is_fifo()


def test_archives_can_be_written(tmp_path):
    with atomic_write(tmp_path / "a.zip") as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("member", b"content")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read("member") == b"content"


def test_threads_that_write_one_file_do_not_mix(tmp_path):
    path = tmp_path / "file"

    def write(letter):
        with atomic_write(path) as stream:
            stream.write(letter.encode() * 100_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(path.read_text())) == 1
    assert names(tmp_path) == ["file"]


def test_a_long_name(tmp_path):
    path = tmp_path / ("é" * 127)
    with atomic_write(path) as stream:
        stream.write(b"x")
    assert path.read_text() == "x"
