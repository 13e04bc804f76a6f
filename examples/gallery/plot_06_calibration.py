"""
Probabilities
=============

Decision values are no probabilities. :class:`psvm.PSVCCV` fits a sigmoid to the decision values
that the rows had while they were held out, so ``predict_proba`` costs no further fits; any other
model gets probabilities from scikit-learn's ``CalibratedClassifierCV``.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

from psvm import PSVC, PSVCCV

X, y = make_classification(4000, n_features=8, flip_y=0.15, class_sep=0.7, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1000, random_state=0)
models = {
    "PSVCCV": PSVCCV(ps=[1, 1.5, 2], Cs=4, gammas=3),
    "CalibratedClassifierCV(PSVC())": CalibratedClassifierCV(PSVC(p=1.5), ensemble=False),
}

# %%
# On 3,000 rows that neither has seen, a probability of 0.8 should be right four times out of
# five:

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, model in models.items():
    probability = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    loss = brier_score_loss(y_test, probability)
    CalibrationDisplay.from_predictions(
        y_test, probability, n_bins=10, name=f"{name}: {loss:.3f}", ax=left
    )
    right.hist(probability, bins=20, histtype="step", linewidth=2, label=name)
left.set_title("Share of the positive class (Brier loss)")
right.set(xlabel="predicted probability", ylabel="rows")
right.legend(loc="upper center")
