"""
Several classes: pairs, or each against the rest
================================================

With three or more classes a kernel machine is fitted to every pair of them, and the pairs vote
(``multi_class="ovo"``, the default of PSVC), or to each class against all others (``"ovr"``).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from psvm import PSVC, LinearPSVC

centres = [[2 * i, 2 * j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
X, y = make_blobs(450, centers=centres, cluster_std=0.5, random_state=0)
x1, x2 = np.meshgrid(np.linspace(-3.5, 3.5, 300), np.linspace(-3.5, 3.5, 300))

# %%
# The classes in the middle and on the sides cannot be told from all others by one line, so that
# planes against the rest cut off a part of them. Planes between pairs do not, and a kernel bends
# them.

models = {
    'LinearPSVC(multi_class="ovr")': LinearPSVC(p=1.5),
    'LinearPSVC(multi_class="ovo")': LinearPSVC(p=1.5, multi_class="ovo"),
    "PSVC()": PSVC(p=1.5),
}
figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for (name, model), ax in zip(models.items(), panels, strict=True):
    model.fit(X, y)
    label = model.predict(np.column_stack([x1.ravel(), x2.ravel()])).reshape(x1.shape)
    ax.pcolormesh(x1, x2, label, cmap="tab10", vmin=0, vmax=9, alpha=0.3)
    ax.scatter(*X.T, c=y, cmap="tab10", vmin=0, vmax=9, s=12)
    ax.set(title=f"{name}\naccuracy {model.score(X, y):.2f}", xticks=[], yticks=[])

# %%
# Every binary problem has its own certificate:

print(np.array2string(models["PSVC()"].dual_gap_, precision=1))
