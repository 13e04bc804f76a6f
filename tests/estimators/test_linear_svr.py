"""LinearPSVR as an estimator: scikit-learn's checks, parameters, blocks, starts, limits."""

import inspect
import pickle
import time

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from estimators import each_solver
from linear_regression_oracle import noisy_line
from messages import assert_mentions
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from psvm import LinearPSVR
from psvm.estimators.linear_starts import LinearTargetStart
from psvm.estimators.watch import listening
from psvm.solvers.ledger import Status

ESTIMATORS = [
    LinearPSVR(),
    LinearPSVR(p=1, epsilon=0, quantile=0.8),
    LinearPSVR(p=1, solver="semismooth_newton"),
    LinearPSVR(p=2, solver="coordinate_descent", warm_start=True),
    LinearPSVR(p=3, fit_intercept=False, epsilon=0),
    LinearPSVR(p=1.25, solver="coordinate_descent", quantile=0.2),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a regressor, none excused."""
    check(estimator)


def test_no_check_is_excused():
    """check_estimator has no expected failure, and skips only what this machine cannot run."""
    results = check_estimator(LinearPSVR(), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert all("array_api" in name for name in skipped), skipped


def test_tags():
    assert is_regressor(LinearPSVR())
    tags = sklearn.utils.get_tags(LinearPSVR())
    assert tags.input_tags.sparse
    assert tags.target_tags.required


def test_pipelines_searches_and_several_targets():
    X, y = noisy_line(n=120, d=4)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearPSVR()), {"linearpsvr__epsilon": [0.0, 0.5]}, cv=3
    ).fit(X, y)
    assert search.score(X, y) == r2_score(y, search.predict(X)) > 0.6
    both = MultiOutputRegressor(LinearPSVR()).fit(X, np.column_stack([y, -y]))
    assert both.predict(X)[:, 0] == pytest.approx(-both.predict(X)[:, 1], abs=1e-3)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        LinearPSVR().fit(X, np.column_stack([y, -y]))


def test_copies_are_equal():
    X, y = noisy_line()
    model = LinearPSVR(warm_start=True).fit(X, y)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.status_ == [Status.CONVERGED]
    same.fit(X, y)


# --- parameters ----------------------------------------------------------------------------------

DEFAULTS = {
    "p": 1.5, "C": 1.0, "epsilon": 0.1, "quantile": 0.5, "fit_intercept": True, "tol": 1e-4,
    "max_iter": -1, "max_time": None, "solver": "auto", "warm_start": False, "verbose": 0,
    "n_jobs": None,
}  # fmt: skip


def test_defaults():
    assert LinearPSVR().get_params() == DEFAULTS
    assert list(inspect.signature(LinearPSVR).parameters) == list(DEFAULTS)
    assert LinearPSVR(3).p == 3, "p is the only positional parameter"


@each_solver
@pytest.mark.parametrize(
    ("name", "value"),
    [("p", 1.6), ("C", 0.5), ("epsilon", 0.5), ("quantile", 0.6), ("fit_intercept", False)],
)
def test_parameter_changes_the_model(name, value, solver):
    X, y = noisy_line()
    base = LinearPSVR(solver=solver).fit(X, y).predict(X)
    assert (
        np.abs(base - LinearPSVR(solver=solver, **{name: value}).fit(X, y).predict(X)).max() > 1e-3
    )
    assert np.abs(base - LinearPSVR(solver=solver).fit(X, y).predict(X)).max() < 1e-9


BAD = {
    "p": 0.5, "C": 0.0, "epsilon": -0.1, "quantile": 1.0, "fit_intercept": "yes", "tol": 0.0,
    "max_iter": -2, "max_time": -1.0, "solver": "simplex", "warm_start": "yes", "verbose": "much",
    "n_jobs": "many",
}  # fmt: skip


class NotToBeLookedAt:
    """Rows that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"X was looked at: {name}")

    def __array__(self, *_, **__):
        raise AssertionError("X was looked at")


@pytest.mark.parametrize("name", BAD)
def test_parameters_are_checked_before_X(name):
    for method in ("fit", "fit_blocks"):
        model = LinearPSVR(**{name: BAD[name]})
        given = (NotToBeLookedAt(), [0.0]) if method == "fit" else (NotToBeLookedAt(),)
        with pytest.raises(ValueError, match=r".") as caught:
            getattr(model, method)(*given)
        assert_mentions(str(caught.value), f"`{name}`", str(BAD[name]))


def test_solvers_say_who_ran_and_why():
    X, y = noisy_line(n=900)
    for solver in ("semismooth_newton", "coordinate_descent"):
        (history,) = LinearPSVR(solver=solver).fit(X, y).history_
        assert history[0]["solver"] == solver
        assert history[0]["why"] == "asked for"
        assert history[-1]["gap"] <= 1e-4


