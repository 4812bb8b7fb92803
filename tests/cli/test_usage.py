"""Help, versions, completion, exit statuses: everything that needs no table."""

import shutil
import subprocess
import sys

import pytest

from admercs import __version__
from admercs.cli.console import Style, clean, rows_text
from admercs.progress import ProgressPrinter

COMMANDS = ("detect", "score", "explain", "patterns", "info", "demo", "reproduce", "completion")


def test_version_and_module():
    done = subprocess.run(
        [sys.executable, "-m", "admercs", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"admercs {__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "examples\n  " in out
    assert "admercs " + command in out.split("examples")[-1]
    assert max(map(len, out.splitlines())) <= 100


def test_help_needs_no_heavy_import():
    code = (
        "import sys; from admercs.cli import main; main(['detect', '--help']); "
        "print([m for m in ('numba', 'sklearn', 'duckdb', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "command"),
        (("detekt", "x.csv"), "invalid choice: 'detekt'"),
        (("detect",), "required: table"),
        (("detect", "x.csv", "--nonsense"), "unrecognized arguments: --nonsense"),
        (("detect", "x.csv", "--contamination", "0.9"), "neither auto nor between 0 and 0.5"),
        (("detect", "x.csv", "--threshold", "1"), "not a score"),
        (("detect", "x.csv", "--fit-rows", "0"), "not a whole number from 1"),
        (("detect", "x.csv", "--seed", "-1"), "not a whole number from 0"),
        (("detect", "x.csv", "--delimiter", "ab"), "not a single character"),
        (("detect", "x.csv", "--noun", ""), "'' is no word"),
        (("detect", "x.csv", "--out", "scores.xlsx"), "must end in .csv"),
        (("completion", "powershell"), "invalid choice"),
    ],
)
def test_usage_errors_have_status_2(run, arguments, message):
    status, out, err = run(*arguments)
    assert status == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, shell, tmp_path):
    status, out, _ = run("completion", shell)
    assert status == 0
    for command in COMMANDS:
        assert command in out
    assert "report-rows" in out
    path = tmp_path / "script"
    path.write_text(out)
    if shutil.which(shell):
        subprocess.run([shell, "-n", path], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(run, tmp_path):
    path = tmp_path / "script"
    path.write_text(run("completion", "bash")[1])
    ask = (
        f"source {path}; COMP_WORDS=(admercs det); COMP_CWORD=1; _admercs; echo ${{COMPREPLY[@]}}; "
        "COMP_WORDS=(admercs detect --rep); COMP_CWORD=2; _admercs; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["detect", "--report", "--report-rows"]


def test_control_characters_do_not_reach_the_terminal():
    from admercs.explain import RowExplanation

    row = RowExplanation("evil\x1b]0;title\x07", 0.5, 0.7, 50.0, ())
    text = rows_text([row], Style())
    assert "\x1b" not in text
    assert "\x07" not in text
    assert clean("Zürich – 北京") == "Zürich – 北京"


def test_progress_says_nothing_without_a_terminal(capfd):
    progress = ProgressPrinter(keep=False)
    progress("reading", 10, 0)
    progress("trees", 2, 2)
    progress.close()
    assert not progress.shown
    assert capfd.readouterr() == ("", "")


def test_progress_on_a_terminal(monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = ProgressPrinter(keep=False)
    progress("reading", 10, 0)
    progress("trees", 1, 2)
    progress("trees", 2, 2)
    progress.close()
    out, err = capfd.readouterr()
    assert out == ""
    assert "reading 10 (" in err
    assert "trees 2/2" in err
    # Each line replaces the one before it, and nothing is left.
    assert "\n" not in err
    assert err.endswith("\r\x1b[K")


def test_kept_lines_of_progress(capfd):
    progress = ProgressPrinter()
    progress("trees", 1, 2)
    progress("trees", 2, 2)
    progress.close()
    assert capfd.readouterr().err.startswith("admercs: trees 2/2 (0.0 s)\n")
