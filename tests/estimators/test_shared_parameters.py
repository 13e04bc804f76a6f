"""What the parameters of both estimators do to the result, or to the run."""

import inspect
import logging
import time

import numpy as np
import pytest
from estimators import SHARED, each_class, each_way
from linear_referee import weights_of
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from small_data import blobs, noisy

from psvm import PSVC, LinearPSVC
from psvm.solvers.ledger import Status


@pytest.fixture(scope="module")
def small():
    return noisy(n=60, d=4, seed=1)


@pytest.fixture(scope="module")
def large():
    """Enough rows for several outer iterations."""
    return noisy(n=3000, d=8, seed=2, noise=2.0)


def fitted(estimator, data, **parameters):
    return clone(estimator).set_params(**parameters).fit(*data)


def decision(estimator, data, **parameters):
    return fitted(estimator, data, **parameters).decision_function(data[0])


def test_every_parameter_is_tested_here():
    """A new parameter of LinearPSVC needs a test here, one of PSVC in test_svc_parameters."""
    assert set(inspect.signature(LinearPSVC).parameters) == SHARED | {"solver"}


def test_defaults():
    """The defaults of the contract."""
    defaults = {
        "p": 1.5, "C": 1.0, "fit_intercept": True, "multi_class": "ovr", "class_weight": None,
        "tol": 1e-4, "max_iter": -1, "max_time": None, "solver": "auto", "warm_start": False,
        "verbose": 0, "n_jobs": None,
    }  # fmt: skip
    assert LinearPSVC().get_params() == defaults
    assert LinearPSVC(3).p == 3, "p is the only positional parameter"


CHANGES = {"p": (1.5, 1.6), "C": (1.0, 1.1), "fit_intercept": (True, False)}


@each_way
@pytest.mark.parametrize("name", [*CHANGES, "multi_class"])
def test_parameter_changes_the_model(estimator, name, small):
    """Two values, two decision functions; the same value twice, the same one."""
    first, second = CHANGES.get(name, ("ovo", "ovr"))
    data = blobs(n=60, classes=3) if name == "multi_class" else small
    base = decision(estimator, data, **{name: first})
    assert np.abs(base - decision(estimator, data, **{name: second})).max() > 1e-3
    assert np.abs(base - decision(estimator, data, **{name: first})).max() < 1e-9


@each_way
def test_fit_intercept_false_has_no_intercept(estimator, small):
    assert fitted(estimator, small, fit_intercept=False).intercept_.tolist() == [0.0]
    three = fitted(estimator, blobs(classes=3), fit_intercept=False)
    assert three.intercept_.tolist() == [0.0, 0.0, 0.0]


@each_way
def test_multi_class_ovr_has_one_problem_per_class(estimator):
    """k intercepts and k columns of scores, each that of a two-class fit of its own."""
    X, y = blobs(n=80, classes=4)
    model = fitted(estimator, (X, y), multi_class="ovr", tol=1e-9)
    assert model.intercept_.shape == (4,)
    values = model.decision_function(X)
    assert values.shape == (80, 4)
    for label in range(4):
        alone = decision(estimator, (X, y == label), tol=1e-9)
        assert values[:, label] == pytest.approx(alone, abs=1e-5)
    assert np.array_equal(model.predict(X), values.argmax(axis=1))


@each_way
def test_multi_class_ovo_is_one_fit_per_pair(estimator):
    """Intercepts, objectives and gaps have one entry per pair, the first class positive."""
    X, y = blobs(n=80, classes=4)
    if isinstance(estimator, PSVC):  # gamma="scale" would see other rows
        estimator = clone(estimator).set_params(gamma=0.4)
    model = fitted(estimator, (X, y), multi_class="ovo", tol=1e-9)
    _, intercept = weights_of(model) if isinstance(model, LinearPSVC) else (None, model.intercept_)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for number, (i, j) in enumerate(pairs):
        rows = np.isin(y, (i, j))
        alone = fitted(estimator, (X[rows], y[rows] == i), tol=1e-9)
        assert intercept[number] == pytest.approx(alone.intercept_[0], abs=2e-4)
        assert model.primal_objective_[number] == pytest.approx(
            alone.primal_objective_[0], rel=1e-8
        )
    for name in ("dual_gap_", "dual_objective_", "status_", "history_", "n_iter_"):
        assert len(getattr(model, name)) == 6