def test_records_are_in_the_unit_of_y():
    X, y = noisy_line(n=900)
    heard = []
    with listening(heard.append):
        model = LinearPSVR(solver="semismooth_newton").fit(X, 1000.0 * y)
    last = model.history_[0][-1]
    assert heard[-1].record["primal"] == last["primal"]
    assert last["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-6)


# --- blocks and files ----------------------------------------------------------------------------


@each_solver
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_the_cut_does_not_matter(p, sparse, solver):
    X, y = noisy_line(n=60, d=4, seed=1)
    X = sp.csr_matrix(X * (np.abs(X) > 0.5)) if sparse else X
    weight = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    model = LinearPSVR(p, solver=solver, quantile=0.4, tol=1e-10)
    whole = clone(model).fit(X, y, weight)
    for cuts in ([], [7, 30, 31], [1, 2, 59]):
        pieces = np.split(np.arange(60), cuts)
        blocks = [(X[part], y[part], weight[part]) for part in pieces]
        parts = clone(model).fit_blocks(blocks)
        assert parts.coef_ == pytest.approx(whole.coef_, abs=1e-5)
        assert parts.intercept_ == pytest.approx(whole.intercept_, abs=1e-3)
        assert parts.primal_objective_ == pytest.approx(whole.primal_objective_, rel=1e-9)
        assert parts.status_ == [Status.CONVERGED]


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_a_file_is_read_where_it_lies(p, tmp_path):
    """A memory map gives the model of the array; so do blocks of it, at many rows."""
    X, y = noisy_line(n=80_000, d=8, seed=3)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = LinearPSVR(p, epsilon=0.3)
    array, file = clone(model).fit(X, y), clone(model).fit(mapped, y)
    blocks = [(mapped[part], y[part]) for part in np.split(np.arange(y.size), [100, 30_000])]
    parts = clone(model).fit_blocks(blocks)
    for other in (file, parts):
        assert other.primal_objective_ == pytest.approx(array.primal_objective_, rel=2e-4)
        assert other.coef_ == pytest.approx(array.coef_, abs=0.02)
        assert other.dual_gap_[0] <= 1e-4
        assert other.predict(mapped[:5]) == pytest.approx(X[:5] @ other.coef_ + other.intercept_)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array(["a", "b"] * 5), ("blocks[1]", "numbers")),
        (np.full(10, np.nan), ("blocks[1]", "NaN")),
        (np.ones((10, 2)), ("blocks[1]", "MultiOutputRegressor")),
        (np.ones(9), ("blocks[1]", "inconsistent")),
    ],
    ids=["texts", "NaN", "two", "too few"],
)
def test_a_block_that_is_wrong_is_named(y, words):
    X, good = noisy_line(n=10, d=3)
    with pytest.raises(ValueError, match=r".") as caught:
        LinearPSVR().fit_blocks([(X, good), (X, y)])
    assert_mentions(str(caught.value), *words)


# --- starts and limits ---------------------------------------------------------------------------


@each_solver
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_a_warm_start_goes_on_from_the_solution(p, solver):
    X, y = noisy_line(n=3000, d=6, seed=2)
    model = LinearPSVR(p, solver=solver, warm_start=True, epsilon=0.2).fit(X, y)
    assert isinstance(model._warm, LinearTargetStart)
    first = model.n_iter_[0]
    again = model.fit(X, y).n_iter_[0]
    assert again <= max(first / 2, 2)
    # Another C, another tube, other targets: the optimum of a cold start.
    for change, targets in (({"C": 1.3}, y), ({"epsilon": 0.25}, y), ({}, 5.0 * y + 2.0)):
        model.set_params(**change).fit(X, targets)
        cold = clone(model).set_params(warm_start=False).fit(X, targets)
        assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2.1e-4)
        assert model.dual_gap_[0] <= 1e-4
    # Another exponent, other rows, other features.
    model.set_params(p=1.75).fit(X, y)
    assert model.dual_gap_[0] <= 1e-4
    assert model.fit(X[:900], y[:900]).dual_gap_[0] <= 1e-4
    assert model.fit(X[:, :3], y).coef_.shape == (3,)


def test_limits_are_kept_and_told_of():
    X, y = noisy_line(n=20_000, d=30, seed=1)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = LinearPSVR(1, max_iter=1, tol=1e-9, solver="semismooth_newton").fit(X, y)
    assert model.n_iter_.tolist() == [1]
    assert model.status_ == [Status.MAX_ITER]
    assert model.dual_gap_[0] > 1e-9
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="raise max_time"):
        model = LinearPSVR(1, max_time=1e-3, tol=1e-12, solver="semismooth_newton").fit(X, y)
    assert model.status_ == [Status.MAX_TIME]
    assert time.perf_counter() - began < 5.0


def test_what_a_listener_raises_leaves_the_model_as_it_was():
    X, y = noisy_line(n=2000, d=6)
    model = LinearPSVR().fit(X, y)
    before = dict(vars(model))

    def interrupt(_):
        raise KeyboardInterrupt

    with listening(interrupt), pytest.raises(KeyboardInterrupt):
        model.set_params(C=5.0).fit(X, y)
    model.set_params(C=1.0)
    assert vars(model) == before


def test_attributes_that_were_changed_are_refused():
    X, y = noisy_line()
    model = LinearPSVR().fit(X, y)
    model.coef_ = model.coef_[:2]
    with pytest.raises(ValueError, match="coef_"):
        model.predict(X)
