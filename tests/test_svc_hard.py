"""Ill-conditioned problems of a few hundred rows: large C, many duplicates, extreme exponents."""

import numpy as np
import pytest
from referee import SHAPES, check_certificate, kernel_matrix
from small_data import noisy

from psvm import PSVC
from psvm.problem import Status

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("C", [1e-6, 1e4, 1e6])
@pytest.mark.parametrize("p", [1, 1.001, 1.5, 3, 50])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_extreme_penalties(kernel, p, C):
    """The contract's C beyond the sizes that are always polished: certified, in seconds."""
    X, y = noisy(n=700, d=4, seed=1)
    model = PSVC(p=p, C=C, kernel=kernel, gamma=0.4).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, kernel_matrix(kernel, X), y, np.full(700, C))


@pytest.mark.parametrize("p", [1, 1.25, 2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_many_duplicates(kernel, p):
    """Rows on a coarse grid with labels at random: eta = 0 for most pairs."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(800, 3)).astype(float)
    y = np.where(rng.random(800) < 0.5, 1.0, -1.0)
    model = PSVC(p=p, C=10.0, kernel=kernel, **SHAPES).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, kernel_matrix(kernel, X), y, np.full(800, 10.0))


@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_very_unequal_classes(p):
    """Five rows against a thousand."""
    X, y = noisy(n=1005, d=3, seed=2)
    y[:] = -1.0
    y[::201] = 1.0
    model = PSVC(p=p, gamma=0.4, class_weight="balanced").fit(X, y)
    cost = np.where(y > 0, 1005 / 10, 1005 / 2000)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, kernel_matrix("rbf", X), y, cost)


@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_weights_of_many_magnitudes(p):
    """Per-row costs from 1e-6 to 1e6 in one problem."""
    X, y = noisy(n=600, d=3, seed=3)
    weights = 10.0 ** np.random.default_rng(0).uniform(-6, 6, size=600)
    model = PSVC(p=p, gamma=0.4).fit(X, y, sample_weight=weights)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, kernel_matrix("rbf", X), y, weights)


@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_kernels_of_extreme_size(scale, p):
    """A kernel multiplied by s with C / s is the same problem."""
    X, y = noisy(n=600, d=3, seed=4)
    K = kernel_matrix("rbf", X)
    reference = PSVC(p=p, kernel="precomputed").fit(K, y)
    # w scales by 1/s, and 1/2 ||w||^2 by 1/s: the loss must shrink alike.
    model = PSVC(p=p, C=1.0 / scale, kernel="precomputed").fit(K * scale, y)
    assert model.status_ == [Status.CONVERGED]
    assert model.primal_objective_[0] * scale == pytest.approx(
        reference.primal_objective_[0], rel=1e-4
    )
    assert model.decision_function(K * scale) == pytest.approx(
        reference.decision_function(K), abs=0.05
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [40, 700])
def test_hard_margin_beyond_the_polished_size(n, fit_intercept):
    """C = inf on separable data of both sizes: every margin is at least 1, the gap certified."""
    X, y = noisy(n=n, d=5, seed=5)
    K = kernel_matrix("rbf", X, gamma=2.0)
    model = PSVC(C=np.inf, gamma=2.0, fit_intercept=fit_intercept).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    assert model.dual_gap_[0] <= 1e-4
    assert np.min(y * model.decision_function(X)) >= 1 - 1e-6
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    assert model.primal_objective_[0] == pytest.approx(0.5 * coef @ K @ coef, rel=1e-6)
