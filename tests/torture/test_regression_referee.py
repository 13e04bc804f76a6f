"""The referee of regressions: true certificates pass, false ones, planted by hand, are caught."""

import copy
import warnings

import numpy as np
import pytest

from psvm import PSVR, LinearPSVR, PSVRQuantiles
from torture.cases import Data, FitCase
from torture.decisions import check_predictions
from torture.exact import Kernel, Problem, Real, Value, exactly
from torture.fits import run_fit
from torture.interior_point import Bracket, improve
from torture.outcome import Outcome
from torture.referee import judge
from torture.regression_cases import REGRESSORS, make_regression
from torture.regression_referee import RegressionReferee


def case_of(estimator, unit=1.0, offset=0.0, **parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = unit * (np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40) + offset)
    p = parameters.get("p", 1.5)
    given = {"p": p, "C": 5.0 * unit ** (2 - p), "epsilon": 0.1 * unit, "tol": 1e-6} | parameters
    return FitCase(estimator, given, Data(X, X, y, rng.uniform(0.5, 2, 40), "array"))


def fitted(case):
    model = {"PSVR": PSVR, "LinearPSVR": LinearPSVR}[case.estimator](**case.parameters)
    return model.fit(case.data.X, case.data.y, sample_weight=case.data.sample_weight)


def verdict(case, model):
    outcome, referee = Outcome(0, "regressions"), RegressionReferee(case, model)
    judge(referee.stored(), outcome, "")
    return outcome


CASES = [
    case_of("PSVR", kernel="rbf", gamma=0.5),
    case_of("PSVR", kernel="rbf", gamma=0.5, unit=1e60, offset=1e3),
    case_of("PSVR", kernel="linear", p=1.0, epsilon=0.0, quantile=0.9),
    case_of("PSVR", kernel="poly", gamma=0.5, coef0=1.0, p=3.0, unit=1e-40),
    case_of("PSVR", kernel="laplacian", gamma=0.5, p=2.0, epsilon=0.0, fit_intercept=False),
    case_of("PSVR", kernel="rbf", gamma=2.0, C=np.inf),
    case_of("LinearPSVR", p=1.0, quantile=0.01),
    case_of("LinearPSVR", p=1.25, unit=1e9, offset=1e6),
    case_of("LinearPSVR", p=3.0, fit_intercept=False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_true_certificates_are_proved(case):
    outcome = verdict(case, fitted(case))
    assert not outcome.findings
    assert outcome.counts["proved"] == 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_model_moved_by_hand_is_caught(case):
    model = copy.deepcopy(fitted(case))
    if case.parameters.get("fit_intercept", True):
        model.intercept_ = model.intercept_ + 0.2 * np.std(case.data.y)
    elif case.estimator == "PSVR":
        model.dual_coef_ = 1.1 * model.dual_coef_
    else:
        model.coef_ = 1.1 * model.coef_
    assert {finding.what for finding in verdict(case, model).findings} == {"false certificate"}


def test_constant_targets_have_nothing_below():
    case = case_of("PSVR", kernel="sigmoid", gamma=1.0)
    case.data.y = np.full(40, 3.5)
    model = fitted(case)
    assert model.dual_gap_[0] == 0.0
    assert verdict(case, model).counts["proved"] == 1


@pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[7]], ids=str)
def test_predictions_off_by_more_than_rounding_are_caught(case, monkeypatch):
    model = fitted(case)
    referee, outcome = RegressionReferee(case, model), Outcome(0, "regressions")
    check_predictions(referee, outcome)
    assert not outcome.findings
    exact, off = type(model).predict, 1e-11 * np.abs(case.data.y).max()
    monkeypatch.setattr(type(model), "predict", lambda self, X: exact(self, X) + off)
    check_predictions(referee, outcome)
    assert [finding.what for finding in outcome.findings] == ["wrong decision"]


@pytest.mark.parametrize("p", [1.0, 1.0001, 1.5, 3.0, 50.0])
@pytest.mark.parametrize(("epsilon", "quantile"), [(0.0, 0.5), (0.1, 0.9)])
def test_the_own_solver_closes_its_bracket(p, epsilon, quantile):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    twice = np.tile(np.arange(20), 2)
    one = np.ones(20)
    problem = Problem(
        Kernel("rbf", gamma=2.0).matrix(X, X)[np.ix_(twice, twice)],
        exactly(np.concatenate([one, -one])),
        exactly(np.concatenate([2 * quantile * one, 2 * (1 - quantile) * one])),
        p,
        True,
        target=exactly(np.concatenate([y - epsilon, y + epsilon])),
    )
    bracket = Bracket(Value(Real(np.inf), Real(0)), Value(Real(0), Real(0)))

    def width(bracket):
        return (bracket.upper.value - bracket.lower.value) / bracket.upper.value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        improve(problem, bracket, lambda bracket: width(bracket) < 1e-9)
    assert -1e-15 < width(bracket) < 1e-9


def test_cases_have_every_kind():
    cases = [make_regression(np.random.default_rng(seed)) for seed in range(600)]
    assert {case.estimator for case in cases} == set(REGRESSORS)
    alone = [case for case in cases if case.estimator in ("PSVR", "LinearPSVR")]
    assert any(case.parameters["epsilon"] == 0 for case in alone)
    quantiles = [case.parameters["quantile"] for case in alone]
    assert min(quantiles) < 1e-6 < 1 - 1e-6 < max(quantiles)
    sizes = [np.abs(case.data.y).max() for case in cases]
    assert min(size for size in sizes if size > 0) < 1e-100
    assert max(sizes) > 1e50
    assert any(len(np.unique(case.data.y)) == 1 for case in cases)
    assert any(np.isinf(case.parameters["C"]) for case in alone)
    assert str(cases[0]) == str(make_regression(np.random.default_rng(0)))


def test_quantiles_are_judged_one_by_one(monkeypatch):
    seeds = range(200, 2000)
    cases = ((seed, make_regression(np.random.default_rng(seed))) for seed in seeds)
    seed = next(seed for seed, case in cases if case.estimator == "PSVRQuantiles")
    outcome = run_fit(seed, "regressions")
    assert not outcome.findings
    assert outcome.counts["PSVRQuantiles"] == 1
    exact = PSVRQuantiles.predict
    monkeypatch.setattr(PSVRQuantiles, "predict", lambda self, X: exact(self, X)[:, ::-1] + 1.0)
    assert "wrong decision" in [one.what for one in run_fit(seed, "regressions").findings]


@pytest.mark.parametrize(
    "seed",
    [
        1113,  # predictions beyond 1e300, whose scores overflowed
        2454,  # scores of such a size that their squares did
        305674,
        303374,
        703774,  # dual variables times slacks beyond the range of numbers
        703854,  # a gap in history_ that was no number
        8002153,  # a bound beyond the range of numbers
        120016073,  # dual variables beyond it, in the unit of the targets
        120081255,  # predictions that were no numbers, of an indefinite kernel
        120082275,
    ],
)
def test_what_was_found_is_mended(seed):
    assert run_fit(seed, "regressions").findings == []
