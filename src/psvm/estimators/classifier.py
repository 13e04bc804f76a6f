"""What PSVC and LinearPSVC share: k classes as certified binary problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from psvm.estimators import validation as check
from psvm.estimators.absent import no_probabilities
from psvm.estimators.base import PNormMachine, Settings
from psvm.estimators.labels import EncodedLabels, check_class_weight
from psvm.mathematics.multiclass import class_scores, predicted_codes
from psvm.solvers.ledger import Solution

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """The parameters that every fit of a classifier needs, checked."""

    multi_class: str

    def pairwise(self, n_classes: int) -> bool:
        """Whether there is one binary problem per pair of classes, and more than one pair."""
        return n_classes > 2 and self.multi_class == "ovo"


class PNormClassifier(ClassifierMixin, PNormMachine):
    """Base of the classifiers."""

    # What to do when the hard margin does not exist, and in what the classes are not separable.
    _not_separable: ClassVar[str]

    multi_class: str
    class_weight: Any
    classes_: npt.NDArray[Any]

    if not TYPE_CHECKING:  # which would call everything after them unreachable
        predict_proba = no_probabilities()
        predict_log_proba = no_probabilities()

    # --- fit -------------------------------------------------------------------------------------

    def _check_settings(self) -> ClassifierSettings:
        """The common parameters, or an error that names the wrong one."""
        check_class_weight(self.class_weight)
        return ClassifierSettings(
            **vars(self._check_common()),
            multi_class=check.check_choice("multi_class", self.multi_class, check.MULTI_CLASS),
        )

    @property
    def _pairwise(self) -> bool:
        """Whether there is one binary problem per pair of classes, and more than one pair."""
        return self.classes_.size > 2 and self.multi_class == "ovo"

    def _no_hard_margin(self) -> str:
        return (
            f"C=inf asks for a hard margin, but the classes are not separable {self._not_separable}"
        )

    def _how_many(self, failed: int, total: int) -> str:
        return f" in {failed} of {total} binary problems"

    def _store_common(
        self, seen: check.SeenFeatures, labels: EncodedLabels, solved: Sequence[Solution]
    ) -> None:
        """Fitted attributes of every classifier: features, classes, and how good the fit is."""
        self._store_certificates(seen, solved)
        self.classes_ = labels.classes
        self.class_weight_ = labels.class_weight

    # --- predict ---------------------------------------------------------------------------------

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        raise NotImplementedError

    def _class_scores(self, values: Array) -> Array:
        """One score per class (of two classes the second only) from those of the problems."""
        return class_scores(values, self.classes_.size, self.multi_class)

    def decision_function(self, X: Any) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive means ``classes_[1]``. For more, one score per class, whose
            largest is the prediction.
        """
        return self._class_scores(self._problem_decisions(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of the rows of X: the class of the largest decision value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as for :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = self._class_codes(X)
        return np.asarray(self.classes_[codes])

    def _class_codes(self, X: Any) -> npt.NDArray[np.intp]:
        """The number of the predicted class of every row."""
        return self._codes_of(self._problem_decisions(X))

    def _codes_of(self, values: Array) -> npt.NDArray[np.intp]:
        """The class of the largest score, from the decision values of the problems."""
        return predicted_codes(self._class_scores(values))
