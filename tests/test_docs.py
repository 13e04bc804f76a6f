"""The documents keep their word: examples run as pasted, and the names they mention exist."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import psvm

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S), 1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs_as_pasted(code):
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})


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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_names_of_psvm_exist(path):
    for name in re.findall(r"`(psvm(?:\.[A-Za-z]\w*)+)", path.read_text()):
        if name != "psvm.json":  # the header of a model file
            found(name)


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
