"""Weights of linear classifiers under names that say whether they are of classes or of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from psvm.estimators.absent import Absent

Array = npt.NDArray[np.float64]

# Of classes as everywhere, so that what others compute with them is the decision; of pairs so that
# nobody does.
_OF_CLASSES = ("coef_", "intercept_")
_OF_PAIRS = ("pair_coef_", "pair_intercept_")


def _why_no_coef(model: Any) -> str:
    """What there is in place of ``coef_`` and ``intercept_``."""
    if "pair_coef_" not in vars(model):
        return "it is not fitted yet."
    return (
        "it was fitted to pairs of classes, whose votes are not linear in X. The pairs have "
        "pair_coef_ and pair_intercept_; with multi_class='ovr' there is one row for each class, "
        "and X @ coef_.T + intercept_ is the decision function."
    )


class LinearWeights:
    """A classifier by weights: ``coef_`` and ``intercept_``, or those of pairs of classes."""

    if TYPE_CHECKING:
        coef_: Array
        intercept_: Array

        @property
        def _pairwise(self) -> bool: ...
    else:
        coef_ = Absent(_why_no_coef)
        intercept_ = Absent(_why_no_coef)

    def _store_weights(self, coef: Array, intercept: Array) -> None:
        """Weights and intercepts, of the classes or of their pairs; the others are gone."""
        for name in (*_OF_CLASSES, *_OF_PAIRS):
            self.__dict__.pop(name, None)
        for name, values in zip(self._weight_names, (coef, intercept), strict=True):
            setattr(self, name, values)

    @property
    def _weight_names(self) -> tuple[str, str]:
        """The attributes of the weights and the intercepts."""
        return _OF_PAIRS if self._pairwise else _OF_CLASSES
