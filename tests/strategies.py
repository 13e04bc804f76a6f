"""Hypothesis strategies: data sets, exponents, penalties and weights small enough to be quick."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

LISTED_P = (1.0, 1.001, 1.01, 1.25, 1.5, 2.0, 3.0, 10.0, 50.0)

finite = st.floats(-1e3, 1e3, allow_nan=False)
slacks = st.floats(0.0, 1e3, allow_nan=False)
costs = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
seeds = st.integers(0, 2**32 - 1)


def exponents(least: float = 1.0):
    """The exponents of the contract, and any other real number up to 20."""
    listed = [p for p in LISTED_P if p >= least]
    return st.one_of(st.sampled_from(listed), st.floats(least, 20.0))


def kernels(names=("linear", "rbf", "poly", "laplacian", "exponential")):
    return st.sampled_from(names)


@st.composite
def datasets(draw, min_rows=6, max_rows=24, max_columns=4, duplicates=True):
    """(X, y) with labels -1 and +1, both present; sometimes on a grid, so that rows coincide."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(min_rows, max_rows))
    d = draw(st.integers(1, max_columns))
    X = rng.normal(size=(n, d))
    if duplicates and draw(st.booleans()):
        X = np.round(X)
    noise = draw(st.sampled_from([0.1, 0.5, 1.5]))
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    return X, y


@st.composite
def dual_points(draw, min_rows=4, max_rows=15):
    """(K, y, alpha): a positive semidefinite kernel matrix and alpha >= 0 with alpha'y = 0."""
    X, y = draw(datasets(min_rows, max_rows))
    K = X @ X.T
    rng = np.random.default_rng(draw(seeds))
    alpha = rng.exponential(size=y.size) * (rng.random(y.size) < 0.7)
    alpha[0] = alpha[1] = 1.0
    alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
    return K, y, alpha
