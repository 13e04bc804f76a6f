"""Cells that the matrix leaves unsolved on some split go to the whole fits, and no others."""

import numpy as np
from search_problems import halves

from psvm.search.board import FoldAnswers, Listener
from psvm.search.matrix_first import MatrixFirst


class Engine:
    """Answers every cell with the gap that is given for it, on each split."""

    exact = True

    def __init__(self, problem, gaps):
        self.problem, self.gaps, self.asked = problem, gaps, []

    def run(self, paths, tol, listener):
        self.asked.append({gamma: list(cells) for gamma, cells in paths.items()})
        for gamma, cells in paths.items():
            answers = []
            for split, fold in enumerate(self.problem.folds):
                own = FoldAnswers.empty(cells, self.problem.size, fold, 1)
                gap = np.array([self.gaps[cell][split] for cell in cells])
                rows = self.problem.problems[split][0].rows
                own.add(
                    slice(0, len(cells)),
                    0,
                    rows,
                    decision=np.zeros((len(cells), fold.test.size)),
                    supports=np.ones((len(cells), rows.size), dtype=bool),
                    gap=gap,
                    seconds=np.zeros(len(cells)),
                )
                answers.append(own)
                listener.on_cells(len(cells))
            listener.on_width(gamma, answers)


def run(gaps, paths):
    problem = halves(20)
    on_matrix = Engine(problem, gaps)
    whole_fits = Engine(problem, dict.fromkeys(gaps, (0.0, 0.0)))
    counted, heard = [], []
    listener = Listener(
        counted.append,
        lambda gamma, answers: heard.append((gamma, answers[0].cells, answers[1].gap.tolist())),
        lambda: None,
    )
    engine = MatrixFirst(on_matrix, whole_fits)
    assert not engine.exact
    assert engine.head_start(0) is None
    engine.run(paths, 1e-4, listener)
    return whole_fits.asked, sum(counted), heard


def test_what_is_left_is_fitted():
    """Cell 1 is unsolved on the second split only, cell 2 on both."""
    gaps = {0: (1e-5, 1e-4), 1: (1e-5, 1e-2), 2: (1.0, 1.0), 3: (0.0, 0.0)}
    asked, counted, heard = run(gaps, {0: [0, 1], 1: [2, 3]})
    assert asked == [{0: [1], 1: [2]}]
    assert counted == 8  # every cell on two splits, once
    assert heard == [
        (0, [0], [1e-4]),
        (1, [3], [0.0]),
        (0, [1], [0.0]),
        (1, [2], [0.0]),
    ]


def test_nothing_is_left():
    asked, counted, heard = run({0: (0.0, 0.0), 1: (0.0, 0.0)}, {0: [0, 1]})
    assert asked == [{}]
    assert counted == 4
    assert [cells for _, cells, _ in heard] == [[0, 1]]


def test_nothing_is_solved():
    """Then nobody hears of answers to no cells."""
    asked, counted, heard = run({0: (1.0, 1.0)}, {0: [0]})
    assert asked == [{0: [0]}]
    assert counted == 2
    assert heard == [(0, [0], [0.0])]
