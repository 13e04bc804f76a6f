"""The rows of a problem, and its kernel as SVC and PSVC both take it."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.cases import Labels, data_folder, gamma_scale, read, sample, scaled
from benchmarks.everyday.problems import TABLE_ROWS, Problem
from benchmarks.regression.sets import curved, synthetic, table_named, tables

DENSITY = 0.2  # nonzero entries of sparse rows
WIDE = (200, 20_000)
PIXEL_ROWS = 2000
SKLEARN_NAMES = {"poly": "polynomial", "precomputed": "rbf"}  # of their kernel functions
MANY_CLASSES, ROWS_OF_EACH, MANY_FEATURES = 150, 40, 20


Targets = npt.NDArray[np.float64]


class Rows(NamedTuple):
    """Features, and labels 0 .. n_classes - 1 or targets."""

    X: Any
    y: Labels | Targets

    @property
    def classes(self) -> int:
        """How many; 0 of targets."""
        return int(self.y.max()) + 1 if self.y.dtype.kind == "i" else 0


def rows_of(problem: Problem) -> Rows:
    """Made or read; the same in every process."""
    if problem.source == "random":
        return made_targets(problem) if problem.has_targets else made(problem)
    if problem.source.startswith("targets "):
        data = table_named(problem.source.removeprefix("targets "))
        return Rows(data.X, data.y)
    if problem.source.startswith("table "):
        return table_rows(problem.source.removeprefix("table "))
    return NAMED[problem.source]()


def made(problem: Problem) -> Rows:
    """scikit-learn's ``make_classification`` with the problem's shape, as hard as its seed says."""
    from sklearn.datasets import make_classification

    rng = np.random.default_rng(problem.seed)
    needed = int(np.ceil(np.log2(problem.classes)))
    informative = min(problem.features, max(needed, int(rng.integers(2, 11))))
    X, y = make_classification(
        problem.rows,
        problem.features,
        n_informative=informative,
        n_redundant=min(2, problem.features - informative),
        n_classes=problem.classes,
        n_clusters_per_class=1,
        class_sep=float(rng.choice([0.5, 1.0, 2.0])),
        flip_y=float(rng.choice([0.0, 0.01, 0.1])),
        random_state=problem.seed,
    )
    return Rows(thinned(X) if problem.sparse else X, y.astype(np.int64))


def made_targets(problem: Problem) -> Rows:
    """The made sets of the regression suites: a rule that bends, or a linear one."""
    make = synthetic if problem.estimator == "LinearPSVR" else curved
    data = make(problem.rows, problem.features, problem.seed)
    return Rows(thinned(data.X) if problem.sparse else data.X, data.y)


def thinned(X: Any) -> Any:
    """The largest entries, as a CSR matrix."""
    smallest = np.quantile(np.abs(X), 1.0 - DENSITY)
    return sp.csr_matrix(np.where(np.abs(X) < smallest, 0.0, X))


def wide() -> Rows:
    """Few rows, many dense features."""
    return made(Problem("named", "LinearPSVC", rows=WIDE[0], features=WIDE[1], classes=2))


def pixels() -> Rows:
    """Images as they come, 0 to 255; even against odd digits."""
    X, y, _ = read("mnist")
    kept = sample(np.arange(len(y)), PIXEL_ROWS, np.random.default_rng(0))
    return Rows(X[kept].astype(np.float64), (y[kept].astype(np.int64) % 2).astype(np.int64))


def many_classes() -> Rows:
    """Clouds that overlap, as many as there are classes."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(MANY_CLASSES), ROWS_OF_EACH)
    centres = 2.0 * rng.standard_normal((MANY_CLASSES, MANY_FEATURES))
    return Rows(centres[y] + rng.standard_normal((y.size, MANY_FEATURES)), y)


def bundled(name: str) -> Rows:
    """A set that comes with scikit-learn, each feature with zero mean and unit variance."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Rows(scaled(X, X, "standardise")[0], y.astype(np.int64))


def diabetes() -> Rows:
    """The one with targets, which are standardised as well."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return Rows(scaled(X, X, "standardise")[0], (y - y.mean()) / y.std())


NAMED: dict[str, Callable[[], Rows]] = {
    "wide": wide,
    "pixels": pixels,
    "many classes": many_classes,
    "diabetes": diabetes,
    **{
        name: functools.partial(bundled, name)
        for name in ("iris", "wine", "digits", "breast_cancer")
    },
}


@functools.cache
def study() -> Any:
    """The module that reads the tables, or None where it, or what it needs, is absent."""
    path = data_folder() / "study.py"
    if not path.exists() or not all(map(importlib.util.find_spec, ("pandas", "pyarrow"))):
        return None
    specification = importlib.util.spec_from_file_location("study", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def table_names() -> list[str]:
    """The small tables, the smallest first."""
    module = study()
    if module is None or (index := module.index()).empty:
        return []
    return list(index[index["rows"] <= TABLE_ROWS].sort_values("rows", kind="stable").index)


def target_table_names() -> list[str]:
    """The small tables of regression, the smallest first; none where they cannot be read."""
    if importlib.util.find_spec("polars") is None:
        return []
    sizes = {data.name: data.y.size for data in tables()}
    return sorted((name for name in sizes if sizes[name] <= TABLE_ROWS), key=sizes.__getitem__)


def table_rows(name: str) -> Rows:
    """Categories one-hot, numbers with their median where missing; zero mean, unit variance."""
    import pandas as pd

    features, target = study().load(name)
    numbers = features.select_dtypes("number").astype(np.float64)
    numbers = numbers.fillna(numbers.median()).fillna(0.0)
    others = features.drop(columns=numbers.columns)
    parts = [numbers, *(pd.get_dummies(others[name].astype("category")) for name in others)]
    X = np.hstack([part.to_numpy(np.float64) for part in parts])
    return Rows(
        scaled(X, X, "standardise")[0], np.unique(target.astype(str), return_inverse=True)[1]
    )


# --- kernels -------------------------------------------------------------------------------------


class KernelCase(NamedTuple):
    """What SVC and PSVC are given: the rows or their matrix, and the kernel's parameters."""

    X: Any
    parameters: dict[str, Any]


def kernel_case(problem: Problem, X: Any) -> KernelCase:
    """Rows and parameters; a precomputed matrix is made before any clock starts."""
    if problem.kernel == "precomputed":
        return KernelCase(kernel_values(problem, X), {"kernel": "precomputed"})
    if problem.kernel == "callable":
        return KernelCase(X, {"kernel": kernel_function(problem, X)})
    return KernelCase(X, {"kernel": problem.kernel, "gamma": width(problem, X)})


def width(problem: Problem, X: Any) -> float:
    """gamma: its factor times scikit-learn's "scale"."""
    return problem.gamma_factor * gamma_scale(X)


def kernel_function(problem: Problem, X: Any) -> Callable[..., Any]:
    """The kernel as one of scikit-learn's functions, its parameters bound."""
    from sklearn.metrics import pairwise

    name = problem.function or SKLEARN_NAMES.get(problem.kernel, problem.kernel)
    bound = {"gamma": width(problem, X)} if name != "linear" else {}
    if name in ("polynomial", "sigmoid"):
        bound["coef0"] = 0.0
    return functools.partial(getattr(pairwise, f"{name}_kernel"), **bound)


def kernel_values(problem: Problem, X: Any) -> Any:
    """The kernel matrix of the rows in float64, for the referee and for precomputed kernels."""
    matrix = kernel_function(problem, X)(X)
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
