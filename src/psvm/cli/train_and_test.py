"""What fit and tune have in common: split, preprocess, fit, test, save, tell."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from psvm.cli.files.readings import readings_as_json
from psvm.cli.files.training_set import TrainingSet
from psvm.cli.fitted_model import Model, innermost
from psvm.cli.gap_bar import gap_bar
from psvm.cli.output import about
from psvm.cli.preprocessing import with_preprocessing
from psvm.cli.scores import scores_of
from psvm.cli.show import show_facts, show_scores
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC

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

    Returns
    -------
    Fitted
        The model is that of the training rows only: the one that was tested.
    """
    last = _calibrated(classifier) if proba else classifier
    model = with_preprocessing(last, rows.train, scale=scale, impute=impute)
    k = np.unique(rows.train.y).size
    each = {"ovo": k * (k - 1) // 2, "ovr": k}[classifier.multi_class] if k > 2 else 1
    started = time.perf_counter()
    limit = TimeLimit(classifier.max_time, started if began is None else began)
    with gap_bar(each * (FOLDS + 1 if proba else 1), classifier.tol, quiet=quiet):
        limit.fit(model, rows.train, fits=FOLDS + 1 if proba else 1)
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
        **_facts_of_classifier(innermost(model)),
        "seconds": seconds,
        "train": {
            "rows": train.shape[0],
            "accuracy": float(np.mean(model.predict(train.X) == train.y)),
        },
        "test": None if test is None else _scored(model, test),
    }


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
        "status": str(classifier.status_[worst].value),
        "iterations": int(classifier.n_iter_.sum()),
        "support_vectors": int(classifier.n_support_.sum()),
        "support_vectors_per_class": classifier.n_support_.tolist(),
    }


def save_model(model: Any, path: Path, training: TrainingSet) -> None:
    """Write a model file, which also says how the columns of its training file are read."""
    from psvm.persistence import save

    with about(path):
        save(model, path, notes={"readings": readings_as_json(training.readings)})


def show_fit(fitted: Fitted, path: Path) -> None:
    """Tell a person about a fit."""
    facts = fitted.facts
    parameters = facts["parameters"]
    shown = [name for name in ("p", "C", "kernel", "gamma", "class_weight") if name in parameters]
    described = ", ".join(f"{name}={parameters[name]}" for name in shown)
    rows = f"{facts['rows']} rows, {facts['columns']} columns"
    if facts["text_columns"]:
        rows += f" ({len(facts['text_columns'])} of them texts)"
    problems = f" in {facts['problems']} binary problems" if facts["problems"] > 1 else ""
    show_facts(
        {
            "data": f"{rows}, {len(facts['classes'])} classes",
            "classifier": f"{facts['classifier']}({described})",
            "certificate": f"relative duality gap {facts['dual_gap']:.1e} at most{problems}",
            "support vectors": str(facts["support_vectors"]),
            "training accuracy": f"{facts['train']['accuracy']:.4f}",
            "fit": f"{facts['seconds']:.2f} s",
            "model": str(path),
        }
    )
    if facts["test"] is not None:
        show_scores(facts["test"], "tested on")
