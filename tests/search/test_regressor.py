"""PSVRCV as a scikit-learn estimator: checks, rules, grids, ends before its time, errors."""

import pickle
import re
import time

import numpy as np
import pandas as pd
import pytest
import sklearn
from processes import UNIX, interrupted
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from small_data import curve

from psvm import PSVR, PSVRCV
from psvm.estimators.starts import HeadStart
from psvm.search import GridEdgeWarning, explore
from psvm.search.table import choose, split_scores

SMALL = {"ps": (1, 2), "Cs": (1.0, 10.0), "gammas": (0.05, 0.3), "epsilons": (0.1, 0.5), "cv": 3}


@parametrize_with_checks(
    [
        PSVRCV(ps=(1, 2), Cs=3, gammas=2),
        PSVRCV(kernel="linear", ps=(1, 2), Cs=3),
        PSVRCV(ps=(1,), Cs=2, gammas=2, quantile=0.8, scoring="r2"),
    ]
)
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a regressor, none excused."""
    check(estimator)


def test_no_check_is_excused():
    results = check_estimator(PSVRCV(ps=(1,), Cs=2, gammas=2), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert all("array_api" in name for name in skipped), skipped


def test_tags_clone_and_pickle():
    assert is_regressor(PSVRCV())
    assert sklearn.utils.get_tags(PSVRCV()).input_tags.sparse
    assert sklearn.utils.get_tags(PSVRCV(kernel="precomputed")).input_tags.pairwise
    X, y = curve(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PSVRCV(**SMALL).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(frame), model.predict(frame))
    assert not hasattr(clone(model), "best_params_")
    assert model.score(frame, y) == r2_score(y, model.predict(frame))
    assert np.mean(cross_val_score(PSVRCV(**SMALL), X, y, cv=3)) > 0.5


def test_what_is_fitted():
    X, y = curve(60)
    model = PSVRCV(**SMALL).fit(X, y)
    results = model.cv_results_
    assert len(results["params"]) == 16
    assert model.best_params_ == results["params"][model.best_index_]
    assert model.best_score_ == results["mean_test_score"][model.best_index_] > 0.7
    assert isinstance(model.best_estimator_, PSVR)
    assert model.n_splits_ == 3
    assert model.target_scale_ == pytest.approx(np.std(y))
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "decision_function")
    assert (results["max_dual_gap"] <= 1e-5).all()
    narrow, wide = (results["param_epsilon"] == width for width in SMALL["epsilons"])
    supports = results["mean_n_support"]
    assert (supports[wide] < supports[narrow]).all(), "a wide tube holds more rows"
    assert supports.max() <= 40


def test_support_vectors_are_counted_as_psvr_has_them():
    X, y = curve(90)
    model = PSVRCV((1, 1.5), (1.0,), (0.3,), (0.02, 0.3, 1.0), cv=3).fit(X, y)
    for cell, params in enumerate(model.cv_results_["params"]):
        counts = []
        for k in range(3):
            train = np.arange(90) // 30 != k
            counts.append(PSVR(**params, tol=1e-8).fit(X[train], y[train]).n_support_[0])
        assert model.cv_results_["mean_n_support"][cell] == pytest.approx(np.mean(counts), abs=1.5)


def test_one_standard_error():
    X, y = curve(60, noise=1.0)
    best = PSVRCV(Cs=4, gammas=3, cv=3).fit(X, y)
    simple = PSVRCV(Cs=4, gammas=3, cv=3, rule="one_se").fit(X, y)
    results = best.cv_results_
    supports = results["mean_n_support"]
    assert simple.best_index_ == choose("one_se", split_scores(results), supports)
    assert supports[simple.best_index_] < supports[best.best_index_]
    error = split_scores(results)[best.best_index_].std(ddof=1) / np.sqrt(3)
    assert best.best_score_ - error <= simple.best_score_ <= best.best_score_


def test_the_final_fit_starts_from_the_search(monkeypatch):
    """From the mean of the splits' solutions, on the matrix of the search, in the unit of y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 30))
    y = 1e4 * (X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=1000) + 5.0)
    grams = []
    kernel = HeadStart.kernel

    def noted(self, *rest):
        grams.append(self.gram)
        return kernel(self, *rest)

    monkeypatch.setattr(HeadStart, "kernel", noted)
    search = PSVRCV((1,), [1e2, 1e4], [0.01, 0.03], [2e3], cv=3).fit(X, y)
    assert [gram.shape for gram in grams] == [(1000, 1000)]
    alone = PSVR(**search.best_params_).fit(X, y)
    assert search.predict(X) / 1e4 == pytest.approx(alone.predict(X) / 1e4, abs=2e-3)
    assert search.best_estimator_.dual_gap_[0] <= 1e-4
    first = [one.history_[0][0]["gap"] for one in (search.best_estimator_, alone)]
    assert first[0] < 0.8 * first[1] == 0.8  # from nothing it is 1


def test_without_a_final_fit():
    X, y = curve(60)
    model = PSVRCV(**SMALL, refit=False).fit(X, y)
    assert not hasattr(model, "predict")
    assert not hasattr(model, "best_estimator_")
    with pytest.raises(AttributeError) as caught:
        model.predict(X)
    assert "PSVRCV(refit=True), or fit a PSVR with" in str(caught.value.__cause__)


def test_constant_targets():
    X, _ = curve(30)
    model = PSVRCV(**SMALL).fit(X, np.full(30, 7.5))
    assert model.predict(X) == pytest.approx(np.full(30, 7.5))
    assert model.target_scale_ == 1.0
    assert (model.cv_results_["max_dual_gap"] == 0.0).all()
    assert (model.cv_results_["mean_n_support"] == 0.0).all()


