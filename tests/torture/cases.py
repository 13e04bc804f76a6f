"""Random problems, each determined by its generator: data in every form, weights, parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

KERNELS = (
    "rbf",
    "linear",
    "poly",
    "sigmoid",
    "laplacian",
    "exponential",
    "precomputed",
    "callable",
)
SOLVERS = ("auto", "semismooth_newton", "coordinate_descent")


@dataclass
class Data:
    """A training set: X in the form that is given, and the same numbers as a plain array."""

    X: Any
    values: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    form: str

    @property
    def weight(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight


@dataclass
class FitCase:
    """What is fitted, and how: estimator, its parameters, data, and what is done before."""

    estimator: str
    parameters: dict[str, Any]
    data: Data
    before: dict[str, Any] = field(default_factory=dict)  # of a warm start: parameters then
    blocks: int = 0

    def __str__(self) -> str:
        words = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        data = self.data
        weights = "" if data.sample_weight is None else ", weights"
        more = f", after {self.before}" if self.before else ""
        more += f", {self.blocks} blocks" if self.blocks else ""
        learned = f"{len(np.unique(data.y))} classes"
        if self.estimator.removesuffix("CV").removesuffix("Quantiles").endswith("R"):
            learned = f"y from {data.y.min():.3g} to {data.y.max():.3g}"
        return (
            f"{self.estimator}({words}) on {data.values.shape[0]} x {data.values.shape[1]} "
            f"{data.form}, {learned}{weights}{more}"
        )


def _short(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def one_of(rng: np.random.Generator, *choices: Any, weights: Any = None) -> Any:
    """One of the choices, as it is."""
    if weights is not None:
        weights = np.asarray(weights, dtype=float) / sum(weights)
    return choices[int(rng.choice(len(choices), p=weights))]


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """10 to a uniform power, rounded now and then: round numbers find other errors."""
    power = rng.uniform(low, high)
    return float(10.0 ** (np.round(power) if rng.random() < 0.3 else power))


# --- data ------------------------------------------------------------------------------------


def make_data(rng: np.random.Generator, largest: int = 150) -> Data:
    """A random training set of up to ``largest`` rows."""
    n = int(one_of(rng, rng.integers(2, 12), rng.integers(8, 60), rng.integers(40, largest + 1)))
    d = int(one_of(rng, 1, rng.integers(1, 6), rng.integers(2, 30), weights=[1, 5, 3]))
    classes = one_of(rng, 2, 3, 5, 1, weights=[20, 5, 2, 0.3])
    y = _labels(rng, n, classes)
    centres = rng.normal(size=(classes, d)) * one_of(rng, 0.0, 1.0, 3.0, 10.0)
    X, values, form = _spoilt(rng, rng.normal(size=(n, d)) + centres[y])
    labels = one_of(rng, y, y * 2 - 1, np.array(list("abcdefgh"))[y], y.astype(float))
    return Data(X, values, labels, make_weights(rng, n), form)


def make_rows(rng: np.random.Generator, n: int) -> tuple[Any, np.ndarray, str]:
    """n random rows, the same numbers as a plain array, and their form."""
    d = int(one_of(rng, 1, rng.integers(1, 6), rng.integers(2, 30), weights=[1, 5, 3]))
    return _spoilt(rng, rng.normal(size=(n, d)))


def _spoilt(rng: np.random.Generator, values: np.ndarray) -> tuple[Any, np.ndarray, str]:
    """Rows that are hard to compute with, in a form that may be any."""
    values = _spoil(rng, values)
    if rng.random() < 0.3:
        values[rng.random(values.shape) < rng.uniform(0.3, 0.95)] = 0.0
    values = _range(rng, values)
    if rng.random() < 0.15:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
        values[~np.isfinite(values)] = 1.0
    X, form = _form(rng, values)
    return X, values.astype(np.float64), form


def _labels(rng: np.random.Generator, n: int, classes: int) -> np.ndarray:
    share = rng.dirichlet(np.full(classes, one_of(rng, 0.5, 5.0, 50.0)))
    y = rng.choice(classes, size=n, p=share)
    some = min(classes, n)
    y[:some] = np.arange(some)  # no class is missing where there are rows enough
    return rng.permutation(y)


def _spoil(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Duplicates, constant and equal columns, heavy tails, integers."""
    n, d = values.shape
    if rng.random() < 0.2:
        values = values[rng.integers(0, max(1, int(n * rng.uniform(0.1, 1.0))), n)]
    if rng.random() < 0.15:
        values[:, rng.integers(d)] = rng.normal()
    if rng.random() < 0.1:
        values[:, rng.integers(d)] = values[:, rng.integers(d)]
    if rng.random() < 0.1:
        values = np.round(values)
    if rng.random() < 0.1:
        values = np.sign(values) * np.abs(values) ** rng.uniform(2, 8)
    if rng.random() < 0.03:
        values[:] = values[0]
    return np.array(values)


