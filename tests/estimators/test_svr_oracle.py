"""PSVR against the conic solver, over p, epsilon, quantile, C, weights, intercept and kernels."""

import numpy as np
import pytest
import regression_oracle as oracle
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from small_data import curve

from psvm import PSVR

PS = (1.0, 1.25, 1.5, 2.0, 3.0, 7.5)
KERNELS = {
    "rbf": lambda X: rbf_kernel(X, gamma=0.5),
    "linear": linear_kernel,
    "poly": lambda X: polynomial_kernel(X, degree=2, gamma=0.5, coef0=1.0),
    "laplacian": lambda X: laplacian_kernel(X, gamma=0.5),
}


def check(model, X, y, weight=None):
    """The stored model is optimal, to the gap it claims, and its objectives are true."""
    K = KERNELS[model.kernel](X)
    weight = np.ones(y.size) if weight is None else weight
    tube = oracle.Tube.of(y.size, model.p, model.epsilon, model.quantile, model.C, weight)
    kept = weight > 0
    shown = oracle.Tube(tube.p, tube.epsilon, tube.above[kept], tube.below[kept])
    best = oracle.solve(K[np.ix_(kept, kept)], y[kept], shown, model.fit_intercept)
    coef = np.zeros(y.size)
    coef[model.support_] = model.dual_coef_[0]
    assert not coef[~kept].any()
    P = oracle.primal(K[np.ix_(kept, kept)], coef[kept], model.intercept_[0], y[kept], shown)
    assert model.primal_objective_[0] == pytest.approx(P, rel=1e-9)
    assert model.dual_gap_[0] <= model.tol
    assert P - best.upper <= (model.dual_gap_[0] + oracle.BRACKET) * P
    assert best.lower <= P * (1 + oracle.BRACKET)
    assert model.dual_objective_[0] <= best.upper * (1 + oracle.BRACKET)
    return best


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.0, 0.15])
@pytest.mark.parametrize("p", PS)
def test_every_loss(p, epsilon, quantile):
    X, y = curve(30)
    model = PSVR(p=p, C=2.0, epsilon=epsilon, quantile=quantile, gamma=0.5).fit(X, y)
    best = check(model, X, y)
    if p > 1:  # where the optimum is one point, and far from flat
        np.testing.assert_allclose(model.predict(X), best.predicted, atol=1e-3)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("p", "C"), [(1.0, 0.01), (1.5, 100.0), (3.0, 1.0)])
def test_every_kernel(p, C, kernel, fit_intercept):
    X, y = curve(28, seed=1)
    shape = {"degree": 2, "coef0": 1.0, "gamma": 0.5}
    model = PSVR(p=p, C=C, kernel=kernel, fit_intercept=fit_intercept, **shape).fit(X, y)
    check(model, X, y)
    if not fit_intercept:
        assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("p", [1.0, 1.25, 2.0])
@pytest.mark.parametrize("quantile", [0.2, 0.5])
def test_weights(p, quantile):
    X, y = curve(32, seed=2)
    weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 5.0], y.size)
    model = PSVR(p=p, C=1.5, quantile=quantile, gamma=0.5).fit(X, y, sample_weight=weight)
    check(model, X, y, weight)


@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_all_rows_inside_the_tube(epsilon):
    X, y = curve(30, seed=3)
    model = PSVR(C=np.inf, epsilon=epsilon, gamma=2.0).fit(X, y)
    best = oracle.solve(rbf_kernel(X, gamma=2.0), y, oracle.Tube.of(30, 1.0, epsilon, C=np.inf))
    assert np.abs(y - model.predict(X)).max() <= epsilon
    assert model.primal_objective_[0] == pytest.approx(best.upper, rel=2e-4)
    assert model.dual_objective_[0] <= best.upper * (1 + oracle.BRACKET)
