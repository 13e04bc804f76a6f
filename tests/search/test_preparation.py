"""A preprocessor inside the search: fitted to the training rows of every split, and to all rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from old_packages import needs_polars_in_sklearn
from prepared_searches import (
    CS,
    GAMMAS,
    GRID,
    PS,
    Spy,
    assert_same_cells,
    grid_search,
    search_of,
    split_list,
)
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import make_scorer
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC


def table(n=180, seed=0):
    """A frame of numbers with holes and texts, and labels that follow from both."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170.0, 10.0, n),
            "town": rng.choice(["Aarhus", "Bern", "Cork"], n),
            "weight": rng.normal(70.0, 8.0, n),
        }
    )
    signal = (frame["height"] - 170.0) / 10.0 + (frame["town"] == "Bern") * 2.0 - 0.7
    y = np.where(signal + 0.3 * rng.normal(size=n) > 0.0, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "height"] = np.nan
    return frame, y


def for_table():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer([("numbers", numbers, ["height", "weight"]), ("t", texts, ["town"])])


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setattr(Spy, "seen", [])
    return Spy()


# --- the same as GridSearchCV of a pipeline ------------------------------------------------------


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_scores_of_every_cell_are_those_of_a_grid_search_of_the_pipeline(load):
    X, y = load(return_X_y=True)
    X, y = X[::2], y[::2]
    before = make_pipeline(StandardScaler(), SelectKBest(k=6))
    search = search_of(before).fit(X, y)
    own = grid_search(before, PSVC(), X, y, GRID)
    assert_same_cells(search, own)
    assert search.best_score_ == pytest.approx(own.best_score_)
    svc = grid_search(before, SVC(break_ties=True), X, y, {"C": CS, "gamma": GAMMAS})
    alone = PSVCCV([1], CS, GAMMAS, preprocessor=before).fit(X, y)
    assert_same_cells(alone, svc, 0.03)
    assert alone.cv_results_["mean_test_score"] == pytest.approx(
        svc.cv_results_["mean_test_score"], abs=0.004
    )


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (1200, {}),  # float32 matrices, coarse and then fine
        (1200, {"cache_size": 0.1}),  # entries computed when they are needed
        (1200, {"kernel": "poly", "coef0": 1.0, "degree": 2, "cache_size": 0.1}),  # whole fits
        (300, {"kernel": "linear"}),  # on a matrix first
        (300, {"multi_class": "ovr"}),
        (300, {"cv": ShuffleSplit(3, train_size=0.4, test_size=0.2, random_state=0)}),
        (300, {"cv": [(np.arange(200), np.arange(250)), (np.arange(100, 300), np.arange(90))]}),
    ],
)
def test_every_engine_and_any_splits(n, options):
    """Also where a split leaves rows out, or tests with rows that it trains on."""
    X, y = noisy(n=n, d=30, seed=3, noise=1.0)
    y = y + (X[:, 0] > 1.0)
    before = make_pipeline(StandardScaler(), PCA(26, random_state=0))
    search = search_of(before, **{"cv": 2, **options}).fit(X, y)
    given = {k: v for k, v in options.items() if k in ("coef0", "degree", "kernel", "multi_class")}
    linear = given.pop("kernel", "rbf") == "linear"
    pairs = LinearPSVC(multi_class="ovo")
    model = pairs if linear else PSVC(**{**given, "kernel": options.get("kernel", "rbf")})
    grid = {"p": PS, "C": CS} if linear else GRID
    own = grid_search(before, model, X, y, grid, cv=search.cv, refit=False)
    means = search.cv_results_["mean_test_score"]
    assert means == pytest.approx(own.cv_results_["mean_test_score"], abs=0.006)
    assert_same_cells(search, own, 0.03)
    held_out = np.unique(np.concatenate([test for _, test in split_list(search.cv, X, y)]))
    known = np.isfinite(search.cross_val_decision_.reshape(n, -1)).all(axis=1)
    assert np.array_equal(np.flatnonzero(known), held_out)


def test_many_features_keep_the_distances_of_every_split_or_none():
    X, y = noisy(n=640, d=140, seed=2, noise=1.0)
    roomy = search_of(StandardScaler(), cv=2).fit(X, y)
    tight = search_of(StandardScaler(), cv=2, cache_size=3.5).fit(X, y)
    assert_same_cells(roomy, tight, 0.01)


def test_the_final_model_is_that_of_a_pipeline():
    X, y = load_wine(return_X_y=True)
    before = make_pipeline(StandardScaler(), SelectKBest(k=6))
    search = search_of(before).fit(X, y)
    own = make_pipeline(before, PSVC(**search.best_params_)).fit(X, y)
    assert search.decision_function(X) == pytest.approx(own.decision_function(X), abs=1e-9)
    assert search.predict(X).tolist() == own.predict(X).tolist()
    assert search.score(X, y) == own.score(X, y)
    assert search.best_estimator_.predict(X).tolist() == own.predict(X).tolist()
    assert search.best_estimator_[0] is search.preprocessor_
    assert isinstance(search.best_estimator_[-1], PSVC)
    assert search.n_features_in_ == 13


