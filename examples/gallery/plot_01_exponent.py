"""
What p does to the boundary
===========================

A row on the wrong side by ``xi`` costs ``C xi^p``. Here are two clouds of which four rows have the
wrong label. At p = 1 they cost in proportion to their distance and are given up; the larger p, the more
a distant row costs, and the boundary bends towards it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from psvm import PSVC

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(-1, 0.5, size=(60, 2)), rng.normal(1, 0.5, size=(60, 2))])
y = np.repeat([0, 1], 60)
y[[5, 20, 80, 100]] ^= 1

# %%
# The same C and gamma for all. Solid: the boundary; dotted: the margins, where the decision value is
# 1 or -1; rings: the support vectors.

figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
for p, ax in zip((1, 1.5, 2, 5), panels, strict=True):
    model = PSVC(p=p, C=10, gamma=0.3).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, ax=ax, response_method="decision_function", cmap="PuOr", vmin=-3, vmax=3
    )
    grid = display.xx0, display.xx1, display.response
    ax.contour(*grid, [-1, 0, 1], colors="k", linestyles=[":", "-", ":"])
    ax.scatter(*X.T, c=y, cmap="PuOr", vmin=-0.3, vmax=1.3, edgecolors="k", linewidths=0.4, s=18)
    ax.scatter(*model.support_vectors_.T, facecolors="none", edgecolors="k", s=60)
    wrong = (model.predict(X) != y).sum()
    ax.set(title=f"p = {p}: {wrong} on the wrong side", xticks=[], yticks=[])

# %%
# Which p is best is a question to the data: :class:`psvm.PSVCCV` chooses it by cross-validation.
