"""A fitted model as the arrays from which its decisions are computed, for the exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.mathematics.multiclass import class_pairs
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.preprocessing import Branches, Operation, operations_of
from psvm.persistence.unwrap import steps_of
from psvm.rows.kernel import Kernel

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class KernelExpansion:
    """``sum_s dual_coef_s K(vector_s, x)``, in the layout of PSVC's fitted attributes.

    Attributes
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (n_SV, n_features) or None
        Support vectors; None for a precomputed kernel.
    support : ndarray of int64, shape (n_SV,)
        Columns of a precomputed kernel's rows.
    dual_coef : ndarray of shape (n_classes - 1 or n_problems, n_SV)
    n_support : list of int
        Number of support vectors per class; they are sorted by class.
    """

    kernel: Kernel
    vectors: Any
    support: npt.NDArray[np.int64]
    dual_coef: Array
    n_support: list[int]

    @property
    def dense_vectors(self) -> Array:
        """The support vectors as a float64 array."""
        dense = self.vectors.toarray() if sp.issparse(self.vectors) else self.vectors
        return np.asarray(dense, dtype=np.float64)


@dataclass(frozen=True)
class DecisionRule:
    """Preprocessing, one decision value per binary problem, and how these choose a class.

    Attributes
    ----------
    classifier : PSVC or LinearPSVC
        Where it comes from.
    operations : list of Operation
        Preprocessing, in order.
    n_features : int
        Columns of the rows before preprocessing.
    feature_names : list of str or None
        Their names, if the model knows them.
    classes : ndarray
        Labels; the problems refer to them by number.
    problems : list of (int, int or None)
        Class for which the decision value is positive, and the other one; None for all the rest.
    intercept : ndarray of shape (n_problems,)
    weights : ndarray of shape (n_problems, n_columns) or None
        For linear decisions, ``weights @ x + intercept``.
    expansion : KernelExpansion or None
        For all others.
    scores_per_problem : bool
        Whether ``decision_function`` gives the values of the problems as they are. If not, there
        are pairs of three or more classes and it gives votes.
    """

    classifier: Any
    operations: list[Operation]
    n_features: int
    feature_names: list[str] | None
    classes: npt.NDArray[Any]
    problems: list[tuple[int, int | None]]
    intercept: Array
    weights: Array | None
    expansion: KernelExpansion | None
    scores_per_problem: bool

    @property
    def text_columns(self) -> list[int]:
        """Columns of the rows that hold texts."""
        first = self.operations[0] if self.operations else None
        return first.text_columns if isinstance(first, Branches) else []

    @property
    def number_columns(self) -> list[int]:
        """Columns that hold numbers: all, or where some hold texts, the others that are used."""
        texts = self.text_columns
        if not texts:
            return list(range(self.n_features))
        first = self.operations[0]
        assert isinstance(first, Branches)
        used = {int(column) for columns in first.columns for column in columns}
        return sorted(used - set(texts))

    @property
    def pairwise(self) -> bool:
        """Whether three or more classes vote in pairs."""
        return self.classes.size > 2 and self.problems[0][1] is not None

    def terms(self) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
        """For every problem of an expansion, its support vectors and their coefficients."""
        assert self.expansion is not None
        coef, ends = self.expansion.dual_coef, np.cumsum([0, *self.expansion.n_support])
        for t, (i, j) in enumerate(self.problems):
            if not self.pairwise or j is None:
                row = coef[0 if coef.shape[0] == 1 else t]
                chosen = np.flatnonzero(row)
                yield chosen, row[chosen]
                continue
            of_i, of_j = np.arange(ends[i], ends[i + 1]), np.arange(ends[j], ends[j + 1])
            vectors = np.concatenate([of_i, of_j])
            values = np.concatenate([coef[j - 1, of_i], coef[i, of_j]])
            yield vectors[values != 0.0], values[values != 0.0]


def decision_rule_of(model: Any) -> DecisionRule:
    """Take a fitted model apart.

    Parameters
    ----------
    model : estimator
        PSVC or LinearPSVC, a Pipeline that ends with one, or a search (GridSearchCV, PSVCCV) whose
        best estimator is one of these.

    Returns
    -------
    DecisionRule

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    UnsupportedModelError
        If it holds something that plain arrays do not express.
    """
    *transformers, classifier = steps = steps_of(model)
    if not isinstance(classifier, PSVC | LinearPSVC):
        inside = hasattr(classifier, "calibrated_classifiers_")
        hint = " Export the one inside, calibrated_classifiers_[0].estimator." if inside else ""
        raise UnsupportedModelError(
            f"Only PSVC, LinearPSVC, Pipelines that end with one and searches over them can be "
            f"exported, got {type(classifier).__name__}.{hint}"
        )
    check_is_fitted(classifier)
    operations = operations_of(transformers)
    if operations and getattr(operations[0], "of_texts", False):
        operations = [Branches([np.arange(steps[0].n_features_in_)], [operations])]
    names = getattr(steps[0], "feature_names_in_", None)
    per_pair = isinstance(classifier, PSVC) and classifier.decision_function_shape == "ovo"
    k = classifier.classes_.size
    problems: list[tuple[int, int | None]]
    if k == 2:
        problems = [(1, 0)]
    elif classifier.multi_class == "ovr":
        problems = [(i, None) for i in range(k)]
    else:
        problems = list(class_pairs(k))
    linear = isinstance(classifier, LinearPSVC) or classifier.kernel == "linear"
    return DecisionRule(
        classifier=classifier,
        operations=operations,
        n_features=int(steps[0].n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        classes=classifier.classes_,
        problems=problems,
        intercept=np.asarray(classifier.intercept_, dtype=np.float64),
        weights=np.asarray(classifier.coef_, dtype=np.float64) if linear else None,
        expansion=None if linear else expansion_of(classifier),
        scores_per_problem=k == 2 or classifier.multi_class == "ovr" or per_pair,
    )


def expansion_of(classifier: PSVC) -> KernelExpansion:
    """Support vectors and coefficients of a fitted PSVC.

    Parameters
    ----------
    classifier : PSVC

    Returns
    -------
    KernelExpansion
    """
    kernel: Kernel = classifier._kernel
    if callable(kernel.function):
        raise UnsupportedModelError(
            "A PSVC whose kernel is a function cannot be exported; use a kernel by name."
        )
    return KernelExpansion(
        kernel=kernel,
        vectors=None if kernel.function == "precomputed" else classifier.support_vectors_,
        support=np.asarray(classifier.support_, dtype=np.int64),
        dual_coef=np.asarray(classifier.dual_coef_, dtype=np.float64),
        n_support=[int(count) for count in classifier.n_support_],
    )
