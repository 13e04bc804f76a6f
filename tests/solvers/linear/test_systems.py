"""The systems of the Newton step against ``numpy.linalg.solve``."""

import numpy as np
import pytest
import scipy.sparse as sp

from psvm.solvers.linear.systems import (
    ActiveRows,
    Factor,
    FeatureSystem,
    RowSystem,
    best_system,
    conjugate_gradients,
)

DAMPING = 0.3


def rows_and_matrix(n=30, d=7, *, shifted=True, fit_intercept=True, seed=0):
    """Rows, weights, shift, H by its formula, and a right-hand side."""
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, d)) + 1.0, rng.uniform(0.1, 5.0, n)
    shift = X.mean(axis=0) if shifted else np.zeros(d)
    z = np.column_stack([X - shift, np.ones(n)])
    gram = (z * weight[:, None]).T @ z
    H = gram + np.diag(np.append(np.ones(d), DAMPING))
    v = rng.normal(size=d + 1)
    if not fit_intercept:
        H[-1, :-1] = H[:-1, -1] = v[-1] = 0.0
        H[-1, -1] = 1.0
    return X, weight, shift, gram, H, v


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_system_of_the_features(fit_intercept):
    """Of the Gram matrix only the lower triangle counts."""
    *_, gram, H, v = rows_and_matrix(fit_intercept=fit_intercept)
    lower = np.tril(gram) + np.triu(np.full_like(gram, 77.0), 1)
    system = FeatureSystem(lower, DAMPING, fit_intercept)
    assert system.solve(v) == pytest.approx(np.linalg.solve(H, v), rel=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse", "inner products"])
@pytest.mark.parametrize("n", [3, 30])
def test_system_of_the_rows(n, kind, fit_intercept):
    """From two blocks, shifted if dense; or from known inner products, in one block."""
    X, weight, shift, _, H, v = rows_and_matrix(
        n, shifted=kind == "dense", fit_intercept=fit_intercept
    )
    if kind == "inner products":
        parts = [ActiveRows(X, weight, X @ X.T)]
    else:
        blocks = [X[: n // 2], X[n // 2 :]]
        blocks = [sp.csr_array(block) for block in blocks] if kind == "sparse" else blocks
        weights = weight[: n // 2], weight[n // 2 :]
        parts = [ActiveRows(*pair) for pair in zip(blocks, weights, strict=True)]
    system = RowSystem(parts, shift, DAMPING, fit_intercept)
    assert system.solve(v) == pytest.approx(np.linalg.solve(H, v), rel=1e-9, abs=1e-12)


def run_conjugate_gradients(H, v, precision):
    """The solution, and how many products it took."""
    solving = conjugate_gradients(v, np.diag(H).copy(), precision)
    products, image = 0, None
    while True:
        try:
            direction = next(solving) if image is None else solving.send(image)
        except StopIteration as end:
            return end.value, products
        image = H @ direction
        products += 1


def test_conjugate_gradients_to_a_precision():
    *_, H, v = rows_and_matrix(n=200, d=40)
    exact = np.linalg.solve(H, v)
    found, products = run_conjugate_gradients(H, v, 1e-12)
    assert found == pytest.approx(exact, rel=1e-8, abs=1e-12)
    assert products <= 60
    # The precision asked for is that of the residual, in the norm of the diagonal.
    rough, fewer = run_conjugate_gradients(H, v, 1e-2)
    assert 0 < fewer < products
    residual, diagonal = v - H @ rough, np.diag(H)
    assert residual @ (residual / diagonal) <= 1.01e-4 * (v @ (v / diagonal))


def test_conjugate_gradients_of_nothing():
    found, products = run_conjugate_gradients(np.eye(4), np.zeros(4), 1e-6)
    assert products == 0
    assert not found.any()


def test_a_factor_solves_for_any_side():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(9, 9))
    A = A @ A.T + np.eye(9)
    factor = Factor(A)
    for v in rng.normal(size=(3, 9)):
        assert factor.solve(v) == pytest.approx(np.linalg.solve(A, v), rel=1e-9)


@pytest.mark.parametrize(
    ("features", "entries", "active", "inner_products", "way"),
    [
        (10, 10, 5, False, "features"),  # a Gram matrix of few features is cheap
        (10, 10, 100_000, False, "features"),
        (500, 500, 20, False, "rows"),
        (500, 500, 5000, False, "features"),
        (5000, 50, 900, False, "rows"),
        (5000, 50, 100_000, False, "gradients"),
        (5000, 50, 3000, True, "rows"),  # only to be factored
        (100, 100, 3000, True, "features"),
    ],
)
def test_the_cheapest_way(features, entries, active, inner_products, way):
    assert best_system(features, entries, active, inner_products) == way
