"""PSVRCV finds what GridSearchCV finds, whatever the data, splits, scorer and memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import make_scorer, mean_pinball_loss, median_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVR
from small_data import curve, real_regression

from psvm import PSVR, PSVRCV, LinearPSVR
from psvm.search.row_search import RowSearch

CS, GAMMAS, EPSILONS = [0.3, 3.0, 30.0], [0.03, 0.3], [0.3, 0.05]
LISTS = {"Cs": CS, "gammas": GAMMAS, "epsilons": EPSILONS}
GRID = {"C": CS, "gamma": GAMMAS, "epsilon": EPSILONS}


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y)


def scores(search):
    return search.cv_results_["mean_test_score"]


def assert_same_scores(search, other, tolerance=2e-4):
    assert search.cv_results_["params"] == other.cv_results_["params"]
    for split in range(search.n_splits_):
        key = f"split{split}_test_score"
        assert search.cv_results_[key] == pytest.approx(other.cv_results_[key], abs=10 * tolerance)
    assert scores(search) == pytest.approx(scores(other), abs=tolerance)


def grid_search(model, grid, X, y, cv=5, scoring=None, **params):
    return GridSearchCV(model, grid, cv=cv, scoring=scoring, refit=False).fit(X, y, **params)


@pytest.mark.parametrize("load", [diabetes, curve])
def test_same_scores_as_svr(load):
    X, y = load()
    search = PSVRCV((1,), **LISTS).fit(X, y)
    svr = grid_search(SVR(tol=1e-6), GRID, X, y)
    assert scores(search) == pytest.approx(scores(svr), abs=1e-4)
    assert search.best_score_ == scores(search).max()


@pytest.mark.parametrize("quantile", [0.5, 0.8])
def test_same_results_as_psvr(quantile):
    X, y = curve(120)
    ps = [1, 1.25, 2, 3]
    search = PSVRCV(ps, **LISTS, quantile=quantile, scoring="r2", cv=3).fit(X, y)
    own = grid_search(PSVR(quantile=quantile, tol=1e-7), {**GRID, "p": ps}, X, y, cv=3)
    assert_same_scores(search, own)
    results, theirs = search.cv_results_, own.cv_results_
    assert set(theirs) <= set(results)
    assert results["param_epsilon"].tolist() == theirs["param_epsilon"].tolist()
    best = PSVR(**search.best_params_, quantile=quantile).fit(X, y)
    assert search.predict(X) == pytest.approx(best.predict(X), abs=1e-5)
    assert (search.best_estimator_.dual_gap_ <= 1e-4).all()
    assert search.best_estimator_.get_params() == best.get_params()


def test_scores_of_splits_are_those_of_fits_one_by_one():
    X, y = curve(90)
    search = PSVRCV((1, 1.5), **LISTS, cv=3).fit(X, y)
    results = search.cv_results_
    for split, (train, test) in enumerate(KFold(3).split(X)):
        for cell in (0, 7, 13, 23):
            model = PSVR(**results["params"][cell], tol=1e-8).fit(X[train], y[train])
            expected = model.score(X[test], y[test])
            assert results[f"split{split}_test_score"][cell] == pytest.approx(expected, abs=2e-5)
    chosen = PSVR(**search.best_params_, tol=1e-8)
    held_out = np.empty(90)
    for train, test in KFold(3).split(X):
        held_out[test] = clone(chosen).fit(X[train], y[train]).predict(X[test])
    assert search.cross_val_prediction_ == pytest.approx(held_out, abs=1e-4)


def test_many_rows_are_scored_to_the_gap_that_matters():
    """Coarsely at first, on a float32 matrix; the choice and all near it finely."""
    X, y = real_regression("abalone", 1500)
    y = (y - y.mean()) / y.std()
    search = PSVRCV((1, 2), [1.0, 10.0], [0.05, 0.3], [0.1, 0.5], cv=3).fit(X, y)
    grid = {"p": [1, 2], "C": [1.0, 10.0], "gamma": [0.05, 0.3], "epsilon": [0.1, 0.5]}
    own = grid_search(PSVR(), grid, X, y, cv=3)
    assert scores(search) == pytest.approx(scores(own), abs=2e-3)
    best = search.best_index_
    assert scores(search)[best] == pytest.approx(scores(own)[best], abs=2e-4)
    assert search.cv_results_["max_dual_gap"][best] <= 1e-4
    assert scores(own).max() - scores(own)[best] < 2e-4


@pytest.mark.parametrize(
    "scoring",
    [
        "r2",
        "neg_mean_absolute_error",
        "neg_root_mean_squared_error",
        "neg_mean_squared_error",
        "neg_median_absolute_error",
        make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.2),
        lambda model, X, y: -median_absolute_error(y, model.predict(X)),
    ],
)
def test_scorers(scoring):
    X, y = curve(60)
    search = PSVRCV((1, 2), **LISTS, cv=3, scoring=scoring).fit(X, y)
    own = grid_search(PSVR(tol=1e-7), {**GRID, "p": [1, 2]}, X, y, cv=3, scoring=scoring)
    assert_same_scores(search, own, 1e-4)
    assert search.score(X, y) == search.scorer_(search.best_estimator_, X, y)


def test_a_quantile_is_scored_by_its_pinball_loss():
    X, y = curve(90)
    search = PSVRCV((1,), CS, GAMMAS, quantile=0.9, cv=3).fit(X, y)
    pinball = make_scorer(mean_pinball_loss, greater_is_better=False, alpha=0.9)
    model = PSVR(p=1, epsilon=0, quantile=0.9, tol=1e-7)
    own = grid_search(model, {"C": CS, "gamma": GAMMAS}, X, y, cv=3, scoring=pinball)
    assert scores(search) == pytest.approx(scores(own), abs=1e-4)
    assert set(search.cv_results_["param_epsilon"].tolist()) == {0.0}, "rows inside have no side"
    assert search.best_estimator_.quantile == 0.9


@pytest.mark.parametrize(
    "cv",
    [KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, test_size=0.3, random_state=0)],
    ids=["shuffled", "overlapping"],
)
def test_splitters(cv):
    X, y = curve(80)
    search = PSVRCV((1.5,), **LISTS, cv=cv).fit(X, y)
    assert_same_scores(search, grid_search(PSVR(p=1.5, tol=1e-7), {**GRID, "p": [1.5]}, X, y, cv))


def test_groups():
    X, y = curve(80)
    groups = np.arange(80) % 7
    search = PSVRCV((1,), **LISTS, cv=GroupKFold(3)).fit(X, y, groups=groups)
    own = grid_search(PSVR(tol=1e-7), {**GRID, "p": [1]}, X, y, GroupKFold(3), groups=groups)
    assert_same_scores(search, own)


@pytest.mark.parametrize("kernel", ["linear", "laplacian", "poly", "precomputed", "callable"])
def test_kernels(kernel):
    X, y = curve(90)
    lists, grid = dict(LISTS), dict(GRID)
    given, function = X, kernel
    if kernel == "precomputed":
        given = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    if kernel == "callable":

        def function(A, B):
            return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    if kernel in ("linear", "precomputed", "callable"):
        del grid["gamma"]
    search = PSVRCV((1, 2), **lists, kernel=function, cv=3).fit(given, y)
    own = grid_search(PSVR(kernel=function, tol=1e-7), {**grid, "p": [1, 2]}, given, y, cv=3)
    assert_same_scores(search, own)
    assert isinstance(search.best_estimator_, LinearPSVR if kernel == "linear" else PSVR)
    assert ("gamma" in search.best_params_) == ("gamma" in grid)
    assert search.predict(given).shape == (90,)


def test_linear_of_many_rows():
    """Solved by LinearPSVR, split by split."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_t(3, size=6000)
    lists = {"Cs": [0.01, 1.0], "epsilons": [0.1, 1.0]}
    search = PSVRCV((1, 2), **lists, kernel="linear", cv=2).fit(X, y)
    grid = {"p": [1, 2], "C": [0.01, 1.0], "epsilon": [0.1, 1.0]}
    assert_same_scores(search, grid_search(LinearPSVR(), grid, X, y, cv=2))


