"""What fit and tune have in common: split, preprocess, fit, test, save, tell."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
    classifier: Any, rows: Split, *, scale: bool | None, impute: bool, proba: bool, quiet: bool
) -> Fitted:
    """Fit a classifier with its preprocessing, and test it.

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

    Returns
    -------
    Fitted
        The model is that of the training rows only: the one that was tested.
    """
    last = _calibrated(classifier) if proba else classifier
    model = with_preprocessing(last, rows.train, scale=scale, impute=impute)
    k = np.unique(rows.train.y).size
    each = {"ovo": k * (k - 1) // 2, "ovr": k}[classifier.multi_class] if k > 2 else 1
    began = time.perf_counter()
    with gap_bar(each * (FOLDS + 1 if proba else 1), classifier.tol, quiet=quiet):
        model.fit(rows.train.X, rows.train.y)
    return Fitted(model, facts_of(model, rows, time.perf_counter() - began))


def _calibrated(classifier: Any) -> Any:
    """The classifier with probabilities, monotone in its decision function."""
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(classifier, ensemble=False, cv=FOLDS)


def facts_of(model: Any, rows: Split, seconds: float) -> dict[str, Any]:
    """What a model was fitted to, what the classifier inside says of itself, and how good it is."""
    train, test = rows.train, rows.test
    return {
        "rows": train.shape[0],
        "columns": train.shape[1],
        "text_columns": train.texts,
        "classes": np.unique(train.y).tolist(),
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


def save_model(model: Any, path: Path) -> None:
    """Write a model file."""
    from psvm.persistence import save

    with about(path):
        save(model, path)


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
