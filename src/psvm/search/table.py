"""Scores of all cells and splits, the rules that choose a cell, and ``cv_results_``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning

from psvm.estimators.warn import warn_user
from psvm.search.grid import Grid

Array = npt.NDArray[np.float64]

RULES = ("best", "one_se")
# Scores that differ by less, relative to their size, are equal: sums of the same numbers in another
# order.
_EQUAL = 1e-12


def equal(score: float) -> float:
    """By how much a score may differ from another that is equal."""
    return _EQUAL * abs(score)


def shown(score: float) -> str:
    """A score with four digits, whatever its unit."""
    return f"{score:.4f}" if score == 0.0 or 0.01 <= abs(score) < 1000.0 else f"{score:.4g}"


class ScoreTable:
    """One value per cell and split, NaN where unfinished.

    Attributes
    ----------
    score, n_support, gap, fit_seconds, score_seconds : ndarray of shape (n_cells, n_splits)
        Held-out score, weight of the support vectors (their number, if no row has a weight),
        relative duality gap, time.
    """

    def __init__(self, grid: Grid, n_splits: int) -> None:
        self.grid = grid
        shape = (grid.size, n_splits)
        self.score, self.n_support, self.gap, self.fit_seconds, self.score_seconds = (
            np.full(shape, np.nan) for _ in range(5)
        )

    @property
    def mean(self) -> Array:
        """Mean score of every cell, NaN unless all its splits are finished."""
        return np.asarray(self.score.mean(axis=1))

    @property
    def finished(self) -> npt.NDArray[np.bool_]:
        """Which cells have all their splits, and a finite score."""
        return np.asarray(np.isfinite(self.mean))

    def best(self, rule: str) -> int:
        """The cell that the rule chooses; there must be a finished one.

        "best" is the highest mean score; among equals the fewest support vectors, then the first.
        "one_se" is the fewest support vectors among the cells whose mean score is within one
        standard error of the best one's; among equals the highest score.
        """
        return choose(rule, self.score, self.n_support.mean(axis=1))

    def near_best(self, distance: float) -> list[int]:
        """The finished cells whose mean score is within ``distance`` of the best."""
        mean = np.where(self.finished, self.mean, -np.inf)
        return [int(c) for c in np.flatnonzero(mean >= mean.max() - distance)]

    def results(self) -> dict[str, Any]:
        """The table with the keys of GridSearchCV's ``cv_results_``, and three more."""
        results: dict[str, Any] = {}
        for name, values in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            results[f"mean_{name}_time"] = values.mean(axis=1)
            results[f"std_{name}_time"] = values.std(axis=1)
        for name in self.grid.params[0]:
            column = np.array([cell[name] for cell in self.grid.params])
            results[f"param_{name}"] = np.ma.MaskedArray(column, mask=False)
        results["params"] = [dict(cell) for cell in self.grid.params]
        for split in range(self.score.shape[1]):
            results[f"split{split}_test_score"] = self.score[:, split].copy()
        mean = self.mean
        results["mean_test_score"] = mean
        with np.errstate(over="ignore", invalid="ignore"):  # a score may be infinite, or nearly
            results["std_test_score"] = self.score.std(axis=1)
        # As in GridSearchCV, unfinished cells share the last rank.
        lowest = np.nanmin(mean, initial=0.0) - 1.0
        ranks = rankdata(-np.where(np.isnan(mean), lowest, mean), method="min")
        results["rank_test_score"] = ranks.astype(np.int32)
        results["mean_n_support"] = self.n_support.mean(axis=1)
        results["max_dual_gap"] = self.gap.max(axis=1)
        return results


def choose(rule: str, score: Array, n_support: Array) -> int:
    """The cell that a rule chooses by the scores of cells and splits, see `ScoreTable.best`."""
    mean = score.mean(axis=1)
    cells = np.flatnonzero(np.isfinite(mean))
    highest = float(mean[cells].max())
    top = cells[mean[cells] >= highest - equal(highest)]
    leader = int(min(top, key=lambda c: (n_support[c], c)))
    if rule == "best":
        return leader
    near = within_one_error(score, leader)
    return int(min(near, key=lambda c: (n_support[c], -mean[c], c)))


def standard_error(score: Array, cell: int) -> float:
    """That of the mean score of a cell; 0 where there is one split, which tells of none."""
    splits = score.shape[1]
    with np.errstate(over="ignore"):
        return float(score[cell].std(ddof=1) / np.sqrt(splits)) if splits > 1 else 0.0


def mean_gain(score: Array, cell: int, rival: int) -> tuple[float, float | None]:
    """The mean score of a cell beyond a rival's, and its standard error, taken split by split.

    Exactly 0 for scores that are equal; no error where there is one split.
    """
    gain = score[cell] - score[rival]
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(gain.std(ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else None
    mean = float(gain.mean())
    return (0.0 if abs(mean) <= equal(float(score[cell].mean())) else mean), error


def within_one_error(score: Array, leader: int) -> npt.NDArray[np.intp]:
    """The finished cells whose mean score is within one standard error of the leader's."""
    mean, least = score.mean(axis=1), score[leader].mean() - standard_error(score, leader)
    return np.flatnonzero(np.isfinite(mean) & (mean >= least - equal(least)))


def split_scores(results: Mapping[str, Any]) -> Array:
    """The scores of cells and splits in ``cv_results_``."""
    splits = sum(1 for key in results if re.fullmatch(r"split\d+_test_score", key))
    return np.column_stack([results[f"split{split}_test_score"] for split in range(splits)])


def warn_of_scores(table: ScoreTable, search: str) -> None:
    """Warn if cells that were solved cannot be chosen, because their score is not finite."""
    odd = int(np.sum(np.isfinite(table.gap).all(axis=1) & ~table.finished))
    if odd:
        warn_user(
            f"{search} chooses without {odd} of {table.grid.size} cells: `scoring` gave NaN or "
            f"infinity for them on some split.",
            UserWarning,
        )


def warn_of_gaps(gap: Array, goal: float, search: str) -> None:
    """Warn if cells of a search (values of cells and splits) are far from solved."""
    worst = np.max(np.nan_to_num(gap), axis=1)
    far = int(np.sum(worst > 10.0 * goal))
    if far:
        warn_user(
            f"{search} solved {far} of {worst.size} cells only to a relative gap above "
            f"{10.0 * goal:g} (worst {worst.max():.1e}); see cv_results_['max_dual_gap']. Scale X "
            f"(for instance with StandardScaler), or search smaller C.",
            ConvergenceWarning,
        )
