"""The parameters of a search, checked before the data are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from psvm.rows.kernel import Kernel
from psvm.search.grid import AskedGrid


@dataclass(frozen=True)
class SearchSettings:
    """What a search needs of its parameters.

    Attributes
    ----------
    kernel : Kernel
        Of any width.
    grid : AskedGrid
    splitter : callable
        Gives the splitter for labels.
    scorer : callable
    max_time : float or None
    cache_bytes : float
    threads : int
    """

    kernel: Kernel
    grid: AskedGrid
    splitter: Callable[[Any], Any]
    scorer: Any
    max_time: float | None
    cache_bytes: float
    threads: int


def check_splitter(cv: Any) -> Callable[[Any], Any]:
    """The splitter that ``cv`` stands for, once the labels are known."""
    if cv is None or isinstance(cv, Integral):
        if cv is not None and (isinstance(cv, bool) or cv < 2):
            raise ValueError(
                f"`cv` must be a number of folds >= 2, a splitter, or pairs of training and "
                f"held-out rows, got {cv!r}."
            )
        return lambda y: check_cv(cv, y, classifier=True)
    splitter = check_cv(cv)  # once: pairs may come from a generator
    return lambda y: splitter


def check_scorer(scoring: Any) -> Any:
    """The scorer that ``scoring`` stands for."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            f"`scoring` must be one scorer, by name or callable, got {scoring!r}; for several "
            f"scores use scikit-learn's GridSearchCV on PSVC."
        )
    return get_scorer("accuracy" if scoring is None else scoring)
