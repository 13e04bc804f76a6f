"""Searches as the engines see them, without an estimator."""

from dataclasses import replace

import numpy as np

from psvm.estimators.targets import encode_targets
from psvm.rows.kernel import Kernel
from psvm.search.board import FoldAnswers
from psvm.search.class_problem import ClassificationProblem
from psvm.search.folds import ClassFold, Fold
from psvm.search.grid import check_grid
from psvm.search.problem import PreparedRows
from psvm.search.target_problem import RegressionProblem


def halves(n, classes=2, kernel="rbf", multi_class="ovo", d=30):
    """Two splits that train on one half of n random rows and hold out the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    codes = np.arange(n, dtype=np.int32) % classes
    X = X @ X.T if kernel == "precomputed" else X
    weight = np.ones(n)
    first, second = np.arange(n // 2), np.arange(n // 2, n)
    folds = [
        ClassFold(train, test, np.arange(classes), codes[train], weight[train])
        for train, test in ((first, second), (second, first))
    ]
    asked = check_grid([1.0, 2.0], [1.0], [0.01, 0.1], kernel=kernel)
    grid = asked.over(kernel, X, weight)
    return ClassificationProblem(
        kernel=Kernel(kernel),
        prepared=[PreparedRows.shared(X, folds)],
        codes=codes,
        classes=np.array(list("abcdef"))[:classes],
        weight=weight,
        grid=grid,
        folds=folds,
        multi_class=multi_class,
        fit_intercept=True,
    )


def target_halves(n, kernel="rbf", d=5, quantile=0.5, unit=1.0):
    """The same of rows with targets, of which row 1 has no weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = unit * (np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(3, size=n) + 2.0)
    weight = np.ones(n)
    weight[1] = 0.0
    first, second = np.arange(n // 2), np.arange(n // 2, n)
    folds = [Fold(first, second), Fold(second, first)]
    asked = check_grid([1.0, 1.5], [1.0, 10.0], [0.1, 0.5], kernel=kernel)
    asked = replace(asked, epsilons=[0.1 * unit, 0.5 * unit])
    return RegressionProblem(
        kernel=Kernel(kernel),
        prepared=[PreparedRows.shared(X, folds)],
        codes=np.zeros(n, dtype=np.int32),
        weight=weight,
        grid=asked.over(kernel, X, weight),
        folds=folds,
        fit_intercept=True,
        targets=encode_targets(y, weight, 1.0, 0.0, quantile, 2.0, True),
    )


def answers_of(problem, seed=0):
    """Random answers to all problems of all cells, the last cell unfinished."""
    rng = np.random.default_rng(seed)
    cells = range(problem.grid.size)
    found = []
    for fold, own in zip(problem.folds, problem.problems, strict=True):
        answers = FoldAnswers.empty(cells, problem.size, fold, len(own))
        for number, one in enumerate(own):
            answers.add(
                slice(0, len(cells) - 1),
                number,
                one.rows,
                decision=rng.normal(size=(len(cells) - 1, fold.test.size)),
                supports=np.ones((len(cells) - 1, one.rows.size), dtype=bool),
                gap=np.full(len(cells) - 1, 1e-5),
                seconds=np.ones(len(cells) - 1),
            )
        found.append(answers)
    return found
