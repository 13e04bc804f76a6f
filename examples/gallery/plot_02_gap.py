"""
The certified gap along a fit
=============================

After every round there is a model, and a proof of how far its objective is from the best possible
one at most. Fits are independent of the scale of that objective: ``tol`` means the same for every
p and C.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from psvm import PSVC
from psvm.plotting import ConvergenceDisplay

X, y = make_moons(3000, noise=0.3, random_state=0)
models = {f"p = {p}": PSVC(p=p, C=10, tol=1e-6).fit(X, y) for p in (1, 1.5, 2, 3)}

# %%
# Every round is on record in ``history_``, with seconds, primal and dual value and gap.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
ConvergenceDisplay.from_estimators(models, x="iteration", ax=left)
ConvergenceDisplay.from_estimators(models, x="seconds", ax=right)

# %%
# What the models claim in the end, recomputed in float64 with bounds for its rounding:

for name, model in models.items():
    print(f"{name}: gap {model.dual_gap_[0]:.1e} after {model.n_iter_[0]} rounds")
