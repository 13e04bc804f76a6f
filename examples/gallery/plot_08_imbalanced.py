"""
A rare class
============

Three rows in a hundred are positive. Without weights the boundary gives most of them up, for they
count for little in a sum over all rows. ``class_weight="balanced"`` makes both classes weigh the
same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import PrecisionRecallDisplay

from psvm import PSVC


def made(n, rng):
    common = rng.normal(0, 1, size=(n, 2))
    rare = rng.normal([1.6, 1.2], 0.5, size=(n * 3 // 97, 2))
    return np.vstack([common, rare]), np.repeat([0, 1], [len(common), len(rare)])


X, y = made(1200, np.random.default_rng(0))
X_test, y_test = made(20_000, np.random.default_rng(1))
weights = {"no weights": None, "balanced": "balanced", "3 times": {0: 1, 1: 3}}

# %%
# Recall is the share of rare rows that are found, precision the share of findings that are right.
# Along the curve the threshold on the decision value moves; the dots are where it is 0.

figure, panels = plt.subplots(1, 4, figsize=(15, 3.7), layout="constrained")
for (name, weight), ax, colour in zip(
    weights.items(), panels, ("#000000", "#0072b2", "#d55e00"), strict=False
):
    model = PSVC(p=1.5, C=1, gamma=0.5, class_weight=weight).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        model, X, ax=ax, response_method="predict", cmap="PuOr", vmin=-0.4, vmax=1.4, alpha=0.6
    )
    ax.scatter(*X[y == 0].T, s=3, color="#b35806")
    ax.scatter(*X[y == 1].T, s=16, color="#542788", marker="^")
    found = model.predict(X_test) == 1
    recall, precision = found[y_test == 1].mean(), y_test[found].mean()
    ax.set(title=f"{name}: recall {recall:.2f}", xticks=[], yticks=[])
    PrecisionRecallDisplay.from_predictions(
        y_test,
        model.decision_function(X_test),
        ax=panels[3],
        name=name,
        curve_kwargs={"color": colour},
    )
    panels[3].plot(recall, precision, "o", color=colour, ms=9, zorder=5)
