"""A preprocessor that fails, is slow or is interrupted inside the search."""

import time

import numpy as np
import pytest
from prepared_searches import Spy, assert_same_cells, search_of
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from small_data import noisy

from psvm import PSVCCV


@pytest.fixture
def spy(monkeypatch):
    monkeypatch.setattr(Spy, "seen", [])
    return Spy()


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    ["scale", StandardScaler, 3, LogisticRegression(), make_pipeline(StandardScaler(), SVC())],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_is_no_transformer_is_refused_before_the_data(wrong):
    with pytest.raises(ValueError, match="`preprocessor` must be a transformer"):
        search_of(wrong).fit(None, None)


def test_a_kernel_matrix_is_not_preprocessed():
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        search_of(StandardScaler(), kernel="precomputed").fit(np.eye(4), [0, 1, 0, 1])


def fails_on(n):
    def check(X):
        if len(X) == n:
            raise KeyError("no such column")
        return X

    return FunctionTransformer(check)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (fails_on(60), "on all rows: KeyError: 'no such column'"),
        (fails_on(40), "training rows of split 0 of `cv`"),
        (fails_on(20), "held-out rows of split 0 of `cv`"),
        (FunctionTransformer(lambda X: X[:-1]), "one row for each .* got 59 for 60"),
        (FunctionTransformer(lambda X: X * np.nan), "must be numbers that a kernel can take.*NaN"),
        (FunctionTransformer(lambda X: X[:, :0]), "must be numbers that a kernel can take"),
        (
            FunctionTransformer(lambda X: np.char.add(X.astype(str), "a")),
            "could not convert string",
        ),
        (FunctionTransformer(lambda X: X * 1e200), "leave the range of float64"),
        (FunctionTransformer(lambda X: X[:, : len(X) // 20]), "rows of the same length"),
    ],
)
def test_its_errors_say_where_they_come_from_and_leave_all_as_it_was(before, message):
    X, y = noisy(n=60, d=4)
    search = search_of(StandardScaler(), cv=3).fit(X, y)
    known, model = dict(vars(search)), search.best_estimator_
    search.set_params(preprocessor=before)
    known["preprocessor"] = before
    with pytest.raises(ValueError, match=message) as caught:
        search.fit(X, y)
    assert "preprocessor" in str(caught.value)
    assert vars(search).keys() == known.keys()
    assert all(vars(search)[name] is value for name, value in known.items())
    assert search.best_estimator_ is model


def test_unknown_categories_of_a_held_out_row():
    X = np.array([["a"], ["b"]] * 10 + [["c"]])
    y = np.arange(21) % 2
    with pytest.raises(ValueError, match=r"held-out rows of split.*unknown categories"):
        search_of(OneHotEncoder(), cv=3).fit(X, y)


def test_lengths_and_missing_labels():
    X, y = noisy(n=30, d=2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search_of(StandardScaler()).fit(X, y[:-1])
    with pytest.raises(ValueError, match="`y`"):
        search_of(StandardScaler()).fit(X, None)
    with pytest.raises(ValueError, match="one class"):
        search_of(StandardScaler()).fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="at least one row"):
        search_of(StandardScaler()).fit(X[:0], y[:0])
    with pytest.raises(NotFittedError):
        search_of(StandardScaler()).predict(X)


# --- time and interrupts -------------------------------------------------------------------------


def test_max_time_counts_the_preprocessor(spy):
    X, y = noisy(n=60, d=3)
    search = search_of(Spy(slow=0.2), cv=10, max_time=0.5)
    began = time.monotonic()
    with pytest.raises(ValueError, match="max_time, in the preprocessor"):
        search.fit(X, y)
    assert time.monotonic() - began < 1.5
    assert not hasattr(search, "cv_results_")


def test_max_time_ends_the_search_with_what_is_finished():
    X, y = noisy(n=1500, d=30, seed=0, noise=2.0)
    search = PSVCCV(
        [1, 1.25, 1.5, 2, 3], 12, 12, preprocessor=StandardScaler(), cv=3, max_time=0.6
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).any()
    assert np.isnan(scores).any()
    assert search.predict(X[:3]).shape == (3,)


def test_an_interrupt_leaves_it_as_it_was_or_keeps_what_is_finished():
    X, y = noisy(n=700, d=30, seed=0)

    def interrupted(model, X, y):
        seen.append(model.params_)
        if len(seen) > 2 * 3:
            raise KeyboardInterrupt
        return 1.0

    seen = []
    search = PSVCCV([1], [1.0], [0.01, 0.1, 1.0], preprocessor=StandardScaler(), cv=3)
    search.set_params(scoring=interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "preprocessor_")
    seen.clear()
    search.set_params(on_interrupt="keep").fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.predict(X[:3]).shape == (3,)


def test_the_result_does_not_depend_on_threads():
    X, y = noisy(n=700, d=30, seed=5, noise=1.0)
    one, two = (search_of(StandardScaler(), cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert_same_cells(one, two, 0.0)
    assert np.array_equal(one.cross_val_decision_, two.cross_val_decision_)


class Slow(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        time.sleep(1.1)
        return self

    def transform(self, X):
        return X


def test_a_slow_preprocessor_is_seen_at_work(caplog):
    X, y = noisy(n=60)
    with caplog.at_level("INFO", logger="psvm"):
        search_of(Slow(), cv=3, verbose=1).fit(X, y)
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(", ")[2] for line in said[:3]] == [
        f"preprocessing split {split} of 3" for split in (1, 2, 3)
    ]
    assert said[0].startswith("after 1 s")


def test_nothing_is_shown_of_rows_that_are_refused(monkeypatch):
    """A bar before the message would look as if the search had begun."""
    from psvm.search import watch

    shown = []
    monkeypatch.setattr(watch, "_bar", lambda: shown.append("bar"))
    with pytest.raises(ValueError, match="at least one row"):
        search_of(StandardScaler(), verbose=1).fit(np.zeros((0, 2)), np.zeros(0))
    assert shown == []


def test_the_bar_goes_away_with_a_preprocessor_that_fails(monkeypatch):
    from psvm.search import watch

    class Bar:
        open = True

        def show(self, *_):
            pass

        def close(self):
            self.open = False

    bar = Bar()
    monkeypatch.setattr(watch, "_bar", lambda: bar)
    X, y = noisy(n=60)
    with pytest.raises(ValueError, match="failed on all rows"):
        search_of(SelectKBest(k=1, score_func=lambda X, y: 1 / 0), verbose=1).fit(X, y)
    assert not bar.open
