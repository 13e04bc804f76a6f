"""The problem in extended precision, written out again from its definition.

    P(w, b) = 1/2 ||w||^2 + sum_i cost_i max(0, y_i (target_i - <w, phi(x_i)> - b))^p
    D(alpha) = sum_i alpha_i y_i target_i - 1/2 ||w(alpha)||^2 - sum_i conjugate_i(alpha_i)

A row of a binary problem has its sign for its target: slack is 1 - y_i f_i. A row of a regression
is two rows here, which push the prediction up to y - epsilon and down to y + epsilon.

Nothing here imports psvm. Every value comes with a bound of its own rounding, so that what is
called wrong is wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Real = np.longdouble
EPS = np.finfo(Real).eps
INSIDE = 1e-9  # slack of a hard margin, and of a hard tube in units of its targets, that is none


def exactly(values: Any) -> np.ndarray:
    """The same numbers in extended precision."""
    return np.asarray(values).astype(Real)


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a) @ np.asarray(b)


@dataclass(frozen=True)
class Kernel:
    """A kernel by its definition; distances are sums over differences, which do not cancel."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def matrix(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return self._matrix(exactly(X), exactly(Z))

    def _matrix(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        gamma = Real(self.gamma)
        if self.name in ("rbf", "exponential", "laplacian"):
            distance = np.zeros((len(X), len(Z)), dtype=Real)
            for k in range(X.shape[1]):
                difference = np.abs(X[:, k, None] - Z[None, :, k])
                distance += difference if self.name == "laplacian" else difference**2
            return np.exp(-gamma * (np.sqrt(distance) if self.name == "exponential" else distance))
        product = X @ Z.T
        if self.name == "poly":
            return (gamma * product + Real(self.coef0)) ** int(self.degree)
        if self.name == "sigmoid":
            return np.tanh(gamma * product + Real(self.coef0))
        return product + Real(self.coef0) if self.name == "product and constant" else product


@dataclass(frozen=True)
class Value:
    """A number, and how far rounding can have moved it."""

    value: Any
    error: Any

    @property
    def low(self) -> Any:
        return self.value - self.error

    @property
    def high(self) -> Any:
        return self.value + self.error


def weights_of(coef: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``sum_i coef_i x_i`` for coefficients in float64, and bounds of its rounding.

    Summed around a middle: coefficients that balance each other cancel exactly there.
    """
    if not len(coef):
        return np.zeros(X.shape[1], dtype=Real), np.zeros(X.shape[1], dtype=Real)
    middle = X.mean(axis=0)
    total = Real(math.fsum(float(one) for one in coef))
    w = dot(coef, X - middle) + total * middle
    size = dot(np.abs(coef), np.abs(X - middle) + EPS * np.abs(middle)) + np.abs(total * middle)
    return w, 2 * (len(coef) + 16) * EPS * size


@dataclass(frozen=True)
class Problem:
    """A problem over the rows of a kernel matrix; ``entry_error`` bounds its entries'.

    Of a linear kernel also over ``features``, where long sums of large terms cancel less. Without
    ``target`` it is binary, and the targets are the signs.
    """

    K: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    p: float
    fit_intercept: bool
    entry_error: Any = 0.0
    features: np.ndarray | None = None
    target: np.ndarray | None = None

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.cost).any())

    @property
    def aim(self) -> np.ndarray:
        return self.y if self.target is None else self.target

    def short(self, values: np.ndarray) -> np.ndarray:
        """How far every row is from costing nothing; slack where positive."""
        return self.y * (self.aim - values)

    def image(self, coef: np.ndarray) -> tuple[Value, np.ndarray, np.ndarray]:
        """``||w||^2`` of ``w = sum_j coef_j phi(x_j)``, its decision values, and their errors."""
        terms = 2 * (len(coef) + 16) * EPS
        size = np.abs(coef)
        if self.features is None:
            f = dot(self.K, coef)
            error = terms * dot(np.abs(self.K), size) + self.entry_error * size.sum()
            return Value(dot(coef, f), dot(size, error)), f, error
        X = self.features
        w, off = dot(coef, X), terms * dot(size, np.abs(X))
        error = dot(np.abs(X), off + 2 * (len(w) + 16) * EPS * np.abs(w))
        norm = Value(dot(w, w), dot(2 * np.abs(w) + off, off) + len(w) * EPS * dot(w, w))
        return norm, dot(X, w), error

    # --- primal ----------------------------------------------------------------------------------

    def at(self, coef: np.ndarray, intercept: Any) -> Value:
        """P of ``w = sum_j coef_j phi(x_j)``."""
        norm, f, error = self.image(coef)
        size = abs(intercept) + np.abs(self.aim)
        return self.primal(norm, f + intercept, error + 8 * EPS * size)

    def primal(self, squared_norm: Value, values: np.ndarray, error: np.ndarray) -> Value:
        """P from ``||w||^2`` and the decision values, which are ``error`` off at most."""
        half = Value(squared_norm.value / 2, squared_norm.error / 2)
        short = self.short(values)
        if self.hard and self.target is not None:
            inside = short.max() <= INSIDE
            return half if inside else Value(Real(np.inf), Real(0))
        if self.hard:
            least = 1 - short.max()
            if not least > 0:
                return Value(Real(np.inf), Real(0))
            factor = 1 / min(least, Real(1)) ** 2
            return Value(half.value * factor, half.error * factor)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            p, xi = Real(self.p), np.maximum(short, 0)
            lost = self.cost * xi**p
            worst = self.cost * np.maximum(short + error, 0) ** p
            own = (self.cost * xi**p * (p + 16) * EPS).sum() + EPS * len(xi) * lost.sum()
            return Value(half.value + lost.sum(), half.error + (worst - lost).sum() + own)

    def best_intercept(self, f: np.ndarray) -> Any:
        """The minimiser over b: bisection of the slope."""
        if not self.fit_intercept:
            return Real(0)
        threshold = self.aim - f
        positive = self.y > 0
        low, high = threshold.min(), threshold.max()
        if self.hard:
            return (threshold[positive].max() + threshold[~positive].min()) / 2
        p1 = Real(self.p) - 1
        for _ in range(100):
            b = (low + high) / 2
            if not low < b < high:
                break
            xi = np.maximum(self.y * (threshold - b), 0)
            largest = xi.max()
            if largest == 0:
                return b
            with np.errstate(under="ignore"):
                pull = np.where(xi > 0, self.cost * (xi / largest) ** p1, 0)
            low, high = (b, high) if (pull * self.y).sum() > 0 else (low, b)
        return (low + high) / 2

    # --- dual ------------------------------------------------------------------------------------

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """The point near alpha that fulfils every constraint."""
        alpha = np.maximum(exactly(alpha), 0)
        if self.p == 1.0 and not self.hard:
            alpha = np.minimum(alpha, self.cost)
        if self.fit_intercept:
            positive = self.y > 0
            up, down = alpha[positive].sum(), alpha[~positive].sum()
            if up > down:
                alpha = np.where(positive, alpha * (down / up), alpha)
            elif down > 0:
                alpha = np.where(positive, alpha, alpha * (up / down))
        return alpha

    def dual(self, alpha: np.ndarray) -> Value:
        """D of a feasible alpha."""
        norm, _, _ = self.image(alpha * self.y)
        conjugate, error = self.conjugate(alpha)
        linear = alpha * self.y * self.aim
        own = (len(alpha) + 16) * EPS * (np.abs(linear).sum() + conjugate.sum())
        return Value(
            linear.sum() - norm.value / 2 - conjugate.sum(), norm.error / 2 + own + error.sum()
        )

    def conjugate(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``(p - 1) / p alpha (alpha / (p cost))^(1 / (p - 1))``, and the error of it."""
        if self.hard or self.p == 1.0:
            return np.zeros_like(alpha), np.zeros_like(alpha)
        p = Real(self.p)
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            power = np.log(alpha / (p * self.cost)) / (p - 1)
            value = np.where(alpha > 0, (p - 1) / p * alpha * np.exp(power), 0)
            # The logarithm is 2 EPS off, and EPS of its size; divided by p - 1 it is a power.
            error = 8 * EPS * value * (1 + np.where(alpha > 0, np.abs(power), 0) + 1 / (p - 1))
        return value, np.where(alpha > 0, error, 0)

    def violation(self, coef: np.ndarray, intercept: Any) -> Any:
        """The Fenchel-Young sum over the rows, relative to the parts of P: 0 where stationary."""
        norm, f, _ = self.image(coef)
        alpha = np.maximum(coef * self.y, 0)
        short = self.short(f + intercept)
        lost = self.cost * np.maximum(short, 0) ** Real(self.p)
        conjugate, _ = self.conjugate(alpha)
        size = abs(norm.value) / 2 + lost.sum()
        return (lost - alpha * short + conjugate).sum() / size if size > 0 else Real(0)
