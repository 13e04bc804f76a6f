"""PSVCCV finds what GridSearchCV finds, whatever the data, splits, scorer and memory."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from small_data import blobs, noisy

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.search import gram
from psvm.search.row_search import RowSearch
from psvm.search.watch import SearchWatch

CS, GAMMAS = [0.3, 3.0, 30.0], [0.01, 0.1]
GRID = {"C": CS, "gamma": GAMMAS}


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[::3], y[::3]


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def digits(n=560):
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:n] / 16.0, y[:n]


def scores(search):
    return search.cv_results_["mean_test_score"]


def assert_same_scores(search, other, tolerance=0.003):
    assert search.cv_results_["params"] == other.cv_results_["params"]
    for split in range(search.n_splits_):
        key = f"split{split}_test_score"
        assert search.cv_results_[key] == pytest.approx(other.cv_results_[key], abs=0.03)
    assert scores(search) == pytest.approx(scores(other), abs=tolerance)


def grid_search(model, grid, X, y, cv=5, scoring=None, **params):
    return GridSearchCV(model, grid, cv=cv, scoring=scoring, refit=False).fit(X, y, **params)


@pytest.mark.parametrize("load", [cancer, wine, digits])
def test_same_scores_as_svc(load):
    X, y = load()
    search = PSVCCV(ps=(1,), Cs=CS, gammas=GAMMAS).fit(X, y)
    # Where classes tie in votes, SVC takes the first of them unless told to break ties: on satimage
    # that alone moves mean scores by 0.004. With two classes there is no difference.
    svc = grid_search(SVC(break_ties=True), GRID, X, y)
    assert scores(search) == pytest.approx(scores(svc), abs=0.003)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("load", [cancer, wine])
def test_same_scores_as_psvc(load, multi_class):
    X, y = load()
    ps = [1, 1.25, 3]
    search = PSVCCV(ps, CS, GAMMAS, multi_class=multi_class, cv=3).fit(X, y)
    own = grid_search(PSVC(multi_class=multi_class), {**GRID, "p": ps}, X, y, cv=3)
    assert_same_scores(search, own)


def test_many_rows_are_searched_coarsely_and_chosen_finely():
    """Beyond 1000 rows: gaps of 1e-3, of 1e-4 near the best, and still the scores of SVC."""
    X, y = noisy(n=1200, d=6, seed=3, noise=1.0)
    search = PSVCCV(ps=(1, 1.5), Cs=CS, gammas=GAMMAS, cv=2).fit(X, y)
    own = grid_search(PSVC(), {**GRID, "p": [1, 1.5]}, X, y, cv=2)
    assert_same_scores(search, own)
    gaps = search.cv_results_["max_dual_gap"]
    near = scores(search) >= scores(search).max() - 0.001
    assert gaps.max() <= 1e-3
    assert gaps[near].max() <= 1e-4
    assert gaps.max() > 1e-4


@pytest.mark.parametrize(
    ("kernel", "extra"),
    [("laplacian", {}), ("exponential", {}), ("poly", {"coef0": 1.0, "degree": 2}),
     ("sigmoid", {"coef0": 0.1})],
)  # fmt: skip
def test_other_kernels(kernel, extra):
    X, y = noisy(n=120, d=4, seed=1)
    Cs, gammas = [0.1, 1.0], [0.01, 0.1]
    search = PSVCCV((1, 2), Cs, gammas, kernel=kernel, cv=3, **extra).fit(X, y)
    grid = {"p": [1, 2], "C": Cs, "gamma": gammas}
    own = grid_search(PSVC(kernel=kernel, **extra), grid, X, y, cv=3)
    assert_same_scores(search, own, tolerance=0.0084)


def test_kernels_without_a_width():
    """A callable, its matrix and the linear kernel agree; there is no gamma to choose."""
    X, y = noisy(n=200, d=4, seed=1, shift=3.0)
    linear = PSVCCV((1, 2), [0.1, 1.0], kernel="linear").fit(X, y)
    matrix = PSVCCV((1, 2), [0.1, 1.0], kernel="precomputed").fit(X @ X.T, y)
    assert isinstance(linear.best_estimator_, LinearPSVC)
    assert set(linear.best_params_) == {"p", "C"}
    assert_same_scores(linear, matrix)
    called = PSVCCV((1, 2), [0.1, 1.0], kernel=lambda A, B: A @ B.T).fit(X, y)
    assert set(called.best_params_) == {"p", "C"}
    assert scores(called) == pytest.approx(scores(linear), abs=0.003)
    assert matrix.predict(X @ X.T).tolist() == linear.predict(X).tolist()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_sparse_rows(kernel):
    X, y = blobs(n=120, classes=3, d=6)
    X[np.abs(X) < 1.0] = 0.0
    dense = PSVCCV((1, 2), CS, GAMMAS, kernel=kernel, cv=3).fit(X, y)
    sparse = PSVCCV((1, 2), CS, GAMMAS, kernel=kernel, cv=3).fit(sp.csr_matrix(X), y)
    assert_same_scores(sparse, dense, tolerance=0.009 if kernel == "linear" else 1e-12)
    assert sparse.score(sp.csr_matrix(X), y) == pytest.approx(dense.score(X, y), abs=0.02)


@pytest.mark.parametrize(
    "cv",
    [KFold(4, shuffle=True, random_state=0), RepeatedStratifiedKFold(n_splits=3, n_repeats=2,
     random_state=0), ShuffleSplit(4, test_size=0.2, random_state=0)],
    ids=lambda cv: type(cv).__name__,
)  # fmt: skip
def test_splitters(cv):
    X, y = wine()
    search = PSVCCV((1, 2), CS, GAMMAS, cv=cv).fit(X, y)
    own = grid_search(PSVC(), {**GRID, "p": [1, 2]}, X, y, cv=cv)
    assert_same_scores(search, own)
    held_out = np.isin(np.arange(y.size), np.concatenate([test for _, test in cv.split(X, y)]))
    assert np.array_equal(np.isfinite(search.cross_val_decision_).all(axis=1), held_out)


def test_groups():
    X, y = cancer()
    groups = np.arange(y.size) // 40
    cv = GroupKFold(4)
    search = PSVCCV((1.5,), CS, GAMMAS, cv=cv).fit(X, y, groups=groups)
    own = grid_search(PSVC(p=1.5), GRID, X, y, cv=cv, groups=groups)
    assert scores(search) == pytest.approx(scores(own), abs=0.003)
    assert search.n_splits_ == 4


@pytest.mark.parametrize("class_weight", [None, "balanced", {"no": 3.0}])
def test_weights_and_string_labels(class_weight):
    X, y = noisy(n=150, d=4, seed=5)
    y = np.where(y > 0, "yes", "no")
    weights = np.random.default_rng(0).integers(0, 4, size=y.size).astype(float)
    given = {"class_weight": class_weight, "fit_intercept": class_weight is None}
    search = PSVCCV((1, 2), CS, GAMMAS, cv=4, **given).fit(X, y, sample_weight=weights)
    own = grid_search(PSVC(**given), {**GRID, "p": [1, 2]}, X, y, cv=4, sample_weight=weights)
    assert_same_scores(search, own)
    assert search.classes_.tolist() == ["no", "yes"]
    assert set(search.predict(X)) <= {"no", "yes"}


def auc_of_scores(model, X, y):
    assert X.shape[0] == y.size
    return roc_auc_score(y, model.decision_function(X))


@pytest.mark.parametrize(
    "scoring",
    ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision", auc_of_scores,
     make_scorer(lambda y, z: float(np.mean(y == z)))],
)  # fmt: skip
def test_scorers(scoring):
    X, y = cancer()
    search = PSVCCV((1, 2), [1.0, 10.0], GAMMAS, cv=3, scoring=scoring).fit(X, y)
    own = grid_search(PSVC(), {"C": [1.0, 10.0], "gamma": GAMMAS, "p": [1, 2]}, X, y, 3, scoring)
    assert scores(search) == pytest.approx(scores(own), abs=0.003)
    assert 0.5 < search.score(X, y) <= 1.0


def test_scorers_of_probabilities():
    """Held-out probabilities come from sigmoids of the other splits."""
    X, y = wine()
    search = PSVCCV((1, 2), CS, GAMMAS, cv=4, scoring="neg_log_loss").fit(X, y)
    assert np.all(scores(search) < 0.0)
    assert search.best_score_ > -0.2
    assert search.best_score_ == scores(search).max()


def share_right_of(name):
    """A scorer that needs a column of a frame by its name."""

    def score(model, X, y):
        return float(np.average(model.predict(X) == y, weights=np.abs(X[name])))

    return score


def test_scorers_see_the_frame_that_was_given():
    X, y = cancer()
    frame = pd.DataFrame(X[:, :5], columns=list("abcde"))
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3, scoring=share_right_of("c")).fit(frame, y)
    own = grid_search(PSVC(), {**GRID, "p": [1, 2]}, frame, y, 3, share_right_of("c"))
    assert_same_scores(search, own)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_cells_without_a_score_are_not_chosen(bad):
    """As in GridSearchCV they come last, with a warning."""
    X, y = cancer()

    def score(model, X, y):
        right = np.mean(model.predict(X) == y)
        return bad if model.params_["p"] == 2 else right

    search = PSVCCV((1, 2), CS, GAMMAS, cv=3, scoring=score)
    with pytest.warns(UserWarning, match="without 6 of 12 cells"):
        search.fit(X, y)
    p, rank = np.asarray(search.cv_results_["param_p"]), search.cv_results_["rank_test_score"]
    assert search.best_params_["p"] == 1
    assert np.array_equal(np.isfinite(scores(search)), p == 1)
    assert rank[p == 2].min() > rank[p == 1].max()


# --- choice --------------------------------------------------------------------------------------


def test_ties_go_to_fewer_support_vectors():
    X, y = wine()
    search = PSVCCV(cv=3).fit(X, y)
    results = search.cv_results_
    top = np.flatnonzero(scores(search) >= scores(search).max() - 1e-12)
    assert top.size > 1
    assert search.best_index_ == min(top, key=lambda c: (results["mean_n_support"][c], c))
    assert results["rank_test_score"][search.best_index_] == 1


def test_one_standard_error():
    X, y = cancer()
    best, simple = (PSVCCV((1, 2), 6, 5, rule=rule).fit(X, y) for rule in ("best", "one_se"))
    results = simple.cv_results_
    split = np.array([results[f"split{s}_test_score"][best.best_index_] for s in range(5)])
    limit = best.best_score_ - split.std(ddof=1) / np.sqrt(5)
    allowed = scores(simple) >= limit - 1e-12
    supports = results["mean_n_support"]
    assert supports[simple.best_index_] == supports[allowed].min()
    assert supports[simple.best_index_] < supports[best.best_index_]


def test_support_vectors_are_counted():
    X, y = cancer()
    search = PSVCCV((1, 2), [1.0], [0.03], cv=3).fit(X, y)
    for cell, params in enumerate(search.cv_results_["params"]):
        counts = [
            PSVC(**params).fit(X[train], y[train]).n_support_.sum()
            for train, _ in StratifiedKFold(3).split(X, y)
        ]
        assert search.cv_results_["mean_n_support"][cell] == pytest.approx(
            np.mean(counts), rel=0.05
        )


def test_default_grids_follow_the_data():
    X, y = noisy(n=80, d=3)
    small = PSVCCV((1,), cv=2).fit(X, y).cv_results_
    large = PSVCCV((1,), cv=2).fit(1000.0 * X, y).cv_results_
    assert np.unique(small["param_gamma"]).size == 5
    assert np.unique(small["param_C"]).size == 6
    widths = [np.asarray(results["param_gamma"]) for results in (small, large)]
    assert widths[1] == pytest.approx(1e-6 * widths[0])
    assert large["mean_test_score"] == pytest.approx(small["mean_test_score"], abs=1e-9)
    scaled = PSVCCV((1,), 4, kernel="linear", cv=2)
    a, b = (clone(scaled).fit(c * X, y).cv_results_ for c in (1.0, 1000.0))
    assert np.asarray(b["param_C"]) == pytest.approx(1e-6 * np.asarray(a["param_C"]))
    assert a["mean_test_score"] == pytest.approx(b["mean_test_score"], abs=1e-9)


@pytest.mark.parametrize("word", ["scale", "auto"])
def test_a_width_by_its_name(word):
    X, y = noisy(n=80, d=4)
    search = PSVCCV((1,), [1.0], word, cv=2).fit(2.0 * X, y)
    expected = 1.0 / (4 * np.var(2.0 * X)) if word == "scale" else 0.25
    assert search.best_params_["gamma"] == pytest.approx(expected)
    assert len(search.cv_results_["params"]) == 1


def test_cv_results_have_the_keys_of_grid_search():
    X, y = noisy(n=60)
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3).fit(X, y)
    own = grid_search(PSVC(), {**GRID, "p": [1, 2]}, X, y, cv=3)
    assert set(own.cv_results_) <= set(search.cv_results_)
    for name in ("param_p", "param_C", "param_gamma"):
        assert np.ma.isMaskedArray(search.cv_results_[name])
        assert np.array_equal(search.cv_results_[name], own.cv_results_[name].astype(float))
    assert search.best_score_ == scores(search)[search.best_index_]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert len(pd.DataFrame(search.cv_results_)) == 12


def test_held_out_decisions_are_those_of_models_that_have_not_seen_the_row():
    X, y = wine()
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3).fit(X, y)
    expected = np.empty((y.size, 3))
    for train, test in StratifiedKFold(3).split(X, y):
        model = PSVC(**search.best_params_).fit(X[train], y[train])
        expected[test] = model.decision_function(X[test])
    assert search.cross_val_decision_ == pytest.approx(expected, abs=1e-6)


# --- memory and threads --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """600 rows of 140 features: distances are worth keeping."""
    X, y = noisy(n=600, d=140, seed=2, noise=2.0)
    return X, y, PSVCCV((1, 2), CS[:2], [0.002, 0.005, 0.015], cv=3, n_jobs=2)


@pytest.mark.parametrize("cache_size", [4.5, 3.0, 1.5, 0.5])
def test_less_memory_gives_equal_scores(wide, cache_size):
    """Distances and two matrices; two; one; none at all. A matrix takes 1.4 MB."""
    X, y, search = wide
    search = clone(search)
    roomy = clone(search).fit(X, y)
    tight = search.set_params(cache_size=cache_size).fit(X, y)
    assert scores(tight) == pytest.approx(scores(roomy), abs=0.003)
    assert tight.best_score_ == pytest.approx(roomy.best_score_, abs=0.003)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
@pytest.mark.parametrize("cv", [3, ShuffleSplit(3, random_state=0)])
def test_of_few_features_no_matrix_is_stored(kernel, cv):
    """Entries that are computed give what a matrix gives, and no memory is too little."""
    X, y = noisy(n=700, d=5, seed=3)
    search = PSVCCV((1, 2), CS, [0.05, 0.5], kernel=kernel, cv=cv, cache_size=0.01, n_jobs=2)
    computed = clone(search).fit(X, y)
    more_features = np.hstack([X, np.zeros((700, 20))])
    stored = search.set_params(cache_size=100.0).fit(more_features, y)
    # At most one of the held-out rows, of which there are 210 or more, is said otherwise.
    assert scores(computed) == pytest.approx(scores(stored), abs=1 / 205)
    assert computed.cv_results_["max_dual_gap"].max() <= 1e-3


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_entries_that_are_computed_give_the_held_out_values_of_a_matrix(kernel):
    """Of many features a matrix is stored; features that are 0 change no distance."""
    X, y = noisy(n=700, d=5, seed=3)
    search = PSVCCV((1.5,), [1.0], [0.5], kernel=kernel, cv=3)
    computed = clone(search).fit(X, y)
    stored = search.fit(np.hstack([X, np.zeros((700, 60))]), y)
    size = np.abs(stored.cross_val_decision_).max()
    held_out = pytest.approx(stored.cross_val_decision_, abs=0.02 * size)
    assert computed.cross_val_decision_ == held_out


def test_of_few_features_and_several_classes_a_matrix_is_stored(monkeypatch):
    """Pairs of classes share its entries; where it does not fit, entries are computed instead."""
    asked = []
    fill = gram.GramSource.fill
    monkeypatch.setattr(
        gram.GramSource, "fill", lambda *arguments: (asked.append(1), fill(*arguments))
    )
    X, y = blobs(n=600, classes=3)
    PSVCCV((1,), CS, [0.1, 0.5], cv=3, refit=False).fit(X, y)
    assert len(asked) >= 2
    asked.clear()
    PSVCCV((1,), CS, [0.1, 0.5], cv=3, refit=False, cache_size=0.1).fit(X, y)
    assert not asked


@pytest.mark.parametrize("n", [1, 16, 33, 4435])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_matrix_start_at_cache_lines(n, dtype):
    matrix = gram.empty_matrix(n, dtype)
    assert matrix.shape == (n, n)
    assert matrix.dtype == dtype
    assert matrix.ctypes.data % 64 == matrix.strides[0] % 64 == 0
    assert matrix.strides[0] // 64 % 2 == 1  # rows a power of two apart would share a cache set
    if dtype == np.float32:
        assert matrix.strides[0] * n == gram.MemoryPlan(1, False).bytes(n)


def test_long_paths_give_what_single_cells_give():
    """Held-out values are computed for some cells at a time."""
    X, y = noisy(n=600, d=5, seed=3)
    Cs = np.logspace(-1, 2, 9)
    path = PSVCCV((1, 1.5), Cs, [0.2], cv=3, refit=False).fit(X, y)
    for C in Cs[[0, 7, 8]]:
        alone = PSVCCV((1, 1.5), [C], [0.2], cv=3, refit=False).fit(X, y)
        cells = np.isclose(path.cv_results_["param_C"].astype(float), C)
        assert scores(path)[cells] == pytest.approx(scores(alone), abs=0.006)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_where_no_matrix_fits_entries_are_computed(classes, sparse, monkeypatch):
    """Not whole fits, which only kernels in float64 need."""
    X, y = blobs(n=600, classes=classes)
    X = sp.csr_matrix(X) if sparse else X
    search = PSVCCV((1, 2), CS, [0.1, 0.5], cv=3, refit=False)
    stored = clone(search).set_params(cache_size=100.0).fit(X, y)
    whole = []
    run = RowSearch.run
    monkeypatch.setattr(RowSearch, "run", lambda *given: (whole.append(1), run(*given)))
    computed = clone(search).set_params(cache_size=0.1).fit(X, y)
    assert not whole
    assert scores(computed) == pytest.approx(scores(stored), abs=0.006)
    search.set_params(cache_size=0.1, kernel="poly").fit(X, y)
    assert whole


@pytest.mark.parametrize("n_jobs", [1, 3, 16])
@pytest.mark.parametrize("features", [140, 5])
def test_threads_do_not_change_anything(wide, n_jobs, features):
    X, y, search = wide
    X = X[:, :features]
    one, many = (clone(search).set_params(n_jobs=jobs).fit(X, y) for jobs in (2, n_jobs))
    assert np.array_equal(scores(one), scores(many))
    assert np.array_equal(one.cross_val_decision_, many.cross_val_decision_)


def test_cells_that_cannot_be_solved_are_told():
    """A kernel that is far from positive semidefinite."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(90, 90))
    y = np.where(rng.random(90) > 0.5, 1, -1)
    search = PSVCCV((2,), [100.0], kernel="precomputed", cv=3, refit=False)
    with pytest.warns(ConvergenceWarning, match="max_dual_gap"):
        search.fit(K + K.T, y)
    assert search.cv_results_["max_dual_gap"].max() > 1e-2


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_splits_that_miss_a_class(multi_class):
    """As in GridSearchCV a model of two classes is scored; the absent class has -inf."""
    X, y = blobs(n=90, classes=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    # The first split trains without class 0, the second with all classes.
    splits = [(np.arange(30, 90), np.arange(30)), (np.arange(0, 90, 2), np.arange(1, 90, 2))]
    search = PSVCCV((1, 2), CS, [0.1], cv=splits, multi_class=multi_class).fit(X, y)
    grid = {"p": [1, 2], "C": CS, "gamma": [0.1]}
    own = grid_search(PSVC(multi_class=multi_class), grid, X, y, cv=splits)
    assert_same_scores(search, own)
    assert np.all(search.cross_val_decision_[:30:2, 0] == -np.inf)
    assert np.isfinite(search.cross_val_decision_[31::2]).all()
    assert search.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(90))


