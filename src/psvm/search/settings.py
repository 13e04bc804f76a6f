"""The parameters of a search, checked before the data are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from psvm.estimators import validation as check
from psvm.rows.kernel import Kernel
from psvm.search.grid import AskedGrid
from psvm.search.table import RULES
from psvm.search.task import Task


@dataclass(frozen=True)
class SearchSettings:
    """What a search needs of its parameters.

    Attributes
    ----------
    kernel : Kernel
        Of any width.
    grid : AskedGrid
    splitter : callable
        Gives the splitter for the answers.
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


def check_settings(search: Any, task: Task) -> SearchSettings:
    """All parameters of a search, or an error that names the wrong one."""
    check.check_choice("rule", search.rule, RULES)
    check.check_choice("on_interrupt", search.on_interrupt, ("raise", "keep"))
    check.check_bool("fit_intercept", search.fit_intercept)
    check.check_bool("refit", search.refit)
    check.check_tol(search.tol)
    check.check_verbose(search.verbose)
    check_preprocessor(search.preprocessor, search.kernel, task.final_step)
    return SearchSettings(
        kernel=check.check_kernel(search.kernel, search.degree, search.coef0),
        grid=task.grid(),
        splitter=check_splitter(search.cv, classifier=task.classifier),
        scorer=check_scorer(task.scoring),
        max_time=check.check_max_time(search.max_time),
        cache_bytes=check.check_cache_size(search.cache_size),
        threads=check.check_threads(search.n_jobs),
    )


def check_preprocessor(preprocessor: Any, kernel: Any, final_step: str) -> None:
    """Refuse what is no transformer, and one for a kernel matrix."""
    if preprocessor is None:
        return
    usable = not isinstance(preprocessor, type) and all(
        hasattr(preprocessor, method) for method in ("fit", "transform", "get_params")
    )
    if not usable:
        raise ValueError(
            f"`preprocessor` must be a transformer, or a Pipeline of transformers, with `fit` and "
            f"`transform`, or None, got {preprocessor!r}; the {final_step} itself is no part of it."
        )
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ValueError(
            "`preprocessor` makes rows, and kernel='precomputed' takes a matrix of kernel values; "
            "use a kernel by name, a callable, or preprocessor=None."
        )


def check_splitter(cv: Any, *, classifier: bool) -> Callable[[Any], Any]:
    """The splitter that ``cv`` stands for, once the answers are known."""
    if cv is None or isinstance(cv, Integral):
        if cv is not None and (isinstance(cv, bool) or cv < 2):
            raise ValueError(
                f"`cv` must be a number of folds >= 2, a splitter, or pairs of training and "
                f"held-out rows, got {cv!r}."
            )
        return lambda y: check_cv(cv, y, classifier=classifier)
    splitter = check_cv(cv)  # once: pairs may come from a generator
    return lambda y: splitter


def check_scorer(scoring: Any) -> Any:
    """The scorer that ``scoring`` stands for."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            f"`scoring` must be one scorer, by name or callable, got {scoring!r}; for several "
            f"scores use scikit-learn's GridSearchCV."
        )
    return get_scorer(scoring)
