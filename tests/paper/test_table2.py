"""Table 2: the published cells within one test row, honest choices of C, and a true gap."""

import re
from functools import cache

import numpy as np
import paper_data
import pytest

from psvm.estimators.linear_svc import LinearPSVC
from psvm.paper import published, recipe, rivals, table2
from psvm.paper.psmo_classifier import PSMOClassifier
from psvm.paper.recipe import Split
from psvm.paper.table_row import COLUMNS, Task

SMALL = ("glass", "vehicle", "dermatology")


@pytest.mark.parametrize("method", ["1.5L", "2L"])
@pytest.mark.parametrize("dataset", SMALL)
def test_published_cells(dataset, method):
    """Budgeted pSMO with the paper's C and seed labels at most one test row more or less rightly.

    The paper prints three decimals, so its own figure is known to 0.05 points.
    """
    paper_data.require(dataset)
    cell = next(c for c in published.table2() if (c.dataset, c.method) == (dataset, method))
    row = table2.run(Task(dataset, method, "published", "linear", table2.EXPONENTS[method]))
    one_row = 100.0 / cell.n_test
    assert abs(row["accuracy_percent"] - cell.accuracy_percent) <= one_row + 0.05
    assert row["published_accuracy_percent"] == cell.accuracy_percent
    assert (row["n_train"], row["n_test"]) == (cell.n_train, cell.n_test)
    assert row["C_best"] == table2.PUBLISHED_RUNS[dataset, row["p"]].C
    assert row["C_cv"] is None
    assert row["gap"] > 0.01  # the budget, or eps, ends far from the optimum
    assert "chosen on the test part" in row["note"]


@cache
def row_of(task):
    return table2.run(task)


def test_exact_row_is_the_certified_optimum():
    """The row is LinearPSVC at a C of the grid, solved more tightly for comparison."""
    paper_data.require("glass")
    row = row_of(Task("glass", "2L", "exact", "linear", 2.0))
    X, X_test, y, y_test = recipe.split("glass")
    assert row["C_best"] == row["C_cv"]
    assert row["C_best"] in table2.GRID
    model = LinearPSVC(p=2, C=row["C_best"], tol=1e-10).fit(X, y)
    expected = 100.0 * model.score(X_test, y_test)
    assert row["accuracy_percent"] == pytest.approx(expected)
    assert row["gap"] <= 1e-6
    assert tuple(row) == COLUMNS
    assert row["published_accuracy_percent"] == pytest.approx(76.7)
    assert row["accuracy_difference"] == pytest.approx(expected - 76.7)


@pytest.mark.parametrize("method", ["OvR", "Multi-LR", "CappedSVM"])
def test_rival_rows(method):
    """A rival's row is make_rival at its C; its published figure is said to be quoted."""
    paper_data.require("glass")
    row = row_of(Task("glass", method, "rerun"))
    X, X_test, y, y_test = recipe.split("glass")
    assert row["C_best"] in rivals.grid(method)
    model = rivals.make_rival(method, C=row["C_best"], random_state=42).fit(X, y)
    assert row["accuracy_percent"] == pytest.approx(100.0 * model.score(X_test, y_test))
    assert row["p"] is row["kernel"] is row["gap"] is None
    if method == "CappedSVM":
        assert row["published_accuracy_percent"] is row["accuracy_difference"] is None
        assert "no published figure" in row["note"]
    else:
        assert "Nie et al. (2024)" in row["note"]


@pytest.mark.parametrize(
    "task",
    [Task("glass", "2L", "exact", "linear", 2.0), Task("glass", "Multi-LR", "rerun")],
    ids=lambda task: task.key,
)
def test_the_test_part_has_no_say_in_C(task, monkeypatch):
    """Other test rows and labels: another accuracy, the same C."""
    paper_data.require("glass")
    row = row_of(task)
    rng = np.random.default_rng(0)
    X_train, X_test, y_train, y_test = recipe.split("glass")
    other = Split(X_train, rng.permutation(X_test), y_train, rng.permutation(y_test))
    monkeypatch.setattr(recipe, "split", lambda name: other)
    changed = table2.run(task)
    assert changed["C_best"] == row["C_best"]
    assert changed["accuracy_percent"] < row["accuracy_percent"] - 10.0


def three_classes():
    rng = np.random.default_rng(1)
    y = np.array(["b", "c", "a"])[np.arange(60) % 3]
    centres = {"a": (0.0, 0.0), "b": (1.5, 0.0), "c": (0.0, 1.5)}
    return np.array([centres[label] for label in y]) + rng.normal(size=(60, 2)), y


@pytest.mark.parametrize("p", [1.5, 2.0])
def test_gap_of_every_pair(p):
    """The gap bounds the distance from LinearPSVC's optimum, and vanishes with enough steps."""
    X, y = three_classes()
    best = LinearPSVC(p=p, C=0.7, multi_class="ovo", tol=1e-10).fit(X, y)
    optimum = dict(zip(("ab", "ac", "bc"), best.dual_objective_, strict=True))
    largest = []
    for max_steps in (50, 500, 50_000):
        model = PSMOClassifier(p=p, C=0.7, eps=0.0, max_steps=max_steps).fit(X, y)
        gaps = table2.pair_gaps(model, X, y)
        for pair, dual, gap in zip(model.pairs_, model.dual_objective_, gaps, strict=True):
            star = optimum["".join(sorted(model.classes_[pair]))]
            # P >= star >= D and gap = (P - D) / P, so D >= (1 - gap) star, short of rounding.
            assert star * (1.0 + 1e-9) >= dual
            assert gap >= (star - dual) / star - 1e-9
        largest.append(max(gaps))
    assert largest[0] > 0.01
    assert largest[0] > largest[1] > largest[2]
    assert largest[2] < 1e-6


def test_tasks_are_the_whole_table():
    tasks = table2.tasks()
    assert len(tasks) == 4 * (4 + len(rivals.METHODS))
    assert len({task.key for task in tasks}) == len(tasks)
    assert all(re.fullmatch(r"[\w.-]+", task.key) for task in tasks)
    cells = {(cell.dataset, cell.method) for cell in published.table2()}
    asked = {(task.dataset, task.method) for task in tasks}
    assert asked - cells == {(dataset, "CappedSVM") for dataset in published.MULTICLASS}
    assert asked >= cells
    for task in tasks:
        if task.variant == "published":
            assert (task.dataset, task.p) in table2.PUBLISHED_RUNS


def test_tasks_of_named_sets_and_quick_ones():
    some = table2.tasks(datasets=["vehicle", "cancer", "glass"])
    assert list(dict.fromkeys(task.dataset for task in some)) == ["glass", "vehicle"]
    assert table2.tasks(quick=True) == []  # a quick run needs no data but Cancer
    quick = table2.tasks(quick=True, datasets=["glass"])
    assert {task.variant for task in quick} == {"published", "exact"}
    assert {task.method for task in quick} == {"1.5L", "2L"}
