"""
Choosing p, C and gamma
=======================

:class:`psvm.PSVCCV` searches all three at once and shares kernel matrices among all p and C. Its
``cv_results_`` are those of ``GridSearchCV``, and :class:`psvm.plotting.SelectionDisplay` draws
them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from psvm import PSVCCV
from psvm.plotting import SelectionDisplay

X, y = load_breast_cancer(return_X_y=True)
search = PSVCCV(
    ps=[1, 1.25, 1.5, 2],
    Cs=[0.1, 1, 10, 100],
    gammas=[0.003, 0.01, 0.03],
    preprocessor=StandardScaler(),
    cv=5,
).fit(X, y)
print(search.best_params_)

# %%
# A cell shows the best of all candidates that share its x and y; the frame is around the choice.
# What differs by chance looks alike: the colours span at least four standard errors.

figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
display = SelectionDisplay.from_estimator(search, x="C", y="p", name="accuracy", ax=panels[0])
display.plot(panels[1], x="C", y="gamma")
display.plot(panels[2], x="p", y=None, value="support")
