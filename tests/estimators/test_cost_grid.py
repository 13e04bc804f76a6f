"""A number of costs is the same list everywhere, around the scale of the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import noisy

from psvm import PSVCCV, psvm_path
from psvm.estimators.cost_grid import is_count, spread, spread_costs


def product(A, B):
    return A @ B.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", product])
def test_a_path_and_a_search_take_the_same_costs(kernel, weighted):
    X, y = noisy(n=60, d=3, seed=1)
    X = 5.0 * X
    weight = np.random.default_rng(0).integers(0, 3, size=60) if weighted else None
    rows = X @ X.T if kernel == "precomputed" else X
    path = psvm_path(rows, y, ps=2, Cs=4, kernel=kernel, sample_weight=weight)
    search = PSVCCV((2,), 4, [0.1], kernel=kernel, cv=3, refit=False)
    search.fit(rows, y, sample_weight=weight)
    assert path.Cs.tolist() == sorted({cell["C"] for cell in search.cv_results_["params"]})


def test_the_scale_is_one_over_the_spread_of_the_rows():
    """The same for the linear kernel, sparse rows and its matrix; 1 where there is a width."""
    X, _ = noisy(n=60, d=3, seed=1)
    X -= X.mean()
    weight = np.ones(60)
    costs = spread_costs(3, "linear", X, weight)
    assert costs[1] == pytest.approx(10**0.5 / (3 * X.var()))
    assert costs == pytest.approx(spread_costs(3, "linear", sp.csr_matrix(X), weight))
    assert spread_costs(3, "linear", 10.0 * X, weight) == pytest.approx(0.01 * np.array(costs))
    centred = X - X.mean(axis=0)
    spread_of_rows = (centred**2).sum(axis=1).mean()
    matrix = spread_costs(4, "precomputed", X @ X.T, weight)
    assert matrix[0] == pytest.approx(0.1 / spread_of_rows)
    assert spread_costs(4, "rbf", X, weight) == pytest.approx([0.1, 1.0, 10.0, 100.0])


def test_numbers_of_values():
    assert spread("Cs", 1, 2.0, (0.1, 10.0)) == [2.0]
    assert is_count(3)
    assert is_count(np.int64(3))
    assert not any(map(is_count, (True, 3.0, [3], "scale")))
    with pytest.raises(ValueError, match="`gammas` must be a list, or a number of values >= 1"):
        spread("gammas", 0, 1.0, (0.1, 10.0))


def test_without_weight_there_is_nothing_to_scale_by():
    assert spread_costs(1, "linear", np.eye(3), np.zeros(3)) == pytest.approx([10**0.5])
