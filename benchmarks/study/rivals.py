"""The other methods: SVC by GridSearchCV, boosting, a forest, and simple ones.

``svc`` is a check of ``kernel-1``: the same grid and folds by scikit-learn, where that takes little
time. ``lightgbm-same`` trains on the rows that the kernel machines had, where they had fewer than
``lightgbm``. ``lightgbm-tuned`` is a random search whose first trial is the default, for as long as
``kernel-best`` took on the same split; so the number of its trials depends on the machine.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from benchmarks.study import rules
from benchmarks.study.machines import Outcome
from benchmarks.study.measures import answers_of
from benchmarks.study.preparation import preparation
from benchmarks.study.splits import Part

NONE = float("nan")

SIMPLE: dict[str, Callable[[int], Any]] = {
    "forest": lambda seed: RandomForestClassifier(random_state=seed, n_jobs=1),
    "logistic": lambda seed: LogisticRegression(max_iter=1000),
    "knn": lambda seed: KNeighborsClassifier(n_jobs=1),
    "dummy": lambda seed: DummyClassifier(strategy="prior"),
}
"""Methods with scikit-learn's defaults."""


def boosting(seed: int, **settings: Any) -> Any:
    """LightGBM, with one thread and without a word."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, deterministic=True, **settings)


def run_model(
    model: Any, train: Part, test: Part, n_classes: int, chosen: dict[str, Any]
) -> Outcome:
    """Fit a classifier behind the preparation, and ask it."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits of iterations, names of columns: not ours to mend
        pipeline = make_pipeline(preparation(train.X), model).fit(train.X, train.y)
        fitted = time.perf_counter()
        answers = answers_of(pipeline, test.X, n_classes)
    done = time.perf_counter()
    chosen = {**chosen, "n_train": len(train.y)}
    return Outcome(answers, NONE, fitted - began, done - fitted, chosen)


def run_svc(train: Part, test: Part, n_classes: int, seed: int) -> Outcome:
    """SVC with the grid and the first round of folds of the kernel machines."""
    folds = RepeatedStratifiedKFold(n_splits=rules.FOLDS, n_repeats=rules.ROUNDS, random_state=seed)
    first = list(folds.split(train.X, train.y))[: rules.FOLDS]
    rows = preparation(train.X).fit_transform(train.X)
    scale = 1.0 / (rows.shape[1] * rows.var())
    grid = {
        "svc__C": np.geomspace(0.1, 100.0, 6),
        "svc__gamma": scale * np.geomspace(0.1, 10.0, 5),
    }
    began = time.perf_counter()
    pipeline = Pipeline([("prepare", preparation(train.X)), ("svc", SVC())])
    search = GridSearchCV(pipeline, grid, cv=first, refit=True).fit(train.X, train.y)
    calibrated = CalibratedClassifierCV(search.best_estimator_, cv=first, ensemble=False)
    calibrated.fit(train.X, train.y)
    fitted = time.perf_counter()
    answers = answers_of(calibrated, test.X, n_classes)
    # Labels and decision values of the machine itself: calibration may change an argmax.
    answers = answers._replace(labels=search.predict(test.X))
    if n_classes == 2:
        answers = answers._replace(scores=search.decision_function(test.X))
    done = time.perf_counter()
    support = len(search.best_estimator_[-1].support_) / len(train.y)
    params = search.best_params_
    chosen = {"C": params["svc__C"], "gamma": params["svc__gamma"], "n_train": len(train.y)}
    return Outcome(answers, support, fitted - began, done - fitted, chosen)


def trial(random: np.random.Generator) -> dict[str, Any]:
    """One draw of LightGBM's settings."""
    return {
        "n_estimators": int(random.choice([50, 100, 200, 400])),
        "learning_rate": float(np.exp(random.uniform(np.log(0.02), np.log(0.3)))),
        "num_leaves": int(random.choice([4, 8, 15, 31, 63])),
        "min_child_samples": int(random.choice([3, 5, 10, 20, 50])),
        "colsample_bytree": float(random.uniform(0.4, 1.0)),
        "subsample": float(random.uniform(0.5, 1.0)),
        "subsample_freq": 1,
        "reg_lambda": float(np.exp(random.uniform(np.log(1e-3), np.log(30.0)))),
    }


def run_tuned_boosting(
    train: Part, test: Part, n_classes: int, seed: int, seconds: float
) -> Outcome:
    """Random search by the accuracy of five folds until the time is up, and the best once more."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = []
        for rows, held in StratifiedKFold(5, shuffle=True, random_state=seed).split(*train):
            prepare = preparation(train.X).fit(train.X.iloc[rows])
            parts.append(
                (
                    prepare.transform(train.X.iloc[rows]),
                    train.y[rows],
                    prepare.transform(train.X.iloc[held]),
                    train.y[held],
                )
            )
        random = np.random.default_rng(seed)
        tried: list[tuple[float, int]] = []
        settings: list[dict[str, Any]] = []
        while True:
            settings.append(trial(random) if settings else {})
            accuracy = [
                np.mean(boosting(seed, **settings[-1]).fit(X, y).predict(X_held) == y_held)
                for X, y, X_held, y_held in parts
            ]
            tried.append((float(np.mean(accuracy)), -len(tried)))
            # A further trial would end late by as long as they take on average.
            spent = time.perf_counter() - began
            if spent + spent / len(tried) > seconds:
                break
    chosen = settings[-max(tried)[1]]
    spent = time.perf_counter() - began
    about = {**chosen, "trials": len(tried)}
    outcome = run_model(boosting(seed, **chosen), train, test, n_classes, about)
    return outcome._replace(fit_seconds=outcome.fit_seconds + spent)
