"""PSVCCV as a scikit-learn estimator: checks, probabilities, routing, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from messages import assert_mentions
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, log_loss, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_data import blobs, noisy

from psvm import PSVC, PSVCCV
from psvm.search.calibration import Calibration, coupled, fit_sigmoid

SMALL = {"ps": (1, 2), "Cs": (1.0, 10.0), "gammas": (0.05, 0.3), "cv": 3}


@parametrize_with_checks([PSVCCV(), PSVCCV(kernel="linear", ps=(1, 2), Cs=3)])
@pytest.mark.filterwarnings("ignore:The least populated class in y")  # of data of scikit-learn 1.7
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a classifier, none excused."""
    check(estimator)


def test_tags_clone_and_parameters():
    assert is_classifier(PSVCCV())
    assert sklearn.utils.get_tags(PSVCCV()).input_tags.sparse
    assert sklearn.utils.get_tags(PSVCCV(kernel="precomputed")).input_tags.pairwise
    Cs = [1.0, 2.0]
    model = PSVCCV((1,), Cs, (0.1,), cv=3).fit(*noisy(n=60))
    assert model.Cs is Cs
    copy = clone(model)
    assert copy.get_params()["Cs"] == Cs
    assert not hasattr(copy, "best_params_")


def test_pickle_and_frames():
    X, y = blobs(n=90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PSVCCV(**SMALL).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(frame), model.predict_proba(frame))
    assert copy.best_params_ == model.best_params_
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def test_inside_other_estimators():
    X, y = blobs(n=90)
    pipeline = make_pipeline(StandardScaler(), PSVCCV(**SMALL)).set_output(transform="pandas")
    assert np.mean(cross_val_score(pipeline, pd.DataFrame(X), y, cv=3)) > 0.7
    outer = CalibratedClassifierCV(PSVCCV(**SMALL), cv=2).fit(X, y)
    assert outer.predict_proba(X).shape == (90, 3)


def test_refit():
    X, y = noisy(n=80)
    model = PSVCCV(**SMALL).fit(X, y)
    alone = PSVC(**model.best_params_).fit(X, y)
    assert model.refit_time_ > 0.0
    assert np.array_equal(model.decision_function(X), alone.decision_function(X))
    assert np.array_equal(model.predict(X), alone.predict(X))
    assert model.score(X, y) == alone.score(X, y)
    without = PSVCCV(**SMALL, refit=False).fit(X, y)
    assert without.best_params_ == model.best_params_
    assert not hasattr(without, "predict")
    with pytest.raises(AttributeError) as caught:
        without.predict_proba(X)
    assert_mentions(str(caught.value.__cause__), "refit=True", "best_params_")
    with pytest.raises(NotFittedError):
        PSVCCV().predict(X)


def test_nothing_of_an_earlier_fit_is_left():
    X, y = noisy(n=80)
    model = PSVCCV(**SMALL).fit(X, y)
    model.set_params(refit=False).fit(X, y)
    assert not hasattr(model, "best_estimator_")
    assert not hasattr(model, "refit_time_")
    with pytest.raises(NotFittedError):
        model.set_params(refit=True).predict(X)
    failed = PSVCCV(**SMALL | {"cv": [([0], [1])]})
    with pytest.raises(ValueError, match="Split 0"):
        failed.fit(X, y)
    with pytest.raises(NotFittedError):
        failed.predict(X)


def test_tolerance_of_the_final_fit():
    X, y = noisy(n=700, d=5, seed=1)
    coarse, fine = (PSVCCV(**SMALL, tol=tol).fit(X, y).best_estimator_ for tol in (1e-2, 1e-6))
    assert fine.dual_gap_[0] <= 1e-6 < coarse.dual_gap_[0]


