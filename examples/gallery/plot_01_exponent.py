"""
What p does to the boundary
===========================

A row on the wrong side by ``xi`` costs ``C xi^p``. Here are two clouds, and five rows far on the
wrong side. At p = 1 they cost in proportion to their distance, and are given up for the sake of
all others. The larger p, the more the most distant rows cost, and the more the boundary turns
towards them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from psvm import PSVC

rng = np.random.default_rng(0)
centres = ([-1.2, 0], [1.2, 0], [2.2, 2.8])
clouds = [rng.normal(c, 0.6, size=(n, 2)) for c, n in zip(centres, (60, 60, 5), strict=True)]
X, y = np.vstack(clouds), np.repeat([0, 1, 0], [60, 60, 5])

# %%
# The same C for all. Solid: the boundary; dotted: the margins, where the decision value is 1 or
# -1; rings: the support vectors.

figure, panels = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
for p, ax in zip((1, 1.5, 2, 5), panels, strict=True):
    model = PSVC(p=p, C=1, kernel="linear").fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, ax=ax, response_method="decision_function", cmap="PuOr", vmin=-4, vmax=4
    )
    grid = display.xx0, display.xx1, display.response
    ax.contour(*grid, [-1, 0, 1], colors="k", linestyles=[":", "-", ":"])
    ax.scatter(*X.T, c=y, cmap="PuOr", vmin=-0.3, vmax=1.3, edgecolors="k", linewidths=0.4, s=18)
    ax.scatter(*model.support_vectors_.T, facecolors="none", edgecolors="k", linewidths=0.8, s=60)
    title = f"p = {p}: {(model.predict(X) != y).sum()} wrong, {len(model.support_)} support vectors"
    ax.set_title(title, fontsize="medium")
    ax.set(xticks=[], yticks=[])

# %%
# Which p is best is a question to the data: :class:`psvm.PSVCCV` chooses it by cross-validation.
