"""The documents keep their word: examples run as pasted, and the names they mention exist."""

import doctest
import importlib
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import psvm

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# An example, and what the page says that it prints, if it says so.
EXAMPLE = re.compile(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", re.S)
EXAMPLES = [
    pytest.param(code, printed, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, (code, printed) in enumerate(EXAMPLE.findall(path.read_text()), 1)
]
HEAVY = ("shap",)  # packages that the tests do without


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
@pytest.mark.filterwarnings("default:::shap", "default:::numba")
def test_example_runs_as_pasted(code, printed, capsys):
    for package in HEAVY:
        if re.search(rf"^import {package}$", code, re.M):
            pytest.importorskip(package)
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    if printed:
        assert_printed(capsys.readouterr().out, printed)


def assert_printed(found, said):
    """The same words, and the same numbers to three digits: the last ones are the machine's."""
    number = re.compile(r"(?<![\w.])[+-]?\d+\.?\d*(?:e[+-]\d+)?(?![\w])")
    own = [re.sub(r"\S+ (s|rounds)\b", r"# \1", text) for text in (found, said)]
    words, said_words = ([part.split() for part in number.split(text)] for text in own)
    assert words == said_words
    numbers, said_numbers = ([float(n) for n in number.findall(text)] for text in own)
    # Of a gap only the order of magnitude is shown: below this it is within any tol.
    assert numbers == pytest.approx(said_numbers, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    "found",
    [
        "chosen: {'C': 25.1, 'p': 1.5}\n",
        "chosen: {'C': 25.2, 'p': 1.0}\n",
        "chosen: {'C': 25.1}\n",
        "taken: {'C': 25.1, 'p': 1.0}\n",
        "",
    ],
)
def test_another_output_is_noticed(found):
    said = "chosen: {'C': 25.1, 'p': 1.0}\n"
    assert_printed(said.replace("25.1", "25.1001"), said)
    assert_printed("gap 2e-10, 0.2 s\n", "gap 3.1e-12, 0.3 s\n")
    with pytest.raises(AssertionError):
        assert_printed(found, said)


def test_nystroem_example_runs(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["nystroem.py", "--rows", "200", "--components", "10", "20"])
    runpy.run_path(str(ROOT / "examples" / "nystroem.py"), run_name="__main__")
    names = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[3:]]
    assert names == ["linear", "Nystroem 10", "Nystroem 20", "PSVC, rbf"]


@pytest.mark.slow
def test_parquet_example_runs():
    """In a process of its own, as the workers are."""
    pytest.importorskip("distributed")
    command = [sys.executable, str(ROOT / "examples" / "parquet.py"), "--rows", "40000"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "classes ['no', 'yes'], gap" in answer.stdout, answer.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_local_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_examples_show_what_they_print(code, printed):
    """In a block of text behind them, or in comments beside every print."""
    prints = re.findall(r"^ *print\(.*", code, re.M)
    assert printed or all(re.search(r"\)  # \S", line) for line in prints)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_names_of_psvm_exist(path):
    for name in re.findall(r"`(psvm(?:\.[A-Za-z]\w*)+)", path.read_text()):
        if name != "psvm.json":  # the header of a model file
            found(name)


@pytest.mark.parametrize("number", [0, 1])
def test_what_readme_says_is_printed_is_printed(number, capsys):
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[number]
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    accuracy, gap = (line.split(": ")[1] for line in capsys.readouterr().out.splitlines())
    said_accuracy, said_gap = re.findall(r"# (\S+)$", code, re.M)
    assert float(accuracy) == pytest.approx(float(said_accuracy), abs=0.01)
    # Of the gap the order of magnitude is the machine's; that it is within tol is not.
    assert float(said_gap.strip("[]")) <= 1e-4
    assert float(gap.strip("[]")) <= 1e-4


def test_readme_is_two_screens_and_its_numbers_are_those_of_the_results():
    """Each with the command that made it, as the results have it."""
    text = " ".join((ROOT / "README.md").read_text().split())
    assert len((ROOT / "README.md").read_text().splitlines()) <= 95
    results = ROOT / "benchmarks" / "results"
    search = (results / "search.md").read_text()
    kernel = re.search(r"\| intelex, two classes \| (\S+)x ", (results / "kernel.md").read_text())[
        1
    ]
    assert f"({kernel}×, geometric mean" in text
    faster = re.search(r"against GridSearchCV\(SVC\): (\S+)×", search)[1]
    assert f"({faster}×, four sets" in text
    assert f"1/{round(float(faster))} of that" in text
    assert re.search(r": `(python -m benchmarks.search [^`]*)`", search)[1] in text
    reliability = (ROOT / "docs" / "reliability.md").read_text()
    assert re.search(r"\(`(make fuzz FITS[^`]*)`", reliability)[1] in text
    row = r"\| certificates \| (\S+) judged \| (\S+) proved.*\*\*(\d+) false"
    judged, proved, false = re.search(row, reliability).groups()
    said = (
        f"Of {judged} certificates judged in extended precision {false} were false, {proved} proved"
    )
    assert said in text


def test_errors_name_what_to_install_as_the_documents_do():
    for path in (ROOT / "src" / "psvm").rglob("*.py"):
        assert "psvm[" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_to_be_installed_can_be(path):
    """In a clone: the package is not on PyPI. Shells expand brackets that are not quoted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for given in re.findall(r"pip install ([^`#\n]+)", path.read_text()):
        if re.fullmatch(r"[a-z0-9 -]+", given.strip()) and "psvm" not in given:
            continue  # packages of others
        wanted = re.fullmatch(r"(?:-e )?(?:\.|'\.\[([a-z,]+)\]')", given.strip())
        assert wanted, f"{path.name}: pip install {given}"
        assert set((wanted[1] or "plot").split(",")) <= set(extras)


def test_the_command_prints_what_is_shown(tmp_path, monkeypatch, capfd):
    pytest.importorskip("typer")
    from cli_data import write_iris

    from psvm.cli import main

    text = (ROOT / "docs" / "command-line.md").read_text()
    command = re.search(r"^    psvm (fit iris.csv .*)$", text, re.M)[1]
    shown = re.search(r"(?:^    \S.*  \S.*\n)+", text[text.index("    data        ") :], re.M)[0]
    write_iris(tmp_path, "csv")
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    printed = dict(re.findall(r"^(\S.*?)  +(\S.*?) *$", capfd.readouterr().out, re.M))
    lines = re.findall(r"^    (\S.*?)  +(\S.*?)$", shown, re.M)
    assert len(lines) == 9
    for title, value in lines:
        if title == "certificate":  # the last digits are the machine's
            value, found = (re.sub(r"\S+e-\d+", "", one) for one in (value, printed[title]))
            assert found == value
        elif title != "fit":
            assert printed[title] == value


# --- docstrings ----------------------------------------------------------------------------------

PACKAGE = ROOT / "src" / "psvm"
WITH_EXAMPLES = sorted(
    ".".join(("psvm", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings_show_what_their_examples_print(name, monkeypatch, tmp_path):
    pytest.importorskip("distributed") if ".dask" in name else None
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert tried > 0
    assert failed == 0
    sys.modules["matplotlib.pyplot"].close("all") if "matplotlib.pyplot" in sys.modules else None


# --- the map from formulas to code ---------------------------------------------------------------

MAP = ROOT / "docs" / "math.md"


def tables(text):
    """The code columns of the map's tables, cell by cell."""
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        head, _, *rows = [line.strip("|").split("|") for line in table.splitlines()]
        for row in rows:
            for title, cell in zip(head, row, strict=True):
                if title.strip() in ("Python", "C++", "here"):
                    yield cell.strip()


def found(name):
    """What a dotted name of psvm means; fields of a dataclass count as attributes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            item = importlib.import_module(".".join(parts[:end]))
            break
        except ModuleNotFoundError:
            continue
    for part in parts[end:]:
        fields = getattr(item, "__dataclass_fields__", {})
        assert hasattr(item, part) or part in fields, f"{name} does not exist"
        item = getattr(item, part, None)
    return item


def assert_defined(name, file):
    """That C++ source defines a type or a function, and does not only use it."""
    source = (ROOT / "cpp" / file).read_text()
    for part in name.split("::"):
        kind = rf"^\s*(?:struct|class|enum class) {part}\b"
        words = r"(?:(?!return\b|else\b|case\b)[\w:<>,&*]+\s+)+"
        function = rf"^\s*{words}[&*]?(?:\w+::)*{part}\("
        assert re.search(f"{kind}|{function}", source, re.M), f"{file} does not define {part}"


def check_names(names, holder):
    """`a`, `b` in `file.hpp`; `a` in `module`; `attribute_` of `Estimator`."""
    for name in names:
        if holder.endswith((".hpp", ".cpp")):
            assert_defined(name, holder)
        elif hasattr(psvm, holder):
            assert re.search(rf"^    .*\b{name}\b.* : ", getattr(psvm, holder).__doc__, re.M), name
        else:
            found(f"psvm.{holder}.{name}")


def check_cell(cell):
    """Every name in backticks of a cell; returns how many there were."""
    token = r"`[^`]+`"
    grouped = rf"((?:{token}(?:, | and )?)+) (?:in|of) ({token})"
    count = len(re.findall(token, cell))
    for names, holder in re.findall(grouped, cell):
        check_names(re.findall(r"`([^`]+)`", names), holder.strip("`"))
    for name in re.findall(r"`([^`]+)`", re.sub(grouped, "", cell)):
        if name.endswith((".hpp", ".cpp")):
            assert (ROOT / "cpp" / name).exists(), f"there is no cpp/{name}"
        else:
            found(f"psvm.{name}")
    return count


def test_the_map_from_formulas_to_code_is_right():
    assert sum(check_cell(cell) for cell in tables(MAP.read_text())) > 50


@pytest.mark.parametrize(
    "cell",
    [
        "`mathematics.loss.PNormHinge.no_such`",
        "`no_such.loss`",
        "`value`",  # of what?
        "`smo/no_such.cpp`",
        "`find_extremes` in `smo/working_set.cpp`",
        "`PNormHinge::no_such` in `loss/loss.hpp`",
        "`infinity` in `loss/loss.hpp`",  # neither a type nor a function
        "`dual_gap_`, `no_such_` of `PSVC`",
        "`value`, `no_such` in `mathematics.loss.PNormHinge`",
    ],
)
def test_a_name_that_does_not_exist_is_noticed(cell):
    with pytest.raises((AssertionError, FileNotFoundError)):
        check_cell(cell)