# --- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, {1.0: 4.0}])
def test_probabilities_of_two_classes(class_weight):
    X, y = noisy(n=4400, d=3, seed=4, noise=2.0)
    fresh, truth, X, y = X[400:], y[400:], X[:400], y[:400]
    model = PSVCCV(**SMALL, class_weight=class_weight).fit(X, y)
    proba, decision = model.predict_proba(X), model.decision_function(X)
    assert proba.sum(axis=1) == pytest.approx(np.ones(400))
    assert np.all(np.diff(proba[np.argsort(decision), 1]) >= 0.0)
    if class_weight is None:
        assert np.array_equal(proba.argmax(axis=1) == 1, decision > 0.0)
    said = model.predict_proba(fresh)[:, 1]
    assert said.mean() == pytest.approx(np.mean(truth > 0), abs=0.05)
    if class_weight is None:
        # Calibrated: of the rows said to be positive with probability p, a share p is.
        for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
            rows = (said >= low) & (said < high)
            assert said[rows].mean() == pytest.approx(np.mean(truth[rows] > 0), abs=0.08)
    assert np.array_equal(said, model.predict_proba(fresh)[:, 1])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_several_classes(multi_class):
    X, y = blobs(n=600, classes=4, spread=1.5)
    train, test = np.arange(600) < 400, np.arange(600) >= 400
    model = PSVCCV(**SMALL, multi_class=multi_class).fit(X[train], y[train])
    proba = model.predict_proba(X[test])
    assert proba.sum(axis=1) == pytest.approx(np.ones(200))
    assert np.mean(proba.argmax(axis=1) == model.predict(X[test])) > 0.85
    rival = CalibratedClassifierCV(PSVC(**model.best_params_, multi_class=multi_class), cv=3)
    rival.fit(X[train], y[train])
    assert log_loss(y[test], proba) < 1.05 * log_loss(y[test], rival.predict_proba(X[test]))


def test_sigmoid_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=3000) * 2.0
    positive = rng.random(3000) < 1.0 / (1.0 + np.exp(-(1.5 * decision - 0.5)))
    fitted = fit_sigmoid(decision, positive, np.ones(3000), symmetric=False)
    assert fitted.slope == pytest.approx(1.5, abs=0.15)
    assert fitted.offset == pytest.approx(-0.5, abs=0.15)
    doubled = fit_sigmoid(
        np.repeat(decision, 2), np.repeat(positive, 2), np.ones(6000), symmetric=False
    )
    weighted = fit_sigmoid(decision, positive, np.full(3000, 2.0), symmetric=False)
    assert doubled.slope == pytest.approx(weighted.slope, rel=1e-9)


@pytest.mark.parametrize(
    ("decision", "positive"),
    [
        (np.array([-1e6, -1e-9, 1e-9, 1e6]), np.array([0, 0, 1, 1])),  # separated, wide range
        (np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1, 1, 0, 0])),  # the wrong way round
        (np.zeros(4), np.array([0, 1, 1, 1])),
        (np.array([0.5, 0.6]), np.array([1, 1])),  # one class only
    ],
)
def test_sigmoid_of_odd_data(decision, positive):
    fitted = fit_sigmoid(decision, positive == 1, np.ones(decision.size), symmetric=False)
    p = fitted(np.sort(decision))
    assert fitted.slope >= 0.0
    assert np.all((p > 0.0) & (p < 1.0))
    assert np.all(np.diff(p) >= 0.0)


def test_coupling_recovers_consistent_probabilities():
    """From exact r_ij = p_i / (p_i + p_j) the coupling finds p."""
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    pairs = np.column_stack(
        [p[:, i] / (p[:, i] + p[:, j]) for i in range(5) for j in range(i + 1, 5)]
    )
    assert coupled(pairs, 5) == pytest.approx(p, abs=1e-6)


def test_coupling_rises_with_the_decisions():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(200, 3)), rng.integers(0, 3, size=200).astype(np.int32)
    calibration = Calibration.fit(
        values + (codes == 0)[:, None], codes, np.ones(200), 3, "ovo", symmetric=True
    )
    before = calibration.probabilities(values)
    values[:, 0] += 0.5  # for class 0, against class 1
    after = calibration.probabilities(values)
    assert np.all(after[:, 0] >= before[:, 0] - 1e-12)
    assert np.all(after[:, 1] <= before[:, 1] + 1e-12)


# --- metadata ------------------------------------------------------------------------------------


