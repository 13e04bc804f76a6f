"""Random fits: run, and everything that is promised of them checked."""

from __future__ import annotations

import linecache
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import psvm
from torture.cases import FitCase, make_fit
from torture.decisions import check_decisions, check_predictions, check_sorted_predictions
from torture.outcome import Outcome
from torture.referee import Referee, by_its_name, judge
from torture.regression_cases import REGRESSORS, make_regression
from torture.regression_referee import RegressionReferee

MAKERS = {"fits": make_fit, "regressions": make_regression}
ALONE = ("PSVC", "LinearPSVC", "PSVR", "LinearPSVR")
SEARCHES = ("PSVCCV", "PSVRCV")

HERE = __file__
PACKAGE = str(Path(psvm.__file__).parent)
THEIR_OWN = "/sklearn/"  # whose messages are for users, too

# Words of an error that tell of the inside.
INTERNAL = ("brentq", "f(a)", "nan_policy", "operands", "broadcast", "zero-size", "ingular",
            "ufunc", "cannot convert float", "dtype('O')", "_core",
            "incompatible function", "math domain",
            "Numerical result")  # fmt: skip

# What scikit-learn says of labels, folds and scores is its own; and cells whose fits explode, with
# a kernel that is not definite, have no score.
THEIRS = (
    "The number of unique classes is greater than",
    "The least populated class",
    "R^2 score is not well-defined",
    "PSVRCV chooses without",
)

SLOW = 5.0  # CPU seconds that no fit of fewer than 1,000 rows takes


def run_fit(seed: int, kind: str = "fits") -> Outcome:
    """The fit of a seed, and all that is wrong with it."""
    outcome = Outcome(seed, kind)
    rng = np.random.default_rng(seed)
    case = MAKERS[kind](rng)
    outcome.recipe = str(case)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        began, cpu = time.monotonic(), time.process_time()
        model, error = attempt(lambda: fit(case))
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
    check_warnings(heard, outcome)
    check_time(case, wall, cpu, outcome)
    if error is not None:
        outcome.counts["refused"] += 1
        check_error(error, outcome)
        return outcome
    outcome.counts[case.estimator] += 1
    if case.estimator in REGRESSORS:
        check_regressor(case, model, outcome)
    else:
        for name, one, C, p in models_of(case, model):
            check_model(case, name, one, C, p, outcome)
    if case.estimator in ALONE and rng.random() < 0.2:
        check_failing_refit(case, model, rng, outcome)
    return outcome


def attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result or the error of a call."""
    try:
        return call(), None
    except Exception as error:
        return None, error


def fit(case: FitCase) -> Any:
    """Fit as the case says; of a warm start the second time."""
    data, parameters = case.data, dict(case.parameters)
    if case.estimator == "psvm_path":
        return psvm.psvm_path(data.X, data.y, sample_weight=data.sample_weight, **parameters)
    model = getattr(psvm, case.estimator)(**parameters)
    if case.before:
        model.set_params(**case.before)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            attempt(lambda: fit_once(case, model))
        model.set_params(**parameters)
    return fit_once(case, model)


def fit_once(case: FitCase, model: Any) -> Any:
    data = case.data
    if not case.blocks:
        return model.fit(data.X, data.y, sample_weight=data.sample_weight)
    X = data.X.tocsr() if hasattr(data.X, "tocsr") else np.asarray(data.X)
    parts = np.array_split(np.arange(len(data.y)), min(case.blocks, len(data.y)))
    return model.fit_blocks([(X[rows], data.y[rows], data.weight[rows]) for rows in parts])


def models_of(case: FitCase, model: Any) -> list[tuple[str, Any, Any, Any]]:
    """The models that a fit leaves behind, each with a name, its C and its p."""
    if case.estimator == "psvm_path":
        return [
            (f"ps[{i}], Cs[{j}]", member_of(model, case, i, j), float(model.Cs[j]), float(p))
            for i, p in enumerate(model.ps)
            for j in range(len(model.Cs))
            if model.computed[i, j]
        ]
    if case.estimator == "PSVCCV":
        best = model.best_estimator_
        return [("refit", best, model.best_params_["C"], model.best_params_["p"])]
    return [("", model, None, None)]


def member_of(path: Any, case: FitCase, i: int, j: int) -> Any:
    """A model of a path with the attributes that a PSVC would have."""
    member = SimpleNamespace(classes_=path.classes, status_=[], history_=[])
    for name in ("intercept", "dual_gap", "primal_objective", "dual_objective", "n_iter"):
        setattr(member, name + "_", getattr(path, name)[i, j])
    if path.coef is not None:
        member.coef_ = path.coef[i, j]
    else:
        member.dual_coef_ = path.dual_coef[i, j]
        member.support_ = np.arange(len(case.data.y))
        member._kernel = SimpleNamespace(gamma=case.parameters.get("gamma", 1.0))
    return member


# --- what is checked -----------------------------------------------------------------------------


def check_model(case: FitCase, name: str, model: Any, C: Any, p: Any, outcome: Outcome) -> None:
    """Attributes, certificates, decisions."""
    before = len(outcome.findings)
    check_attributes(case, model, outcome)
    if len(outcome.findings) > before:
        return
    referee = Referee(case, model, C, p)
    for t, stored in enumerate(referee.problems()):
        judge(stored, outcome, f"{name} problem {t}".strip())
    if hasattr(model, "predict"):
        check_decisions(case, model, referee, outcome)


def check_regressor(case: FitCase, model: Any, outcome: Outcome) -> None:
    """Attributes, certificate, predictions."""
    chosen: dict[str, float] = {}
    if case.estimator == "PSVRCV":
        model, best = model.best_estimator_, model.best_params_
        chosen = {name: float(best[name]) for name in ("p", "C", "epsilon")}
    before = len(outcome.findings)
    check_attributes(case, model, outcome)
    if len(outcome.findings) > before:
        return
    if case.estimator == "PSVRQuantiles":
        quantiles = [float(one) for one in model.quantiles_]
        members = [
            RegressionReferee(case, quantile_of(model, i), quantile=one)
            for i, one in enumerate(quantiles)
        ]
        check_sorted_predictions(model, quantiles, members, outcome)
    else:
        members = [RegressionReferee(case, model, **chosen)]
        check_predictions(members[0], outcome)
    for referee in members:
        if referee.within_range:
            judge(referee.stored(), outcome, f"quantile {float(referee.quantile):g}")
        else:
            outcome.counts["out of range"] += 1


def quantile_of(model: Any, i: int) -> Any:
    """One of several quantiles with the attributes that a PSVR would have."""
    return SimpleNamespace(
        dual_coef_=model.dual_coef_[i : i + 1],
        support_=model.support_,
        intercept_=model.intercept_[i : i + 1],
        dual_gap_=model.dual_gap_[i : i + 1],
        status_=model.status_[i : i + 1],
        _kernel=model._kernel,
    )


def check_attributes(case: FitCase, model: Any, outcome: Outcome) -> None:
    """Everything is a number, and says what it should."""
    names = ["dual_gap_", "primal_objective_", "dual_objective_"]
    told = {name: getattr(model, name) for name in names}
    told["intercept_"] = by_its_name(model, "intercept_")
    if hasattr(model, "dual_coef_"):
        told["dual_coef_"] = model.dual_coef_
    else:
        told["coef_"] = by_its_name(model, "coef_")
    for name, values in told.items():
        allowed = name in names
        if np.isnan(values).any() or (not allowed and not np.isfinite(values).all()):
            outcome.found("not a number", f"{name} = {values.ravel()[:5]}")
    tol = case.parameters["tol"]
    for t, (gap, status) in enumerate(zip(model.dual_gap_, model.status_, strict=False)):
        if status.name in ("CONVERGED", "STATIONARY") and not gap <= tol:
            outcome.found("status", f"problem {t} is {status.name} at gap {gap:.2e} > {tol:.2e}")
        if gap < 0:
            outcome.found("status", f"problem {t} has gap {gap}")
        outcome.counts[status.name] += 1
    for t, records in enumerate(model.history_):
        for record in records:
            bad = [n for n, v in record.items() if isinstance(v, float) and np.isnan(v)]
            if bad:
                outcome.found("not a number", f"history_[{t}] has NaN in {bad}: {record}")
                break
    if not case.parameters.get("fit_intercept", True) and np.any(by_its_name(model, "intercept_")):
        outcome.found(
            "status", f"intercept_ {by_its_name(model, 'intercept_')} without an intercept"
        )
    limit = case.parameters.get("max_iter", -1)
    if limit > 0 and (model.n_iter_ > limit).any() and case.estimator not in SEARCHES:
        outcome.found("status", f"n_iter_ {model.n_iter_} with max_iter {limit}")


def check_error(error: BaseException, outcome: Outcome) -> None:
    """A refusal is a ValueError or TypeError, raised on purpose, in words for users."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    ours = frame.filename.startswith(PACKAGE) or THEIR_OWN in frame.filename
    message = str(error)
    text = f"{type(error).__name__}: {message[:300]} ({Path(frame.filename).name}:{frame.lineno})"
    on_purpose = ours and line.startswith("raise")
    if (
        not isinstance(error, ValueError | TypeError)
        or not on_purpose
        or any(word in message for word in INTERNAL)
    ):
        outcome.found("unclear error", text)