def test_many_rows_start_from_the_solutions_of_the_splits():
    X, y = noisy(n=1200, d=6, seed=3, noise=1.0)
    search = search_of(StandardScaler(), cv=2).fit(X, y)
    own = make_pipeline(StandardScaler(), PSVC(**search.best_params_)).fit(X, y)
    own_model, model = own[-1], search.best_estimator_[-1]
    assert model.dual_gap_.max() <= 1e-4
    assert model.primal_objective_ == pytest.approx(own_model.primal_objective_, rel=1e-4)


def test_transformers_that_treat_their_own_rows_in_another_way():
    """As TargetEncoder: fit_transform is not fit and then transform; a Pipeline calls the first."""

    class Odd(StandardScaler):
        def fit_transform(self, X, y=None, **metadata):
            return super().fit_transform(X, y) + np.where(y > 0, 0.4, -0.4)[:, None]

    X, y = noisy(n=90, d=3)
    search = search_of(Odd(), cv=3).fit(X, y)
    assert_same_cells(search, grid_search(Odd(), PSVC(), X, y, GRID, cv=3))
    plain = search_of(StandardScaler(), cv=3).fit(X, y)
    assert np.abs(search.decision_function(X) - plain.decision_function(X)).max() > 0.1


# --- no leak -------------------------------------------------------------------------------------


def test_a_selection_of_features_does_not_see_held_out_labels():
    """The best 20 of 2,000 columns of noise: chance inside, far above it outside."""
    inside, outside = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 2000)), np.arange(120) % 2
        grid = {"ps": [1], "Cs": [1.0], "gammas": [0.05]}
        inside.append(PSVCCV(**grid, preprocessor=SelectKBest(k=20)).fit(X, y).best_score_)
        outside.append(PSVCCV(**grid).fit(SelectKBest(k=20).fit_transform(X, y), y).best_score_)
    assert 0.4 < np.mean(inside) < 0.6
    assert np.mean(outside) > 0.75


def test_fits_see_the_training_rows_of_their_split(spy):
    X, y = noisy(n=60, d=3)
    PSVCCV([1], [1.0], [0.1], preprocessor=spy, cv=3).fit(X, y, sample_weight=np.ones(60))
    expected = [np.arange(60), *(train for train, _ in split_list(3, X, y))]
    assert len(Spy.seen) == len(expected)  # once for all cells
    for (rows, labels, weight), own in zip(Spy.seen, expected, strict=True):
        assert np.array_equal(rows, X[own])
        assert np.array_equal(labels, y[own])
        assert weight is None


def test_weights_reach_it_where_routing_asks_for_them(spy):
    X, y = noisy(n=40, d=3)
    weight = np.linspace(1.0, 2.0, 40)
    with config_context(enable_metadata_routing=True):
        spy.set_fit_request(sample_weight=True)
        search = PSVCCV([1], [1.0], [0.1], preprocessor=spy, cv=2).set_fit_request(
            sample_weight=True
        )
        search.set_params(scoring=make_scorer(lambda y, predicted: 1.0))
        search.fit(X, y, sample_weight=weight)
    splits = split_list(2, X, y)
    expected = [weight, *(weight[train] for train, _ in splits)]
    for (_, _, given), own in zip(Spy.seen, expected, strict=True):
        assert np.array_equal(given, own)


