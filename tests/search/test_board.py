"""The answers of a split: what is noted of them from many threads, and some of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from search_problems import halves

from psvm.search.board import FoldAnswers


def answers(cells=(4, 7, 9), n_problems=3):
    fold = halves(20).folds[0]
    return FoldAnswers.empty(cells, 20, fold, n_problems)


def add(to, places, number, rows, gap, supports=True):
    m = places.stop - places.start
    to.add(
        places,
        number,
        np.array(rows),
        decision=np.full((m, 10), 10.0 * number),
        supports=np.full((m, len(rows)), supports),
        gap=np.full(m, gap),
        seconds=np.full(m, 0.5),
    )


def test_a_cell_is_complete_when_all_its_problems_are():
    found = answers()
    assert not found.complete.any()
    for number in range(3):
        add(found, slice(0, 2), number, [number, number + 1], 10.0**-number)
    add(found, slice(2, 3), 0, [5], 0.5)
    assert found.complete.tolist() == [True, True, False]
    assert found.gap.tolist() == [1.0, 1.0, 0.5]  # the worst of its problems
    assert found.seconds.tolist() == [1.5, 1.5, 0.5]
    # A support vector of any problem is one of the cell.
    assert np.flatnonzero(found.support[0]).tolist() == [0, 1, 2, 3]
    assert np.flatnonzero(found.support[2]).tolist() == [5]
    add(found, slice(2, 3), 1, [5], 0.1, supports=False)
    assert found.support[2, 5]


def test_decision_values_have_a_column_per_problem():
    found = answers()
    for number in range(3):
        add(found, slice(0, 3), number, [0], 0.1)
    assert found.decision(1).shape == (10, 3)
    assert found.decision(1)[0].tolist() == [0.0, 10.0, 20.0]


def test_some_of_the_cells():
    found = answers()
    add(found, slice(1, 2), 0, [3], 0.25)
    some = found.some(np.array([False, True, True]))
    assert some.cells == [7, 9]
    assert some.gap.tolist() == [0.25, 0.0]
    assert some.solved.tolist() == [1, 0]
    assert some.values.shape == (3, 2, 10)
    assert some.support[0, 3]


def test_answers_from_many_threads_all_count():
    found = answers(cells=range(50), n_problems=20)
    with ThreadPoolExecutor(8) as pool:
        tasks = [
            pool.submit(add, found, slice(c, c + 1), number, [number], 0.1)
            for c in range(50)
            for number in range(20)
        ]
        for task in tasks:
            task.result()
    assert found.complete.all()
    assert found.seconds.tolist() == [10.0] * 50
    assert found.support.all(axis=0).tolist() == [True] * 20