def test_metadata_routing():
    X, y = noisy(n=90)
    groups, weights = np.arange(90) // 10, np.linspace(0.1, 3.0, 90)
    plain = PSVCCV((1, 2), (1.0,), (0.1,), cv=GroupKFold(3))
    expected = clone(plain).fit(X, y, sample_weight=weights, groups=groups)
    weighted_score = expected.score(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        routed = clone(plain).set_params(scoring=scorer)
        routed.set_fit_request(sample_weight=True)
        routed.fit(X, y, sample_weight=weights, groups=groups)
        unweighted = get_scorer("accuracy").set_score_request(sample_weight=False)
        other = clone(plain).set_params(scoring=unweighted)
        other.fit(X, y, sample_weight=weights, groups=groups)
        assert routed.score(X, y, sample_weight=weights) == pytest.approx(weighted_score)
    key = "mean_test_score"
    assert routed.cv_results_[key] == pytest.approx(expected.cv_results_[key])
    assert not np.allclose(other.cv_results_[key], expected.cv_results_[key])


def test_metadata_of_any_shape():
    """One weight for all rows, and metadata that is not one value per row, as scikit-learn."""
    X, y = noisy(n=60)

    def agreement(y_true, y_predicted, *, sample_weight=None, bonus=0.0):
        assert sample_weight is None or len(sample_weight) == len(y_true)
        return float(np.mean(y_true == y_predicted)) + bonus

    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(agreement).set_score_request(sample_weight=True, bonus=True)
        search = PSVCCV(**SMALL, scoring=scorer)
        plain = clone(search).fit(X, y).cv_results_["mean_test_score"]
        given = clone(search).fit(X, y, sample_weight=2.0, bonus=1.0)
    doubled = PSVCCV(**SMALL).fit(X, y, sample_weight=np.full(60, 2.0))
    assert given.cv_results_["mean_test_score"] == pytest.approx(
        doubled.cv_results_["mean_test_score"] + 1.0
    )
    assert np.all(plain <= 1.0)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_held_out_rows_without_any_weight_count_alike(scoring):
    X, y = noisy(n=90)
    splits = [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]
    search = PSVCCV((1,), (1.0,), (0.1,), cv=splits, scoring=scoring)
    search.fit(X, y, sample_weight=np.repeat([1.0, 0.0], [60, 30]))
    model = PSVC(p=1, C=1.0, gamma=0.1).fit(X[:60], y[:60])
    expected = get_scorer(scoring or "accuracy")(model, X[60:], y[60:])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ps": (0.5,)}, ["`ps`", ">= 1", "0.5"]),
        ({"ps": 1.5}, ["`ps`", "list of one"]),
        ({"gammas": "wide"}, ["`gammas`", "scale"]),
        ({"ps": ()}, ["`ps`", "at least one"]),
        ({"ps": (1, 1.0)}, ["`ps`", "twice"]),
        ({"Cs": (-1.0,)}, ["`Cs`", "> 0"]),
        ({"Cs": (np.inf,)}, ["`Cs`", "finite"]),
        ({"Cs": 0}, ["`Cs`", ">= 1"]),
        ({"gammas": ("large",)}, ["`gammas`", "scale"]),
        ({"gammas": (-1.0,)}, ["`gammas`", "> 0"]),
        ({"gammas": (0.1, 0.0)}, ["`gammas`", "> 0", "got 0.0"]),
        ({"kernel": "gauss"}, ["`kernel`", "rbf"]),
        ({"rule": "two_se"}, ["`rule`", "one_se"]),
        ({"on_interrupt": "ignore"}, ["`on_interrupt`", "keep"]),
        ({"refit": "yes"}, ["`refit`", "True"]),
        ({"scoring": ["f1", "accuracy"]}, ["`scoring`", "one scorer"]),
        ({"scoring": lambda model, X, y: [1.0, 2.0]}, ["`scoring`", "one number"]),
        ({"scoring": lambda model, X, y: np.nan}, ["`scoring`", "NaN", "`cv`"]),
        ({"scoring": lambda model, X, y: -np.inf}, ["`scoring`", "infinity", "1 cells"]),
        ({"scoring": lambda model, X, y: model.predict(X[:3])}, ["held-out rows", "got 3"]),
        ({"tol": 0.0}, ["`tol`", "(0, 1)"]),
        ({"max_time": -1.0}, ["`max_time`", "> 0"]),
        ({"cv": [([], [0, 1])]}, ["`cv`", "split 0"]),
        ({"cv": [([0, 2, 3], [1])]}, ["Split 0", "one class"]),
    ],
)
def test_wrong_parameters(parameters, words):
    X, y = noisy(n=30)
    y[:4] = 1.0
    y[4:8] = -1.0
    parameters = {"ps": (1,), "Cs": (1.0,), "gammas": (1.0,), "cv": 2, **parameters}
    with pytest.raises(ValueError) as caught:
        PSVCCV(**parameters).fit(X, y)
    assert_mentions(str(caught.value), *words)


def test_unknown_metadata_is_refused():
    with pytest.raises(ValueError, match="metadata"):
        PSVCCV(**SMALL).fit(*noisy(n=30), colour="blue")


def test_splits_are_read_once():
    """A generator of splits is enough."""
    X, y = noisy(n=60)
    splits = StratifiedKFold(3).split(X, y)
    assert PSVCCV((1,), (1.0,), (0.1,), cv=splits).fit(X, y).n_splits_ == 3