def check_warnings(heard: list[warnings.WarningMessage], outcome: Outcome) -> None:
    """Only a ConvergenceWarning may come, and it points here."""
    for one in heard:
        text = f"{one.category.__name__}: {str(one.message)[:200]} ({one.filename}:{one.lineno})"
        if str(one.message).startswith(THEIRS):
            continue
        if one.category is not ConvergenceWarning and not one.category.__module__.startswith(
            "psvm"
        ):
            outcome.found("stray warning", text)
        elif one.filename != HERE:
            outcome.found("warning points elsewhere", text)


def check_time(case: FitCase, wall: float, cpu: float, outcome: Outcome) -> None:
    """Small fits are quick, and ``max_time`` is kept; both by the lesser of two clocks."""
    seconds = min(wall, cpu)
    limit = case.parameters.get("max_time")
    several = ("psvm_path", "PSVRQuantiles", *SEARCHES)
    many = 8 if case.estimator in several else 1 + bool(case.before)
    if seconds > SLOW * many:
        outcome.found("slow", f"{seconds:.1f} s")
    if limit is not None and seconds > limit + max(0.5, 0.1 * limit):
        outcome.found("max_time", f"{seconds:.1f} s with max_time {limit:g}")


def check_failing_refit(
    case: FitCase, model: Any, rng: np.random.Generator, outcome: Outcome
) -> None:
    """A fit that fails leaves the estimator as it was."""
    before = dict(model.__dict__)
    spoiled = np.array(case.data.values)
    how = int(rng.integers(4))
    y, weight = case.data.y, case.data.sample_weight
    if case.estimator in REGRESSORS and callable(case.parameters.get("kernel")) and how == 0:
        how = 3  # where all targets are inside the tube, a callable sees no row at all
    if how == 0:
        # A callable never sees a row of weight 0.
        counts = np.flatnonzero(np.ones(len(y)) if weight is None else np.asarray(weight) > 0.0)
        spoiled[rng.choice(counts), int(rng.integers(spoiled.shape[1]))] = np.nan
    elif how == 1:
        y = y[:-1]
    elif how == 2:
        weight = -np.ones(len(y))
    elif case.estimator in REGRESSORS:
        y = np.where(np.arange(len(y)) == rng.integers(len(y)), np.nan, y)
    else:
        y = np.full(len(y), y[0])
    _, error = attempt(lambda: model.fit(spoiled, y, sample_weight=weight))
    if error is None:
        outcome.found("no error", f"refit with fault {how} was accepted")
        return
    check_error(error, outcome)
    after = model.__dict__
    changed = [n for n in {*before, *after} if before.get(n) is not after.get(n)]
    if changed:
        outcome.found("changed estimator", f"{changed} after {type(error).__name__}")
