"""The preprocessor of a search: fitted to the training rows of every split, and to all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length, indexable
from sklearn.utils.validation import (
    _check_method_params,
    _check_y,
    _num_samples,
    validate_data,
)

from psvm.estimators import validation as check
from psvm.estimators.kernel_input import check_kernel_input
from psvm.rows.given_rows import GivenRows
from psvm.search.explore import nothing_found
from psvm.search.folds import Fold
from psvm.search.problem import PreparedRows


@dataclass(frozen=True)
class FinalRows:
    """All rows as the final model takes them.

    Attributes
    ----------
    preprocessor : transformer or None
        Fitted to all rows.
    given : array-like, sparse matrix or frame
        What it made of them.
    X : array, CSR matrix or GivenRows
        The same, checked; for a callable kernel as they are.
    """

    preprocessor: Any
    given: Any
    X: Any


def check_raw_rows(estimator: Any, X: Any, y: Any) -> tuple[check.SeenFeatures, Any, Any]:
    """Rows that a preprocessor will see, as they are but for their number; y, and the features.

    They may be texts and have missing values, and what is no table has no features.
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} needs `y`, which must not be None.")
    y = _check_y(y)
    (X,) = indexable(X)
    check_consistent_length(X, y)
    if y.size == 0:
        raise ValueError("X must have at least one row, got none.")
    seeing = check.twin_of(estimator)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(seeing).pop(name, None)  # of an earlier fit
    validate_data(seeing, X, y, skip_check_array=True)
    return check.SeenFeatures.by(seeing), X, y


@dataclass(frozen=True)
class Preparation:
    """Fits a preprocessor where it is needed.

    Attributes
    ----------
    preprocessor : transformer
        Not fitted, and never changed: clones are.
    X : array-like, sparse matrix or frame
        All rows.
    y : ndarray
        Their answers.
    metadata : dict
        What else its ``fit`` is given.
    model : estimator
        What takes the rows that it makes.
    """

    preprocessor: Any
    X: Any
    y: npt.NDArray[Any]
    metadata: dict[str, Any]
    model: Any

    def of_all_rows(self) -> FinalRows:
        """All rows by the preprocessor that is fitted to them."""
        every = np.arange(self.y.size)
        return FinalRows(*self._fitted(self.X, every, "all rows"))

    def of_split(self, split: int, fold: Fold) -> PreparedRows:
        """The rows of a split by the preprocessor that is fitted to its training rows."""
        whose = f"rows of split {split} of `cv`"
        train = _safe_indexing(self.X, fold.train)
        preprocessor, _, own = self._fitted(train, fold.train, f"the training {whose}")
        test = _safe_indexing(self.X, fold.test)
        held_out, where = fold.test.size, f"the held-out {whose}"
        found = self._rows(self._called(where, preprocessor.transform, test), held_out, where)
        if found.shape[1] != own.shape[1]:
            raise ValueError(
                f"`preprocessor` must give rows of the same length, got {found.shape[1]} features "
                f"for {where} and {own.shape[1]} for its training rows."
            )
        return PreparedRows.of_split(split, fold, own, found)

    def _fitted(self, X: Any, rows: npt.NDArray[Any], where: str) -> tuple[Any, Any, Any]:
        """A preprocessor fitted to rows, and these as it gives them, as they are and checked."""
        preprocessor = clone(self.preprocessor)
        metadata = _check_method_params(self.X, self.metadata, indices=rows)
        # As a Pipeline does it: some transformers, as TargetEncoder, treat the rows of their own
        # fit in another way than later ones.
        if hasattr(preprocessor, "fit_transform"):
            made = self._called(where, preprocessor.fit_transform, X, self.y[rows], **metadata)
        else:
            self._called(where, preprocessor.fit, X, self.y[rows], **metadata)
            made = self._called(where, preprocessor.transform, X)
        return preprocessor, made, self._rows(made, rows.size, where)

    def _called(self, where: str, method: Any, *given: Any, **metadata: Any) -> Any:
        """What a method of the preprocessor returns; its errors say where they come from."""
        try:
            return method(*given, **metadata)
        except (MemoryError, Warning):
            raise
        except Exception as error:
            name = type(self.preprocessor).__name__
            raise ValueError(
                f"`preprocessor`, {name}, failed on {where}: {type(error).__name__}: {error}"
            ) from error

    def _rows(self, made: Any, n: int, where: str) -> Any:
        """Rows for the kernel: numbers, or for a callable what the preprocessor returns."""
        kernel = getattr(self.model, "kernel", "linear")
        try:
            if callable(kernel):
                rows = GivenRows.of(made)
            else:
                rows = check.check_features(self.model, made)
                check_kernel_input(kernel, rows)
        except (TypeError, ValueError) as error:
            name = type(self.preprocessor).__name__
            raise ValueError(
                f"What `preprocessor`, {name}, makes of {where} must be numbers that a kernel "
                f"can take: {error}"
            ) from error
        if _num_samples(rows) != n:
            raise ValueError(
                f"`preprocessor` must return one row for each that it is given, got "
                f"{_num_samples(rows)} for {n} of {where}."
            )
        return rows


def prepare(
    preparation: Preparation | None,
    X: Any,
    folds: Sequence[Fold],
    end: float,
    on_rows: Callable[[str], None],
) -> list[PreparedRows]:
    """The rows that the splits are solved on: X for all, or prepared for each until ``end``."""
    if preparation is None:
        return [PreparedRows.shared(X, folds)]
    prepared = []
    for split, fold in enumerate(folds):
        on_rows(f"split {split + 1} of {len(folds)}")
        prepared.append(preparation.of_split(split, fold))
        if time.monotonic() > end:
            raise nothing_found("stopped by max_time, in the preprocessor,")
    return prepared
