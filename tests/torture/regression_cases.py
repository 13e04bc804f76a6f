"""Random regressions: targets of every size, offset and shape, tubes, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from torture.cases import (
    SOLVERS,
    Data,
    FitCase,
    cost,
    exponent,
    kernel_parameters,
    log_uniform,
    make_gram,
    make_rows,
    make_weights,
    one_of,
    tolerance,
)

REGRESSORS = ("PSVR", "LinearPSVR", "PSVRCV", "PSVRQuantiles")


def make_regression(rng: np.random.Generator) -> FitCase:
    """A random fit of a random regressor."""
    name = one_of(rng, *REGRESSORS, weights=[10, 8, 0.6, 1])
    largest = 50 if name in ("PSVRCV", "PSVRQuantiles") else one_of(rng, 100, 400, weights=[30, 1])
    data = make_regression_data(rng, largest)
    spread = float(np.abs(data.y - np.median(data.y)).mean()) or 1.0
    parameters = _common(rng, spread)
    if name == "LinearPSVR":
        parameters["solver"] = one_of(rng, *SOLVERS)
        case = FitCase(name, parameters, data)
        if rng.random() < 0.2:
            case.blocks = int(rng.integers(1, 5))
        return _warm(rng, case, spread)
    parameters |= kernel_parameters(rng)
    if parameters["kernel"] == "precomputed":
        data = make_gram(rng, data)
    if name == "PSVR":
        if rng.random() < 0.05:
            parameters["cache_size"] = log_uniform(rng, -3, 1)
        return _warm(rng, FitCase(name, parameters, data), spread)
    if name == "PSVRQuantiles":
        del parameters["quantile"]
        parameters["quantiles"] = sorted({_quantile(rng) for _ in range(3)}, reverse=True)
        if np.isinf(parameters["C"]):
            parameters["C"] = 1.0
        return FitCase(name, parameters, data)
    return _search(rng, FitCase(name, parameters, data), spread)


def make_regression_data(rng: np.random.Generator, largest: int) -> Data:
    """A random training set of up to ``largest`` rows, with numbers to predict."""
    n = int(one_of(rng, rng.integers(2, 12), rng.integers(8, 60), rng.integers(40, largest + 1)))
    X, values, form = make_rows(rng, n)
    with np.errstate(all="ignore"):
        size = np.abs(values).max(axis=0)
        tidy = values / np.where(size > 0, size, 1.0)
        y = tidy @ rng.normal(size=values.shape[1]) + np.sin(3 * tidy[:, 0])
    y = np.nan_to_num(y) + rng.normal(size=n) * one_of(rng, 0.0, 0.1, 1.0, weights=[1, 4, 2])
    if rng.random() < 0.1:
        y += np.where(rng.random(n) < 0.1, 100.0, 0.0) * rng.normal(size=n)
    how = rng.random()
    if how < 0.08:
        y = np.round(2 * y)
    elif how < 0.12:
        y = np.full(n, rng.normal())
    elif how < 0.16:
        y = np.sign(y)
    y = y * _scale(rng)
    if rng.random() < 0.2:
        y = y + rng.normal() * log_uniform(rng, 0, 10) * (np.abs(y).max() or 1.0)
    return Data(X, values, y, make_weights(rng, n), form)


def _scale(rng: np.random.Generator) -> float:
    how = rng.random()
    if how < 0.5:
        return 1.0
    return log_uniform(rng, -8, 8) if how < 0.85 else log_uniform(rng, -300, 80)


def _epsilon(rng: np.random.Generator, spread: float) -> float:
    """The tube, mostly as narrow or wide as the targets are spread."""
    usual, any_size = spread * log_uniform(rng, -3, 0.5), spread * log_uniform(rng, -14, 3)
    return float(one_of(rng, 0.1, 0.0, usual, any_size, weights=[2, 3, 6, 1]))


def _cost(rng: np.random.Generator, spread: float, p: float) -> float:
    """C, mostly in the unit in which the targets are spread."""
    if rng.random() < 0.2:
        return cost(rng)
    power = float(np.clip((2.0 - p) * np.log10(spread), -290, 290))
    return float(np.clip(log_uniform(rng, -3, 4) * 10.0**power, 1e-300, 1e300))


def _quantile(rng: np.random.Generator) -> float:
    how = rng.random()
    if how < 0.5:
        return 0.5
    if how < 0.8:
        return float(one_of(rng, 0.05, 0.1, 0.25, 0.75, 0.9, 0.95))
    near = log_uniform(rng, -10, -1)
    return near if how < 0.9 else 1.0 - near


def _common(rng: np.random.Generator, spread: float) -> dict[str, Any]:
    p = exponent(rng)
    found: dict[str, Any] = {"p": p, "C": _cost(rng, spread, p), "tol": tolerance(rng)}
    found["epsilon"], found["quantile"] = _epsilon(rng, spread), _quantile(rng)
    found["n_jobs"] = one_of(rng, 1, 2, weights=[9, 1])
    if rng.random() < 0.15:
        found["fit_intercept"] = False
    if rng.random() < 0.08:
        found["max_iter"] = int(rng.integers(1, 30))
    if rng.random() < 0.04:
        found["max_time"] = log_uniform(rng, -4, 0)
    return found


def _warm(rng: np.random.Generator, case: FitCase, spread: float) -> FitCase:
    if rng.random() < 0.15:
        p = exponent(rng)
        case.parameters["warm_start"] = True
        case.before = {"p": p, "C": _cost(rng, spread, p), "epsilon": _epsilon(rng, spread)}
    return case


def _search(rng: np.random.Generator, case: FitCase, spread: float) -> FitCase:
    parameters = case.parameters
    for gone in ("C", "p", "epsilon", "max_time", "max_iter"):
        parameters.pop(gone, None)
    parameters["ps"] = sorted({exponent(rng) for _ in range(2)})
    parameters["Cs"] = sorted({log_uniform(rng, -4, 4) for _ in range(2)})
    parameters["epsilons"] = sorted({_epsilon(rng, spread) for _ in range(2)})
    parameters["cv"] = 2
    if "gamma" in parameters:
        parameters.pop("gamma")
        parameters["gammas"] = [log_uniform(rng, -3, 2), log_uniform(rng, -3, 1)]
    return case
