"""psvm_path for regression: every model is that of a fit alone."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from small_data import curve

from psvm import PSVR, LinearPSVR, psvm_path

PS, CS = [1.0, 1.5, 3.0], [0.3, 3.0, 30.0]


def path_of(X, y, **options):
    return psvm_path(X, y, task="regression", ps=PS, Cs=CS, tol=1e-8, **options)


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.0, "quantile": 0.8}, {"epsilon": 0.5}])
def test_every_model_is_that_of_a_fit(options):
    X, y = curve(90)
    path = path_of(X, y, gamma=0.3, **options)
    for p in PS:
        for C in CS:
            i, j = path.index(p, C)
            model = PSVR(p=p, C=C, gamma=0.3, tol=1e-8, **options).fit(X, y)
            found, expected = path.primal_objective[i, j, 0], model.primal_objective_[0]
            assert found == pytest.approx(expected, rel=1e-7)
            assert path.intercept[i, j, 0] == pytest.approx(model.intercept_[0], abs=1e-3)
            coef = np.zeros(90)
            coef[model.support_] = model.dual_coef_[0]
            assert path.dual_coef[i, j, 0] == pytest.approx(coef, abs=2e-3 * C)
            assert np.array_equal(path.support(p, C), np.flatnonzero(path.dual_coef[i, j, 0]))
    assert (path.dual_gap <= 1e-8).all()
    assert path.n_support.shape == (3, 3, 1)
    assert path.task == "regression"
    assert path.classes.size == 0
    assert np.array_equal(path.problem_dual_coef(0), path.dual_coef[:, :, 0])
    assert "90 rows, regression" in repr(path)


def test_linear():
    X, y = curve(200)
    path = path_of(X, y, kernel="linear", epsilon=0.2)
    assert path.coef.shape == (3, 3, 1, 3)
    assert path.dual_coef is None
    model = LinearPSVR(p=1.5, C=3.0, epsilon=0.2, tol=1e-8).fit(X, y)
    i, j = path.index(1.5, 3.0)
    assert path.coef[i, j, 0] == pytest.approx(np.ravel(model.coef_), abs=1e-4)
    with pytest.raises(ValueError, match=r"PSVR\(kernel=.linear.\) tells"):
        path.support(1.5, 3.0)


def test_weights_scores_and_limits():
    X, y = curve(120)
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    times = np.repeat(np.arange(120), weight)
    weighted = path_of(X, y, gamma=0.3, sample_weight=weight, X_val=X, y_val=y)
    repeated = path_of(X[times], y[times], gamma=0.3)
    assert weighted.primal_objective == pytest.approx(repeated.primal_objective, rel=1e-6)
    model = PSVR(p=3.0, C=0.3, gamma=0.3, tol=1e-8).fit(X, y, sample_weight=weight)
    expected = r2_score(y, model.predict(X))
    assert weighted.score[weighted.index(3.0, 0.3)] == pytest.approx(expected, abs=1e-5)
    with pytest.warns(ConvergenceWarning, match="models are missing"):
        early = path_of(*curve(2000), max_time=0.2)
    assert not early.computed.all()


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_default_costs_are_those_of_every_p_in_the_unit_of_y(unit):
    X, y = curve(60)
    path = psvm_path(X, unit * y, task="regression", ps=[1, 3], Cs=7, epsilon=0.1 * unit)
    scale = unit * np.std(y)
    assert path.Cs.size == 7
    assert path.Cs[0] == pytest.approx(0.1 * min(scale, 1.0 / scale))
    assert path.Cs[-1] == pytest.approx(100.0 * max(scale, 1.0 / scale))


def test_what_does_not_go_together():
    X, y = curve(30)
    labels = y > y.mean()
    with pytest.raises(ValueError, match="`task` must be"):
        psvm_path(X, y, task="auto")
    with pytest.raises(ValueError, match="`epsilon` is for task='regression'"):
        psvm_path(X, labels, epsilon=0.1)
    with pytest.raises(ValueError, match="`quantile` is for task='regression'"):
        psvm_path(X, labels, quantile=0.5)
    for wrong in ({"class_weight": "balanced"}, {"multi_class": "ovr"}):
        with pytest.raises(ValueError, match="are for task='classification'"):
            psvm_path(X, y, task="regression", **wrong)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        psvm_path(X, np.column_stack([y, y]), task="regression")
    with pytest.raises(ValueError, match="task='regression'"):
        psvm_path(X, y)
