"""Regression on the command line: the regressor by the spread of its target, and its scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.cli.show import show_facts
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.svr import PSVR

Array = npt.NDArray[np.float64]

EPSILON = 0.1
"""Errors that cost nothing unless --epsilon is given, in standard deviations of the target."""

# Of a logarithm, for a cost that is a number.
_MOST = 690.0


def new_regressor(
    y: Array,
    *,
    linear: bool,
    p: float,
    C: float | None,
    epsilon: float | None,
    quantile: float | None,
    **parameters: Any,
) -> Any:
    """A LinearPSVR or a PSVR, not fitted.

    What is not given follows from the spread s of the target, so that a fit does not depend on the
    unit: epsilon = 0.1 s and C = s^(2 - p), which are 0.1 and 1 for a target of variance 1. Of a
    quantile other than 0.5 epsilon is 0: rows inside a tube are on neither side.

    Parameters
    ----------
    y : ndarray
        The target of the training rows.
    linear : bool
        Whether there is no kernel.
    p, C, epsilon, quantile, **parameters
        As for PSVR; None if they were not given.
    """
    spread = spread_of(y)
    quantile = 0.5 if quantile is None else quantile
    if epsilon is None:
        epsilon = EPSILON * spread if quantile == 0.5 else 0.0
    kind = LinearPSVR if linear else PSVR
    return kind(
        p=p,
        C=_cost_of(spread, p) if C is None else C,
        epsilon=epsilon,
        quantile=quantile,
        **parameters,
    )


def _cost_of(spread: float, p: float) -> float:
    """``spread^(2 - p)``, which a large p may take out of the range of numbers."""
    return math.exp(min(max((2.0 - p) * math.log(spread), -_MOST), _MOST))


def spread_of(y: Array) -> float:
    """The standard deviation; 1 where that is no number above 0."""
    size = float(np.abs(y).max())
    spread = size * float(np.std(y / size)) if size > 0 else 0.0
    return spread if 0.0 < spread < np.inf else 1.0


def numbers_learned(y: Array) -> dict[str, Any]:
    """What the target of training rows is like, as JSON values."""
    return {
        "target": {
            "mean": float(np.mean(y)),
            "deviation": spread_of(y),
            "least": float(y.min()),
            "largest": float(y.max()),
        }
    }


def described_spread(facts: dict[str, Any]) -> str:
    """What :func:`numbers_learned` found, for people."""
    target = facts["target"]
    return (
        f"{target['least']:.6g} to {target['largest']:.6g} "
        f"(mean {target['mean']:.4g}, standard deviation {target['deviation']:.4g})"
    )


def regression_scores_of(y: Array, predicted: Array, quantile: float = 0.5) -> dict[str, Any]:
    """How good predicted numbers are, as JSON values.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        True and predicted numbers.
    quantile : float
        What the model was fitted to predict.

    Returns
    -------
    dict
        ``rows``, ``r2`` (None where the true numbers are all equal), ``mae`` and ``rmse``, the mean
        absolute error and the root of the mean squared one; and for another quantile than 0.5 also
        ``quantile``, ``pinball``, the mean of quantile x error above and (1 - quantile) x error
        below, and ``below``, the share of the true numbers that are not above the prediction.
    """
    below = float(np.mean(y <= predicted))
    # In units of the largest: squares of numbers beyond 1e154 have no float.
    unit = float(max(np.abs(y).max(), np.abs(predicted).max())) or 1.0
    y, predicted = y / unit, np.asarray(predicted, dtype=np.float64) / unit
    error = y - predicted
    total = float(((y - y.mean()) ** 2).sum())
    found: dict[str, Any] = {
        "rows": int(y.size),
        "r2": None if total == 0.0 else 1.0 - float((error**2).sum()) / total,
        "mae": unit * float(np.abs(error).mean()),
        "rmse": unit * float(np.sqrt((error**2).mean())),
    }
    if quantile != 0.5:
        lost = np.where(error > 0, quantile * error, (quantile - 1.0) * error)
        found["quantile"] = float(quantile)
        found["pinball"] = unit * float(lost.mean())
        found["below"] = below
    return found


def described_scores(scores: dict[str, Any]) -> dict[str, str]:
    """Scores by their names, for people."""
    facts = {
        "R²": "not defined" if scores["r2"] is None else f"{scores['r2']:.4f}",
        "mean absolute error": f"{scores['mae']:.6g}",
        "root mean squared error": f"{scores['rmse']:.6g}",
    }
    if "pinball" in scores:
        facts["pinball loss"] = f"{scores['pinball']:.6g} (quantile {scores['quantile']:g})"
        facts["below the prediction"] = f"{scores['below']:.1%} of the rows"
    return facts


def show_regression_scores(scores: dict[str, Any], title: str) -> None:
    """Write what :func:`regression_scores_of` found."""
    show_facts({title: f"{scores['rows']} rows", **described_scores(scores)})
