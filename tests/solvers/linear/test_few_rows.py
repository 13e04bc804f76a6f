"""Fewer rows than features: solved in coordinates of the rows, certified over the features."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from linear_referee import check_solutions

from psvm import LinearPSVC
from psvm.solvers.linear import choose


def wide(n, d, classes=2, seed=0):
    """Rows with a rule in the first features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2.0
    y = np.argsort(np.argsort(X[:, :5].sum(axis=1) + rng.normal(size=n))) * classes // n
    return X, y


@pytest.fixture
def by_rows(monkeypatch):
    """How often a fit went by rows, and what it got."""
    answers = []
    real = choose.solve_by_rows

    def spy(*arguments, **options):
        answers.append(real(*arguments, **options))
        return answers[-1]

    monkeypatch.setattr(choose, "solve_by_rows", spy)
    return answers


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_optimum_over_the_features(p, intercept, heard, by_rows):
    X, y = wide(40, 100)
    for rows in (X, X.astype(np.float32), sp.csr_matrix(X * (np.abs(X - 2.0) > 1.0))):
        model = LinearPSVC(p, C=0.05, fit_intercept=intercept).fit(rows, y)
        check_solutions(model, heard)
        dense = rows.toarray() if sp.issparse(rows) else rows.astype(float)
        best = oracle.solve_linear(dense, 2.0 * y - 1.0, 0.05 * np.ones(40), p, intercept)
        assert model.primal_objective_[0] <= best.upper * (1 + 1e-7)
    assert len(by_rows) == 3


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class, heard, by_rows):
    X, y = wide(90, 200, classes=3)
    check_solutions(LinearPSVC(1.5, multi_class=multi_class).fit(X, y), heard)
    assert len(by_rows) == 1


def test_equal_rows_and_rows_of_zeros(heard, by_rows):
    """Inner products without a factor of their own, or none at all."""
    X, y = wide(40, 100)
    X[20:] = X[:20]
    check_solutions(LinearPSVC(2, C=10.0).fit(X, y), heard)
    X[:] = 0.0
    check_solutions(LinearPSVC(2, C=10.0).fit(X, np.arange(40) % 2), heard)
    assert by_rows[0] is not None
    assert by_rows[1] is None


def test_many_rows_of_very_many_features_are_descended(by_rows):
    """Their inner products would cost more than passes over them."""
    X, y = wide(600, 1200)
    LinearPSVC(2, C=1e-4).fit(X, y)
    LinearPSVC(2, C=1e-4).fit(sp.csr_matrix(X[:, :900] * (X[:, :900] > 3.0)), y)
    assert not by_rows
    LinearPSVC(2, C=1e-4).fit(X[:, :900], y)
    assert len(by_rows) == 1
