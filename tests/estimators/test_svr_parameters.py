"""What the parameters of PSVR do to the result, or to the run."""

import inspect
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from processes import UNIX, interrupted
from sklearn.exceptions import ConvergenceWarning
from small_data import curve

from psvm import PSVC, PSVR
from psvm.estimators.watch import listening
from psvm.solvers.ledger import Status


@pytest.fixture(scope="module")
def large():
    """Enough rows for several outer iterations."""
    return curve(3000, d=5, noise=0.5)


def test_signature():
    """The parameters of PSVC that are not for classes, and the tube."""
    ours, theirs = (inspect.signature(one).parameters for one in (PSVR, PSVC))
    of_classes = {"multi_class", "decision_function_shape", "class_weight"}
    assert set(ours) - set(theirs) == {"epsilon", "quantile"}
    assert set(theirs) - set(ours) == of_classes
    for name in set(ours) & set(theirs):
        assert ours[name].default == theirs[name].default
        assert ours[name].kind == theirs[name].kind
    assert list(ours)[:4] == ["p", "C", "epsilon", "quantile"]


CHANGES = {
    "p": (1.5, 1.6),
    "C": (1.0, 1.1),
    "epsilon": (0.1, 0.11),
    "quantile": (0.5, 0.51),
    "kernel": ("rbf", "laplacian"),
    "gamma": ("scale", 0.7),
    "fit_intercept": (True, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_parameter_changes_the_model(name):
    X, y = curve(60)
    one, two = (PSVR(**{name: value}).fit(X, y).predict(X) for value in CHANGES[name])
    assert np.abs(one - two).max() > 1e-5
    np.testing.assert_array_equal(PSVR(**{name: CHANGES[name][0]}).fit(X, y).predict(X), one)


@pytest.mark.parametrize(("name", "values"), [("degree", (2, 3)), ("coef0", (0.0, 0.5))])
def test_parameters_of_the_polynomial(name, values):
    X, y = curve(60)
    one, two = (PSVR(kernel="poly", **{name: value}).fit(X, y).predict(X) for value in values)
    assert np.abs(one - two).max() > 1e-3


def test_tol_bounds_the_gap_and_the_work(large):
    rough, fine = (PSVR(tol=tol).fit(*large) for tol in (1e-2, 1e-7))
    assert rough.dual_gap_[0] <= 1e-2
    assert fine.dual_gap_[0] <= 1e-7 < rough.dual_gap_[0]
    assert rough.n_iter_[0] < fine.n_iter_[0]


def test_max_iter_stops_with_a_warning_that_carries_the_gap(large):
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter") as told:
        model = PSVR(max_iter=2, tol=1e-9).fit(*large)
    assert model.status_ == [Status.MAX_ITER]
    assert model.n_iter_.tolist() == [2]
    assert f"{model.dual_gap_[0]:.1e}" in str(told[0].message)


@pytest.mark.parametrize("C", [1000.0, np.inf])
def test_max_time_is_kept(C):
    X, y = curve(15_000, d=20, noise=3.0)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PSVR(C=C, tol=1e-10, max_time=0.5).fit(X, y)
    assert time.perf_counter() - began < 3.0
    assert model.status_ == [Status.MAX_TIME]
    assert np.isfinite(model.predict(X[:5])).all()


@pytest.mark.parametrize(
    "change",
    [{"C": 1.2}, {"p": 1.52}, {"epsilon": 0.12}, {"quantile": 0.52}, {"p": 1.0}],
    ids=str,
)
def test_warm_start_begins_at_the_old_solution(large, change):
    cold = PSVR(tol=1e-6, **change).fit(*large)
    warm = PSVR(tol=1e-6, warm_start=True).fit(*large).set_params(**change).fit(*large)
    assert warm.history_[0][0]["gap"] < cold.history_[0][0]["gap"]
    assert warm.dual_gap_[0] <= 1e-6
    assert warm.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-5)


def test_warm_start_in_other_weights_and_units():
    """Weights change the unit of y; the memory is in the user's."""
    X, y = curve(400)
    y = np.r_[y[:200], 100 * y[200:]]
    weight = np.r_[np.ones(200), np.full(200, 1e-6)]
    warm = PSVR(p=2, warm_start=True, tol=1e-9).fit(X, y).fit(X, y, weight)
    cold = PSVR(p=2, tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-4)


def test_warm_start_survives_other_targets_and_rows():
    X, y = curve(60)
    model = PSVR(warm_start=True, tol=1e-9).fit(X, y)
    for rows, targets in ((X, -y), (X, np.roll(y, 3)), curve(40, d=5, seed=2)):
        expected = PSVR(tol=1e-9).fit(rows, targets).predict(rows)
        np.testing.assert_allclose(model.fit(rows, targets).predict(rows), expected, atol=1e-5)


def test_the_second_fit_of_the_same_ends_at_once(large):
    model = PSVR(warm_start=True).fit(*large)
    assert model.n_iter_[0] > 2
    assert model.fit(*large).n_iter_[0] <= 1


@pytest.mark.parametrize("n", [60, 1500])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_second_fit_of_the_same_has_one_round_for_any_size_p_and_kernel(n, p, kernel):
    X, y = curve(n)
    model = PSVR(p, kernel=kernel, warm_start=True).fit(X, y).fit(X, y)
    assert model.n_iter_[0] <= 1
    assert model.dual_gap_[0] <= 1e-4


def test_verbose_logs_and_never_prints(caplog, capfd):
    data = curve(60)
    with caplog.at_level(logging.INFO, logger="psvm"):
        PSVR().fit(*data)
        assert not caplog.records
        PSVR(verbose=1).fit(*data)
        few = len(caplog.records)
        PSVR(verbose=2).fit(*data)
    assert any("gap" in record.getMessage() for record in caplog.records[:few])
    assert len(caplog.records) > 2 * few
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("n", [60, 1500])
def test_a_listener_hears_the_rounds_of_the_history_in_the_users_units(n):
    X, y = curve(n)
    heard = []
    with listening(heard.append):
        model = PSVR(epsilon=100.0, C=0.03).fit(X, 1000 * y)
    assert [one.record["gap"] for one in heard] == [one["gap"] for one in model.history_[0]]
    assert [one.record["primal"] for one in heard] == [one["primal"] for one in model.history_[0]]
    assert heard[-1].record["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-3)
    np.testing.assert_array_equal(
        model.predict(X), PSVR(epsilon=100.0, C=0.03).fit(X, 1000 * y).predict(X)
    )


def test_history_has_one_record_per_iteration(large):
    for data, parameters in (
        (large, {}),
        (curve(60), {}),
        (curve(60), {"C": np.inf, "gamma": 2.0}),
    ):
        model = PSVR(**parameters).fit(*data)
        (records,) = model.history_
        assert {"iteration", "seconds", "gap", "primal", "dual", "solver"} <= set(records[0])
        numbers = [record["iteration"] for record in records]
        assert numbers == sorted(numbers)
        assert numbers[-1] == model.n_iter_[0]
        assert [r["seconds"] for r in records] == sorted(r["seconds"] for r in records)


def test_a_callback_stops_a_fit():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

    class Enough:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, metadata):
            return context.task_name == "round" and metadata["iteration"] >= 2

    X, y = curve(3000, d=5, noise=0.5)
    with pytest.warns(ConvergenceWarning, match="request of a callback"):
        model = PSVR(tol=1e-9).set_callbacks(Enough()).fit(X, y)
    assert model.status_ == [Status.STOPPED]


def test_number_of_threads(large):
    one, two = (PSVR(n_jobs=jobs, tol=1e-8).fit(*large).predict(large[0]) for jobs in (1, 2))
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_fits_and_predictions_in_several_threads():
    problems = [(curve(300, seed=seed), 1 + seed / 4) for seed in range(6)]

    def fit(problem):
        (X, y), p = problem
        return PSVR(p=p, tol=1e-9).fit(X, y).predict(X)

    alone = [fit(problem) for problem in problems]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(fit, problems))
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_allclose(two, one, atol=1e-5)


LONG_FIT = """
    import json, sys, time
    import numpy as np
    from psvm import PSVR
    n, C = json.loads(sys.argv[1])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 30)), rng.normal(size=n)
    print("begin", flush=True)
    try:
        PSVR(tol=1e-14, C=C or np.inf).fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
    else:
        print("finished", time.monotonic(), flush=True)
"""


@UNIX
@pytest.mark.parametrize(("wait", "n", "C"), [(0.3, 20_000, 100.0), (1.5, 20_000, 0)])
def test_interrupt_is_answered_at_once(wait, n, C):
    """Ctrl-C raises KeyboardInterrupt within 0.5 s (best of two tries)."""

    def answered():
        out, sent, err = interrupted(LONG_FIT, wait, json.dumps((n, C)))
        assert out[0] == "interrupted", err
        return float(out[1]) - sent

    first = answered()
    assert first <= 0.5 or answered() <= 0.5
