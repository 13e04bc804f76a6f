"""Fitted models on real data for the tests of the exports, made once."""

from __future__ import annotations

import functools

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from small_data import _load_shared

from psvm import PSVC

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "exponential")


@functools.cache
def several_classes(name, n=120):
    """(X, y) of a real set with three or more classes: n rows, standardised."""
    if name in ("iris", "wine", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        X, y = _load_shared(name)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return scale(np.asarray(X, dtype=float)[rows]), np.unique(y, return_inverse=True)[1][rows]


def words(y):
    """Labels as texts, in an order that is not that of the numbers."""
    return np.array(["oak", "ash", "fir", "elm", "yew", "box", "bay", "fig", "gum", "nut"])[y % 10]


@functools.cache
def table():
    """A table with gaps, numbers and texts, and a fitted model that takes it."""
    X, y = several_classes("wine")
    frame = pl.DataFrame(
        {
            "a": [None if i % 7 == 0 else v for i, v in enumerate(X[:, 0].tolist())],
            "kind": [None if i % 11 == 0 else str(w) for i, w in enumerate(words(y + (y > 1)))],
            "b": X[:, 1] * 1000.0 + 5e5,
            "unused": X[:, 2],
            "place": [("north", "south")[int(v > 0)] for v in X[:, 3]],
        }
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(missing_values=None, strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = ColumnTransformer(
        [("numbers", numbers, ["a", "b"]), ("texts", texts, ["kind", "place"])]
    )
    return make_pipeline(columns, PSVC(p=1.25)).fit(frame, words(y)), frame
