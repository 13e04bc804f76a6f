"""What fit and tune have in common: split, preprocess, fit, test, save, tell."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from psvm.cli.approximation import STEP as APPROXIMATE
from psvm.cli.approximation import KernelFeatures
from psvm.cli.files.readings import readings_as_json
from psvm.cli.files.training_set import TrainingSet
from psvm.cli.fitted_model import Model, innermost
from psvm.cli.forecast import WORTH_SAYING, forecast, tell
from psvm.cli.gap_bar import gap_bar
from psvm.cli.output import about
from psvm.cli.preprocessing import with_preprocessing
from psvm.cli.regression import (
    described_spread,
    numbers_learned,
    regression_scores_of,
    show_regression_scores,
)
from psvm.cli.scores import scores_of
from psvm.cli.show import show_facts, show_scores
from psvm.cli.tasks import Task
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.solvers.ledger import Status

UNFINISHED = 3
"""Exit code of a fit that was stopped early; its model is written."""

# A gap that no digits excuse.
_FAR = 1e-2

# Parameters that a line has room for.
_SHOWN = ("p", "C", "epsilon", "quantile", "kernel", "gamma", "class_weight")

FOLDS = 5
"""Parts of the training rows, each of which is held out once to learn probabilities."""


# Share of a limit of seconds for the fit itself, and rows that tell how long it takes to score.
_FOR_FIT, _PROBED = 0.9, 500


@dataclass(frozen=True)
class Split:
    """Rows to fit to, and rows to test with if any were kept."""

    train: TrainingSet
    test: TrainingSet | None


@dataclass(frozen=True)
class Fitted:
    """A model and what is to be said about it, as JSON values."""

    model: Any
    facts: dict[str, Any]


def new_classifier(*, linear: bool, **parameters: Any) -> Any:
    """A LinearPSVC or a PSVC with these parameters."""
    return LinearPSVC(**parameters) if linear else PSVC(**parameters)


def split(training: TrainingSet, test_size: float | None, seed: int) -> Split:
    """Set a share of the rows aside; of every class alike, if there are classes."""
    if test_size is None:
        return Split(training, None)
    from sklearn.model_selection import train_test_split

    rows = np.arange(training.shape[0])
    classes = None if training.task is Task.regression else training.y
    train, test = train_test_split(rows, test_size=test_size, stratify=classes, random_state=seed)

    def part(chosen: Any) -> TrainingSet:
        return replace(training, X=training.X[np.sort(chosen)], y=training.y[np.sort(chosen)])

    return Split(part(train), part(test))


def fit_model(
    estimator: Any,
    rows: Split,
    *,
    scale: bool | None,
    impute: bool,
    proba: bool,
    quiet: bool,
    began: float | None = None,
    features: KernelFeatures | None = None,
) -> Fitted:
    """Fit an estimator with its preprocessing, and test it.

    The ``max_time`` of the estimator is that of all of this. What is left of it after the fit
    decides how many rows are scored.

    Parameters
    ----------
    estimator : PSVC, LinearPSVC, PSVR or LinearPSVR
        Not fitted yet.
    rows : Split
        What to fit to and to test with.
    scale, impute : bool
        As for :func:`with_preprocessing`.
    proba : bool
        Whether to learn probabilities from held-out decision values.
    quiet : bool
        Whether to show no progress.
    began : float, optional
        When the seconds began to count, by ``time.perf_counter``; now unless given.
    features : KernelFeatures, optional
        What stands for a kernel before a linear estimator.

    Returns
    -------
    Fitted
        The model is that of the training rows only: the one that was tested.
    """
    last = _calibrated(estimator) if proba else estimator
    model = with_preprocessing(last, rows.train, scale=scale, impute=impute)
    if features is not None:
        model = features.before_last_of(model, rows.train)
    started = time.perf_counter()
    limit = TimeLimit(estimator.max_time, started if began is None else began)
    fits = FOLDS + 1 if proba else 1
    seconds = None
    if not quiet:
        seconds = forecast(model, rows.train, max_time=limit.seconds)
        if seconds is not None and seconds >= WORTH_SAYING:
            tell(seconds, rows.train.shape[0], model, limit.seconds)
    left = seconds if limit.seconds is None else min(seconds or math.inf, limit.left)
    problems = fits * _problems(estimator, rows.train)
    with gap_bar(problems, estimator.tol, quiet=quiet, expected=left):
        limit.fit(model, rows.train, fits=fits)
    seconds = time.perf_counter() - started
    # The rows that are tested with are asked for their labels and for their decision values.
    test = None if rows.test is None else limit.some_of(rows.test, model, share=0.25)
    train = limit.some_of(rows.train, model, share=0.75)
    return Fitted(model, facts_of(model, rows.train, Split(train, test), seconds))


def _problems(estimator: Any, rows: TrainingSet) -> int:
    """How many problems a fit solves: one of two classes, or of numbers."""
    if rows.task is Task.regression:
        return 1
    k = np.unique(rows.y).size
    return int({"ovo": k * (k - 1) // 2, "ovr": k}[estimator.multi_class]) if k > 2 else 1


@dataclass(frozen=True)
class TimeLimit:
    """The seconds that everything after reading may take, None for any, and when it began."""

    seconds: float | None
    began: float

    @property
    def left(self) -> float:
        """Seconds left."""
        assert self.seconds is not None
        return max(self.seconds - (time.perf_counter() - self.began), 0.0)

    def fit(self, model: Any, rows: TrainingSet, fits: int) -> None:
        """Fit, in what preprocessing leaves and less what is kept for the scores."""
        if self.seconds is None:
            model.fit(rows.X, rows.y)
            return
        X, last = rows.X, model
        if hasattr(model, "steps"):
            X, last = model[:-1].fit_transform(rows.X, rows.y), model[-1]
        estimator = last if fits == 1 else last.estimator
        estimator.set_params(max_time=max(_FOR_FIT * self.left / fits, 1e-3))
        last.fit(X, rows.y)
        estimator.set_params(max_time=self.seconds)
        innermost(model).set_params(max_time=self.seconds)

    def some_of(self, rows: TrainingSet, model: Any, share: float) -> TrainingSet:
        """As many rows, at random, as can be predicted in a share of the seconds left."""
        n = rows.shape[0]
        if self.seconds is None or n <= _PROBED:
            return rows
        order = np.random.default_rng(0).permutation(n)
        began = time.perf_counter()
        model.predict(rows.X[np.sort(order[:_PROBED])])
        each = (time.perf_counter() - began) / _PROBED
        chosen = np.sort(order[: max(_PROBED, int(share * self.left / each))])
        return replace(rows, X=rows.X[chosen], y=rows.y[chosen])


def _calibrated(classifier: Any) -> Any:
    """The classifier with probabilities, monotone in its decision function."""
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(classifier, ensemble=False, cv=FOLDS)


def facts_of(model: Any, fitted: TrainingSet, scored: Split, seconds: float) -> dict[str, Any]:
    """What a model was fitted to, what the estimator inside says of itself, and how good it is."""
    train, test = scored.train, scored.test
    own = innermost(model)
    regression = fitted.task is Task.regression
    return {
        "task": fitted.task.value,
        "rows": fitted.shape[0],
        "columns": fitted.shape[1],
        "text_columns": fitted.texts,
        **(numbers_learned(fitted.y) if regression else _classes_learned(fitted.y)),
        "approximate": _kernel_features(model),
        "regressor" if regression else "classifier": type(own).__name__,
        **_facts_of_estimator(own, regression=regression),
        "seconds": seconds,
        "train": _scored(model, train) if regression else _train_accuracy(model, train),
        "test": None if test is None else _scored(model, test),
    }


def _classes_learned(y: Any) -> dict[str, Any]:
    """The classes of training rows, and the share of the largest."""
    classes, counts = np.unique(y, return_counts=True)
    return {"classes": classes.tolist(), "majority": float(counts.max() / y.size)}


def _train_accuracy(model: Any, train: TrainingSet) -> dict[str, Any]:
    return {
        "rows": train.shape[0],
        "accuracy": float(np.mean(model.predict(train.X) == train.y)),
    }


def _kernel_features(model: Any) -> int | None:
    """How many features stand for the kernel, if any do."""
    found = dict(getattr(model, "steps", [])).get(APPROXIMATE)
    return None if found is None else int(found.n_components)


def _scored(model: Any, rows: TrainingSet) -> dict[str, Any]:
    """Scores of a model on rows whose labels or numbers are known."""
    if rows.task is Task.regression:
        return regression_scores_of(rows.y, model.predict(rows.X), innermost(model).quantile)
    decision = Model(model).decision(rows.X)
    return scores_of(rows.y, model.predict(rows.X), decision, model.classes_)


def _facts_of_estimator(estimator: Any, *, regression: bool) -> dict[str, Any]:
    """What a fitted estimator of psvm says of itself."""
    worst = int(np.argmax(estimator.dual_gap_))
    parameters = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in ("verbose", "warm_start", "n_jobs", "cache_size")
    }
    facts = {
        "parameters": parameters,
        "problems": len(estimator.dual_gap_),
        "dual_gap": float(estimator.dual_gap_[worst]),
        "within_tol": bool(estimator.dual_gap_[worst] <= estimator.tol),
        "finished": not _stopped_early(estimator),
        "status": str(estimator.status_[worst].value),
        "iterations": int(np.sum(estimator.n_iter_)),
        "support_vectors": int(np.sum(estimator.n_support_)),
    }
    per_class = {} if regression else {"support_vectors_per_class": estimator.n_support_.tolist()}
    return facts | per_class


def _stopped_early(estimator: Any) -> bool:
    """Whether a limit, or digits that ran out, ended the fit far from its optimum."""
    far = estimator.dual_gap_ > max(_FAR, estimator.tol)
    return any(
        status in (Status.MAX_TIME, Status.MAX_ITER)
        or (wide and status in (Status.STALLED, Status.UNBOUNDED))
        for status, wide in zip(estimator.status_, far, strict=True)
    )


@contextmanager
def limits_told_later() -> Iterator[None]:
    """No warnings of limits that end a fit: :func:`tell_unfinished` has a line about them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*stopped after max_(time|iter)", ConvergenceWarning)
        yield


