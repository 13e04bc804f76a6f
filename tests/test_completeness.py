"""Every module and every header of the core has a test: by its name, by an import, or as said here.

``solvers/sizes.py`` is tested by ``tests/solvers/test_sizes.py``, or by another test file of
``tests/solvers`` that imports it; ``cpp/base/simd.hpp`` by ``tests/cpp/base/simd.cpp``, or by any
test file, C++ or Python, that says "tests:" and then the header with its folder. What only shows
through something else stands in ``SEEN_THROUGH``.
"""

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "psvm"
CPP = TESTS.parent / "cpp"
TEST_FILES = sorted(TESTS.rglob("test_*.py"))

# Modules that are tested by what they are for: the test file of it.
SEEN_THROUGH = {
    "cli/approximation": "cli/test_large.py",
    "cli/commands/*": "cli/test_commands.py",
    "cli/completion": "cli/test_start.py",
    "cli/files/columnar": "cli/test_data.py",
    "cli/files/columns": "cli/test_data.py",
    "cli/files/matrices": "cli/test_data.py",
    "cli/files/survey": "cli/test_messy_tables.py",
    "cli/files/tables": "cli/test_formats.py",
    "cli/fitted_model": "cli/test_commands.py",
    "cli/flags": "cli/test_predict_files.py",
    "cli/interrupts": "cli/test_terminal.py",
    "cli/model_rows": "cli/test_messy_process.py",
    "cli/options": "cli/test_commands.py",
    "cli/output": "cli/test_process.py",
    "cli/row_bar": "cli/test_predict_files.py",
    "cli/scores": "cli/test_predict_and_evaluate.py",
    "cli/search_and_test": "cli/test_tune.py",
    "cli/search_report": "cli/test_tune.py",
    "cli/show": "cli/test_terminal.py",
    "dask/inputs": "dask/test_linear_svc.py",
    "dask/linear": "dask/test_linear_svc.py",
    "dask/load": "dask/test_linear_svc.py",
    "dask/predict": "dask/test_linear_svc.py",
    "estimators/callbacks": "estimators/test_scikit_learn.py",
    "estimators/kernel_input": "estimators/test_callable_kernels.py",
    "estimators/linear_svc": "estimators/test_linear_oracle.py",
    "estimators/path_result": "estimators/test_path.py",
    "estimators/path_tasks": "estimators/test_path_regression.py",
    "estimators/validation": "estimators/test_wrong_input.py",
    "paper/bound_table": "paper/test_report.py",
    "paper/command_line": "cli/test_tune.py",
    "paper/environment": "paper/test_report.py",
    "paper/errata": "paper/test_report.py",
    "paper/rivals/linear_*": "paper/test_rivals.py",
    "persistence/decision_rule": "persistence/test_export_json.py",
    "persistence/errors": "persistence/test_safety.py",
    "persistence/export_formats": "persistence/test_export_json.py",
    "persistence/json_export": "persistence/test_export_json.py",
    "persistence/libsvm_*": "persistence/test_export_libsvm.py",
    "persistence/onnx_*": "persistence/test_export_onnx.py",
    "persistence/category_*": "persistence/test_export_texts.py",
    "persistence/column_kinds": "persistence/test_export_texts.py",
    "persistence/number_steps": "persistence/test_export_steps.py",
    "persistence/summary": "persistence/test_model_file.py",
    "plotting/canvas": "plotting/test_displays.py",
    "plotting/cell_text": "plotting/test_selection.py",
    "plotting/convergence": "plotting/test_displays.py",
    "plotting/learning_process": "plotting/test_displays.py",
    "plotting/loss": "plotting/test_displays.py",
    "plotting/selection_values": "plotting/test_selection.py",
    "rows/blocks": "estimators/test_linear_blocks.py",
    "search/base": "search/test_estimator.py",
    "search/class_problem": "search/test_problem.py",
    "search/classification": "search/test_estimator.py",
    "search/regression": "search/test_regressor.py",
    "search/task": "search/test_posed.py",
    "search/models": "search/test_refit.py",
}


def modules():
    places = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    return {place.as_posix() for place in places if not place.name.startswith("__")}


def modules_imported_by(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("psvm.").replace(".", "/") for name in imported}


def modules_with_a_test():
    """Modules with a test file of their name, and those that a test file of their room imports."""
    tested = set()
    for path in TEST_FILES:
        folder = path.parent.relative_to(TESTS)
        tested.add((folder / path.stem.removeprefix("test_")).as_posix())
        room = folder.parts[:1]
        tested |= {one for one in modules_imported_by(path) if Path(one).parts[:1] == room}
    return tested


def headers():
    """Headers and their source files, as one: ``smo/working_set``."""
    places = [path.relative_to(CPP).with_suffix("") for path in CPP.rglob("*.?pp")]
    return {place.as_posix() for place in places if place.parts[0] != "bind"}


def headers_with_a_test():
    own = TESTS / "cpp"
    tested = {path.relative_to(own).with_suffix("").as_posix() for path in own.rglob("*.cpp")}
    for path in [*TEST_FILES, *own.rglob("*.cpp")]:
        found = re.findall(r"\btests: ([\w/]+)\.[ch]pp\b", path.read_text(encoding="utf-8"))
        tested |= set(found)
    return tested


def compare(those_without, excused):
    """Nothing without an excuse, and no excuse for nothing."""
    missing = {one for one in those_without if not any(fnmatch(one, name) for name in excused)}
    assert not missing, f"no test of {sorted(missing)}"
    needless = {name for name in excused if not any(fnmatch(one, name) for one in those_without)}
    assert not needless, f"tested or gone, take these lines out: {sorted(needless)}"


def test_every_module_has_a_test():
    compare(modules() - modules_with_a_test(), SEEN_THROUGH)


def test_every_header_has_a_test():
    compare(headers() - headers_with_a_test(), {})


def test_what_others_are_seen_through_exists():
    assert [name for name in SEEN_THROUGH.values() if not (TESTS / name).exists()] == []
