"""One wide table of cells per split: all that a search could ask for, computed once.

Five p, ten C and nine gamma: the default grids of PSVCCV and two values more on every side. For
each cell there are the scores of five folds of the training rows, the accuracy on the test rows of
a fit to all training rows, and seconds. All come from one PSVCCV on training and test rows, whose
sixth split trains on all training rows and holds the test rows out.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.study.machines import EXPONENTS
from benchmarks.study.preparation import preparation
from benchmarks.study.splits import Part
from psvm import PSVCCV
from psvm.rows.kernel import resolve_gamma
from psvm.search.table import split_scores

Array = npt.NDArray[np.float64]

FOLDS = 5
BEYOND = 2
"""Values beyond the default grid, on every side."""

N_COSTS, N_WIDTHS = 6, 5
"""Of the default grid of PSVCCV."""


def _spread(low: float, high: float, count: int) -> Array:
    """The default grid, and the values beyond it."""
    factor = (high / low) ** (1.0 / (count - 1))
    return np.asarray(low * factor ** np.arange(-BEYOND, count + BEYOND, dtype=float))


COSTS = _spread(0.1, 100.0, N_COSTS)
WIDTHS = _spread(0.1, 10.0, N_WIDTHS)
"""The latter as multiples of the scale of the training rows."""

SHAPE = (len(EXPONENTS), len(COSTS), len(WIDTHS))


@dataclass(frozen=True)
class Cells:
    """Everything about the cells of one split; places are those of p, C and gamma.

    Attributes
    ----------
    score : ndarray of shape (n_p, n_C, n_gamma, n_folds)
        Held-out accuracy.
    test : ndarray of shape (n_p, n_C, n_gamma)
        Accuracy on the test rows, trained on all training rows.
    support : ndarray of shape (n_p, n_C, n_gamma)
        Mean number of support vectors.
    seconds : ndarray of shape (n_p, n_C, n_gamma)
        Of one fit, the mean over the splits.
    width_seconds : float
        What a kernel width takes besides on all folds: its matrices.
    start_seconds : float
        What any search takes besides: preprocessing.
    """

    score: Array
    test: Array
    support: Array
    seconds: Array
    width_seconds: float
    start_seconds: float

    def save(self, path: Path) -> None:
        """Keep it; the file appears when it is complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez_compressed(unfinished, **vars(self))
        unfinished.rename(path)

    @classmethod
    def load(cls, path: Path) -> Cells:
        """What was kept."""
        with np.load(path) as file:
            return cls(
                **{name: file[name] if file[name].ndim else float(file[name]) for name in file}
            )


def compute(train: Part, test: Part, seed: int) -> Cells:
    """The table of a split; ``seed`` is that of the folds."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    n = len(train.y)
    with warnings.catch_warnings():  # of classes with fewer rows than folds
        warnings.filterwarnings("ignore", "The least populated class")
        splits: list[tuple[Any, Any]] = list(folds.split(train.X, train.y))
    X = pd.concat([train.X, test.X], ignore_index=True)
    y = np.concatenate([train.y, test.y])
    prepared = preparation(train.X).fit_transform(train.X)
    scale = resolve_gamma("scale", prepared, np.ones(n))
    widths = WIDTHS * scale

    def results(gammas: Array, costs: Array, ps: Any, cv: Any, rows: Any, labels: Any) -> Any:
        search = PSVCCV(
            ps=ps,
            Cs=costs,
            gammas=gammas,
            preprocessor=preparation(train.X),
            cv=cv,
            refit=False,
            n_jobs=1,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PSVCCV")
            return search.fit(rows, labels).cv_results_

    wide = results(widths, COSTS, EXPONENTS, [*splits, (np.arange(n), np.arange(n, len(y)))], X, y)

    def besides(gammas: Array) -> float:
        """Seconds of a search but for its fits."""
        began = time.perf_counter()
        found = results(gammas, COSTS[:1], EXPONENTS[3:4], splits, train.X, train.y)
        own = float(np.sum(found["mean_fit_time"] + found["mean_score_time"]))
        return max(0.0, time.perf_counter() - began - FOLDS * own)

    few, many = (min(besides(widths[:count]) for _ in range(2)) for count in (1, len(widths)))
    per_width = max(0.0, (many - few) / (len(widths) - 1))
    of_all = _arranged(wide, split_scores(wide))
    return Cells(
        score=of_all[..., :FOLDS],
        test=of_all[..., FOLDS],
        support=_arranged(wide, wide["mean_n_support"]),
        seconds=_arranged(wide, wide["mean_fit_time"] + wide["mean_score_time"]),
        width_seconds=per_width,
        start_seconds=max(0.0, few - per_width),
    )


def _arranged(results: dict[str, Any], values: Array) -> Array:
    """Values of the cells in the order of ``cv_results_`` by the places of p, C and gamma."""
    places = tuple(
        np.unique(np.asarray(results[f"param_{name}"], dtype=float), return_inverse=True)[1]
        for name in ("p", "C", "gamma")
    )
    arranged = np.empty(SHAPE + values.shape[1:])
    arranged[places] = values
    return arranged