def test_probabilities_go_through_it():
    """Calibrated on rows that neither the preprocessor nor the model of their split has seen."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 1000)), np.arange(150) % 2
    search = PSVCCV([1], [1.0], [0.05], preprocessor=SelectKBest(k=20)).fit(X, y)
    assert np.abs(search.predict_proba(X)[:, 1] - 0.5).mean() < 0.2  # noise: nothing is sure
    leaking = PSVCCV([1], [1.0], [0.05]).fit(SelectKBest(k=20).fit_transform(X, y), y)
    of_leak = leaking.predict_proba(SelectKBest(k=20).fit_transform(X, y))[:, 1]
    assert np.abs(of_leak - 0.5).mean() > 0.3
    X, y = load_breast_cancer(return_X_y=True)
    good = PSVCCV([1], [1.0], [0.05], preprocessor=StandardScaler(), scoring="neg_log_loss")
    p = good.fit(X, y).predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert ((p[:, 1] > 0.5) == (good.decision_function(X) > 0.0)).mean() > 0.99
    assert good.best_score_ > -0.15


# --- what reaches it -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", pytest.param("polars", marks=needs_polars_in_sklearn)])
def test_frames_reach_it_as_they_are(kind):
    frame, y = table()
    X = frame if kind == "pandas" else pl.from_pandas(frame)
    X = X if kind == "pandas" else X.with_columns(pl.col("height").fill_null(float("nan")))
    search = search_of(for_table(), cv=3).fit(X, y)
    assert_same_cells(search, grid_search(for_table(), PSVC(), X, y, GRID, cv=3))
    assert search.best_score_ > 0.85
    assert search.feature_names_in_.tolist() == ["height", "town", "weight"]
    assert search.n_features_in_ == 3
    assert set(search.predict(X)) == {"no", "yes"}
    assert search.predict_proba(X[:5]).shape == (5, 2)
    assert search.score(X, y) > 0.85


def test_sparse_in_and_out():
    frame, y = table()
    before = OneHotEncoder(sparse_output=True, handle_unknown="ignore")
    search = search_of(before, cv=3).fit(frame[["town"]], y)
    assert sp.issparse(search.preprocessor_.transform(frame[["town"]]))
    assert_same_cells(search, grid_search(before, PSVC(), frame[["town"]], y, GRID, cv=3))
    X, labels = noisy(n=90, d=6)
    X[np.abs(X) < 0.5] = 0.0
    scaler = StandardScaler(with_mean=False)
    for kernel in ("rbf", "linear"):
        dense = search_of(scaler, cv=3, kernel=kernel).fit(X, labels)
        sparse = search_of(scaler, cv=3, kernel=kernel).fit(sp.coo_matrix(X), labels)
        assert_same_cells(dense, sparse, 0.04 if kernel == "linear" else 1e-12)


def test_texts_that_are_no_table():
    texts = ["the cat sat", "a dog ran", "cats and cats", "dogs run far"] * 15
    y = np.array(["cat", "dog", "cat", "dog"] * 15)
    search = search_of(TfidfVectorizer(), kernel="linear", cv=3).fit(texts, y)
    assert search.best_score_ == 1.0
    assert not hasattr(search, "n_features_in_")
    assert search.predict(["the cats sat", "a dog"]).tolist() == ["cat", "dog"]
    X, labels = noisy(n=60, d=3)
    search.set_params(preprocessor=None).fit(X, labels)
    assert search.n_features_in_ == 3
    assert not hasattr(search, "preprocessor_")
    assert isinstance(search.best_estimator_, LinearPSVC)


def test_a_callable_kernel_gets_what_it_returns():
    """As in a Pipeline: texts stay texts, and frames stay frames."""

    def by_letters(A, B):
        assert all(text.islower() for text in [*A, *B])
        return np.array([[len(set(a) & set(b)) / (len(a) * len(b)) ** 0.5 for b in B] for a in A])

    texts, y = ["ABBA", "bab", "cdd", "DCD", "aab", "CCC"] * 5, [0, 0, 1, 1, 0, 1] * 5
    lower = FunctionTransformer(lambda some: [text.lower() for text in some])
    search = PSVCCV([1, 2], [1.0], preprocessor=lower, kernel=by_letters, cv=3).fit(texts, y)
    assert search.best_score_ == 1.0
    assert search.predict(["BBB", "DDD"]).tolist() == [0, 1]

    def by_names(A, B):
        return A[["town", "height"]].to_numpy() @ B[["town", "height"]].to_numpy().T

    frame = pd.DataFrame(noisy(n=60, d=2)[0], columns=["height", "town"])
    y = frame["height"] > 0
    scaler = StandardScaler().set_output(transform="pandas")
    own = grid_search(scaler, PSVC(kernel=by_names), frame, y, {"p": PS, "C": CS}, cv=3)
    assert_same_cells(search_of(scaler, kernel=by_names, cv=3).fit(frame, y), own)


def test_grids_by_the_data_follow_the_prepared_rows():
    X, y = noisy(n=80, d=4)
    scaled = StandardScaler().fit_transform(1e4 * X)
    inside = PSVCCV([1], preprocessor=StandardScaler(), cv=2).fit(1e4 * X, y)
    outside = PSVCCV([1], cv=2).fit(scaled, y)
    for name in ("C", "gamma"):
        assert np.allclose(
            inside.cv_results_[f"param_{name}"], outside.cv_results_[f"param_{name}"], rtol=1e-9
        )


def test_one_without_fit_transform():
    class Bare(BaseEstimator):
        def fit(self, X, y=None):
            self.mean_ = X.mean(axis=0)
            return self

        def transform(self, X):
            return X - self.mean_

    X, y = noisy(n=60, d=3)
    search = search_of(Bare(), cv=3).fit(X, y)
    assert search.predict(X).shape == (60,)


def test_its_parameters_are_reached_and_it_stays_as_it_is():
    before = make_pipeline(StandardScaler(), SelectKBest(k=3))
    search = search_of(before, cv=3)
    search.set_params(preprocessor__selectkbest__k=2)
    X, y = noisy(n=60, d=5)
    search.fit(X, y)
    assert search.best_estimator_[-1].n_features_in_ == 2
    assert not hasattr(before[0], "mean_")
    assert clone(search).preprocessor[1].k == 2
