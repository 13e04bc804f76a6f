"""The methods that the paper compares with: those of its Table 2, and those that its text names.

The rivals of Table 2 and CappedSVM are linear. The four of ``PROPORTION_METHODS`` learn from label
proportions of bags and have another ``fit``. All have a cost ``C`` of the loss relative to the
penalty; what each minimises is in the docstring of its module, and in docs/rivals.md side by side.
"""

from __future__ import annotations

from sklearn.base import ClassifierMixin

from psvm.paper.rivals import linear_models
from psvm.paper.rivals.alter_propsvm import AlterPropSVM
from psvm.paper.rivals.capped import CappedSVM
from psvm.paper.rivals.conv_propsvm import ConvPropSVM
from psvm.paper.rivals.invcal import InvCal
from psvm.paper.rivals.label_proportions import LabelProportionClassifier
from psvm.paper.rivals.m3svm import M3SVM
from psvm.paper.rivals.meanmap import MeanMap
from psvm.paper.rivals.msvm import MSVM
from psvm.paper.rivals.smlr import SparseMultinomialLR
from psvm.paper.rivals.topk import TopKSVM

__all__ = [
    "M3SVM",
    "METHODS",
    "MSVM",
    "PROPORTION_METHODS",
    "AlterPropSVM",
    "CappedSVM",
    "ConvPropSVM",
    "InvCal",
    "MeanMap",
    "SparseMultinomialLR",
    "TopKSVM",
    "grid",
    "make_rival",
]

METHODS = (
    "OvR",
    "OvO",
    "Crammer",
    "M-SVM",
    "Top-k",
    "Multi-LR",
    "SMLR",
    "M3SVM",
    "CappedSVM",
)

PROPORTION_METHODS: dict[str, type[LabelProportionClassifier]] = {
    "MeanMap": MeanMap,
    "InvCal": InvCal,
    "conv-∝SVM": ConvPropSVM,
    "alter-∝SVM": AlterPropSVM,
}
"""The methods that learn from label proportions, as the paper names them."""

# A search with three folds must stay within a minute on USPS, where a large C is slow: that is why
# Top-k and CappedSVM have three values only. M3SVM's penalty of power 4 asks for the widest range.
_GRIDS = {
    "OvR": (0.01, 0.1, 1.0, 10.0),
    "OvO": (0.01, 0.1, 1.0, 10.0),
    "Crammer": (0.01, 0.1, 1.0, 10.0),
    "M-SVM": (0.01, 0.1, 1.0, 10.0),
    "Top-k": (0.01, 0.1, 1.0),
    "Multi-LR": (0.01, 0.1, 1.0, 10.0),
    "SMLR": (0.01, 0.1, 1.0, 10.0),
    "M3SVM": (0.01, 0.1, 1.0, 10.0, 100.0),
    "CappedSVM": (0.03, 0.3, 3.0),
}


def make_rival(method: str, *, C: float, random_state: int = 42) -> ClassifierMixin:
    """A fresh classifier, not yet fitted.

    Parameters
    ----------
    method : str
        One of ``METHODS``.
    C : float
        Cost of the loss.
    random_state : int, default=42
        Seed; only "Crammer" draws random numbers.

    Returns
    -------
    rival : estimator
        A scikit-learn classifier.
    """
    if method == "OvR":
        return linear_models.one_vs_rest(C)
    if method == "OvO":
        return linear_models.one_vs_one(C)
    if method == "Crammer":
        return linear_models.crammer_singer(C, random_state)
    if method == "Multi-LR":
        return linear_models.multinomial_logistic(C)
    own = {
        "M-SVM": MSVM,
        "Top-k": TopKSVM,
        "SMLR": SparseMultinomialLR,
        "M3SVM": M3SVM,
        "CappedSVM": CappedSVM,
    }
    if method in own:
        return own[method](C)
    raise _unknown(method)


def grid(method: str) -> tuple[float, ...]:
    """The values of C to choose from by cross-validation on the training part.

    Parameters
    ----------
    method : str
        One of ``METHODS``.

    Returns
    -------
    values : tuple of float
        Candidates, ascending.
    """
    if method not in _GRIDS:
        raise _unknown(method)
    return _GRIDS[method]


def _unknown(method: str) -> ValueError:
    return ValueError(f"`method` must be one of {', '.join(METHODS)}, got {method!r}.")
