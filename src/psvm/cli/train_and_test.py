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
from psvm.cli.scores import scores_of
from psvm.cli.show import show_facts, show_scores
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.solvers.ledger import Status

UNFINISHED = 3
"""Exit code of a fit that was stopped early; its model is written."""

# A gap that no digits excuse.
_FAR = 1e-2

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
    """Set a share of the rows aside, of every class alike."""
    if test_size is None:
        return Split(training, None)
    from sklearn.model_selection import train_test_split

    rows = np.arange(training.shape[0])
    train, test = train_test_split(
        rows, test_size=test_size, stratify=training.y, random_state=seed
    )

    def part(chosen: Any) -> TrainingSet:
        return replace(training, X=training.X[np.sort(chosen)], y=training.y[np.sort(chosen)])

    return Split(part(train), part(test))


def fit_model(
    classifier: Any,
    rows: Split,
    *,
    scale: bool | None,
    impute: bool,
    proba: bool,
    quiet: bool,
    began: float | None = None,
    features: KernelFeatures | None = None,
) -> Fitted:
    """Fit a classifier with its preprocessing, and test it.

    The ``max_time`` of the classifier is that of all of this. What is left of it after the fit
    decides how many rows are scored.

    Parameters
    ----------
    classifier : PSVC or LinearPSVC
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
        What stands for a kernel before a linear classifier.

    Returns
    -------
    Fitted
        The model is that of the training rows only: the one that was tested.
    """
    last = _calibrated(classifier) if proba else classifier
    model = with_preprocessing(last, rows.train, scale=scale, impute=impute)
    if features is not None:
        model = features.before_classifier_of(model, rows.train)
    k = np.unique(rows.train.y).size
    each = {"ovo": k * (k - 1) // 2, "ovr": k}[classifier.multi_class] if k > 2 else 1
    started = time.perf_counter()
    limit = TimeLimit(classifier.max_time, started if began is None else began)
    fits = FOLDS + 1 if proba else 1
    seconds = None
    if not quiet:
        seconds = forecast(model, rows.train, max_time=limit.seconds)
        if seconds is not None and seconds >= WORTH_SAYING:
            tell(seconds, rows.train.shape[0], model, limit.seconds)
    left = seconds if limit.seconds is None else min(seconds or math.inf, limit.left)
    with gap_bar(each * fits, classifier.tol, quiet=quiet, expected=left):
        limit.fit(model, rows.train, fits=fits)
    seconds = time.perf_counter() - started
    # The rows that are tested with are asked for their labels and for their decision values.
    test = None if rows.test is None else limit.some_of(rows.test, model, share=0.25)
    train = limit.some_of(rows.train, model, share=0.75)
    return Fitted(model, facts_of(model, rows.train, Split(train, test), seconds))


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
        classifier = last if fits == 1 else last.estimator
        classifier.set_params(max_time=max(_FOR_FIT * self.left / fits, 1e-3))
        last.fit(X, rows.y)
        classifier.set_params(max_time=self.seconds)
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
    """What a model was fitted to, what the classifier inside says of itself, and how good it is."""
    train, test = scored.train, scored.test
    return {
        "rows": fitted.shape[0],
        "columns": fitted.shape[1],
        "text_columns": fitted.texts,
        "classes": np.unique(fitted.y).tolist(),
        "majority": float(np.unique(fitted.y, return_counts=True)[1].max() / fitted.shape[0]),
        "approximate": _kernel_features(model),
        **_facts_of_classifier(innermost(model)),
        "seconds": seconds,
        "train": {
            "rows": train.shape[0],
            "accuracy": float(np.mean(model.predict(train.X) == train.y)),
        },
        "test": None if test is None else _scored(model, test),
    }


def _kernel_features(model: Any) -> int | None:
    """How many features stand for the kernel, if any do."""
    found = dict(getattr(model, "steps", [])).get(APPROXIMATE)
    return None if found is None else int(found.n_components)


def _scored(model: Any, rows: TrainingSet) -> dict[str, Any]:
    """Scores of a model on rows with labels."""
    decision = Model(model).decision(rows.X)
    return scores_of(rows.y, model.predict(rows.X), decision, model.classes_)


def _facts_of_classifier(classifier: Any) -> dict[str, Any]:
    """What a fitted PSVC or LinearPSVC says of itself."""
    worst = int(np.argmax(classifier.dual_gap_))
    parameters = {
        name: value
        for name, value in classifier.get_params(deep=False).items()
        if name not in ("verbose", "warm_start", "n_jobs", "cache_size")
    }
    return {
        "classifier": type(classifier).__name__,
        "parameters": parameters,
        "problems": len(classifier.dual_gap_),
        "dual_gap": float(classifier.dual_gap_[worst]),
        "within_tol": bool(classifier.dual_gap_[worst] <= classifier.tol),
        "finished": not _stopped_early(classifier),
        "status": str(classifier.status_[worst].value),
        "iterations": int(classifier.n_iter_.sum()),
        "support_vectors": int(classifier.n_support_.sum()),
        "support_vectors_per_class": classifier.n_support_.tolist(),
    }


def _stopped_early(classifier: Any) -> bool:
    """Whether a limit, or digits that ran out, ended the fit far from its optimum."""
    far = classifier.dual_gap_ > max(_FAR, classifier.tol)
    return any(
        status in (Status.MAX_TIME, Status.MAX_ITER)
        or (wide and status in (Status.STALLED, Status.UNBOUNDED))
        for status, wide in zip(classifier.status_, far, strict=True)
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
    shown = [name for name in ("p", "C", "kernel", "gamma", "class_weight") if name in parameters]
    described = ", ".join(f"{name}={short(parameters[name])}" for name in shown)
    rows = f"{facts['rows']} rows, {facts['columns']} columns"
    if facts["text_columns"]:
        rows += f" ({len(facts['text_columns'])} of them texts)"
    problems = f" in {facts['problems']} binary problems" if facts["problems"] > 1 else ""
    unfinished = "" if facts["finished"] else f"NOT FINISHED, tol is {parameters['tol']:g}: "
    approximate = facts["approximate"]
    features = f" on {approximate} kernel features" if approximate else ""
    show_facts(
        {
            "data": f"{rows}, {len(facts['classes'])} classes",
            "classifier": f"{facts['classifier']}({described}){features}",
            "certificate": f"{unfinished}relative duality gap {facts['dual_gap']:.1e} at "
            f"most{problems}",
            "support vectors": str(facts["support_vectors"]),
            "training accuracy": f"{facts['train']['accuracy']:.4f} (the largest class alone: "
            f"{facts['majority']:.4f})",
            "fit": f"{facts['seconds']:.2f} s",
            "model": str(path),
        }
    )
    if facts["test"] is not None:
        show_scores(facts["test"], "tested on")
