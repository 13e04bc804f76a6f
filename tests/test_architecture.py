"""The shape of the code: who imports whom, how long files are, what must not exist.

Reads the source only, so a module is checked from the day it is written. A new module needs no
line here, a new folder one in ``ROOMS`` or ``CPP_ROOMS``.
"""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import psvm

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "psvm"
PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))
CPP = ROOT / "cpp"
CPP_FILES = sorted([*CPP.rglob("*.cpp"), *CPP.rglob("*.hpp")])
MAX_LINES = 500

# Rooms, bottom up: a room may import itself and what its line names.
CORE = {"_core"}
MATHEMATICS = {"mathematics"}
ROWS = CORE | MATHEMATICS | {"rows"}
SOLVERS = ROWS | {"solvers"}
ESTIMATORS = SOLVERS | {"estimators"}
SEARCH = ESTIMATORS | {"search"}
ROOMS = {
    "mathematics": CORE | MATHEMATICS,
    "rows": ROWS,
    "solvers": SOLVERS,
    "estimators": ESTIMATORS,
    "search": SEARCH,
    "bounds": ROWS,
    "explaining": SEARCH,
    "data": {"data"},
    "persistence": SEARCH | {"persistence"},
    "plotting": SEARCH | {"plotting", "bounds"},
    "paper": SEARCH | {"paper", "data", "bounds"},
    "dask": SEARCH | {"dask"},
    "cli": SEARCH | {"cli", "paper", "persistence", "plotting", "data"},
    "__init__": SEARCH | {"persistence"},
}
# Stricter than their rooms. What judges a solver shares no code with it, and the linear solvers,
# which the kernel solvers may call, know nothing of kernels.
MODULES = {
    "mathematics/loss": set(),
    "mathematics/cached": set(),
    # Any intercept gives a primal that bounds, so that it may come from anywhere.
    "mathematics/intercept": {"_core"},
    "mathematics/certificate": {
        "mathematics/cached",
        "mathematics/intercept",
        "mathematics/loss",
    },
    "mathematics/problem": {
        "mathematics/cached",
        "mathematics/certificate",
        "mathematics/loss",
    },
    "mathematics/rounding": {"_core", "mathematics/certificate"},
    "mathematics/multiclass": {"_core"},
}
FOLDERS_APART = [("solvers/linear", "solvers/kernel"), ("solvers/linear", "rows/kernel")]
# Optional front ends: `import psvm` must never pull them in, nor does any other part but cli.
FRONT_ENDS = {"cli", "dask", "paper", "plotting"}

# The same in C++: folders bottom up.
CPP_ROOMS = {
    "base": set(),
    "loss": {"base"},
    "kernel": {"base", "loss"},
    "smo": {"base", "loss", "kernel"},
    "linear": {"base", "loss", "kernel"},
    "bind": {"base", "loss", "kernel", "smo", "linear"},
}


def name_of(path):
    return str(path.relative_to(ROOT))


def place_of(path):
    """``solvers/kernel/choose`` for a file of the package; a folder's own file is the folder."""
    place = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return place.removesuffix("/__init__") if "/" in place else place


def room_of(place):
    return place.split("/")[0]


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


PLACES = {place_of(path) for path in PYTHON_FILES}
PLACES |= {place.rsplit("/", 1)[0] for place in PLACES if "/" in place} | {"_core"}


def places_imported_by(path):
    """What of psvm a file imports, wherever in the file the import stands."""
    imported = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports by dots: name the module"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            names = target.split(".")
            if names[0] != "psvm":
                continue
            # The longest part of the name that is a module; `from psvm import PSVC` names none.
            found = ["/".join(names[1:end]) for end in range(len(names), 1, -1)]
            imported.add(next((place for place in found if place in PLACES), "__init__"))
    return imported


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_imports_go_downwards(path):
    place = place_of(path)
    imported = places_imported_by(path)
    assert room_of(place) in ROOMS, (
        f"{name_of(path)} is in no room: say in ROOMS what it may import"
    )
    forbidden = {other for other in imported if room_of(other) not in ROOMS[room_of(place)]}
    if place in MODULES:
        forbidden |= imported - MODULES[place]
    for folder, other in FOLDERS_APART:
        if place.startswith(folder):
            forbidden |= {one for one in imported if one.startswith(other)}
    assert not forbidden, f"{name_of(path)} must not import {sorted(forbidden)} from psvm"


def test_the_rooms_have_no_cycle_and_no_front_end_below():
    seen = {"_core"}
    for room, allowed in ROOMS.items():
        # The table is written bottom-up, so whatever a room may import stands above its line.
        assert allowed <= seen | {room}, room
        assert room == "cli" or not (allowed - {room}) & FRONT_ENDS, room
        seen.add(room)
    below = set()
    for room, allowed in CPP_ROOMS.items():
        assert allowed <= below, room
        below.add(room)


