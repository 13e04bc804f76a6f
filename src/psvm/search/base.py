"""What PSVCCV and PSVRCV share: a search from its parameters to its fitted attributes."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import CallbackSupportMixin
from psvm.estimators.kernel_input import takes_anything
from psvm.search.edges import edges_of, warn_of_edges
from psvm.search.engines import choose_engines
from psvm.search.explore import COARSE, FINE, Explorer
from psvm.search.models import refitted
from psvm.search.posed import PosedSearch, pose
from psvm.search.routing import routed_in_score, router_of
from psvm.search.settings import check_scorer, check_settings
from psvm.search.table import warn_of_gaps, warn_of_scores
from psvm.search.task import Task
from psvm.search.watch import SearchWatch


def needs_model(name: str) -> Any:
    """A check that the search ends with a model."""

    def check_refit(self: PNormSearch) -> bool:
        if not self.refit:
            search = type(self).__name__
            raise AttributeError(
                f"{name} needs a model of all rows: use {search}(refit=True), or fit a "
                f"{search.removesuffix('CV')} with best_params_ yourself."
            )
        return True

    return check_refit


class PNormSearch(CallbackSupportMixin):
    """Base of the searches, left of scikit-learn's mixins: their ``score`` is not by ``scoring``.

    What they search for, labels or targets, is up to the task that ``_task`` gives. Attributes are
    assigned at the end of a fit: whatever goes wrong before leaves the estimator as it was.
    """

    # Attributes that a fit may leave out.
    _not_always: ClassVar[tuple[str, ...]] = ("preprocessor_", "best_estimator_", "refit_time_")

    ps: Any
    Cs: Any
    gammas: Any
    preprocessor: Any = None  # of models that were kept before there was one
    kernel: Any
    degree: int
    coef0: float
    fit_intercept: bool
    cv: Any
    scoring: Any
    refit: bool
    rule: Literal["best", "one_se"]
    tol: float
    max_time: float | None
    cache_size: float | None
    on_interrupt: Literal["raise", "keep"]
    verbose: int
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine; a precomputed kernel is pairwise; a callable takes anything.

        With a preprocessor, X is what that takes.
        """
        tags = super().__sklearn_tags__()
        if hasattr(self.preprocessor, "__sklearn_tags__"):
            tags.input_tags = self.preprocessor.__sklearn_tags__().input_tags
            return tags
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return takes_anything(tags) if callable(self.kernel) else tags

    # --- fit -------------------------------------------------------------------------------------

    def _task(self) -> Task:
        """What is searched for."""
        raise NotImplementedError

    def _store_own(self, posed: PosedSearch, held_out: Any) -> None:
        """Attributes of the task; ``held_out`` is what its scorer makes of the chosen cell.

        None if the fit was interrupted before.
        """
        raise NotImplementedError

    @errors_as_before()
    def _search(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        """Search the grid, choose, and fit the chosen cell to all rows."""
        began = time.monotonic()
        task, name = self._task(), type(self).__name__
        settings = check_settings(self, task)
        end = np.inf if settings.max_time is None else began + settings.max_time
        watch = SearchWatch(self)
        with watch.closed_on_error():
            posed = pose(self, task, settings, X, y, sample_weight, params, end, watch.preparing)
            watch.begin(posed.X, posed.y)
        explorer = Explorer(
            problem=posed.problem,
            engines=choose_engines(
                posed.problem,
                posed.model,
                tol=FINE,
                cache_bytes=settings.cache_bytes,
                threads=settings.threads,
            ),
            scorer=posed.scorer,
            watch=watch,
            rule=self.rule,
            max_time=settings.max_time,
            began=began,
            keep_when_interrupted=self.on_interrupt == "keep",
        )
        held_out = None
        try:
            explorer.search()
            held_out = posed.scorer.of_all_rows(explorer.settle())
            watch.final_fit()
            warn_of_gaps(explorer.table.gap, COARSE, name)
            warn_of_scores(explorer.table, name)
            warn_of_edges(edges_of(explorer.table.results(), explorer.chosen), name)
            start = time.perf_counter()
            model = None
            if self.refit:
                model = refitted(task, explorer, posed.final, posed.y, sample_weight)
            seconds = time.perf_counter() - start
            watch.close()
        except KeyboardInterrupt:
            if self.on_interrupt == "keep" and explorer.searched:
                with all_or_nothing(self):
                    self._store_search(posed, settings.scorer, explorer, held_out)
            raise
        finally:
            watch.close()
        with all_or_nothing(self):
            self._store_search(posed, settings.scorer, explorer, held_out)
            if model is not None:
                self.best_estimator_, self.refit_time_ = model, seconds
            watch.end()
        return self

    def _store_search(
        self, posed: PosedSearch, scorer: Any, explorer: Explorer, held_out: Any
    ) -> None:
        """Scores and choice of the search; nothing that an earlier fit left behind."""
        for name in self._not_always:
            self.__dict__.pop(name, None)
        if posed.final.preprocessor is not None:
            self.preprocessor_ = posed.final.preprocessor
        table, chosen = explorer.table, explorer.chosen
        posed.seen.store(self)
        self.scorer_ = scorer
        self.cv_results_ = table.results()
        self.best_index_ = chosen
        self.best_params_ = dict(table.grid.params[chosen])
        self.best_score_ = float(table.mean[chosen])
        self.n_splits_ = len(explorer.problem.folds)
        self._store_own(posed, held_out)

    # --- metadata --------------------------------------------------------------------------------

    def get_metadata_routing(self) -> Any:
        """Which metadata goes where: groups to the splitter, weights to the scorer.

        The preprocessor gets what it requests.

        Returns
        -------
        MetadataRouter
        """
        return router_of(self, self.cv, check_scorer(self._task().scoring))

    # --- predict ---------------------------------------------------------------------------------

    @available_if(needs_model("predict"))
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Answers for the rows of X, by the model of all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(needs_model("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """Score of the model of all rows, by ``scoring``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their true answers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for the scorer.
        **params : dict
            With metadata routing enabled whatever the scorer requests.

        Returns
        -------
        float
        """
        check_is_fitted(self, "best_estimator_")
        return float(self.scorer_(self, X, y, **routed_in_score(self, sample_weight, params)))
