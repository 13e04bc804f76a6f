"""MeanMap, InvCal, conv-∝SVM and alter-∝SVM on a data set of the paper, for bags of several sizes.

The paper says that the best accuracy of pSVM on Heart beats theirs, and gives no numbers. They
learn from label proportions of bags, so what they reach depends on the size of the bags. Here the
training part of the paper's split is put into bags at random, several times; kernel and C are
chosen by cross-validation over bags with the error of the predicted shares, without a label; and
the labels of the test part are compared.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from psvm.paper.recipe import Array, accuracy_percent, split
from psvm.paper.rivals import PROPORTION_METHODS
from psvm.paper.rivals.label_proportions import (
    BaggedRows,
    LabelProportionClassifier,
    draw_bags,
    share_error,
    take_bags,
)

SIZES = (2, 4, 8, 16, 32, 64)
"""Rows of a bag."""

DRAWS = 5
"""How often the rows are put into bags; seeds 0 to 4."""

QUICK_SIZES = (4, 16)
QUICK_DRAWS = 2

FOLDS = 3
"""Folds of bags; where there are fewer bags, each is held out once."""

COSTS = (0.1, 1.0, 10.0)
KERNELS = ("linear", "rbf")

Setting = dict[str, Any]

# What makes the models of the folds cheaper than the final one.
_IN_FOLDS: dict[str, Setting] = {
    "alter-∝SVM": {"starts": 1},
    "conv-∝SVM": {"max_labellings": 15},
}


def grid() -> list[Setting]:
    """What is chosen from, by cross-validation over bags.

    Returns
    -------
    list of dict
        Kernel and C; of equally good ones the first is chosen.
    """
    return [{"kernel": kernel, "C": C} for kernel, C in product(KERNELS, COSTS)]


def compute(method: str, dataset: str, *, quick: bool = False) -> dict[str, Any]:
    """The test accuracy of one method for every size of the bags.

    Parameters
    ----------
    method : str
        One of ``PROPORTION_METHODS``.
    dataset : str
        A set of Table 1.
    quick : bool, default=False
        Whether to take two sizes and two draws.

    Returns
    -------
    dict
        The setting, and one line per size with the mean, the lowest and the highest accuracy over
        the draws, in percent.
    """
    if method not in PROPORTION_METHODS:
        raise ValueError(f"`method` must be one of {', '.join(PROPORTION_METHODS)}.")
    data = split(dataset)
    lines = []
    for size in QUICK_SIZES if quick else SIZES:
        accuracies, kernels = [], []
        for seed in range(QUICK_DRAWS if quick else DRAWS):
            bagged = draw_bags(data.y_train, size, seed)
            chosen = choose(method, data.X_train, bagged)
            model = PROPORTION_METHODS[method](**chosen).fit(data.X_train, *bagged)
            accuracies.append(accuracy_percent(model, data.X_test, data.y_test))
            kernels.append(chosen["kernel"])
        lines.append(
            {
                "bag_size": size,
                "draws": len(accuracies),
                "accuracy_percent": float(np.mean(accuracies)),
                "lowest": min(accuracies),
                "highest": max(accuracies),
                "linear": kernels.count("linear"),
            }
        )
    return {
        "method": method,
        "dataset": dataset,
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        "lines": lines,
    }


def choose(method: str, X: Array, bagged: BaggedRows) -> Setting:
    """The setting whose predicted shares of held-out bags are nearest to the true ones.

    Parameters
    ----------
    method : str
        One of ``PROPORTION_METHODS``.
    X : ndarray of shape (n_samples, n_features)
        Training rows.
    bagged : BaggedRows
        Their bags. With one bag only there is nothing to hold out, and the first setting is taken.

    Returns
    -------
    dict
        One of :func:`grid`.
    """
    n_bags = len(bagged.shares)
    if n_bags < 2:
        return grid()[0]
    folds = np.arange(n_bags) % min(FOLDS, n_bags)  # the bags are in random order as they are
    errors = []
    for setting in grid():
        by_fold = []
        for fold in range(int(folds.max()) + 1):
            rest, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            rows, part = take_bags(X, bagged, rest.tolist())
            model = _cheap(method, setting).fit(rows, *part)
            by_fold.append(share_error(model, *take_bags(X, bagged, held.tolist())))
        errors.append(np.mean(by_fold))
    return grid()[int(np.argmin(errors))]


def _cheap(method: str, setting: Setting) -> LabelProportionClassifier:
    """The model of a fold: with ten starts or fifty labellings they would take most of the time."""
    return PROPORTION_METHODS[method](**setting, **_IN_FOLDS.get(method, {}))
