"""What every table goes through, inside every fold: impute, one-hot, scale.

Numbers: the median for what is missing, then zero mean and unit variance. Texts: "missing" is a
category of its own, then one column per category, at most 30 of them per text (the rarest are one).
All methods are given the same columns, trees too.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_CATEGORIES = 30


def preparation(X: pd.DataFrame) -> ColumnTransformer:
    """A fresh transformer for the columns of a table."""
    numbers = [name for name in X if is_numeric_dtype(X[name])]
    texts = [name for name in X if name not in numbers]
    steps = []
    if numbers:
        of_numbers = [
            ("impute", SimpleImputer(strategy="median", keep_empty_features=True)),
            ("scale", StandardScaler()),
        ]
        steps.append(("numbers", Pipeline(of_numbers), numbers))
    if texts:
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_CATEGORIES,
            sparse_output=False,
            dtype=np.float64,
        )
        fill = SimpleImputer(strategy="constant", fill_value="missing", missing_values=np.nan)
        steps.append(("texts", Pipeline([("fill", fill), ("encode", encoder)]), texts))
    return ColumnTransformer(steps)
