"""A search of targets, in the units of the solvers."""

import numpy as np
import pytest
from search_problems import target_halves

from psvm.estimators.starts import HeadStart
from psvm.search.board import Listener
from psvm.search.engines import choose_engines
from psvm.search.folds import FoldProblem
from psvm.search.row_search import RowSearch


def test_two_dual_rows_for_each_training_row():
    problem = target_halves(20, quantile=0.8)
    first, second = (own[0] for own in problem.problems)
    assert first.rows.tolist() == [0, *range(2, 10)], "row 1 has no weight"
    assert first.of_train.tolist() == [0, *range(2, 10)]
    assert (first.sides, second.sides) == (2, 2)
    assert first.y.tolist() == [1.0, -1.0] * 9
    assert first.cost == pytest.approx([1.6, 0.4] * 9)
    assert first.target == pytest.approx(np.repeat(problem.targets.y[first.rows], 2))
    assert first.place.tolist() == np.repeat(np.arange(9), 2).tolist()
    assert problem.fits_per_cell == 2
    assert problem.complete


def test_another_order_of_the_training_rows():
    problem = FoldProblem(
        np.array([5, 7, 9]),
        np.arange(3),
        np.tile([1.0, -1.0], 3),
        np.repeat([0.5, 0.7, 0.9], 2),
        np.arange(6.0),
    )
    other = problem.in_order(np.array([2, 0, 1]))
    assert other.rows.tolist() == [9, 5, 7]
    assert other.target.tolist() == [0.9, 0.9, 0.5, 0.5, 0.7, 0.7]
    assert other.cost.tolist() == [4.0, 5.0, 0.0, 1.0, 2.0, 3.0]
    assert problem.coef(np.array([1.0, 0.0, 0.0, 2.0, 3.0, 0.5])).tolist() == [1.0, -2.0, 2.5]


def test_units():
    problem = target_halves(20, unit=1000.0)
    scale, centre = problem.targets.scale, problem.targets.centre
    assert 250.0 < scale < 4000.0
    cells = problem.cells(range(problem.grid.size))
    assert cells.epsilon == pytest.approx(problem.grid.epsilon / scale)
    assert pytest.approx(problem.grid.C * scale ** (problem.grid.p - 2.0)) == cells.C
    assert problem.in_units(np.array([0.0, 1.0])) == pytest.approx([centre, centre + scale])
    start = problem.start(HeadStart(np.array([[1.0, -2.0]]), np.arange(2), None))
    assert start.coef == pytest.approx([scale, -2.0 * scale])


def test_support_vectors_of_a_whole_fit():
    problem = target_halves(20)
    (own,) = problem.problems[1]
    cell = next(c for c, one in enumerate(problem.grid.params) if one["epsilon"] == 0.5)
    y = problem.answers[own.rows]
    off = np.array([0.0, 0.49, -0.49, 0.5, -0.5, 0.51, -2.0, 0.4, 0.0, 0.1])
    found = problem.supports(own, y + off, cell)
    assert found.tolist() == (np.abs(off) >= 0.5).tolist()


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_matrices_and_whole_fits_agree(unit):
    from psvm import PSVR

    problem = target_halves(120, unit=unit)
    engines = choose_engines(problem, PSVR(), tol=1e-6, cache_bytes=1e8, threads=1)
    paths = {g: problem.grid.path(g, range(problem.grid.size)) for g in (0, 1)}
    found = []
    for engine in (engines.search, RowSearch(problem, PSVR())):
        told = {}
        engine.run(paths, 1e-6, Listener(lambda _: None, told.__setitem__, lambda: None))
        found.append(told)
    for gamma in paths:
        for one, other in zip(found[0][gamma], found[1][gamma], strict=True):
            assert one.cells == other.cells
            assert one.values / unit == pytest.approx(other.values / unit, abs=2e-3)
            assert (one.support != other.support).sum() <= 4
            assert one.complete.all()
            assert other.complete.all()
            assert max(one.gap.max(), other.gap.max()) <= 1e-6