def test_sparse_rows_are_the_dense_ones():
    X, y = curve(90, d=6)
    X[np.abs(X) < 0.6] = 0.0
    dense, sparse = (PSVRCV((1,), **LISTS, cv=3).fit(rows, y) for rows in (X, sp.csr_matrix(X)))
    assert scores(sparse) == pytest.approx(scores(dense), abs=1e-6)


def test_without_an_intercept():
    X, y = curve(90)
    search = PSVRCV((1, 2), **LISTS, fit_intercept=False, cv=3).fit(X, y)
    model = PSVR(fit_intercept=False, tol=1e-7)
    assert_same_scores(search, grid_search(model, {**GRID, "p": [1, 2]}, X, y, cv=3))
    assert search.best_estimator_.intercept_ == [0.0]


def test_a_weight_of_two_is_a_row_twice():
    """In fits and in scores; rows that occur twice share a kernel row or have their own."""
    X, y = curve(60)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, size=60)
    times = np.repeat(np.arange(60), weight)
    folds = [(np.arange(60) % 3 != k, np.arange(60) % 3 == k) for k in range(3)]
    repeated = [(np.flatnonzero(a[times]), np.flatnonzero(b[times])) for a, b in folds]
    pairs = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]
    weighted = PSVRCV((1, 2), **LISTS, cv=pairs).fit(X, y, sample_weight=weight)
    plain = PSVRCV((1, 2), **LISTS, cv=repeated).fit(X[times], y[times])
    assert scores(weighted) == pytest.approx(scores(plain), abs=1e-5)
    assert weighted.best_params_ == plain.best_params_
    assert weighted.predict(X) == pytest.approx(plain.predict(X), abs=1e-4)
    supports = weighted.cv_results_["mean_n_support"]
    assert supports == pytest.approx(plain.cv_results_["mean_n_support"])