def _range(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Scales and offsets, of all columns or of one."""
    columns = slice(None) if rng.random() < 0.7 else [int(rng.integers(values.shape[1]))]
    how = rng.random()
    if how < 0.2:
        values[:, columns] *= log_uniform(rng, -8, 8)
    elif how < 0.27:
        values[:, columns] *= log_uniform(rng, -300, 80)
    if rng.random() < 0.2:
        values[:, columns] += rng.normal() * log_uniform(rng, 0, 8)
    return values


def _form(rng: np.random.Generator, values: np.ndarray) -> tuple[Any, str]:
    """The array as it is, or in one of the forms that mean the same."""
    name = one_of(
        rng, "array", "fortran", "list", "strided", "csr", "csc", "coo", "csr64", "messy csr",
        "zeros in csr", "bsr", "lil", "csr array",
        weights=[14, 2, 1, 1, 4, 1, 1, 1, 3, 2, 0.5, 0.5, 1],
    )  # fmt: skip
    kind = "float32 " if values.dtype == np.float32 else ""
    made = {
        "array": lambda: values,
        "fortran": lambda: np.asfortranarray(values),
        "list": lambda: values.tolist() if not kind else values,
        "strided": lambda: np.repeat(values, 2, axis=1)[:, ::2],
        "csr": lambda: sp.csr_matrix(values),
        "csc": lambda: sp.csc_matrix(values),
        "coo": lambda: sp.coo_matrix(values),
        "bsr": lambda: sp.bsr_matrix(values),
        "lil": lambda: sp.lil_matrix(values),
        "csr array": lambda: sp.csr_array(values),
        "csr64": lambda: _with_long_indices(sp.csr_matrix(values)),
        "messy csr": lambda: _messy(rng, values),
        "zeros in csr": lambda: _with_zeros(values),
    }[name]()
    return made, kind + name


def _with_long_indices(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _messy(rng: np.random.Generator, values: np.ndarray) -> Any:
    """CSR with unsorted columns and every entry in two halves, whose sum is exact."""
    halves = values / 2
    halves = np.where(halves + halves == values, halves, values)  # subnormals: in one piece
    rests = np.where(halves == values, 0.0, halves)
    order = [rng.permutation(2 * values.shape[1]) for _ in values]
    data = np.concatenate(
        [np.concatenate([halves[i], rests[i]])[order[i]] for i in range(len(values))]
    )
    columns = np.concatenate([one % values.shape[1] for one in order])
    indptr = np.arange(len(values) + 1) * 2 * values.shape[1]
    return sp.csr_matrix((data.astype(values.dtype), columns, indptr), shape=values.shape)


def _with_zeros(values: np.ndarray) -> Any:
    n, d = values.shape
    return sp.csr_matrix((values.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), (n, d))


def make_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    how = rng.random()
    if how < 0.6:
        return None
    weights = rng.uniform(0.1, 2.0, n)
    if how < 0.75:
        weights[rng.random(n) < 0.3] = 0.0
    elif how < 0.85:
        weights *= log_uniform(rng, -20, 10)
    elif how < 0.93:
        weights = 10.0 ** rng.uniform(-12, 3, n)
    return weights


# --- parameters ------------------------------------------------------------------------------


def exponent(rng: np.random.Generator) -> float:
    how = rng.random()
    if how < 0.55:
        return float(one_of(rng, 1.0, 1.25, 1.5, 2.0, 3.0))
    if how < 0.7:
        return float(1.0 + log_uniform(rng, -12, 0))
    if how < 0.9:
        return float(rng.uniform(1.0, 4.0))
    return float(one_of(rng, 5, 10, 50, 200, log_uniform(rng, 0.6, 2.3)))


def cost(rng: np.random.Generator) -> float:
    return float(one_of(rng, log_uniform(rng, -2, 3), log_uniform(rng, -12, 12), np.inf,
                        weights=[6, 3.5, 0.5]))  # fmt: skip


def tolerance(rng: np.random.Generator) -> float:
    return float(one_of(rng, 1e-4, log_uniform(rng, -12, -2)))


def product_and_one(X: Any, Z: Any) -> Any:
    """A callable kernel: ``(<x, z> + 1)``, on lists, arrays and sparse matrices."""
    X, Z = (rows if sp.issparse(rows) else np.asarray(rows) for rows in (X, Z))
    values = X.astype(np.float64) @ Z.astype(np.float64).T
    return (values.toarray() if sp.issparse(values) else np.asarray(values)) + 1.0


def _common(rng: np.random.Generator) -> dict[str, Any]:
    found: dict[str, Any] = {"p": exponent(rng), "C": cost(rng), "tol": tolerance(rng)}
    found["n_jobs"] = one_of(rng, 1, 2, weights=[9, 1])
    if rng.random() < 0.15:
        found["fit_intercept"] = False
    found["multi_class"] = "ovr" if rng.random() < 0.3 else "ovo"
    if rng.random() < 0.15:
        found["class_weight"] = "balanced"
    if rng.random() < 0.08:
        found["max_iter"] = int(rng.integers(1, 30))
    if rng.random() < 0.04:
        found["max_time"] = log_uniform(rng, -4, 0)
    return found


def kernel_parameters(rng: np.random.Generator) -> dict[str, Any]:
    name = one_of(rng, *KERNELS, weights=[8, 3, 2, 1.5, 2, 2, 2, 1])
    found: dict[str, Any] = {"kernel": product_and_one if name == "callable" else name}
    if name in ("rbf", "poly", "sigmoid", "laplacian", "exponential"):
        found["gamma"] = one_of(
            rng, "scale", "auto", log_uniform(rng, -3, 2), log_uniform(rng, -15, 15),
            weights=[6, 2, 4, 1],
        )  # fmt: skip
    if name in ("poly", "sigmoid"):
        found["coef0"] = one_of(rng, 0.0, 1.0, float(rng.normal()))
    if name == "poly":
        found["degree"] = int(one_of(rng, 1, 2, 3, 5, weights=[1, 3, 3, 1]))
    return found


def make_gram(rng: np.random.Generator, data: Data) -> Data:
    """A kernel matrix instead of rows, now and then of a form that is not definite."""
    with np.errstate(all="ignore"):
        K = data.values @ data.values.T
    if rng.random() < 0.2:
        K = -K if rng.random() < 0.3 else K + np.diag(rng.normal(size=len(K)))
    K = (K + K.T) / 2
    X = sp.csr_matrix(K) if rng.random() < 0.15 else K
    return Data(X, K, data.y, data.sample_weight, "csr" if sp.issparse(X) else "array")


def make_fit(rng: np.random.Generator) -> FitCase:
    """A random fit of a random estimator."""
    name = one_of(rng, "PSVC", "LinearPSVC", "psvm_path", "PSVCCV", weights=[10, 7, 1, 0.6])
    largest = {"psvm_path": 40, "PSVCCV": 50}.get(name, one_of(rng, 150, 600, weights=[30, 1]))
    data = make_data(rng, largest)
    if name == "LinearPSVC":
        return _linear(rng, data)
    parameters = _common(rng) | kernel_parameters(rng)
    if parameters["kernel"] == "precomputed":
        data = make_gram(rng, data)
    if name == "PSVC":
        case = FitCase(name, parameters, data)
        if rng.random() < 0.3:
            parameters["decision_function_shape"] = one_of(rng, "ovo", "ovr")
        if rng.random() < 0.05:
            parameters["cache_size"] = log_uniform(rng, -3, 1)
        return _warm(rng, case)
    if "gamma" in parameters:
        parameters["gamma"] = log_uniform(rng, -3, 2)
    for gone in ("C", "p", "max_time"):
        parameters.pop(gone, None)
    parameters["ps"] = sorted({exponent(rng) for _ in range(2)})
    parameters["Cs"] = sorted({log_uniform(rng, -4, 4) for _ in range(2)})
    if name == "PSVCCV":
        parameters["cv"] = 2
        parameters.pop("max_iter", None)
        if "gamma" in parameters:
            parameters["gammas"] = [parameters.pop("gamma"), log_uniform(rng, -3, 1)]
    return FitCase(name, parameters, data)


def _linear(rng: np.random.Generator, data: Data) -> FitCase:
    parameters = _common(rng) | {"solver": one_of(rng, *SOLVERS)}
    case = FitCase("LinearPSVC", parameters, data)
    if rng.random() < 0.2:
        case.blocks = int(rng.integers(1, 5))
    return _warm(rng, case)


def _warm(rng: np.random.Generator, case: FitCase) -> FitCase:
    if rng.random() < 0.15:
        case.parameters["warm_start"] = True
        case.before = {"p": exponent(rng), "C": cost(rng)}
    return case
