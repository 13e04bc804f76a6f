"""Which engine solves the cells, and what the engines have in common."""

import time

import numpy as np
import pytest
from search_problems import halves

from psvm import PSVC, LinearPSVC
from psvm.search.board import Listener
from psvm.search.engines import choose_engines
from psvm.search.gram_search import GramSearch
from psvm.search.matrix_first import MatrixFirst
from psvm.search.row_search import RowSearch


def engines_of(problem, megabytes=100.0):
    kernel = problem.kernel.function
    model = LinearPSVC(multi_class="ovo") if kernel == "linear" else PSVC(kernel=kernel)
    return choose_engines(problem, model, tol=1e-4, cache_bytes=megabytes * 2**20, threads=1)


@pytest.mark.parametrize(
    ("kernel", "n", "megabytes", "search", "final"),
    [
        ("rbf", 600, 100.0, GramSearch, GramSearch),
        ("rbf", 100, 100.0, GramSearch, RowSearch),
        ("rbf", 600, 0.1, GramSearch, GramSearch),
        ("precomputed", 600, 100.0, GramSearch, GramSearch),
        ("poly", 600, 100.0, GramSearch, GramSearch),
        ("poly", 600, 0.1, RowSearch, RowSearch),
        ("linear", 600, 100.0, MatrixFirst, RowSearch),
        ("linear", 100, 100.0, MatrixFirst, RowSearch),
        ("linear", 5100, 1000.0, RowSearch, RowSearch),
    ],
)
def test_the_engines_of_a_kernel_and_size(kernel, n, megabytes, search, final):
    """The final one is exact; it is that of the search unless that one is not."""
    engines = engines_of(halves(n, kernel=kernel, d=30 if n < 5000 else 3), megabytes)
    assert type(engines.search) is search
    assert type(engines.final) is final
    assert engines.final.exact
    assert (engines.final is engines.search) == engines.search.exact


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("n", [60, 520])
def test_engines_of_one_search_give_the_same_answers(kernel, n):
    problem = halves(n, classes=3, kernel=kernel, d=30)
    engines = engines_of(problem)
    whole = RowSearch(
        problem, LinearPSVC(multi_class="ovo") if kernel == "linear" else PSVC(kernel=kernel)
    )
    paths = {0: problem.grid.path(0, range(problem.grid.size))}
    found = {}
    for engine in (engines.search, whole):
        decisions, fits = {}, []

        def on_width(gamma, answers, decisions=decisions):
            for split, own in enumerate(answers):
                assert own.complete.all()
                assert own.gap.max() <= 1e-5
                for place, cell in enumerate(own.cells):
                    assert (cell, split) not in decisions
                    decisions[cell, split] = own.decision(place)

        engine.run(paths, 1e-5, Listener(fits.append, on_width, lambda: None))
        assert sum(fits) == len(paths[0]) * problem.fits_per_cell
        found[engine] = decisions
    one, other = found.values()
    assert set(one) == set(other) == {(cell, split) for cell in paths[0] for split in (0, 1)}
    for key, decision in other.items():
        assert one[key] == pytest.approx(decision, abs=0.01 * np.abs(decision).max())


def test_only_solutions_that_are_remembered_are_a_head_start():
    for kernel, n, known in (("rbf", 520, True), ("rbf", 60, False), ("linear", 520, False)):
        problem = halves(n, kernel=kernel)
        search = engines_of(problem).search
        assert search.head_start(0) is None, "nothing is solved yet"
        paths = {0: problem.grid.path(0, range(problem.grid.size))}
        search.run(paths, 1e-3, Listener(lambda _: None, lambda *_: None, lambda: None))
        assert (search.head_start(paths[0][0]) is not None) == known


@pytest.mark.parametrize("whole", [False, True])
def test_a_limited_run_tells_when_all_splits_have_a_cell(whole, monkeypatch):
    """And the first of all comes by itself, before the others of its p."""
    solve = GramSearch.solve

    def solve_slowly(self, *given):
        solve(self, *given)
        time.sleep(0.2)  # several looks of the main thread

    monkeypatch.setattr(GramSearch, "solve", solve_slowly)
    problem = halves(520, kernel="rbf")
    engine = RowSearch(problem, PSVC()) if whole else engines_of(problem).search
    paths = {0: problem.grid.path(0, range(problem.grid.size))}
    done, at_first = [], []

    def run(end):
        done.clear()
        at_first.clear()
        told = Listener(
            done.append, lambda *_: None, lambda: None, end, lambda: at_first.append(sum(done))
        )
        engine.run(paths, 1e-2, told)

    run(np.inf)
    assert at_first == []
    run(1e15)
    assert at_first[0] == 2  # two splits


def test_whole_fits_of_a_limited_run_begin_with_one_cell_on_all_splits():
    problem = halves(520, kernel="linear")
    cells = problem.grid.path(0, range(problem.grid.size))
    order = []

    class Noted(RowSearch):
        def _fit(self, model, cell, split, *rest):
            order.append((cell, split))
            super()._fit(model, cell, split, *rest)

    engine = Noted(problem, LinearPSVC(multi_class="ovo"))
    engine.run({0: cells}, 1e-2, Listener(lambda _: None, lambda *_: None, lambda: None, 1e15))
    assert order[:2] == [(cells[0], 0), (cells[0], 1)]
    assert sorted(order) == sorted((cell, split) for cell in cells for split in (0, 1))
