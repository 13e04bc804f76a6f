"""
Text with LinearPSVC
====================

Which package does a docstring come from? Text at hand without a download: what the functions of
numpy, scipy and scikit-learn say of themselves. The names of the packages are struck out.
"""

import importlib
import inspect
import re

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from psvm import LinearPSVC

MODULES = {
    "numpy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma"],
    "scipy": ["scipy.stats", "scipy.signal", "scipy.optimize", "scipy.sparse", "scipy.special"],
    "scikit-learn": [
        f"sklearn.{part}"
        for part in ("linear_model", "metrics", "preprocessing", "cluster", "ensemble", "svm")
    ],
}
texts, labels = [], []
for package, modules in MODULES.items():
    found = {
        inspect.getdoc(item)
        for module in map(importlib.import_module, modules)
        for item in vars(module).values()
        if callable(item)
    }
    found = sorted(text for text in found if text and len(text) > 200)
    texts += [re.sub(r"numpy|scipy|sklearn|scikit-learn|\bnp\b|\bsp\b", " ", t) for t in found]
    labels += [package] * len(found)
print({package: labels.count(package) for package in MODULES})

# %%
# Words are many and rare, so that the rows are sparse and wide, and a plane does.

words = TfidfVectorizer(sublinear_tf=True, min_df=3, token_pattern=r"[A-Za-z]{3,}")
model = make_pipeline(words, LinearPSVC(p=1.5, C=1.0))
print(f"accuracy in cross-validation: {cross_val_score(model, texts, labels).mean():.3f}")
model.fit(texts, labels)
print(f"{len(words.vocabulary_):,} words; the largest gap is {model[-1].dual_gap_.max():.1e}")

# %%
# Each class has its own weights against the rest, so the words that speak for it can be read off:

names = words.get_feature_names_out()
figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for package, weights, ax in zip(model.classes_, model[-1].coef_, panels, strict=True):
    largest = weights.argsort()[-12:]
    ax.barh(names[largest], weights[largest], color="#0072b2")
    ax.set(title=package, xlabel="weight")
