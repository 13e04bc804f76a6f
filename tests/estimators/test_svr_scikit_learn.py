"""PSVR as an estimator of scikit-learn: the official checks, pipelines, searches, displays."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import PredictionErrorDisplay, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from small_data import curve

from psvm import PSVR

ESTIMATORS = [
    PSVR(),
    PSVR(p=1, epsilon=0, quantile=0.8),
    PSVR(p=2, kernel="linear"),
    PSVR(p=1.01, kernel="laplacian", quantile=0.1),
    PSVR(p=3, kernel="linear", epsilon=0, fit_intercept=False),
    PSVR(p=1.25, kernel="exponential", warm_start=True),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a regressor, none excused."""
    check(estimator)


def test_no_check_is_excused():
    """check_estimator has no expected failure, and skips only what this machine cannot run."""
    results = check_estimator(PSVR(), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert all("array_api" in name for name in skipped), skipped


def test_tags():
    assert is_regressor(PSVR())
    tags = sklearn.utils.get_tags(PSVR())
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise
    assert tags.target_tags.required
    assert sklearn.utils.get_tags(PSVR(kernel="precomputed")).input_tags.pairwise
    assert sklearn.utils.get_tags(PSVR(kernel=lambda A, B: A @ B.T)).input_tags.string


def test_score_is_the_share_of_variance_explained():
    X, y = curve(80)
    model = PSVR(C=10).fit(X, y)
    assert model.score(X, y) == r2_score(y, model.predict(X)) > 0.8


def test_in_a_search_and_a_pipeline():
    X, y = curve(90)
    grid = {"psvr__epsilon": [0.01, 0.1], "psvr__quantile": [0.5], "psvr__p": [1, 2]}
    search = GridSearchCV(make_pipeline(StandardScaler(), PSVR(C=10)), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.5


def test_several_targets_one_by_one():
    X, y = curve(60)
    Y = np.column_stack([y, -2 * y])
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        PSVR().fit(X, Y)
    model = MultiOutputRegressor(PSVR(epsilon=0.01)).fit(X, Y)
    assert model.predict(X).shape == Y.shape


def test_a_scaled_target_is_that_of_other_parameters():
    X, y = curve(70)
    scaler = StandardScaler().fit(y[:, None])
    s = scaler.scale_[0]
    inner = PSVR(p=1.5, C=3.0, epsilon=0.05)
    wrapped = TransformedTargetRegressor(inner, transformer=scaler).fit(X, y)
    plain = PSVR(p=1.5, C=3.0 * s**0.5, epsilon=0.05 * s).fit(X, y)
    np.testing.assert_allclose(wrapped.predict(X), plain.predict(X), rtol=1e-6)


def test_predictions_against_targets_can_be_drawn():
    figure = pytest.importorskip("matplotlib.figure").Figure()  # one that pyplot does not keep
    X, y = curve(50)
    display = PredictionErrorDisplay.from_estimator(PSVR().fit(X, y), X, y, ax=figure.subplots())
    assert display.y_pred.shape == y.shape


def test_copies_and_pickles():
    X, y = curve(60)
    model = PSVR(p=3, warm_start=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.status_ == model.status_
    assert clone(model).get_params() == model.get_params()
