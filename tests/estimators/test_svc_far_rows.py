"""Fits whose kernel would cancel or overflow: certificates and decisions in extended precision."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from exact_kernels import exact_decision, exact_gap
from sklearn.exceptions import ConvergenceWarning

from psvm import PSVC, PSVCCV, LinearPSVC

STORAGES = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_matrix}


def noisy_rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    return X, (X[:, 0] + rng.normal(size=n) > 0.0).astype(int)


def assert_claims_hold(model, X, y):
    assert exact_gap(model, X, y) <= model.dual_gap_.max() + 1e-9
    exact = exact_decision(model, X)
    assert np.max(np.abs(model.decision_function(X) - exact)) <= 1e-9 * np.max(np.abs(exact))
    sure = np.abs(exact) > 1e-6
    np.testing.assert_array_equal(model.predict(X)[sure], (exact > 0.0)[sure])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", ["rbf", "exponential", "laplacian"])
def test_rows_with_an_offset(kernel, storage, dtype):
    """Claimed were 2e-17 and true 0.41 for CSR rows, and decisions off by 1."""
    X, y = noisy_rows()
    X = STORAGES[storage]((X + 1e7).astype(dtype))
    model = PSVC(p=1.5, C=10.0, kernel=kernel, gamma=0.05).fit(X, y)
    assert_claims_hold(model, X, y)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_more_rows_than_are_kept(p, storage):
    """Two clusters, entries computed again and again, and labels read from float32 where sure."""
    X, y = noisy_rows(700)
    X[::2] += 1e6
    X = STORAGES[storage](X)
    model = PSVC(p=p, C=3.0, gamma=0.05).fit(X, y)
    assert_claims_hold(model, X, y)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("gamma", [1e9, 1e11, 1e13])
def test_a_very_narrow_kernel(gamma, storage):
    """K(x, x) = 1: claimed was a gap of 0 and true 1.8e-3 at gamma = 1e13."""
    X, y = noisy_rows()
    X = STORAGES[storage](X)
    model = PSVC(p=1.5, C=10.0, gamma=gamma).fit(X, y)
    assert_claims_hold(model, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_at_random(seed):
    rng = np.random.default_rng(seed)
    X, y = noisy_rows(int(rng.integers(20, 700)), seed)
    X = X[:, : rng.integers(1, 11)]
    if rng.random() < 0.5:
        X = X * (rng.random(X.shape) < 0.5)
    offset = 10.0 ** rng.uniform(0, 8) * (rng.random() < 0.8)
    some = rng.random(X.shape[1]) < 0.7
    X[:, some] += offset * rng.choice([-1.0, 1.0], size=(X.shape[0], 1))
    X = (X * 10.0 ** rng.uniform(-3, 3)).astype(rng.choice([np.float32, np.float64]))
    spread = float(np.std(X - X.mean(axis=0, dtype=float), dtype=float)) or 1.0
    kernel = rng.choice(["rbf", "exponential", "laplacian"])
    power = 2.0 if kernel == "rbf" else 1.0
    model = PSVC(
        p=float(rng.choice([1.0, 1.3, 2.0, 3.0])),
        C=10.0 ** rng.uniform(-2, 2),
        kernel=str(kernel),
        gamma=10.0 ** rng.uniform(-2, 2) / spread**power,
    )
    X = STORAGES[rng.choice(list(STORAGES))](X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert_claims_hold(model, X, y)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_search_far_from_the_origin(storage):
    """Scores and refit do not depend on an offset, of many features (kept distances) or few."""
    rng = np.random.default_rng(0)
    for features in (6, 150):
        X = np.round(rng.normal(size=(600, features)), 3)
        y = (X[:, 0] + rng.normal(size=600) > 0.0).astype(int)
        found = []
        for offset in (0.0, 2.0**12):
            search = PSVCCV(ps=[1.0, 2.0], Cs=[0.1, 1.0], gammas=[0.3 / features, 1.0 / features])
            found.append(search.fit(STORAGES[storage](X + offset), y))
        near, far = found
        # Within tol of the same optimum a row near the boundary may change sides.
        np.testing.assert_allclose(
            near.cv_results_["mean_test_score"], far.cv_results_["mean_test_score"], atol=0.004
        )


@pytest.mark.parametrize(
    ("kernel", "size", "gamma"),
    [("poly", 1e60, 0.1), ("poly", 1.0, 1e110), ("sigmoid", 1e90, 1e200)],
)
def test_kernel_values_that_overflow(kernel, size, gamma):
    X, y = noisy_rows(60)
    message = f"values of the {kernel} kernel .* scale X.* gamma"
    for storage in STORAGES.values():
        with pytest.raises(ValueError, match=message):
            PSVC(kernel=kernel, gamma=gamma).fit(storage(X * size), y)
    with pytest.raises(ValueError, match=message):
        PSVCCV(ps=[1.0], Cs=[1.0], kernel=kernel, gammas=[gamma]).fit(X * size, y)


def test_kernel_values_beyond_the_matrices_of_a_search():
    """These are of float32, where there are more than a few rows."""
    X, y = noisy_rows(600)
    search = PSVCCV(ps=[1.0], Cs=[1.0], kernel="poly", gammas=[1.0])
    with pytest.raises(ValueError, match=r"values of the poly kernel .* scale X"):
        search.fit(X * 1e13, y)


@pytest.mark.parametrize(("kernel", "size"), [("linear", 1e300), ("poly", 1e110)])
def test_decisions_that_overflow(kernel, size):
    X, y = noisy_rows(60)
    model = PSVC(kernel=kernel, gamma=1.0).fit(X, y)
    several = PSVC(kernel=kernel, gamma=1.0).fit(X, np.arange(60) % 3)
    model.dual_coef_ *= 1e10
    several.dual_coef_ *= 1e10
    for storage in STORAGES.values():
        for predict in (model.predict, model.decision_function, several.predict):
            with pytest.raises(ValueError, match=f"values of the {kernel} kernel .* scale X"):
                predict(storage(X * size))


def test_products_of_a_linear_model_that_overflow():
    X, y = noisy_rows(60)
    model = LinearPSVC().fit(X, y)
    model.coef_ *= 1e10
    with pytest.raises(ValueError, match="scale X"):
        model.predict(X * 1e300)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_distances_that_overflow_are_far(kernel):
    """Squares beyond the range are infinite distances, whose kernel is 0: never NaN."""
    X, y = noisy_rows(40)
    for storage in STORAGES.values():
        model = PSVC(kernel=kernel, gamma=1e250).fit(storage(X * 1e99), y)
        assert_claims_hold(model, storage(X * 1e99), y)
        near = PSVC(kernel=kernel, gamma=1.0).fit(storage(X), y)
        far = near.decision_function(storage(X * 1e307))
        np.testing.assert_array_equal(far, near.intercept_[0])


def test_a_width_by_a_variance_that_leaves_the_range():
    X, y = noisy_rows(40)
    for storage in STORAGES.values():
        with pytest.raises(ValueError, match=r"scale X"):
            PSVC().fit(storage(X * 1e-170), y)