@pytest.mark.parametrize("path", CPP_FILES, ids=name_of)
def test_includes_go_downwards(path):
    room = path.relative_to(CPP).parts[0]
    included = re.findall(r'#\s*include\s*"([^"]+)"', path.read_text())
    for header in included:
        assert (CPP / header).exists(), f"{name_of(path)} includes {header} without its folder"
    rooms = {header.split("/")[0] for header in included}
    forbidden = rooms - CPP_ROOMS[room] - {room}
    assert not forbidden, f"{name_of(path)} must not include headers of {sorted(forbidden)}"


def test_importing_psvm_loads_no_optional_package():
    optional = ["matplotlib", "dask", "distributed", *(f"psvm.{p}" for p in FRONT_ENDS)]
    program = f"import psvm, sys; print([m for m in {optional!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stdout + answer.stderr


@pytest.mark.parametrize("path", PYTHON_FILES + CPP_FILES, ids=name_of)
def test_file_is_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{name_of(path)} has {lines} lines: split it by idea"


@pytest.mark.parametrize("path", PYTHON_FILES + CPP_FILES, ids=name_of)
def test_file_is_named_after_its_idea(path):
    assert path.stem not in {"util", "utils", "common", "helper", "helpers", "misc"}


def python_headers_of(path):
    return re.findall(r'#\s*include\s*[<"](Python\.h|nanobind|pybind11|numpy/)', path.read_text())


@pytest.mark.parametrize(
    "path", [path for path in CPP_FILES if path.parent.name != "bind"], ids=name_of
)
def test_only_the_binding_knows_python(path):
    assert python_headers_of(path) == [], f"{name_of(path)}: only cpp/bind may include these"


def test_the_binding_knows_python():
    """So that the test above would see it."""
    assert "nanobind" in python_headers_of(CPP / "bind" / "bind.hpp")


def lines_that_print(tree):
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sorted(call.lineno for call in calls if "print" in ast.unparse(call.func).split("."))


@pytest.mark.parametrize(
    "path", [path for path in PYTHON_FILES if room_of(place_of(path)) != "cli"], ids=name_of
)
def test_the_library_never_prints(path):
    lines = lines_that_print(parse(path))
    assert not lines, f"{name_of(path)} prints on lines {lines}: warn, log or return instead"


def test_printing_is_seen():
    """So that the test above would see it."""
    program = "import rich\nif x:\n    print(1)\nrich.print(2)\nprinter(3)\n"
    assert lines_that_print(ast.parse(program)) == [3, 4]


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_public_names_are_documented(path):
    missing = [] if ast.get_docstring(parse(path)) else ["the module"]
    todo = [("", node) for node in parse(path).body]
    while todo:
        prefix, node = todo.pop()
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            missing.append(prefix + node.name)
        if isinstance(node, ast.ClassDef):
            todo += [(f"{node.name}.", child) for child in node.body]
    assert not missing, f"{name_of(path)}: no docstring on {sorted(missing)}"


# --- numpydoc on the public names ----------------------------------------------------------------

EXPORTED = [getattr(psvm, name) for name in psvm.__all__ if name != "__version__"]
ESTIMATOR_CLASSES = [item for item in EXPORTED if hasattr(item, "fit")]


def section(doc, title):
    """Text of one numpydoc section, empty if there is none."""
    doc = inspect.cleandoc(doc or "")
    found = re.search(rf"^{title}\n-{{3,}}\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)", doc, re.M | re.S)
    return found[1] if found else ""


def entries(text):
    """Names documented in a section; one line may carry several, as in ``a, b : float``."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)\s*(?::.*)?$", text, re.M)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("cls", ESTIMATOR_CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_documented(cls):
    parameters = set(inspect.signature(cls).parameters)
    documented = entries(section(cls.__doc__, "Parameters"))
    assert documented == parameters


@pytest.mark.parametrize("cls", ESTIMATOR_CLASSES, ids=lambda cls: cls.__name__)
def test_every_fitted_attribute_is_documented(cls):
    fitted = {
        node.attr
        for base in inspect.getmro(cls)
        if base.__module__.startswith("psvm.")
        for node in ast.walk(ast.parse(inspect.getsource(base)))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and re.fullmatch(r"[A-Za-z]\w*_", node.attr)
    }
    assert fitted, "an estimator sets attributes in fit"
    missing = fitted - entries(section(cls.__doc__, "Attributes"))
    assert not missing, f"{cls.__name__} does not document {sorted(missing)}"


@pytest.mark.parametrize("cls", ESTIMATOR_CLASSES, ids=lambda cls: cls.__name__)
def test_methods_document_what_they_take_and_return(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        own = method.__module__.startswith("psvm.") and not name.startswith("_")
        if not own:
            continue
        parameters = set(inspect.signature(method).parameters) - {"self"}
        missing = parameters - entries(section(method.__doc__, "Parameters"))
        assert not missing, f"{cls.__name__}.{name} does not document {sorted(missing)}"
        assert section(method.__doc__, "Returns"), f"{cls.__name__}.{name} has no Returns section"
