"""Every parameter changes the result, or the run in the way its documentation says."""

import inspect
import logging
import time

import numpy as np
import pytest
from referee import kernel_matrix
from sklearn.exceptions import ConvergenceWarning
from small_data import blobs, noisy

from psvm import PSVC
from psvm.problem import Status


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
    """A new parameter of PSVC needs a test in this file."""
    tested = set(CHANGES) | {
        "decision_function_shape", "class_weight", "tol", "max_iter", "max_time", "cache_size",
        "warm_start", "verbose", "n_jobs",
    }  # fmt: skip
    assert set(inspect.signature(PSVC).parameters) == tested


CHANGES = {
    "p": ({"p": 1.5}, {"p": 1.6}),
    "C": ({"C": 1.0}, {"C": 1.1}),
    "kernel": ({"kernel": "rbf"}, {"kernel": "laplacian"}),
    "degree": ({"kernel": "poly", "degree": 2}, {"kernel": "poly", "degree": 3}),
    "gamma": ({"gamma": 0.3}, {"gamma": 0.4}),
    "coef0": ({"kernel": "poly", "coef0": 0.5}, {"kernel": "poly", "coef0": 1.0}),
    "fit_intercept": ({"fit_intercept": True}, {"fit_intercept": False}),
    "multi_class": ({"multi_class": "ovo"}, {"multi_class": "ovr"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_parameter_changes_the_model(name, small):
    """Two values, two decision functions; the same value twice, the same one."""
    first, second = CHANGES[name]
    data = blobs(n=60, classes=3) if name == "multi_class" else small
    base = decision(data, **first)
    assert np.abs(base - decision(data, **second)).max() > 1e-3
    assert np.abs(base - decision(data, **first)).max() < 1e-9


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


def test_fit_intercept_false_has_no_intercept(small):
    X, y = small
    assert PSVC(fit_intercept=False).fit(X, y).intercept_.tolist() == [0.0]
    three = PSVC(fit_intercept=False).fit(*blobs(classes=3))
    assert three.intercept_.tolist() == [0.0, 0.0, 0.0]


def test_multi_class_ovr_has_one_problem_per_class():
    """k rows of coefficients, k intercepts, and each row is a two-class fit of its own."""
    X, y = blobs(n=80, classes=4)
    model = PSVC(multi_class="ovr", gamma=0.4).fit(X, y)
    assert model.dual_coef_.shape == (4, model.support_.size)
    assert model.intercept_.shape == (4,)
    values = model.decision_function(X)
    assert values.shape == (80, 4)
    for label in range(4):
        alone = PSVC(gamma=0.4).fit(X, y == label)
        assert values[:, label] == pytest.approx(alone.decision_function(X), abs=1e-5)
    assert np.array_equal(model.predict(X), values.argmax(axis=1))


def test_decision_function_shape():
    X, y = blobs(n=60, classes=4)
    assert PSVC(decision_function_shape="ovo").fit(X, y).decision_function(X).shape == (60, 6)
    assert PSVC(decision_function_shape="ovr").fit(X, y).decision_function(X).shape == (60, 4)


def test_class_weight_moves_the_boundary(small):
    """A dearer class is predicted more often; "balanced" is the inverse frequency."""
    X, y = small
    plain = PSVC(C=0.1).fit(X, y).predict(X)
    dearer = PSVC(C=0.1, class_weight={1.0: 10.0}).fit(X, y).predict(X)
    assert np.sum(dearer == 1.0) > np.sum(plain == 1.0)
    share = {label: y.size / (2 * np.sum(y == label)) for label in (-1.0, 1.0)}
    by_name = decision(small, class_weight="balanced")
    assert by_name == pytest.approx(decision(small, class_weight=share), abs=1e-6)


def test_tol_bounds_the_gap_and_the_work(large):
    """A smaller tol gives a smaller gap for at least as many iterations."""
    X, y = large
    loose, tight = (PSVC(C=100.0, tol=tol).fit(X, y) for tol in (1e-1, 1e-7))
    assert loose.dual_gap_[0] <= 1e-1
    assert tight.dual_gap_[0] <= 1e-7
    assert loose.dual_gap_[0] > tight.dual_gap_[0]
    assert np.sum(loose.n_iter_) < np.sum(tight.n_iter_)


def test_max_iter_stops_with_a_warning_that_carries_the_gap(large):
    """status_ and the message tell how far the fit came; the model is usable."""
    X, y = large
    with pytest.warns(ConvergenceWarning, match=r"gap.*\d") as caught:
        model = PSVC(C=100.0, max_iter=2, tol=1e-9).fit(X, y)
    assert model.status_ == [Status.MAX_ITER]
    assert np.max(model.n_iter_) <= 2
    assert model.dual_gap_[0] > 1e-9
    message = str(caught[0].message)
    assert f"{model.dual_gap_[0]:.0e}".split("e")[1] in message, "the gap that was reached"
    assert "max_iter" in message
    assert model.score(X, y) > 0.5


def test_max_time_stops_with_a_warning(large):
    """max_time bounds the seconds of the fit."""
    X, y = large
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PSVC(p=1, C=1e5, tol=1e-13, max_time=0.1).fit(X, y)
    assert time.perf_counter() - start < 2.0
    assert model.status_ == [Status.MAX_TIME]


def test_an_iteration_limit_never_makes_things_worse(large):
    """More iterations, smaller gap: the best iterate so far is what is returned."""
    X, y = large
    gaps = []
    for limit in (1, 3, 10):
        with pytest.warns(ConvergenceWarning):
            gaps.append(PSVC(C=100.0, max_iter=limit, tol=1e-12).fit(X, y).dual_gap_[0])
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0]


@pytest.mark.parametrize("megabytes", [1, 200])
def test_cache_size_does_not_change_the_model(large, megabytes):
    """Only speed and memory depend on it (memory: test_svc_runtime)."""
    X, y = large
    reference = PSVC(tol=1e-8).fit(X, y).decision_function(X)
    model = PSVC(tol=1e-8, cache_size=megabytes).fit(X, y)
    assert model.decision_function(X) == pytest.approx(reference, abs=1e-3)


@pytest.mark.parametrize("change", [{"C": 1.2}, {"p": 1.6}])
def test_warm_start_begins_at_the_old_solution(large, change):
    """After a small change of C or p the first gap is smaller and the rounds are fewer."""
    X, y = large
    cold = PSVC(**change, tol=1e-6).fit(X, y)
    warm = PSVC(warm_start=True, tol=1e-6).fit(X, y).set_params(**change).fit(X, y)
    assert warm.history_[0][0]["gap"] < cold.history_[0][0]["gap"]
    assert np.sum(warm.n_iter_) < np.sum(cold.n_iter_)
    assert warm.dual_gap_[0] <= 1e-6
    assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_warm_start_of_several_classes(multi_class):
    """Warm starts reach the same models for every pair."""
    X, y = blobs(n=300, classes=3)
    model = PSVC(warm_start=True, multi_class=multi_class).fit(X, y)
    warm = model.set_params(C=5.0, p=1.2).fit(X, y).decision_function(X)
    cold = PSVC(C=5.0, p=1.2, multi_class=multi_class).fit(X, y).decision_function(X)
    assert warm == pytest.approx(cold, abs=1e-3)


def test_warm_start_survives_other_data():
    """New data of another size: the old solution cannot be used and must not be."""
    model = PSVC(warm_start=True).fit(*noisy(n=50, seed=1))
    X, y = noisy(n=40, d=5, seed=2)
    assert model.fit(X, y).decision_function(X) == pytest.approx(
        PSVC().fit(X, y).decision_function(X), abs=1e-6
    )


def test_verbose_logs_and_never_prints(small, caplog, capfd):
    """verbose=1 writes INFO records of the logger "psvm"; verbose=0 writes none; nobody prints."""
    X, y = small
    with caplog.at_level(logging.INFO, logger="psvm"):
        PSVC(verbose=0).fit(X, y)
        assert not caplog.records
        PSVC(verbose=1).fit(X, y)
    assert any(record.name.startswith("psvm") for record in caplog.records)
    assert any("gap" in record.getMessage() for record in caplog.records)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_n_jobs_does_not_change_the_model(large, jobs):
    """The number of threads changes the time, not the answer."""
    X, y = large
    reference = PSVC(tol=1e-8).fit(X, y).decision_function(X)
    model = PSVC(tol=1e-8, n_jobs=jobs).fit(X, y)
    assert model.decision_function(X) == pytest.approx(reference, abs=1e-3)


def test_history_has_one_record_per_iteration(large, small):
    """Iterations count up (0 is the start), seconds do not go back, and the gap falls."""
    for X, y in (large, small):
        model = PSVC(C=10.0).fit(X, y)
        (records,) = model.history_
        assert {"iteration", "seconds", "gap", "primal", "dual"} <= set(records[0])
        numbers = [record["iteration"] for record in records]
        assert numbers == list(range(numbers[0], numbers[0] + len(records)))
        assert numbers[-1] == model.n_iter_[0]
        assert [r["seconds"] for r in records] == sorted(r["seconds"] for r in records)
        assert records[-1]["gap"] < records[0]["gap"]
        assert all(r["dual"] <= r["primal"] * (1 + 1e-12) for r in records)
