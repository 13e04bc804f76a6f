"""Several quantiles from one kernel matrix: those of PSVR, in order, with the coverage they say."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from messages import assert_mentions
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from small_data import curve, real_regression

from psvm import PSVR, PSVRQuantiles, psvm_quantiles
from psvm.estimators.svr import PSVR as FittedPSVR
from psvm.rows.kernel_matrix import TrainingKernel

QUANTILES = (0.1, 0.5, 0.9)
SPARSE = ("array", "matrix")


def separately(X, y, quantiles, sample_weight=None, **parameters):
    models = [PSVR(quantile=q, **parameters).fit(X, y, sample_weight) for q in quantiles]
    return models, np.column_stack([model.predict(X) for model in models])


@pytest.mark.parametrize(
    "parameters",
    [
        {"p": 1.0, "C": 3.0, "epsilon": 0.0},
        {"p": 1.5, "C": 3.0, "epsilon": 0.1},
        {"p": 2.0, "C": 1.0, "epsilon": 0.0, "kernel": "linear"},
        {"p": 1.0, "C": 3.0, "epsilon": 0.0, "fit_intercept": False},
    ],
)
def test_they_are_those_of_psvr(parameters):
    X, y = curve(150)
    both = psvm_quantiles(X, y, QUANTILES, tol=1e-8, **parameters)
    models, values = separately(X, y, QUANTILES, tol=1e-8, **parameters)
    assert both.predict(X) == pytest.approx(np.sort(values, axis=1), abs=1e-4)
    objectives = [model.primal_objective_[0] for model in models]
    assert both.primal_objective_ == pytest.approx(objectives, rel=1e-7)
    assert (both.dual_gap_ <= 1e-8).all()
    assert (both.dual_objective_ <= both.primal_objective_).all()
    assert both.intercept_ == pytest.approx([m.intercept_[0] for m in models], abs=1e-3)
    support = sorted({int(row) for model in models for row in model.support_})
    assert both.support_.tolist() == support
    assert both.dual_coef_.shape == (3, len(support))
    assert np.array_equal(both.support_vectors_, X[support])
    assert [len(history) > 0 for history in both.history_] == [True] * 3
    assert len(both.status_) == 3
    assert both.n_iter_.shape == (3,)
    if parameters.get("kernel") == "linear":
        assert both.coef_.shape == (3, 3)


@pytest.mark.parametrize("name", ["abalone", "concrete", "computers", "wine_quality"])
def test_coverage_on_real_data(name):
    """Of the training rows nearly exactly, of others about as much as the quantile says."""
    X, y = real_regression(name, 900)
    train, test = next(iter(KFold(3, shuffle=True, random_state=0).split(X)))
    quantiles = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    scale = y.std()
    model = psvm_quantiles(X[train], y[train], quantiles, C=0.3 * scale, gamma=0.05)
    inside = np.mean(y[train, None] <= model.predict(X[train]) + 1e-3 * scale, axis=0)
    outside = np.mean(y[train, None] < model.predict(X[train]) - 1e-3 * scale, axis=0)
    assert (inside >= quantiles - 0.02).all()
    assert (outside <= quantiles + 0.02).all()
    predicted = model.predict(X[test])
    below = np.mean(y[test, None] < predicted, axis=0)
    upto = np.mean(y[test, None] <= predicted, axis=0)
    assert (below <= quantiles + 0.1).all()
    assert (upto >= quantiles - 0.1).all()
    assert (np.diff(predicted, axis=1) >= 0.0).all()


def test_they_never_cross():
    """Few rows, many quantiles: those of separate fits do."""
    X, y = curve(40, noise=1.0)
    quantiles = np.linspace(0.05, 0.95, 19)
    new = np.random.default_rng(1).normal(size=(500, 3)) * 2.0
    model = psvm_quantiles(X, y, quantiles, C=10.0, gamma=0.5)
    _, alone = separately(X, y, quantiles, p=1, C=10.0, epsilon=0.0, gamma=0.5)
    assert (np.diff(alone, axis=1) < 0.0).any()
    for rows in (X, new):
        assert (np.diff(model.predict(rows), axis=1) >= 0.0).all()


def test_columns_are_in_the_order_asked_for():
    X, y = curve(80)
    model = psvm_quantiles(X, y, (0.9, 0.1, 0.5), C=3.0)
    assert model.quantiles_.tolist() == [0.9, 0.1, 0.5]
    high, low, middle = model.predict(X).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    sorted_ones = psvm_quantiles(X, y, (0.1, 0.5, 0.9), C=3.0)
    assert np.array_equal(np.column_stack([low, middle, high]), sorted_ones.predict(X))
    assert psvm_quantiles(X, y, [0.3]).predict(X).shape == (80, 1)


def test_one_matrix_for_all(monkeypatch):
    """It is made once, and every quantile starts from its neighbour."""
    made, started = [], []
    make, fit_from = TrainingKernel.__init__, FittedPSVR._fit_from
    monkeypatch.setattr(
        TrainingKernel, "__init__", lambda self, *a, **k: made.append(1) or make(self, *a, **k)
    )

    def noted(self, *rest, **options):
        started.append((self.quantile, getattr(self, "_warm", None) is not None))
        return fit_from(self, *rest, **options)

    monkeypatch.setattr(FittedPSVR, "_fit_from", noted)
    X, y = curve(150)
    psvm_quantiles(X, y, (0.9, 0.1, 0.5))
    assert len(made) == 1
    assert started == [(0.1, False), (0.5, True), (0.9, True)]


def test_weights_are_repeated_rows():
    X, y = curve(60)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    times = np.repeat(np.arange(60), weight)
    weighted = psvm_quantiles(X, y, QUANTILES, C=3.0, gamma=0.3, sample_weight=weight, tol=1e-8)
    repeated = psvm_quantiles(X[times], y[times], QUANTILES, C=3.0, gamma=0.3, tol=1e-8)
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), abs=1e-5)
    assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()


def test_score_is_minus_the_pinball_loss():
    X, y = curve(60)
    weight = np.arange(60.0)
    model = PSVRQuantiles(QUANTILES, C=3.0).fit(X, y)
    losses = [
        mean_pinball_loss(y, own, alpha=q, sample_weight=weight)
        for q, own in zip(QUANTILES, model.predict(X).T, strict=True)
    ]
    assert model.score(X, y, weight) == pytest.approx(-np.mean(losses))
    worse = clone(model).set_params(C=1e-3).fit(X, y)
    assert worse.score(X, y) < model.score(X, y)


def test_as_an_estimator():
    X, y = curve(60)
    # These two ask for one prediction per row, of estimators that take sparse rows.
    shape = {f"check_estimator_sparse_{kind}": "one column per quantile" for kind in SPARSE}
    results = check_estimator(
        PSVRQuantiles(), expected_failed_checks=shape, on_fail=None, on_skip=None
    )
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(shape)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), PSVRQuantiles(C=3.0)).fit(frame, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(frame), model.predict(frame))
    assert model[-1].n_features_in_ == 3
    sparse = PSVRQuantiles(C=3.0).fit(sp.csr_matrix(X), y)
    dense = PSVRQuantiles(C=3.0).fit(X, y)
    assert sparse.predict(X) == pytest.approx(dense.predict(X), abs=1e-3)
    gram = X @ X.T
    given = PSVRQuantiles(kernel="precomputed").fit(gram, y)
    linear = PSVRQuantiles(kernel="linear").fit(X, y)
    assert given.predict(gram) == pytest.approx(linear.predict(X), abs=1e-2)
    with pytest.raises(NotFittedError):
        PSVRQuantiles().predict(X)


def test_an_error_leaves_it_as_it_was():
    X, y = curve(60)
    model = PSVRQuantiles(C=3.0).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((60, 3), np.nan), y)
    assert vars(model) == before


def test_limits_warn_once():
    X, y = curve(1500)
    with pytest.warns(ConvergenceWarning) as caught:
        model = psvm_quantiles(X, y, QUANTILES, C=100.0, max_iter=1)
    assert len(caught) == 1
    assert_mentions(str(caught[0].message), "PSVRQuantiles", "3 of 3 quantiles", "raise max_iter")
    assert (model.dual_gap_ > 1e-4).all()
    with pytest.warns(ConvergenceWarning, match="of 3 quantiles"):
        late = psvm_quantiles(X, y, QUANTILES, C=100.0, max_time=1e-3)
    assert late.predict(X).shape == (1500, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quantiles": 0.5}, "one quantile is a list of one"),
        ({"quantiles": ()}, "at least one"),
        ({"quantiles": (0.5, 0.5)}, "different values"),
        ({"quantiles": (0.5, 1.0)}, r"`quantiles` must lie in \(0, 1\)"),
        ({"C": np.inf}, "`C` must be finite"),
        ({"C": 0.0}, "`C` must be"),
        ({"p": 0.5}, "`p` must be"),
        ({"epsilon": -1.0}, "`epsilon` must be"),
        ({"kernel": "cosine"}, "`kernel` must be"),
    ],
)
def test_wrong_parameters(wrong, message):
    with pytest.raises(ValueError, match=message):
        psvm_quantiles(*curve(30), **wrong)


def test_several_targets_are_refused():
    X, y = curve(30)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        psvm_quantiles(X, np.column_stack([y, y]))
