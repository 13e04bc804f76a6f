"""The parameters that PSVC has for itself: each changes the result as documented."""

import inspect

import numpy as np
import pytest
from estimators import SHARED
from referee import kernel_matrix
from small_data import blobs, noisy

from psvm import PSVC


@pytest.fixture(scope="module")
def small():
    return noisy(n=60, d=4, seed=1)


@pytest.fixture(scope="module")
def large():
    """Enough rows for several outer iterations."""
    return noisy(n=3000, d=8, seed=2, noise=2.0)


def decision(data, **parameters):
    X, y = data
    return PSVC(**parameters).fit(X, y).decision_function(X)


def test_every_parameter_is_tested_here():
    """A new parameter of PSVC needs a test in this file or in test_shared_parameters."""
    tested = SHARED | set(CHANGES) | {"decision_function_shape", "cache_size"}
    assert set(inspect.signature(PSVC).parameters) == tested


CHANGES = {
    "kernel": ({"kernel": "rbf"}, {"kernel": "laplacian"}),
    "degree": ({"kernel": "poly", "degree": 2}, {"kernel": "poly", "degree": 3}),
    "gamma": ({"gamma": 0.3}, {"gamma": 0.4}),
    "coef0": ({"kernel": "poly", "coef0": 0.5}, {"kernel": "poly", "coef0": 1.0}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_parameter_changes_the_model(name, small):
    """Two values, two decision functions; the same value twice, the same one."""
    first, second = CHANGES[name]
    base = decision(small, **first)
    assert np.abs(base - decision(small, **second)).max() > 1e-3
    assert np.abs(base - decision(small, **first)).max() < 1e-9


def test_defaults():
    """The defaults of the contract."""
    defaults = {
        "p": 1.5, "C": 1.0, "kernel": "rbf", "degree": 3, "gamma": "scale", "coef0": 0.0,
        "fit_intercept": True, "multi_class": "ovo", "decision_function_shape": "ovr",
        "class_weight": None, "tol": 1e-4, "max_iter": -1, "max_time": None, "cache_size": None,
        "warm_start": False, "verbose": 0, "n_jobs": None,
    }  # fmt: skip
    assert PSVC().get_params() == defaults
    assert PSVC(3).p == 3, "p is the only positional parameter"


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian", "exponential"])
def test_kernel_formula(kernel, small):
    """decision_function is the sum over support vectors of the kernel the name stands for."""
    X, y = small
    parameters = {"gamma": 0.2, "degree": 2, "coef0": 0.5}
    model = PSVC(kernel=kernel, **parameters).fit(X, y)
    other = X[:9] + 0.1
    K = kernel_matrix(kernel, other, model.support_vectors_, **parameters)
    expected = K @ model.dual_coef_[0] + model.intercept_[0]
    assert model.decision_function(other) == pytest.approx(expected, abs=1e-6)


def test_gamma_scale_is_one_over_the_weighted_variance(small):
    """gamma = 1 / (d Var X) with the rows counted by their weight."""
    X, y = small
    X = X * np.array([1.0, 2.0, 3.0, 4.0])
    weights = np.random.default_rng(0).integers(0, 3, size=y.size).astype(float)
    gamma = 1.0 / (4 * np.repeat(X, weights.astype(int), axis=0).var())
    by_name = PSVC(gamma="scale").fit(X, y, sample_weight=weights).decision_function(X)
    by_value = PSVC(gamma=gamma).fit(X, y, sample_weight=weights).decision_function(X)
    assert by_name == pytest.approx(by_value, abs=1e-6)


def test_gamma_auto_is_one_over_the_number_of_columns(small):
    assert decision(small, gamma="auto") == pytest.approx(decision(small, gamma=0.25), abs=1e-9)


def test_multi_class_ovr_has_one_row_of_coefficients_per_class():
    """k rows over all support vectors; each is a fit of its own in test_shared_parameters."""
    model = PSVC(multi_class="ovr", gamma=0.4).fit(*blobs(n=80, classes=4))
    assert model.dual_coef_.shape == (4, model.support_.size)


def test_decision_function_shape():
    X, y = blobs(n=60, classes=4)
    assert PSVC(decision_function_shape="ovo").fit(X, y).decision_function(X).shape == (60, 6)
    assert PSVC(decision_function_shape="ovr").fit(X, y).decision_function(X).shape == (60, 4)


@pytest.mark.parametrize("megabytes", [1, 200])
def test_cache_size_does_not_change_the_model(large, megabytes):
    """Only speed and memory depend on it (memory: test_svc_memory)."""
    X, y = large
    reference = PSVC(tol=1e-8).fit(X, y).decision_function(X)
    model = PSVC(tol=1e-8, cache_size=megabytes).fit(X, y)
    assert model.decision_function(X) == pytest.approx(reference, abs=1e-3)


def test_warm_start_with_another_exponent(large):
    """A larger step of p than test_shared_parameters takes still saves rounds."""
    X, y = large
    cold = PSVC(p=1.6, tol=1e-6).fit(X, y)
    warm = PSVC(warm_start=True, tol=1e-6).fit(X, y).set_params(p=1.6).fit(X, y)
    assert warm.history_[0][0]["gap"] < cold.history_[0][0]["gap"]
    assert np.sum(warm.n_iter_) < np.sum(cold.n_iter_)
    assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-5)