@each_class
def test_class_weight_moves_the_boundary(Estimator, small):
    """A dearer class is predicted more often; "balanced" is the inverse frequency."""
    X, y = small
    plain = Estimator(C=0.1).fit(X, y).predict(X)
    dearer = Estimator(C=0.1, class_weight={1.0: 10.0}).fit(X, y)
    assert np.sum(dearer.predict(X) == 1.0) > np.sum(plain == 1.0)
    assert dearer.class_weight_.tolist() == [1.0, 10.0]
    share = {label: y.size / (2 * np.sum(y == label)) for label in (-1.0, 1.0)}
    by_name = decision(Estimator(), small, class_weight="balanced")
    assert by_name == pytest.approx(decision(Estimator(), small, class_weight=share), abs=1e-6)


@each_way
def test_tol_bounds_the_gap_and_the_work(estimator, large):
    """A smaller tol gives a smaller gap for at least as many iterations."""
    loose, tight = (fitted(estimator, large, C=100.0, tol=tol) for tol in (1e-1, 1e-7))
    assert loose.dual_gap_[0] <= 1e-1
    assert tight.dual_gap_[0] <= 1e-7
    assert loose.dual_gap_[0] > tight.dual_gap_[0]
    assert np.sum(loose.n_iter_) < np.sum(tight.n_iter_)


@each_way
def test_max_iter_stops_with_a_warning_that_carries_the_gap(estimator, large):
    """status_ and the message tell how far the fit came; the model is usable."""
    with pytest.warns(ConvergenceWarning, match=r"gap.*\d") as caught:
        model = fitted(estimator, large, C=100.0, max_iter=2, tol=1e-9)
    assert model.status_ == [Status.MAX_ITER]
    assert np.max(model.n_iter_) <= 2
    assert model.dual_gap_[0] > 1e-9
    message = str(caught[0].message)
    assert type(estimator).__name__ in message
    assert f"{model.dual_gap_[0]:.0e}".split("e")[1] in message, "the gap that was reached"
    assert "max_iter" in message
    assert model.score(*large) > 0.5


@each_way
def test_max_time_stops_with_a_warning(estimator, large):
    """max_time bounds the seconds of the fit."""
    start = time.perf_counter()
    budget = 0.1 if isinstance(estimator, PSVC) else 1e-4
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = fitted(estimator, large, p=1, C=1e5, tol=1e-13, max_time=budget)
    assert time.perf_counter() - start < 2.0
    assert model.status_ == [Status.MAX_TIME]


@each_way
def test_an_iteration_limit_never_makes_things_worse(estimator, large):
    """More iterations, smaller gap: the best iterate so far is what is returned."""
    gaps = []
    newton = estimator.get_params().get("solver") == "semismooth_newton"
    for limit in (1, 2, 4) if newton else (1, 3, 10):
        with pytest.warns(ConvergenceWarning):
            model = fitted(estimator, large, C=100.0, max_iter=limit, tol=1e-14)
        gaps.append(model.dual_gap_[0])
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < gaps[0]


@each_way
@pytest.mark.parametrize("change", [{"C": 1.2}, {"p": 1.52}])
def test_warm_start_begins_at_the_old_solution(estimator, large, change):
    """After a small change of C or p the first gap is smaller and the rounds are fewer."""
    cold = fitted(estimator, large, tol=1e-6, **change)
    warm = fitted(estimator, large, warm_start=True, tol=1e-6).set_params(**change).fit(*large)
    assert warm.history_[0][0]["gap"] < cold.history_[0][0]["gap"]
    assert np.sum(warm.n_iter_) < np.sum(cold.n_iter_)
    assert warm.dual_gap_[0] <= 1e-6
    assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-5)


