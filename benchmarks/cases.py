"""The data sets of the benchmark, by name: ``load("magic04")``.

The files are not part of the project. They are looked for in ``$PSVM_BENCH_DATA``, or else in
``../shared/data`` beside the project root, as ``bench/<file>.npz`` or ``paper/<file>.npz``, or as
``study/<file>.parquet``.
"synthetic" and "curved" are made, not read. Every set is prepared the same way for all rivals,
before any clock starts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.real_rows import as_numbers, read_table, table_path

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """How one data set is read and split.

    Attributes
    ----------
    file : str
        Name of the ``.npz`` file.
    keep : tuple or None
        Only rows with these labels.
    positive : tuple or None
        Merge the classes in two: these labels, and the rest.
    n_train : int or None
        Train on a random sample of this many rows of the training part.
    scale : {"standardise", "pixels", "none"}
        Dense features: zero mean and unit variance on the training rows, or division by 255.
        Sparse features are never touched.
    dense : bool
        Store sparse features as a dense array.
    table : bool
        A Parquet table of ``study``, whose rows :mod:`benchmarks.real_rows` prepares.
    """

    file: str
    keep: tuple[Any, ...] | None = None
    positive: tuple[Any, ...] | None = None
    n_train: int | None = None
    scale: str = "standardise"
    dense: bool = False
    table: bool = False


@dataclass(frozen=True)
class Data:
    """Prepared rows; float64, dense or CSR; labels 0 .. n_classes - 1."""

    X_train: Any
    y_train: Labels
    X_test: Any
    y_test: Labels

    @cached_property
    def gamma_scale(self) -> float:
        """That of the training rows."""
        return gamma_scale(self.X_train)


def gamma_scale(X: Any) -> float:
    """``1 / (n_features * variance of the entries)``: scikit-learn's "scale"."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    return float(1.0 / (X.shape[1] * variance))


EVEN = (0, 2, 4, 6, 8)
CASES: dict[str, Case] = {
    "magic04": Case("magic04"),
    "a9a": Case("a9a"),
    "ijcnn1": Case("ijcnn1"),
    "cod_rna": Case("cod_rna_scaled", scale="none"),
    "covtype_10000": Case("covtype_10000", positive=(2,)),
    "w8a": Case("w8a"),
    "skin_50k": Case("skin_nonskin", n_train=50_000),
    "mnist_3v8": Case("mnist", keep=(3, 8), scale="pixels"),
    "mnist_even_20k": Case("mnist", positive=EVEN, n_train=20_000, scale="pixels"),
    "letter": Case("letter"),
    "usps": Case("usps", scale="none"),
    "mnist_12k": Case("mnist", n_train=12_000, scale="pixels"),
    "satimage": Case("satimage"),
    "shuttle": Case("shuttle"),
    # Linear problems, all with two classes.
    "skin_nonskin": Case("skin_nonskin"),
    "a9a_dense": Case("a9a", scale="none", dense=True),  # the problem of a9a, stored otherwise
    "shuttle_1": Case("shuttle", positive=("Rad.Flow",)),  # UCI's class 1 against the rest
    "mnist_even": Case("mnist", positive=EVEN, scale="pixels"),
    "news20_18221": Case("news20_18221", positive=tuple(range(1, 11))),  # ten groups against ten
    "news20_one": Case("news20_18221", positive=(1,)),  # one group against nineteen
    "news20_basehock": Case("news20_basehock"),
    "synthetic": Case("synthetic", scale="none"),
    # For the growth of the kernel solver.
    "curved": Case("curved", scale="none"),
    # Large real tables; a sample where rivals do not end on all rows.
    "adult": Case("adult", table=True),
    "credit_default": Case("credit_default", table=True),
    "bio_kdd04": Case("bio_kdd04", table=True),
    "bio_kdd04_30k": Case("bio_kdd04", n_train=30_000, table=True),
    "census_kdd": Case("census_kdd", table=True),
    "census_kdd_30k": Case("census_kdd", n_train=30_000, table=True),
    "kr_vs_k": Case("kr_vs_k", table=True),
    "portal_rodents": Case("portal_rodents", table=True),
    # Small ones, for solvers that need the whole matrix or Python's patience.
    "banknote": Case("banknote"),
    "german": Case("german_numer_scale", scale="none"),
    "splice": Case("splice_scaled", scale="none"),
    "svmguide3": Case("svmguide3"),
}

