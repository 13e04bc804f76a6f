"""The documents keep their word: examples run as pasted, and the names they mention exist."""

import importlib
import re
import runpy
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_local_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_map_from_formulas_to_python_is_right():
    text = (ROOT / "docs" / "math.md").read_text()
    names = set(re.findall(r"`((?:loss|problem|certificate)\.(?!py`|hpp`)[\w.]+)`", text))
    assert len(names) > 8
    for name in names:
        module, *path = name.split(".")
        found = importlib.import_module(f"psvm.{module}")
        for part in path:
            assert hasattr(found, part), f"docs/math.md mentions {name}"
            found = getattr(found, part)


def test_the_map_from_formulas_to_cpp_is_right():
    text = (ROOT / "docs" / "math.md").read_text()
    for name in set(re.findall(r"`(\w+\.[ch]pp)`", text)):
        assert (ROOT / "cpp" / name).exists(), f"docs/math.md mentions {name}"
    source = "".join(path.read_text() for path in (ROOT / "cpp").glob("*.?pp"))
    for name in set(re.findall(r"`PNormHinge::(\w+)`", text)) | {"pair_step", "can_go_up"}:
        assert re.search(rf"\b{name}\(", source), f"docs/math.md mentions {name}"