def tell_unfinished(fitted: Fitted, path: Path, advice: str) -> None:
    """Say how far a fit came that was stopped early, and end with its exit code."""
    facts = fitted.facts
    if facts["finished"]:
        return
    tol = facts["parameters"]["tol"]
    gap = f"{facts['dual_gap']:.2g}" if facts["dual_gap"] < math.inf else "unknown"
    sys.stderr.write(
        f"psvm: NOT finished: the relative duality gap is {gap} where --tol asks for {tol:g} "
        f"({facts['status']}). The model is written to {path}, but a finished one may predict "
        f"otherwise: {advice}\n"
    )
    raise typer.Exit(UNFINISHED)


def save_model(model: Any, path: Path, target: str | None, training: TrainingSet) -> None:
    """Write a model file that knows its target, and how the columns of its file were read."""
    from psvm.persistence import save

    with about(path):
        save(model, path, target=target, notes={"readings": readings_as_json(training.readings)})


def short(value: Any) -> str:
    """A parameter for people: six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_fit(fitted: Fitted, path: Path) -> None:
    """Tell a person about a fit."""
    facts = fitted.facts
    parameters = facts["parameters"]
    shown = [name for name in _SHOWN if name in parameters]
    described = ", ".join(f"{name}={short(parameters[name])}" for name in shown)
    rows = f"{facts['rows']} rows, {facts['columns']} columns"
    if facts["text_columns"]:
        rows += f" ({len(facts['text_columns'])} of them texts)"
    problems = f" in {facts['problems']} binary problems" if facts["problems"] > 1 else ""
    unfinished = "" if facts["finished"] else f"NOT FINISHED, tol is {parameters['tol']:g}: "
    approximate = facts["approximate"]
    features = f" on {approximate} kernel features" if approximate else ""
    regression = facts["task"] == Task.regression
    kind = "regressor" if regression else "classifier"
    learned = (
        f"target {described_spread(facts)}" if regression else f"{len(facts['classes'])} classes"
    )
    show_facts(
        {
            "data": f"{rows}, {learned}",
            kind: f"{facts[kind]}({described}){features}",
            "certificate": f"{unfinished}relative duality gap {facts['dual_gap']:.1e} at "
            f"most{problems}",
            "support vectors": str(facts["support_vectors"]),
            **(_in_training(facts["train"]) if regression else _accuracy(facts)),
            "fit": f"{facts['seconds']:.2f} s",
            "model": str(path),
        }
    )
    if facts["test"] is not None:
        show = show_regression_scores if regression else show_scores
        show(facts["test"], "tested on")


def _accuracy(facts: dict[str, Any]) -> dict[str, str]:
    return {
        "training accuracy": f"{facts['train']['accuracy']:.4f} (the largest class alone: "
        f"{facts['majority']:.4f})"
    }


def _in_training(scores: dict[str, Any]) -> dict[str, str]:
    r2 = "not defined" if scores["r2"] is None else f"{scores['r2']:.4f}"
    return {"training R²": f"{r2} (mean absolute error {scores['mae']:.4g})"}
