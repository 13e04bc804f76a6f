"""The chosen p beside the default one: by how much it scores more, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from psvm.search.table import choose, equal, mean_gain, shown, split_scores

# Scores that are shares of rows: a hundredth is a point.
_SHARES = (None, "accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class PBesideDefault:
    """The choice of a search beside the best cell of the default p.

    Where the default p was chosen, it is compared with the best cell of all other p.

    Attributes
    ----------
    p : float
        That of the choice.
    rival_p : float
        That of the other cell.
    default_p : float
        The default of PSVC, PSVR, LinearPSVC and LinearPSVR; one of the two above.
    rival_index : int
        The place of the other cell in ``cv_results_``.
    difference : float
        Mean score of the choice minus that of the other cell.
    standard_error : float or None
        Of this difference, over the splits, which are the same for both; None of one split.
    in_points : bool
        Whether the score is a share of rows, whose hundredths are called points.
    """

    p: float
    rival_p: float
    default_p: float
    rival_index: int
    difference: float
    standard_error: float | None
    in_points: bool

    @property
    def within_one_error(self) -> bool:
        """Whether the two do not differ by more than the standard error."""
        error = 0.0 if self.standard_error is None else self.standard_error
        return abs(self.difference) <= error + equal(self.difference)

    def __str__(self) -> str:
        if self.p == self.default_p:
            first, second = (
                f"The default p = {self.p:.4g}",
                f"the best other, p = {self.rival_p:.4g}",
            )
        else:
            first, second = f"p = {self.p:.4g}", f"the default p = {self.rival_p:.4g}"
        if self.difference == 0.0:
            return f"{first} scores the same as {second}: take either."
        side = "above" if self.difference > 0.0 else "below"
        said = f"{first} scores {self._amount(abs(self.difference))} {side} {second}"
        if self.standard_error is None:
            return f"{said}; one split says nothing of how sure that is."
        error = self._amount(self.standard_error, unit="")
        if self.within_one_error:
            return f"{said}, within one standard error ({error}): take either."
        return f"{said}, more than one standard error ({error})."

    def _amount(self, value: float, unit: str = " points") -> str:
        if not self.in_points:
            return shown(value)
        points = 100.0 * value
        return f"{points:.2f}{unit}" if points >= 0.005 or points == 0.0 else f"{points:.1g}{unit}"


def p_beside_default(search: Any) -> PBesideDefault | None:
    """How the p that a search chose compares with the default p.

    Both are judged by their best cells. The choice has the best of many scores, so its lead is
    likelier too large than too small: a lead within one standard error says nothing.

    Parameters
    ----------
    search : PSVCCV or PSVRCV
        Fitted.

    Returns
    -------
    PBesideDefault or None
        None if the search has no other p to compare with, or none of the default p.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import PSVCCV
    >>> from psvm.search import p_beside_default
    >>> X, y = load_wine(return_X_y=True)
    >>> search = PSVCCV(ps=(1, 1.5), Cs=(0.1, 1), gammas=(0.01, 0.1), preprocessor=StandardScaler())
    >>> found = p_beside_default(search.fit(X, y))
    >>> found.default_p
    1.5
    >>> found.difference >= 0
    True
    """
    check_is_fitted(search, "cv_results_")
    task = search._task()
    return compare_p(
        search.cv_results_,
        int(search.best_index_),
        float(task.model().p),
        in_points=task.classifier and search.scoring in _SHARES,
    )


def compare_p(
    results: Mapping[str, Any], chosen: int, default_p: float, *, in_points: bool
) -> PBesideDefault | None:
    """The same by ``cv_results_`` and the place of the choice."""
    scores, p = split_scores(results), np.asarray(results["param_p"], dtype=float)
    own = p == default_p
    if default_p not in p:
        return None
    others = ~own if p[chosen] == default_p else own
    others &= np.isfinite(scores.mean(axis=1))
    if not others.any():
        return None
    rival = choose(
        "best", np.where(others[:, None], scores, np.nan), np.asarray(results["mean_n_support"])
    )
    difference, error = mean_gain(scores, chosen, rival)
    return PBesideDefault(
        p=float(p[chosen]),
        rival_p=float(p[rival]),
        default_p=default_p,
        rival_index=rival,
        difference=difference,
        standard_error=error,
        in_points=in_points,
    )
