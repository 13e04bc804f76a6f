"""``psvm reproduce`` as a person meets it: messages, exit codes, progress, Ctrl-C."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_tables import behave, install
from processes import UNIX, output

from psvm.cli import main
from psvm.paper import reproduce

# The command in a process of its own, over the fake cells of this folder.
FAKE_PSVM = """
import sys
from fake_tables import install
from psvm.cli import main
from psvm.paper import reproduce

install(reproduce)
sys.exit(main())
"""


@pytest.fixture
def fake(monkeypatch, tmp_path):
    for name in ("TABLE_MODULES", "FIGURE_MODULE", "BOUND_MODULE", "load"):
        monkeypatch.setattr(reproduce, name, None)  # to have them back afterwards
    install(reproduce)
    behave()
    return tmp_path / "results"


def start(*words, **streams):
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", FAKE_PSVM, *map(str, words)],
        env={**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100"},
        text=True,
        **streams,
    )


# --- usage ---------------------------------------------------------------------------------------


def test_help_names_the_command_and_its_targets(capsys):
    assert main(["--help"]) == 0
    assert "reproduce" in capsys.readouterr().out
    assert main(["reproduce", "--help"]) == 0
    text = capsys.readouterr().out
    for word in ("table1", "figure3", "--output", "--quick", "--dataset", "--fresh", "--jobs"):
        assert word in text


def test_alone_it_shows_the_help(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "reproduce" in captured.out
    assert captured.err == ""


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("psvm 0.")


def test_help_loads_nothing_heavy():
    loaded = output(
        """
        import sys
        from psvm.cli import main
        main(["--help"])
        heavy = ("numpy", "sklearn", "joblib", "jinja2", "matplotlib", "psvm.paper")
        print([name for name in heavy if name in sys.modules])
        """
    )
    assert loaded.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "table3"], "'table3' is not one of 'table1'"),
        (["reproduce", "all", "--jobs", "0"], "--jobs"),
        (["reproduce", "table1", "--dataset", "usps"], "'usps' is no data set of table1"),
        (["reproduce", "figure2", "--dataset", "wine"], "figure2 has none"),
        (["reproduce", "all", "--sloppy"], "No such option: --sloppy"),
        (["forecast"], "No such command 'forecast'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, words, message):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("psvm: ")
    assert message.lower() in captured.err.lower()
    assert captured.err.rstrip().endswith("--help)")
    assert captured.err.count("\n") == 1


# --- runs ----------------------------------------------------------------------------------------


def test_a_run_says_what_it_wrote(fake, capsys):
    assert main(["reproduce", "table1", "--quick", "-o", str(fake), "-j", "1"]) == 0
    captured = capsys.readouterr()
    assert "8 results computed, 0 reused" in captured.out
    assert "table1.csv, report.html, report.md" in captured.out
    assert captured.err == ""
    assert "psvm " in (fake / "report.md").read_text()
    words = ["reproduce", "table1", "--dataset", "cancer", "--dataset", "wine", "-o", str(fake)]
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert "wine" in (fake / "table1.csv").read_text()


def test_without_a_target_it_is_all(fake, capsys):
    assert main(["reproduce", "--quick", "-o", str(fake), "-j", "1"]) == 0
    assert "table1.csv" in capsys.readouterr().out
    text = (fake / "report.md").read_text()
    assert "This is a quick run" in text
    assert "is no verdict on the paper" in text
    assert "of 0" not in text
    assert "Some numbers of" in text


def test_a_failed_cell_is_one_line_and_exit_code_1(fake, capsys):
    behave(fail="NB")
    words = ["reproduce", "table1", "--quick", "-o", str(fake), "-j", "1"]
    assert main(words) == 1
    captured = capsys.readouterr()
    assert "7 results computed" in captured.out
    assert captured.err == (
        "psvm: table1 cancer NB rerun: no NB to be had "
        "(the rest is kept; run the same command again to retry)\n"
    )
    assert main([*words, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_data_set_that_cannot_be_had_is_told_once(fake, capsys):
    behave(unavailable="heart")
    assert main(["reproduce", "table1", "--dataset", "heart", "-o", str(fake)]) == 1
    captured = capsys.readouterr()
    assert "8 results failed, the first was table1 heart pSVM" in captured.err
    assert "no heart without a network" in captured.err
    assert captured.err.count("\n") == 1


def test_an_output_that_cannot_be_a_folder(fake, tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["reproduce", "table1", "-o", str(tmp_path / "taken")]) == 1
    captured = capsys.readouterr()
    assert "taken" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named_before_anything_runs(fake, capsys, monkeypatch, package):
    monkeypatch.delitem(sys.modules, "psvm.paper.report", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["reproduce", "all", "-o", str(fake)]) == 1
    message = (
        f"psvm: this command needs {package}: pip install '.[paper]' in a clone of the repository\n"
    )
    assert capsys.readouterr().err == message
    assert not fake.exists()


def test_without_typer_the_command_says_what_to_install(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("psvm.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 1
    message = (
        "psvm: the command line needs typer: pip install '.[cli]' in a clone of the repository\n"
    )
    assert capsys.readouterr().err == message


# --- a terminal, and Ctrl-C ----------------------------------------------------------------------


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def lines_of(path):
    return path.read_text().count("\n") if path.exists() else 0


@UNIX
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    behave(slow="RF")
    folder = tmp_path / "results"
    words = ["reproduce", "table1", "--quick", "-o", folder, "-j", "2"]
    # A group of its own, because a terminal sends Ctrl-C to the workers as well.
    process = start(*words, stderr=subprocess.PIPE, process_group=0)
    try:
        wait_for(lambda: lines_of(folder / "cells.jsonl") == 7)
        os.killpg(process.pid, signal.SIGINT)
        told = time.monotonic()
        _, err = process.communicate(timeout=120)
        took = time.monotonic() - told
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == (
        f"psvm: stopped; finished cells are kept in {folder}. "
        "Run the same command again to go on.\n"
    )
    # Half a second on a machine of one's own; the cell that was running takes far longer.
    assert took < 30
    behave()
    process = start(*words, stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=300)
    assert "1 results computed, 7 reused" in out


@UNIX
def test_a_terminal_shows_progress(tmp_path):
    behave(slow="RF")
    parent, child = os.openpty()
    words = ["reproduce", "table1", "--quick", "-o", tmp_path, "-j", "2"]
    process = start(*words, stdout=child, stderr=child, stdin=child)
    os.close(child)
    screen = ""
    try:
        deadline = time.monotonic() + 300
        while not ("7/8" in screen and " left" in screen) and time.monotonic() < deadline:
            if select.select([parent], [], [], 0.2)[0]:
                screen += os.read(parent, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
    finally:
        process.kill()
        os.close(parent)
    assert "7/8" in screen
    assert "table1 cancer RF rerun" in screen
    assert " left" in screen
