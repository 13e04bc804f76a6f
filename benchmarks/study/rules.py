"""Rules that choose p (with C and gamma) from the ``cv_results_`` of one search.

The search has two rounds of five folds. All rules but "repeated" see the first round only, so that
they cost half of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.search.table import choose, split_scores

Array = npt.NDArray[np.float64]

FOLDS = 5
ROUNDS = 2

PRIOR_P = 1.5
"""The p that "prior" shrinks to: the default of PSVC."""


def first_round(results: Mapping[str, Any]) -> Array:
    """Scores of cells and the splits of the first round."""
    return split_scores(results)[:, :FOLDS]


def best_of(p: float, results: Mapping[str, Any]) -> int:
    """The cell of highest mean score among those with this p."""
    own = np.asarray(results["param_p"], dtype=float) == p
    return _best(np.where(own[:, None], first_round(results), np.nan), results)


def best(results: Mapping[str, Any]) -> int:
    """The cell of highest mean score."""
    return _best(first_round(results), results)


def one_se(results: Mapping[str, Any]) -> int:
    """The fewest support vectors within one standard error of the best."""
    return choose("one_se", first_round(results), np.asarray(results["mean_n_support"]))


def repeated(results: Mapping[str, Any]) -> int:
    """The cell of highest mean score over both rounds."""
    return _best(split_scores(results), results)


def prior(results: Mapping[str, Any]) -> int:
    """The best cell of the prior p, unless the best of all is more than an error better.

    The error is the standard error of the difference of the two cells over the folds, which are
    the same for both.
    """
    score = first_round(results)
    own = np.asarray(results["param_p"], dtype=float) == PRIOR_P
    leader = best(results)
    if not np.isfinite(score[own].mean(axis=1)).any():
        return leader  # a search that was stopped before it came to the prior
    known = best_of(PRIOR_P, results)
    gain = score[leader] - score[known]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return leader if gain.mean() > error else known


RULES = {"best": best, "one_se": one_se, "repeated": repeated, "prior": prior}
"""Those that need nothing but the table of scores."""


def _best(score: Array, results: Mapping[str, Any]) -> int:
    return choose("best", score, np.asarray(results["mean_n_support"]))
