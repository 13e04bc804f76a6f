"""Searches as the engines see them, without an estimator."""

import numpy as np

from psvm.rows.kernel import Kernel
from psvm.search.folds import Fold
from psvm.search.grid import check_grid
from psvm.search.problem import PreparedRows, SearchProblem


def halves(n, classes=2, kernel="rbf", multi_class="ovo", d=30):
    """Two splits that train on one half of n random rows and hold out the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    codes = np.arange(n, dtype=np.int32) % classes
    X = X @ X.T if kernel == "precomputed" else X
    weight = np.ones(n)
    first, second = np.arange(n // 2), np.arange(n // 2, n)
    folds = [
        Fold(train, test, np.arange(classes), codes[train], weight[train])
        for train, test in ((first, second), (second, first))
    ]
    asked = check_grid([1.0, 2.0], [1.0], [0.01, 0.1], kernel=kernel)
    grid = asked.over(kernel, X, weight)
    return SearchProblem(
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
