"""
Regression: the exponent, and quantiles
=======================================

:class:`psvm.PSVR` pays for residuals outside of a tube, with their distance from it to the power
of p. ``quantile`` makes rows above and below the prediction cost differently.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm import PSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 200))
y = np.sin(x) + 0.15 * rng.normal(size=200)
y[rng.choice(np.flatnonzero(x > 0.5), 12, replace=False)] += 3  # outliers, all on one side
X, grid = x[:, None], np.linspace(-3, 3, 400)[:, None]

wide = np.sin(x) + (0.1 + 0.15 * abs(x)) * rng.normal(size=200)
shares = (0.05, 0.25, 0.5, 0.75, 0.95)

# %%
# On the left the larger p, the more the outliers pull. On the right there is no tube, and at p = 1
# a share of ``quantile`` of the rows lies below the curve.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
left.plot(x, y, ".", color="0.6")
for p, colour in {1: "#000000", 1.5: "#0072b2", 2: "#009e73", 4: "#d55e00"}.items():
    model = PSVR(p=p, C=10, epsilon=0.1, gamma=0.5).fit(X, y)
    left.plot(grid, model.predict(grid), color=colour, label=f"p = {p}")
left.legend(frameon=False)
right.plot(x, wide, ".", color="0.6")
for share in shares:
    model = PSVR(p=1, C=10, epsilon=0, quantile=share, gamma=0.3).fit(X, wide)
    below = (wide < model.predict(X)).mean()
    right.plot(
        grid, model.predict(grid), color=plt.cm.plasma(0.85 * share), label=f"{share}: {below:.2f}"
    )
right.legend(frameon=False, title="quantile: rows below")
