"""The search by whole fits, split after split: linear models, and kernels too large for a matrix.

Every fit starts from its neighbour on the path, as ``warm_start`` does, and uses all threads.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from psvm.search.board import FoldAnswers, Listener
from psvm.search.problem import SearchProblem
from psvm.search.watch import SearchStopped
from psvm.solvers.ledger import Status

# A limit of 0 is none that an estimator takes.
_LEAST_SECONDS = 1e-3


class RowSearch:
    """The engine of whole fits.

    Parameters
    ----------
    problem : SearchProblem
    model : PSVC, LinearPSVC, PSVR or LinearPSVR
        With all parameters but those of the cells and tol; for the problem's ``answers``.
    """

    exact = True

    def __init__(self, problem: SearchProblem, model: Any) -> None:
        self._problem, self._model = problem, model

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every given width, split by split."""
        for gamma, cells in paths.items():
            answers = [
                FoldAnswers.empty(cells, self._problem.size, fold, len(own))
                for fold, own in zip(self._problem.folds, self._problem.problems, strict=True)
            ]
            try:
                self._follow(answers, cells, tol, listener)
            except (KeyboardInterrupt, SearchStopped):
                with suppress(SearchStopped):
                    listener.on_width(gamma, answers)
                raise
            listener.on_width(gamma, answers)

    def head_start(self, cell: int) -> None:
        """Nothing is known of the fit of a cell to all rows."""

    def _follow(
        self,
        answers: Sequence[FoldAnswers],
        cells: Sequence[int],
        tol: float,
        listener: Listener,
    ) -> None:
        """Follow a path on every split, p after p: an early end leaves cells that all have."""
        p = self._problem.grid.p
        model = clone(self._model).set_params(tol=tol, warm_start=True)
        models = [clone(model) for _ in self._problem.folds]
        parts = [list(part) for _, part in groupby(enumerate(cells), lambda one: p[one[1]])]
        if np.isfinite(listener.end):
            # The first cell by itself: one that all splits have is a model.
            parts[:1] = [part for part in (parts[0][:1], parts[0][1:]) if part]
        for part in parts:
            for split, model in enumerate(models):
                train, test = self._problem.rows_of(split)
                for place, cell in part:
                    if np.isfinite(listener.end):
                        left = listener.end - time.monotonic()
                        model.set_params(max_time=max(left, _LEAST_SECONDS))
                    self._fit(model, cell, split, train, test, answers[split], place)
                    for _ in self._problem.problems[split]:
                        listener.on_cells(1)
                    listener.look_for_first(answers)
                    listener.on_wait()

    def _fit(
        self,
        model: Any,
        cell: int,
        split: int,
        train: Any,
        test: Any,
        answers: FoldAnswers,
        place: int,
    ) -> None:
        searched = self._problem
        fold, problems = searched.folds[split], searched.problems[split]
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # gaps are in cv_results_
            model.set_params(**searched.grid.params[cell])
            weight = searched.weight[fold.train]
            model.fit(train, searched.answers[fold.train], sample_weight=weight)
        seconds = time.perf_counter() - start
        if Status.MAX_TIME in model.status_:
            raise SearchStopped("stopped by max_time")
        held_out, own = searched.values(model, test), searched.values(model, train)
        for number, problem in enumerate(problems):
            answers.add(
                slice(place, place + 1),
                number,
                problem.rows,
                decision=held_out[None, :, number],
                supports=searched.supports(problem, own[problem.of_train, number], cell)[None],
                gap=model.dual_gap_[number : number + 1],
                seconds=np.array([seconds / len(problems)]),
            )
