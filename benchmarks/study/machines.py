"""The p-norm machines: one search, and all that follows from its ``cv_results_``.

A family ("kernel" or "linear") is one PSVCCV over five p, six C and, with the kernel, five gamma,
in two rounds of five folds. Methods of the family choose cells of it (``rules``); a chosen cell is
fitted to all training rows once, with Platt's sigmoids of its held-out decision values, however
many methods choose it.

======================  ============================================================================
``kernel-1.5``          p fixed, C and gamma by the mean accuracy of the folds
``kernel-best``         p chosen with them
``kernel-one_se``       the fewest support vectors within one standard error of the best
``kernel-repeated``     p chosen by two rounds of folds
``kernel-prior``        p = 1.5 unless the best is more than a standard error better
``kernel-log_loss``     of the five winners, one per p, the one of least held-out log loss
``kernel-average``      the mean of their probabilities
``kernel-untuned-1.5``  p fixed, C = 1 and gamma = "scale", no search: the default of PSVC
======================  ============================================================================

Seconds of a method are those of the part of the search that it needs (by the times of its cells and
its rounds), and of the fits it uses.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.study import rules
from benchmarks.study.measures import Answers, answers_of, log_loss
from benchmarks.study.preparation import preparation
from benchmarks.study.splits import Part
from psvm import PSVCCV

EXPONENTS = (1.0, 1.25, 1.5, 2.0, 3.0)
CHOICES = ("best", "one_se", "repeated", "prior", "log_loss", "average")
FAMILIES = {"kernel": "rbf", "linear": "linear"}


def methods_of(family: str) -> list[str]:
    """Names of the methods of a family."""
    exponents = [f"{p:g}" for p in EXPONENTS]
    untuned = [f"untuned-{p}" for p in exponents]
    return [f"{family}-{what}" for what in (*exponents, *CHOICES, *untuned)]


class Outcome(NamedTuple):
    """What a method said of the test rows, what it took, and what it chose."""

    answers: Answers
    support_share: float
    fit_seconds: float
    predict_seconds: float
    chosen: dict[str, Any]


class Fitted(NamedTuple):
    """A cell, fitted to all training rows."""

    answers: Answers
    support_share: float
    fit_seconds: float
    predict_seconds: float
    held_out_log_loss: float


@dataclass
class Family:
    """A search on the training part of a split, and the fits that its methods ask for.

    Parameters
    ----------
    family : {"kernel", "linear"}
        Which machines.
    train, test : Part
        The split.
    n_classes : int
        Classes of the whole table.
    max_seconds : float
        For the search; cells that are not finished by then are not chosen from, and ``chosen``
        says how many.
    seed : int
        Of the folds.
    """

    family: str
    train: Part
    test: Part
    n_classes: int
    max_seconds: float
    seed: int
    fitted: dict[tuple[Any, ...], Fitted] = field(default_factory=dict)

    def search(self) -> None:
        """Score all cells."""
        folds = RepeatedStratifiedKFold(
            n_splits=rules.FOLDS, n_repeats=rules.ROUNDS, random_state=self.seed
        )
        self.folds = list(folds.split(self.train.X, self.train.y))
        began = time.perf_counter()
        model = self._estimator(ps=EXPONENTS, cv=self.folds, refit=False)
        self.results = model.set_params(max_time=self.max_seconds).fit(*self.train).cv_results_
        self.seconds = time.perf_counter() - began

    def methods(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Outcome]]:
        """The wanted methods, one by one; without a p of which the budget let no cell finish."""
        for p in self._finished():
            name = f"{self.family}-{p:g}"
            if wanted(name):
                yield name, self._single(rules.best_of(p, self.results), self._share(p) / 2)
        for rule, choose in rules.RULES.items():
            name = f"{self.family}-{rule}"
            if wanted(name):
                yield name, self._single(choose(self.results), 1.0 if rule == "repeated" else 0.5)
        if wanted(f"{self.family}-log_loss"):
            yield f"{self.family}-log_loss", self._by_log_loss()
        if wanted(f"{self.family}-average"):
            yield f"{self.family}-average", self._average()
        for p in EXPONENTS:
            name = f"{self.family}-untuned-{p:g}"
            if wanted(name):
                yield name, self._untuned(p)

    def _estimator(self, **settings: Any) -> PSVCCV:
        # n_jobs: as many processes as cores are at work already.
        return PSVCCV(
            kernel=FAMILIES[self.family],
            preprocessor=preparation(self.train.X),
            n_jobs=1,
            **settings,
        )

    def _share(self, p: float) -> float:
        """The share of the search's time that went into this p."""
        seconds = np.nan_to_num(self.results["mean_fit_time"] + self.results["mean_score_time"])
        own = np.asarray(self.results["param_p"], dtype=float) == p
        return float(seconds[own].sum() / max(seconds.sum(), 1e-12))

    def _fit(self, params: Mapping[str, Any]) -> Fitted:
        """A machine on all training rows, with probabilities; once for all methods."""
        key = tuple(sorted(params.items()))
        if key not in self.fitted:
            widths = {"gammas": [params["gamma"]]} if "gamma" in params else {}
            model = self._estimator(
                ps=[params["p"]],
                Cs=[params["C"]],
                cv=self.folds[: rules.FOLDS],
                scoring=negative_log_loss,
                **widths,
            )
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="PSVCCV chose at the edge")
                model.fit(*self.train)
            fitted = time.perf_counter()
            answers = answers_of(model, self.test.X, self.n_classes)
            done = time.perf_counter()
            machine = model.best_estimator_[-1]
            vectors = (
                len(machine.support_)
                if hasattr(machine, "support_")
                else model.cv_results_["mean_n_support"][0] * rules.FOLDS / (rules.FOLDS - 1)
            )
            self.fitted[key] = Fitted(
                answers=answers,
                support_share=float(vectors / len(self.train.y)),
                fit_seconds=fitted - began,
                predict_seconds=done - fitted,
                held_out_log_loss=-float(model.best_score_),
            )
        return self.fitted[key]

    def _single(self, cell: int, share: float) -> Outcome:
        fit = self._fit(self.results["params"][cell])
        seconds = share * self.seconds + fit.fit_seconds
        return Outcome(
            fit.answers, fit.support_share, seconds, fit.predict_seconds, self._chosen(cell)
        )

    def _untuned(self, p: float) -> Outcome:
        widths = {"gamma": "scale"} if self.family == "kernel" else {}
        params = {"p": p, "C": 1.0, **widths}
        return Outcome(*self._fit(params)[:4], {**params, "n_train": len(self.train.y)})

    def _finished(self) -> list[float]:
        """The p with a cell to choose."""
        scored = np.isfinite(self.results["mean_test_score"])
        ps = np.asarray(self.results["param_p"], dtype=float)
        return [p for p in EXPONENTS if scored[ps == p].any()]

    def _winners(self) -> list[int]:
        return [rules.best_of(p, self.results) for p in self._finished()]

    def _by_log_loss(self) -> Outcome:
        winners = self._winners()
        fits = [self._fit(self.results["params"][cell]) for cell in winners]
        least = int(np.argmin([fit.held_out_log_loss for fit in fits]))
        seconds = self.seconds / 2 + sum(fit.fit_seconds for fit in fits)
        return self._single(winners[least], 0.5)._replace(fit_seconds=seconds)

    def _average(self) -> Outcome:
        fits = [self._fit(self.results["params"][cell]) for cell in self._winners()]
        probabilities = np.mean([fit.answers.probabilities for fit in fits], axis=0)
        labels = np.argmax(probabilities, axis=1)
        scores = probabilities[:, 1] if self.n_classes == 2 else None
        return Outcome(
            Answers(labels, probabilities, scores),
            # What must be kept to predict, at most.
            min(1.0, sum(fit.support_share for fit in fits)),
            self.seconds / 2 + sum(fit.fit_seconds for fit in fits),
            sum(fit.predict_seconds for fit in fits),
            {"p": self._finished(), **self._about()},
        )

    def _chosen(self, cell: int) -> dict[str, Any]:
        """Its parameters, and the places of C and gamma in their grids, from 0 on."""
        params = self.results["params"][cell]
        places = {
            f"{name}_place": int(np.searchsorted(np.unique(self.results[f"param_{name}"]), value))
            for name, value in params.items()
            if name != "p"
        }
        return {**params, **places, **self._about()}

    def _about(self) -> dict[str, Any]:
        unfinished = int(np.isnan(self.results["mean_test_score"]).sum())
        about: dict[str, Any] = {"n_train": len(self.train.y)}
        return about | ({"unfinished": unfinished} if unfinished else {})


def negative_log_loss(model: Any, X: Any, y: Any) -> float:
    """A scorer: minus the log loss of held-out rows of the classes that the model knows."""
    known = np.isin(y, model.classes_)
    codes = np.searchsorted(model.classes_, y[known])
    return -log_loss(codes, model.predict_proba(X)[known]) if known.any() else 0.0