MULTICLASS = ["letter", "usps", "mnist_12k", "satimage", "shuttle"]
KERNEL_BINARY = [
    *("magic04", "a9a", "ijcnn1", "cod_rna", "covtype_10000", "w8a", "skin_50k"),
    *("mnist_3v8", "mnist_even_20k"),
]
KERNEL_GROUPS: dict[str, list[str]] = {
    "all": KERNEL_BINARY + MULTICLASS,
    "binary": KERNEL_BINARY,
    "multiclass": MULTICLASS,
    "small": ["banknote", "german", "splice", "svmguide3"],
    "real": [
        *("adult", "credit_default", "kr_vs_k", "portal_rodents"),
        *("bio_kdd04_30k", "bio_kdd04", "census_kdd_30k", "census_kdd"),
    ],
}
DENSE = ["magic04", "cod_rna", "skin_nonskin", "shuttle_1", "a9a_dense", "mnist_even", "synthetic"]
SPARSE = ["ijcnn1", "a9a", "w8a"]
TEXT = ["news20_18221", "news20_basehock"]
LINEAR_GROUPS: dict[str, list[str]] = {
    "all": DENSE + SPARSE + TEXT,
    "dense": DENSE,
    "sparse": SPARSE,
    "text": TEXT,
}
SYNTHETIC_ROWS, SYNTHETIC_FEATURES = 1_000_000, 30
CURVED_ROWS, CURVED_FEATURES = 200_000, 8
MADE = ("synthetic", "curved")  # not files
TEST_SHARE = 0.2  # of the rows, where the set has no official test part
MAX_TEST = 20_000  # rows; enough for steady predict times


def load(name: str, max_rows: int | None = None) -> Data:
    """Read, split and scale a case; ``max_rows`` bounds the training rows (and test rows)."""
    case = CASES[name]
    X, y, n_official = read_table(data_folder(), case.file) if case.table else read(case.file)
    rng = np.random.default_rng(0)  # the split is part of the case: the same in every process
    keep = np.arange(len(y)) if case.keep is None else np.flatnonzero(np.isin(y, case.keep))
    if n_official is None:
        rng.shuffle(keep)
        n_part = len(keep) - int(TEST_SHARE * len(keep))
        train, test = keep[:n_part], keep[n_part:]
    else:
        train, test = keep[keep < n_official], keep[keep >= n_official]
    n_train = min(case.n_train or len(train), max_rows or len(train))
    n_test = min(MAX_TEST, max_rows or MAX_TEST)
    train = sample(train, n_train, rng)
    test = sample(test, n_test, rng)

    if case.dense:
        X = X.toarray()
    labels = np.isin(y, case.positive) if case.positive is not None else y
    classes, codes = np.unique(labels[train], return_inverse=True)
    test = test[np.isin(labels[test], classes)]
    y_test = np.searchsorted(classes, labels[test]).astype(np.int64)
    if case.table:
        X_train, X_test = as_numbers(X.iloc[train], X.iloc[test])
    else:
        X_train, X_test = scaled(X[train], X[test], case.scale)
    return Data(X_train, codes.astype(np.int64), X_test, y_test)


def sample(rows: npt.NDArray[np.intp], size: int, rng: np.random.Generator) -> Any:
    """At most ``size`` of the rows, in ascending order."""
    if size >= len(rows):
        return np.sort(rows)
    return np.sort(rng.choice(rows, size, replace=False))


def scaled(train: Any, test: Any, scale: str) -> tuple[Any, Any]:
    """Scale by the statistics of the training rows; sparse rows are only cast to float64."""
    train, test = (rows.astype(np.float64, copy=False) for rows in (train, test))
    if sp.issparse(train) or scale == "none":
        return train, test
    if scale == "pixels":
        return train / 255.0, test / 255.0
    centre, width = train.mean(axis=0), train.std(axis=0)
    width[width == 0.0] = 1.0
    return (train - centre) / width, (test - centre) / width


def read(file: str) -> tuple[Any, npt.NDArray[Any], int | None]:
    """``X``, ``y`` and the number of official training rows, if the set has an official split."""
    if file == "synthetic":
        return (*synthetic(SYNTHETIC_ROWS + MAX_TEST, SYNTHETIC_FEATURES), SYNTHETIC_ROWS)
    if file == "curved":
        return (*curved(CURVED_ROWS + MAX_TEST, CURVED_FEATURES), CURVED_ROWS)
    path = find(file)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files}
    if "indptr" in arrays:
        shape = tuple(int(v) for v in arrays["shape"])
        X = sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    else:
        X = arrays["X"]
    n_train = int(arrays["n_train"]) if "n_train" in arrays else None
    return X, arrays["y"], n_train


def synthetic(n: int, d: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Normal rows labelled by a noisy plane off the origin: about 15 % cannot be told apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    normal = rng.standard_normal(d)
    noise = 0.5 * rng.standard_normal(n)
    return X, X @ (normal / np.linalg.norm(normal)) + 0.3 + noise > 0.0


def curved(n: int, d: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Normal rows on the two sides of a curved surface; 3 % of the labels are wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    side = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] > 0.0
    return X, side ^ (rng.random(n) < 0.03)


def check_present(case: str) -> None:
    """Raise FileNotFoundError if the case needs a file that is not there."""
    if CASES[case].table:
        table_path(data_folder(), CASES[case].file)
    elif CASES[case].file not in MADE:
        find(CASES[case].file)


def data_folder() -> Path:
    """Where the data sets are looked for."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("PSVM_BENCH_DATA", beside))


def find(file: str) -> Path:
    """Path of a data file, or an error that says where it should be."""
    folder = data_folder()
    for part in ("bench", "paper", "."):
        path = folder / part / f"{file}.npz"
        if path.exists():
            return path
    raise FileNotFoundError(
        f"benchmark data '{file}.npz' not found in {folder} (nor in its bench/ or paper/). "
        "The data sets are not shipped with psvm: set PSVM_BENCH_DATA to the folder that has them."
    )