def test_class_weights_of_a_class_that_a_split_misses():
    X, y = blobs(n=90, classes=3)
    y[y == 2] = np.where(np.arange(30) < 2, 2, 1)  # two rows of class 2, in the first split's test
    first = np.flatnonzero(np.isin(np.arange(90), np.flatnonzero(y == 2)) | (np.arange(90) < 20))
    splits = [(np.setdiff1d(np.arange(90), first), first), (np.arange(60), np.arange(60, 90))]
    search = PSVCCV((1, 2), CS, [0.1], cv=splits, class_weight={2: 5.0}).fit(X, y)
    for cell, params in enumerate(search.cv_results_["params"]):
        for split, (train, test) in enumerate(splits):
            weight = {2: 5.0} if (y[train] == 2).any() else None
            model = PSVC(**params, class_weight=weight).fit(X[train], y[train])
            found = search.cv_results_[f"split{split}_test_score"][cell]
            assert found == pytest.approx(model.score(X[test], y[test]), abs=0.04)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_kernel_is_tried_on_its_matrix(classes, sparse, monkeypatch):
    """Hard cells go to the linear solvers, and all of them if no matrix fits: the same scores."""
    X, y = blobs(n=600, classes=classes, d=4)
    X = sp.csr_matrix(X * 30.0) if sparse else X * 30.0
    search = PSVCCV((1, 2), [1e-4, 1.0, 100.0], kernel="linear", cv=3, refit=False)
    fitted = []
    follow = RowSearch._follow
    monkeypatch.setattr(
        RowSearch, "_follow", lambda self, *given: (fitted.append(given[1]), follow(self, *given))
    )
    expected, done = [], []
    monkeypatch.setattr(SearchWatch, "expect", lambda self, count: expected.append(count))
    monkeypatch.setattr(SearchWatch, "fits_done", lambda self, count: done.append(count))
    tried = clone(search).fit(X, y)
    assert sum(done) == sum(expected) > 0, "every fit is counted once, whoever does it"
    (hard,) = fitted[:1]
    assert 0 < len(hard) < 6, "the smallest C is easy, the largest hard"
    assert tried.cv_results_["max_dual_gap"].max() <= 1e-3
    fitted.clear()
    whole = clone(search).set_params(cache_size=1e-3).fit(X, y)
    assert len(fitted[0]) == 6
    assert scores(tried) == pytest.approx(scores(whole), abs=0.006)
    assert tried.best_params_ == whole.best_params_