def test_rows_without_weight_are_absent():
    X, y = curve(60)
    weight = np.ones(60)
    weight[::4] = 0.0
    y = np.where(weight > 0.0, y, 1e3)
    kept = weight > 0.0
    pairs = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    place = np.cumsum(kept) - 1
    cut = [tuple(place[rows[kept[rows]]] for rows in pair) for pair in pairs]
    with_zeros = PSVRCV((1,), **LISTS, cv=pairs).fit(X, y, sample_weight=weight)
    without = PSVRCV((1,), **LISTS, cv=cut).fit(X[kept], y[kept])
    assert scores(with_zeros) == pytest.approx(scores(without), abs=1e-5)


def test_whole_fits_where_no_matrix_fits(monkeypatch):
    """A callable's entries must be float64: with no room for them PSVR is fitted split by split."""
    X, y = curve(90)
    runs = []
    run = RowSearch.run
    monkeypatch.setattr(RowSearch, "run", lambda self, *rest: runs.append(1) or run(self, *rest))

    def kernel(A, B):
        return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    roomy = PSVRCV((1, 2), CS, epsilons=EPSILONS, kernel=kernel, cv=3, refit=False).fit(X, y)
    before = len(runs)
    tight = clone(roomy).set_params(cache_size=1e-3).fit(X, y)
    assert len(runs) > before
    assert scores(tight) == pytest.approx(scores(roomy), abs=1e-4)
    counts = [one.cv_results_["mean_n_support"] for one in (tight, roomy)]
    assert counts[0] == pytest.approx(counts[1], abs=1.0)


def test_preprocessor_is_fitted_inside_the_folds():
    X, y = curve(90)
    X = X * [1.0, 100.0, 0.01]
    search = PSVRCV((1, 2), **LISTS, preprocessor=StandardScaler(), cv=3).fit(X, y)
    model = make_pipeline(StandardScaler(), PSVR(tol=1e-7))
    grid = {f"psvr__{name}": values for name, values in GRID.items()} | {"psvr__p": [1, 2]}
    own = grid_search(model, grid, X, y, cv=3)
    assert scores(search) == pytest.approx(scores(own), abs=1e-4)
    assert list(search.best_estimator_.named_steps) == ["preprocessor", "regressor"]
    assert search.best_estimator_[0] is search.preprocessor_
    best = make_pipeline(StandardScaler(), PSVR(**search.best_params_)).fit(X, y)
    assert search.predict(X) == pytest.approx(best.predict(X), abs=1e-5)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_y_does_not_matter(unit):
    """Default grids follow it, and so do predictions."""
    X, y = curve(60)
    options = {"ps": (1, 1.5, 3), "Cs": 3, "gammas": 2, "cv": 3}
    plain = PSVRCV(**options).fit(X, y)
    other = PSVRCV(**options).fit(X, unit * y)
    assert scores(other) == pytest.approx(scores(plain), abs=1e-6)
    assert other.best_index_ == plain.best_index_
    assert other.target_scale_ == pytest.approx(unit * plain.target_scale_)
    p = plain.best_params_["p"]
    assert other.best_params_["C"] == pytest.approx(unit ** (2 - p) * plain.best_params_["C"])
    assert other.best_params_["epsilon"] == pytest.approx(unit * plain.best_params_["epsilon"])
    assert other.predict(X) / unit == pytest.approx(plain.predict(X), rel=1e-6)
