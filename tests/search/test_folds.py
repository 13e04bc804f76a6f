"""Splits as problems over one order of the rows."""

import numpy as np
import pytest
from search_problems import halves

from psvm.search.folds import ClassFold, ranges_of, read_splits, row_order


def test_ranges_hold_the_rows_and_no_others():
    rows = np.array([0, 1, 2, 5, 7, 8])
    assert ranges_of(rows).tolist() == [[0, 3], [5, 6], [7, 9]]
    assert ranges_of(np.array([4])).tolist() == [[4, 5]]
    assert ranges_of(np.arange(9)).tolist() == [[0, 9]]


@pytest.mark.parametrize("classes", [2, 4])
def test_in_their_order_the_rows_of_a_problem_are_few_ranges(classes):
    """One per class that takes part, although rows are given in any order."""
    problem = halves(80, classes)
    order = row_order(problem.codes, [fold.test for fold in problem.folds])
    place = np.argsort(order)
    assert sorted(order.tolist()) == list(range(80))
    for own in problem.problems:
        for one in own:
            assert len(ranges_of(np.sort(place[one.rows]))) <= 2


def test_rows_without_cost_take_no_part():
    rows = np.arange(6)
    cost = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 0.0])
    codes = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    fold = ClassFold(rows, rows, np.arange(3), codes, cost)
    problems = fold.problems("ovo")
    assert [one.rows.tolist() for one in problems] == [[0, 3, 4], [0, 2, 3], [2, 4]]
    assert [one.y.tolist() for one in problems] == [[1, 1, -1], [1, -1, 1], [-1, 1]]
    assert problems[1].cost.tolist() == [1.0, 2.0, 1.0]


def test_splits_must_have_rows():
    masks = np.array([True, False, True]), np.array([False, True, False])
    ((train, test),) = read_splits([masks], 3)
    assert (train.tolist(), test.tolist()) == ([0, 2], [1])
    with pytest.raises(ValueError, match="split 0 has 3 and 0"):
        read_splits([(np.arange(3), np.arange(0))], 3)
    with pytest.raises(ValueError, match="at least one split"):
        read_splits([], 3)
