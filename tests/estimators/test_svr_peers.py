"""PSVR at p = 1 against SVR and QuantileRegressor, on synthetic and real data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVR
from small_data import curve, real_regression

from psvm import PSVR


@pytest.mark.parametrize("epsilon", [0.01, 0.2])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize(
    "kernel",
    [{"kernel": "rbf", "gamma": 0.3}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1}],
)
def test_predictions_of_svr(kernel, C, epsilon):
    X, y = curve(90)
    ours = PSVR(p=1, C=C, epsilon=epsilon, tol=1e-8, **kernel).fit(X, y)
    theirs = SVR(C=C, epsilon=epsilon, tol=1e-7, **kernel).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.shape == theirs.n_support_.shape == (1,)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0] == 1
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert ours.shape_fit_ == theirs.shape_fit_
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_predictions_of_svr_for_weighted_rows(as_sparse):
    X, y = curve(80)
    X = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)) if as_sparse else X
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    ours = PSVR(p=1, C=3, gamma=0.4, tol=1e-8).fit(X, y, weight)
    theirs = SVR(C=3, gamma=0.4, tol=1e-7).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-4)


@pytest.mark.parametrize("name", ["auto_mpg", "concrete", "yacht"])
def test_real_data_as_svr(name):
    X, y = real_regression(name, 700)
    ours = PSVR(p=1, C=1.0, epsilon=0.1).fit(X, scale(y))
    theirs = SVR(C=1.0, epsilon=0.1, tol=1e-6).fit(X, scale(y))
    assert ours.dual_gap_[0] <= 1e-4
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 0.02
    assert ours.score(X, scale(y)) == pytest.approx(theirs.score(X, scale(y)), abs=1e-3)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_a_linear_quantile_is_that_of_quantile_regressor(quantile):
    """Where C is large, the penalty of w hardly counts."""
    X, y = load_diabetes(return_X_y=True)
    X = scale(X)
    exact = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)
    model = PSVR(p=1, C=1e4, epsilon=0, quantile=quantile, kernel="linear").fit(X, y)

    def pinball(predicted):
        r = y - predicted
        return np.mean(np.where(r > 0, quantile, quantile - 1) * r)

    assert pinball(model.predict(X)) == pytest.approx(pinball(exact.predict(X)), rel=1e-4)
    assert np.mean(y <= model.predict(X)) == pytest.approx(quantile, abs=0.03)


@pytest.mark.parametrize("name", ["abalone", "airfoil"])
def test_quantiles_cover_their_share_of_rows_held_out(name):
    X, y = real_regression(name, 2500)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    scaler, unit = StandardScaler().fit(X), y.std()
    for quantile in (0.1, 0.5, 0.9):
        model = PSVR(p=1, C=1.0, epsilon=0, quantile=quantile).fit(scaler.transform(X), y / unit)
        assert model.dual_gap_[0] <= 1e-4
        covered = np.mean(y_test / unit <= model.predict(scaler.transform(X_test)))
        assert covered == pytest.approx(quantile, abs=0.06)


def test_the_expectile_balances_what_is_above_and_below():
    """p = 2, epsilon = 0: quantile times the sum above equals (1 - quantile) times that below."""
    X, y = curve(300, noise=1.0)
    model = PSVR(p=2, C=10, epsilon=0, quantile=0.8, gamma=0.1).fit(X, y)
    r = y - model.predict(X)
    assert 0.8 * r[r > 0].sum() == pytest.approx(0.2 * -r[r < 0].sum(), rel=1e-2)