@each_way
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_warm_start_of_several_classes(estimator, multi_class):
    """Warm starts reach the same models for every pair."""
    data = blobs(n=300, classes=3)
    change = {"C": 5.0, "p": 1.2, "tol": 1e-7}
    model = fitted(estimator, data, warm_start=True, multi_class=multi_class)
    warm = model.set_params(**change).fit(*data).decision_function(data[0])
    cold = decision(estimator, data, multi_class=multi_class, **change)
    assert warm == pytest.approx(cold, abs=1e-3)


@each_way
def test_warm_start_survives_other_data(estimator):
    """New data of another size: the old solution cannot be used and must not be."""
    model = fitted(estimator, noisy(n=50, seed=1), warm_start=True)
    for X, y in (noisy(n=40, d=5, seed=2), blobs(n=40, classes=3, d=5)):
        expected = decision(estimator, (X, y), tol=1e-9)
        model.set_params(tol=1e-9).fit(X, y)
        assert model.decision_function(X) == pytest.approx(expected, abs=1e-5)


@each_way
def test_warm_start_survives_other_labels(estimator):
    """The same rows with other labels, or with the labels exchanged."""
    X, y = noisy(n=60, seed=1)
    shuffled = np.roll(y, 7)
    model = fitted(estimator, (X, y), warm_start=True, tol=1e-9)
    for labels in (shuffled, -shuffled, np.arange(60) % 3):
        expected = decision(estimator, (X, labels), tol=1e-9)
        assert model.fit(X, labels).decision_function(X) == pytest.approx(expected, abs=1e-5)


@each_way
def test_without_warm_start_every_fit_is_cold(estimator, large):
    """A second fit repeats the first, record by record."""
    model = fitted(estimator, large)
    first = [record["gap"] for record in model.history_[0]]
    assert [record["gap"] for record in model.fit(*large).history_[0]] == first


@each_way
def test_verbose_logs_and_never_prints(estimator, small, caplog, capfd):
    """verbose=1 writes INFO records of the logger "psvm"; verbose=0 writes none; nobody prints."""
    with caplog.at_level(logging.INFO, logger="psvm"):
        fitted(estimator, small, verbose=0)
        assert not caplog.records
        fitted(estimator, small, verbose=1)
        few = len(caplog.records)
        fitted(estimator, small, verbose=2)
    assert any(record.name.startswith("psvm") for record in caplog.records)
    assert any("gap" in record.getMessage() for record in caplog.records[:few])
    assert len(caplog.records) > 2 * few, "verbose=2 tells of every iteration"
    assert capfd.readouterr().out == ""


@each_way
@pytest.mark.parametrize("jobs", [1, 2, -1])
def test_n_jobs_does_not_change_the_model(estimator, large, jobs):
    """The number of threads changes the time, not the answer."""
    reference = decision(estimator, large, tol=1e-8)
    values = decision(estimator, large, tol=1e-8, n_jobs=jobs)
    assert values == pytest.approx(reference, abs=1e-3)


@each_way
def test_history_has_one_record_per_iteration(estimator, large, small):
    """Iterations count up (0 is the start), seconds do not go back, and the gap falls."""
    for data in (large, small):
        model = fitted(estimator, data, C=10.0)
        (records,) = model.history_
        assert {"iteration", "seconds", "gap", "primal", "dual", "solver"} <= set(records[0])
        numbers = [record["iteration"] for record in records]
        if records[0]["solver"] == "coordinate_descent":
            # The gap is not checked every time, and Newton begins where the descent ends.
            assert numbers == sorted(numbers)
        else:
            assert numbers == list(range(numbers[0], numbers[0] + len(records)))
        assert numbers[-1] == model.n_iter_[0]
        assert [r["seconds"] for r in records] == sorted(r["seconds"] for r in records)
        assert records[-1]["gap"] < records[0]["gap"]
        assert all(r["dual"] <= r["primal"] * (1 + 1e-12) for r in records)
        assert records[-1]["gap"] == pytest.approx(model.dual_gap_[0], rel=1e-3, abs=1e-9)
