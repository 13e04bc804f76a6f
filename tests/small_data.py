"""Small problems: random ones, and real ones from scikit-learn and the shared data folder."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.preprocessing import scale

ROOT = Path(__file__).resolve().parents[1]


def noisy(n=30, d=3, seed=0, noise=1.0, shift=0.0):
    """A noisy linear rule; labels -1 and +1, both present."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + shift
    y = np.where((X - shift) @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def separable(n=30, d=3, seed=0, gap=0.5):
    """A linear rule with a margin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X[:, 0] = y * (np.abs(X[:, 0]) + gap)
    return X, y


def blobs(n=60, classes=3, d=3, seed=0, spread=1.2):
    """k overlapping Gaussian classes, labels 0 .. k - 1."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = rng.normal(size=(classes, d)) * 1.5
    return centres[y] + spread * rng.normal(size=(n, d)), y


def curve(n=60, d=3, seed=0, noise=0.2):
    """Targets on a curve of the first feature, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2.0 * np.sin(2.0 * X[:, 0]) + X[:, -1] + noise * rng.normal(size=n) + 3.0


def thin():
    """60 rows with about 15 % of 40 columns filled, one row and one column empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.15)
    X[5], X[:, 7] = 0.0, 0.0
    y = np.where(X @ rng.normal(size=40) + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    return X, y


def data_dir():
    """The shared data folder, or None where it was not shipped."""
    folder = Path(os.environ.get("PSVM_DATA_DIR", ROOT.parent / "shared" / "data"))
    return folder if (folder / "expected.json").exists() else None


SKLEARN_SETS = ("breast_cancer", "iris", "wine", "digits")
SHARED_SETS = (
    "heart",
    "ionosphere",
    "glass",
    "banknote",
    "german_numer_scale",
    "svmguide3",
    "splice_scaled",
    "a9a",
    "mushrooms",
    "cnae9",
)
REAL_SETS = SKLEARN_SETS + SHARED_SETS


@functools.cache
def real(name, n=90):
    """(X, y): the two most frequent classes of a real set, n rows, standardised unless sparse."""
    if name in SKLEARN_SETS:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        X, y = _load_shared(name)
    labels, counts = np.unique(y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rows = np.flatnonzero(np.isin(y, labels[order[:2]]))
    rows = np.random.default_rng(0).permutation(rows)[:n]
    X, y = X[rows], np.where(y[rows] == labels[order[0]], 1.0, -1.0)
    return (X.astype(float) if sp.issparse(X) else scale(X.astype(float))), y


@functools.cache
def real_regression(name, n=500):
    """(X, y): n rows of a real set with a target, its numeric columns standardised."""
    folder = data_dir()
    path = folder and folder / "regression" / f"{name}.parquet"
    if path is None or not path.exists():
        pytest.skip("no shared data: set PSVM_DATA_DIR")
    table = pytest.importorskip("pandas").read_parquet(path).dropna()
    y = table.pop("target").to_numpy(dtype=float)
    X = table.select_dtypes("number").to_numpy(dtype=float)
    rows = np.random.default_rng(0).permutation(y.size)[:n]
    return scale(X[rows]), y[rows]


def _load_shared(name):
    folder = data_dir()
    if folder is None:
        pytest.skip("no shared data: set PSVM_DATA_DIR")
    path = next(
        folder / part / f"{name}.npz"
        for part in ("paper", "bench")
        if (folder / part / f"{name}.npz").exists()
    )
    with np.load(path, allow_pickle=False) as file:
        if "indptr" not in file:
            return file["X"], file["y"]
        parts = (file["data"], file["indices"], file["indptr"])
        return sp.csr_matrix(parts, shape=tuple(file["shape"])), file["y"]
