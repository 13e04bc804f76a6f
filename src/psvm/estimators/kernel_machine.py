"""What PSVC and PSVR share: a kernel, its matrix, and a sum over support vectors as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from psvm import _core
from psvm.estimators import fitted_arrays as fitted
from psvm.estimators import validation as check
from psvm.estimators.base import PNormMachine
from psvm.estimators.kept_models import kept_model
from psvm.estimators.kernel_input import check_new_kernel_rows, takes_anything
from psvm.estimators.training_rows import TrainingRows
from psvm.rows.given_rows import as_given
from psvm.rows.kernel import Kernel, resolve_gamma
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.prediction import KernelModel

Array = npt.NDArray[np.float64]
KernelParameter = str | Callable[[Any, Any], Any]


@dataclass(frozen=True)
class SupportVectors:
    """The support vectors, in groups, and their coefficients.

    Attributes
    ----------
    support : ndarray of int32
        Their rows of X, group after group: the classes of a classifier, or one for all.
    n_support : ndarray of int32
        Their number in each group.
    dual_coef : ndarray of shape (n_rows, n_SV)
    """

    support: npt.NDArray[np.int32]
    n_support: npt.NDArray[np.int32]
    dual_coef: Array

    @classmethod
    def of(cls, coef: Array, codes: npt.NDArray[Any], groups: int) -> SupportVectors:
        """The rows of X whose coefficients are not all 0, by the number of their group."""
        (support,) = np.nonzero(coef.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        counts = np.bincount(codes[support], minlength=groups)
        return cls(
            support.astype(np.int32),
            counts.astype(np.int32),
            np.ascontiguousarray(coef[:, support]),
        )


@dataclass(frozen=True)
class KernelSettings:
    """The kernel, whose width may still follow from the rows, and the memory for its entries."""

    kernel: Kernel
    gamma: float | str
    cache_bytes: float

    def matrix_over(
        self, X: Any, rows: TrainingRows, weight: Array, threads: int
    ) -> TrainingKernel:
        """The kernel matrix over rows of X, in their order."""
        chosen, gamma = rows.rows, 1.0
        whole = chosen.size == X.shape[0] and bool(np.all(chosen[:-1] < chosen[1:]))
        if self.kernel.function == "precomputed":
            values = X.toarray() if sp.issparse(X) else X
            own = values
            if not whole:
                own = np.empty((chosen.size, chosen.size))
                _core.submatrix_of(values, chosen, own, threads)
        else:
            own = X if whole else X[chosen]
            if self.kernel.of_features:  # a callable has no width, and X maybe no numbers
                gamma = resolve_gamma(self.gamma, own, rows.gather(weight))
        kernel = replace(self.kernel, gamma=gamma)
        split = bool(np.any(rows.shares[rows.kept] != 1.0))
        return TrainingKernel(kernel, own, rows.starts, self.cache_bytes, threads, split=split)


@dataclass(frozen=True)
class ModelLayout:
    """The shape of a kernel model.

    Attributes
    ----------
    problems : int
        Number of problems, each with an intercept.
    coefficients : int
        Rows of ``dual_coef_``.
    groups : int
        Groups of support vectors.
    pairwise : bool
        Whether ``dual_coef_`` is that of pairs of classes, in SVC's layout.
    """

    problems: int
    coefficients: int
    groups: int
    pairwise: bool


class KernelMachine(PNormMachine):
    """Base of the estimators with a kernel."""

    kernel: KernelParameter
    degree: int
    gamma: float | Literal["scale", "auto"]
    coef0: float
    cache_size: float | None
    intercept_: Array
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        """A precomputed kernel is pairwise; a callable takes anything."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return takes_anything(tags) if callable(self.kernel) else tags

    def _check_kernel_settings(self) -> KernelSettings:
        """The parameters of the kernel, or an error that names the wrong one."""
        return KernelSettings(
            check.check_kernel(self.kernel, self.degree, self.coef0),
            check.check_gamma(self.gamma),
            check.check_cache_size(self.cache_size),
        )

    def _store_support(self, vectors: SupportVectors, X: Any, kernel: Kernel) -> None:
        """Fitted attributes of a sum over support vectors."""
        self._kernel = kernel
        self.support_ = vectors.support
        self.n_support_ = vectors.n_support
        self.dual_coef_ = vectors.dual_coef
        empty = np.empty((0, 0))
        precomputed = kernel.function == "precomputed"
        self.support_vectors_ = empty if precomputed else as_given(X[self.support_])
        self.shape_fit_ = getattr(as_given(X), "shape", X.shape[:1])

    # --- predict ---------------------------------------------------------------------------------

    def _layout(self) -> ModelLayout:
        """How many problems and groups of support vectors there are, if attributes agree."""
        raise NotImplementedError

    def _layout_key(self) -> tuple[Any, ...]:
        """What :meth:`_layout` depends on, as far as that can be compared."""
        raise NotImplementedError

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_new_kernel_rows(self, self._kernel.function, X)

    def _as_arrays(self) -> KernelModel:
        """The fitted model as a sum over its support vectors, made anew if anything has changed."""
        kernel, threads = self._kernel, check.check_threads(self.n_jobs)
        if callable(kernel.function):  # which may refer to the estimator and keep it alive
            return self._checked_arrays(threads)
        vectors = self.support_ if kernel.function == "precomputed" else self.support_vectors_
        shape = getattr(vectors, "shape", None)
        return kept_model(
            self,
            (kernel, self.n_features_in_, threads, shape, *self._layout_key()),
            (self.dual_coef_, self.intercept_, self.n_support_, vectors),
            lambda: self._checked_arrays(threads),
        )

    def _checked_arrays(self, threads: int) -> KernelModel:
        """The fitted attributes, if they fit together."""
        layout = self._layout()
        coef = fitted.number_array(self, "dual_coef_", (layout.coefficients, None))
        total, function = coef.shape[1], self._kernel.function
        vectors = fitted.given_vectors if callable(function) else fitted.support_vectors
        return KernelModel(
            self._kernel,
            (fitted.support_columns if function == "precomputed" else vectors)(self, total),
            coef,
            fitted.number_array(self, "intercept_", (layout.problems,)),
            fitted.support_counts(self, total, layout.groups),
            layout.pairwise,
            threads,
        )

    @property
    def coef_(self) -> Array:
        """Weights of the features, one row per problem (linear kernel only).

        With three or more classes and ``multi_class="ovo"`` the problems are pairs, as of SVC.
        """
        if self.kernel != "linear":
            raise AttributeError(
                f"coef_ is only available for the linear kernel, not {self.kernel!r}."
            )
        check_is_fitted(self)
        return self._as_arrays().weights.copy()
