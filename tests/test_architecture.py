"""The shape of the code: who imports whom, how long files are, what must not exist.

Reads the source only, so a module is checked from the day it is written. To add a module to the
package, add its line to ``MAY_IMPORT``.
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
CPP_FILES = sorted([*(ROOT / "cpp").glob("*.cpp"), *(ROOT / "cpp").glob("*.hpp")])
MAX_LINES = 500

# Imports go downwards only. Each layer may import every layer below it:
#   cli > paper, dask, plotting, persistence > path, search > svc, linear > classifier
#   > multiclass > solvers > ground
# The ground is not one layer but a few modules with a narrow list each; certificate and bounds see
# only the mathematics, never the solvers they judge.
GROUND = {
    "_core",
    "bounds",
    "certificate",
    "data",
    "kernels",
    "loss",
    "problem",
    "row_blocks",
    "storage",
}
SOLVING = GROUND | {"solvers", "multiclass"}
DOOR = {
    "callbacks",
    "equal_rows",
    "head_start",
    "progress",
    "validation",
    "warm_start",
}  # what stands between an estimator and its caller
ESTIMATORS = {"svc", "linear", "search", "path"}
MAY_IMPORT = {
    "loss": set(),
    "data": {"data"},
    "storage": {"_core"},
    "kernels": {"loss", "storage", "_core"},
    "problem": {"loss", "kernels"},
    "certificate": {"loss", "kernels"},
    "bounds": {"loss", "kernels"},
    "row_blocks": set(),
    "solvers": GROUND | {"solvers"},
    "multiclass": GROUND | {"solvers"},
    "warm_start": GROUND | {"solvers"},
    "callbacks": set(),
    "equal_rows": set(),
    "head_start": GROUND | {"equal_rows"},
    "validation": {"kernels"},
    "progress": set(),
    "expansion": {"equal_rows", "kernels", "multiclass", "storage"},
    "classifier": SOLVING | DOOR,
    "svc": SOLVING | DOOR | {"classifier", "expansion"},
    "linear": SOLVING | DOOR | {"classifier"},
    "search": SOLVING | DOOR | {"search", "svc", "linear"},
    "path_result": {"multiclass"},
    "path": {"kernels", "linear", "path_result", "progress", "svc", "validation"},
    "persistence": SOLVING | ESTIMATORS | {"persistence", "warm_start"},
    "plotting": SOLVING | ESTIMATORS | {"plotting"},
    "paper": SOLVING | ESTIMATORS | {"paper", "validation"},
    "dask": SOLVING | ESTIMATORS,
    "cli": SOLVING | ESTIMATORS | {"cli", "dask", "paper", "persistence", "plotting"},
    "__init__": SOLVING | ESTIMATORS | {"persistence"},
}
# Optional front ends: `import psvm` must never pull them in.
NEVER_IMPORTED = {"cli", "dask", "paper", "plotting"}


def name_of(path):
    return str(path.relative_to(ROOT))


def part_of(path):
    """The first level below the package: ``solvers/choose.py`` is a part of ``solvers``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def parts_imported_by(path):
    """First-level parts of psvm that a file imports, wherever in the file the import stands."""
    package = ("psvm", *path.relative_to(PACKAGE).parts[:-1])
    imported = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base = [*base, *(node.module.split(".") if node.module else [])]
            targets = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] != "psvm":
                continue
            # `from psvm import PSVC` names no module: it is an import of __init__.
            is_module = len(target) > 1 and target[1] in MAY_IMPORT.keys() | GROUND
            imported.add(target[1] if is_module else "__init__")
    return imported


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_imports_go_downwards(path):
    part = part_of(path)
    assert part in MAY_IMPORT, f"{name_of(path)} is new: say in MAY_IMPORT what it may import"
    forbidden = parts_imported_by(path) - MAY_IMPORT[part]
    assert not forbidden, f"{name_of(path)} must not import {sorted(forbidden)} from psvm"


def test_the_table_itself_has_no_cycle_and_no_front_end():
    seen = {"_core"}
    for part, allowed in MAY_IMPORT.items():
        # The table is written bottom-up, so whatever a part may import stands above its line.
        assert allowed <= seen | {part} | NEVER_IMPORTED, part
        assert part == "cli" or not (allowed - {part}) & NEVER_IMPORTED, part
        seen.add(part)


def test_importing_psvm_loads_no_optional_package():
    optional = ["matplotlib", "dask", *(f"psvm.{p}" for p in NEVER_IMPORTED)]
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


@pytest.mark.parametrize("path", CPP_FILES, ids=name_of)
def test_only_the_binding_knows_python(path):
    if path.stem.startswith("bind"):
        return
    header = re.search(r'#\s*include\s*[<"](Python\.h|nanobind|pybind11|numpy/)', path.read_text())
    assert header is None, f"{name_of(path)} includes {header[1]}: only bind*.cpp may"


@pytest.mark.parametrize("path", PYTHON_FILES, ids=name_of)
def test_the_library_never_prints(path):
    if part_of(path) == "cli":
        return
    lines = [
        node.lineno
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert not lines, f"{name_of(path)} prints on lines {lines}: warn, log or return instead"


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
