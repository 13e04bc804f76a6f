"""How ``psvm`` starts: what is imported to answer, how long that takes, and the Tab key."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_data import command, iris, write_model
from processes import UNIX, output

# --- help ----------------------------------------------------------------------------------------

# Packages that take longer to import than all of the help may.
HEAVY = """
    heavy = ("numpy", "scipy", "sklearn", "joblib", "polars", "skops", "pandas", "matplotlib",
             "psvm.persistence.model_file", "psvm.paper")
    import sys
    print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["tune", "-h"], ["--version"]])
def test_help_loads_nothing_heavy(words):
    body = f"    from psvm.cli import main\n    main({words!r})\n{HEAVY}"
    loaded = output(body, timeout=300)
    assert loaded.splitlines()[-1] == "[]"


def test_info_needs_no_scikit_learn(tmp_path):
    body = f"    from psvm.cli import main\n    main(['info', {str(write_model(tmp_path))!r}])\n"
    assert output(body + HEAVY).splitlines()[-1] == "[]"


@UNIX
def test_help_takes_under_0_4_seconds():
    import resource  # not on Windows

    # Of the processor's time, which other work on the machine lengthens less than that of a clock;
    # it is half of the limit on a machine of one's own.
    took = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command(), "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if took[-1] < 0.4:
            break
    assert min(took) < 0.4


# --- the Tab key ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("psvm e", {"evaluate", "export"}),
        ("psvm fit --tes", {"--test-size"}),
        ("psvm fit --kernel lap", {"laplacian"}),
        ("psvm tune --rule ", {"best", "one_se"}),
        ("psvm reproduce fig", {"figure1", "figure2", "figure3"}),
        ("psvm reproduce table1 --dataset ca", {"cancer"}),
    ],
)
def test_words_are_completed(line, expected):
    environment = {
        **os.environ,
        "_PSVM_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(command(), env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("psvm fit DATA --target ", {"sepal length", "sepal width", "species"}),
        ("psvm fit DATA --target sp", {"species"}),
        ("psvm tune -o m.psvm DATA -t spe", {"species"}),
        ("psvm evaluate m.psvm DATA --target sp", {"species"}),
        ("psvm fit DATA --drop sepal", {"sepal length", "sepal width"}),
        ("psvm fit nowhere.csv --target ", set()),
        ("psvm fit --target ", set()),
    ],
)
def test_columns_are_completed(tmp_path, line, expected):
    """Those of the file that is on the line."""
    table = iris().select("sepal length", "sepal width", "species")
    (table.write_parquet if "tune" in line else table.write_csv)(tmp_path / "iris")
    line = line.replace("DATA", str(tmp_path / "iris"))
    environment = {
        **os.environ,
        "_PSVM_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(command(), env=environment, capture_output=True, text=True, check=True)
    assert {name for name in done.stdout.split("\n") if name} == expected
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_loads_nothing_heavy(shell):
    body = f"""
    import os
    os.environ["_PSVM_COMPLETE"] = "complete_{shell}"
    os.environ |= {{"COMP_WORDS": "psvm e", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "psvm e"}}
    os.environ["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    from psvm.cli import main
    main([])
    """
    told = output(body + HEAVY, timeout=300)
    assert "evaluate" in told
    assert told.splitlines()[-1] == "[]"


@UNIX
def test_a_shell_completes_commands_files_and_choices(tmp_path):
    """``psvm --install-completion`` in a bash, then the Tab key."""
    pexpect = pytest.importorskip("pexpect")
    bash = shutil.which("bash")
    if bash is None or len(command()) > 1:
        pytest.skip("needs bash, and psvm on the path")
    (tmp_path / "iris.csv").touch()
    folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
        "TERM": "dumb",
        "INPUTRC": os.devnull,
    }
    child = pexpect.spawn(
        bash,
        ["--norc", "--noprofile", "-i"],
        cwd=str(tmp_path),
        env=environment,
        timeout=300,  # for a busy machine
        dimensions=(40, 120),
        encoding="utf-8",
    )
    try:
        child.sendline("psvm --install-completion")
        child.expect("bash completion installed in")
        child.expect("restart the terminal")
        child.sendline("source ~/.bashrc; echo rea''dy")  # the typed line is shown as well
        child.expect("ready")
        for typed, rest in (
            ("psvm fi", "t "),
            ("ir", "is.csv "),
            ("--ker", "nel "),
            ("lap", "lacian "),
        ):
            child.send(f"{typed}\t")
            child.expect_exact(f"{typed}{rest}")
        child.send("--multi-class ov\t\t")
        child.expect(r"ovo\s+ovr")
    finally:
        child.close(force=True)