def test_results_do_not_depend_on_threads():
    X, y = curve(700, d=5)
    one, two = (PSVRCV(**SMALL, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    key = "mean_test_score"
    assert np.array_equal(one.cv_results_[key], two.cv_results_[key])


def test_edges_of_the_grid():
    X, y = curve(90)
    with pytest.warns(GridEdgeWarning, match="epsilon = 1 is the smallest of `epsilons`"):
        PSVRCV((1,), (10.0,), (0.3,), (1.0, 2.0), cv=3).fit(X, y)
    # Costs in the unit of y: those of the chosen p are the grid.
    with pytest.warns(GridEdgeWarning, match=r"C = .* is the smallest of `Cs`") as caught:
        PSVRCV((1, 3), 3, (0.3,), (1.0,), cv=3).fit(X, 1000.0 * curve(90, noise=9.0)[1])
    (listed,) = re.findall(r"Cs=\[([^]]*)\]", str(caught[0].message))
    assert len(listed.split(", ")) == 4, "three of its own p, and one more"


# --- ends before its time -------------------------------------------------------------------------

SEARCH = """
    import sys, time, warnings
    import numpy as np
    from psvm import PSVRCV
    from psvm.search.explore import Explorer

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = np.sin(X[:, 0]) + rng.normal(size=3000)
    model = PSVRCV((1, 3), np.logspace(-1, 6, 8), [1e-4, 10.0], (0.3,), on_interrupt=sys.argv[1],
                   n_jobs=2, cv=3)
    note = Explorer._note

    def note_and_tell(self, answers, *, keep):
        Explorer._note = note
        note(self, answers, keep=keep)
        print("begin", flush=True)

    Explorer._note = note_and_tell
    try:
        model.fit(X, y)
        finished = np.isfinite(model.cv_results_["mean_test_score"])
        print("kept", finished.sum(), finished.size, model.predict(X[:3]).size, flush=True)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), hasattr(model, "cv_results_"), flush=True)
"""


@UNIX
@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_a_real_signal(on_interrupt):
    out, sent, err = interrupted(SEARCH, 0.3, on_interrupt)
    assert err == ""
    if on_interrupt == "raise":
        assert out[0] == "interrupted"
        assert float(out[1]) - sent < 5.0
        assert out[2] == "False"
    else:
        assert out[0] == "kept"
        finished, cells, predicted = map(int, out[1:])
        assert 0 < finished < cells
        assert predicted == 3


# What is finished by then decides whether anything is warned of: an edge, a final fit cut short.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_seconds_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = np.sin(X[:, 0]) + rng.normal(size=4000)
    model = PSVRCV((1, 2, 3), np.logspace(-1, 6, 8), [1e-3, 10.0], (0.3,), cv=3, max_time=3.0)
    began = time.monotonic()
    model.fit(X, y)
    assert time.monotonic() - began < 8.0
    finished = np.isfinite(model.cv_results_["mean_test_score"])
    assert 0 < finished.sum() < finished.size
    assert finished[model.best_index_]
    # An easy cell may be solved before anyone looks at the clock; this one takes many seconds.
    hard = clone(model).set_params(ps=(1,), Cs=(1e6,), gammas=(0.1,), max_time=1e-4)
    with pytest.raises(ValueError, match="stopped by max_time"):
        hard.fit(X, y)


def test_an_error_leaves_the_search_as_it_was(monkeypatch):
    X, y = curve(60)
    model = PSVRCV(**SMALL).fit(X, y)
    before = dict(vars(model))

    def fail(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(explore.Explorer, "settle", fail)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    assert vars(model) == before


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilons": -1.0}, "`epsilons` must be a list of numbers"),
        ({"epsilons": (-1.0,)}, "`epsilons` must be a finite float >= 0"),
        ({"epsilons": 0}, "`epsilons` must be a list, or a number of values >= 1"),
        ({"epsilons": (0.1, 0.1)}, "`epsilons` must not hold a value twice"),
        ({"quantile": 1.0}, r"`quantile` must lie in \(0, 1\)"),
        ({"Cs": (np.inf,)}, "`Cs` must be finite"),
        ({"ps": (0.5,)}, "`ps` must be"),
        ({"rule": "worst"}, "`rule` must be"),
        ({"scoring": ["r2"]}, "`scoring` must be one scorer"),
        ({"preprocessor": PSVR()}, "the regressor itself is no part of it"),
    ],
)
def test_wrong_parameters(wrong, message):
    with pytest.raises(ValueError, match=message):
        PSVRCV(**{**SMALL, **wrong}).fit(*curve(30))


def test_wrong_data():
    X, y = curve(30)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        PSVRCV(**SMALL).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"numbers to predict|could not convert"):
        PSVRCV(**SMALL).fit(X, np.array(["a", "b"] * 15))
    with pytest.raises(ValueError, match="`sample_weight` must be > 0 for some row"):
        PSVRCV(**SMALL).fit(X, y, sample_weight=np.zeros(30))
    weight = np.r_[np.zeros(20), np.ones(10)]
    with pytest.raises(ValueError, match="Split 2 of `cv` has no model"):
        PSVRCV(**SMALL).fit(X, y, sample_weight=weight)
    with pytest.raises(NotFittedError):
        PSVRCV().predict(X)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN") as caught:
        PSVRCV(**SMALL).fit(X, y)
    assert "PSVRCV(preprocessor=...)" in caught.value.__notes__[0]
