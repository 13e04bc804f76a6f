"""
Why this decision
=================

The rbf kernel is a product over the features, which makes exact Shapley values cheap:
:func:`psvm.explaining.shapley_values` says what every feature adds to a decision value, and the
parts add up to it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from psvm import PSVC
from psvm.explaining import shapley_values

data = load_breast_cancer(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(data.data)
model = PSVC(p=1.5).fit(X, data.target)
background = X.sample(50, random_state=0)

# %%
# One tumour near the boundary, explained beside what is usual (fifty rows):

row = X.iloc[[541]]
found = shapley_values(model, row, background)
values, base = found.values[0], found.base_values[0]
print(f"base {base:.3f} + sum of values {values.sum():.3f} = {base + values.sum():.3f}")
print(f"decision value {model.decision_function(row)[0]:.3f}")

# %%
# On the left that row; on the right the mean size of the values over forty rows, which says what
# the model looks at.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
largest = abs(values).argsort()[-8:]
left.barh(
    [f"{X.columns[j]} = {data.data.iloc[541, j]:.4g}" for j in largest],
    values[largest],
    color=["#0072b2" if values[j] > 0 else "#d55e00" for j in largest],
)
left.axvline(0, color="k", linewidth=0.8)
left.set_xlabel("towards malignant (left) or benign (right)")
many = abs(shapley_values(model, X.iloc[::15], background).values).mean(axis=0)
largest = many.argsort()[-8:]
right.barh(X.columns[largest], many[largest], color="0.4")
right.set_xlabel("mean size of the Shapley value")
