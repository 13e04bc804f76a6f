"""
All solutions along C
=====================

:func:`psvm.psvm_path` solves for a grid of p and C, each from the solution before, and keeps all
of them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from psvm import psvm_path
from psvm.plotting import PathDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)
path = psvm_path(X, y, ps=[1, 1.5, 3], Cs=25, kernel="linear")

# %%
# Weights come in one after the other as C grows. Support vectors become fewer the narrower the
# margin, and at p = 1 there are far fewer of them than at p = 3.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
PathDisplay.from_path(path, quantity="coef", at=1.5, ax=left)
PathDisplay.from_path(path, quantity="support", ax=right)
