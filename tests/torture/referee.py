"""Judges a fitted model by its stored attributes and the training set, in extended precision.

A certificate ``dual_gap_ = g`` promises that no model is better than ``(1 - g) P``, where P is the
primal objective of the model as it is stored and predicts. It is *proved* by a dual point with
``D >= (1 - g) P``, and *false* if some (w, b) has ``P' < (1 - g) P``; both kinds of points come
from the stored dual variables, the stored slack, and an interior-point method. What neither finds
is *undecided*. Nothing of psvm's mathematics is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from torture.cases import FitCase
from torture.exact import EPS, INSIDE, Kernel, Problem, Real, Value, dot, exactly, weights_of
from torture.interior_point import Bracket, improve, matched, stationary
from torture.outcome import Outcome

# Relative gap that is passed over: 1e-12 is the smallest tol that cases ask for, and what a user
# could notice of P ends long before.
SLACK = 1e-12
# The referee's own rounding up to which its bounds count: worst cases, a thousand times too large.
_OWN_ERROR = 1e-7
# Rows beyond which no interior-point method is run.
_MANY = 400


@dataclass
class Stored:
    """One binary problem as it was stored: its rows, its model, and what is claimed of it."""

    problem: Problem
    primal: Value
    values: np.ndarray
    coef: np.ndarray | None
    intercept: Any
    gap: float
    status: str
    w: np.ndarray | None = None


def kernel_of(case: FitCase, model: Any) -> Kernel:
    """The kernel by its parameters; a width that follows from X is the stored one."""
    parameters = case.parameters
    name = parameters.get("kernel", "linear")
    if callable(name):
        return Kernel("product and constant", coef0=1.0)
    if name not in ("rbf", "poly", "sigmoid", "laplacian", "exponential"):
        return Kernel(name)
    return Kernel(
        name, float(model._kernel.gamma), parameters.get("coef0", 0.0), parameters.get("degree", 3)
    )


def costs(case: FitCase, classes: np.ndarray, C: float) -> np.ndarray:
    """``C`` x class weight x sample weight of every row."""
    data = case.data
    weight = exactly(data.weight)
    cost = Real(C) * np.where(weight > 0, weight, 1)
    if case.parameters.get("class_weight") == "balanced":
        present = weight > 0
        for label in classes:
            own = data.y == label
            share = weight[present].sum() / (len(classes) * weight[own & present].sum())
            cost[own] = cost[own] * share
    return np.where(weight > 0, cost, 0)


def signs_of(k: int, pairwise: bool) -> list[dict[int, int]]:
    """The classes of every binary problem with their signs, in SVC's order."""
    if k == 2:
        return [{0: -1, 1: 1}]
    if pairwise:
        return [{i: 1, j: -1} for i, j in combinations(range(k), 2)]
    return [{c: 1 if c == own else -1 for c in range(k)} for own in range(k)]


def coefficients(
    dual_coef: np.ndarray, codes: np.ndarray, t: int, classes: dict[int, int], pairwise: bool
) -> np.ndarray:
    """Row t of ``dual_coef``, or its part of a pair in SVC's layout, for support vectors' codes."""
    if not pairwise:
        return dual_coef[t]
    i, j = classes
    return np.where(codes == i, dual_coef[j - 1], np.where(codes == j, dual_coef[i], 0.0))


def by_its_name(model: Any, name: str) -> Any:
    """Weights or intercepts; LinearPSVC has another name for those of pairs of classes."""
    return getattr(model, f"pair_{name}" if hasattr(model, "pair_coef_") else name)


class Rows:
    """The rows of a fit in extended precision, and a kernel over them."""

    def __init__(self, case: FitCase, model: Any, cost: np.ndarray) -> None:
        self.case, self.model, self.cost = case, model, cost
        self.kernel = kernel_of(case, model)
        self.fit_intercept = case.parameters.get("fit_intercept", True)
        self.X = exactly(case.data.values)
        self.features: np.ndarray | None = None
        self.K, self.entry_error = self._matrix()

    def _matrix(self) -> tuple[np.ndarray, Any]:
        X, kernel, d = self.X, self.kernel, self.X.shape[1]
        if kernel.name == "precomputed":
            return X, Real(0)
        if kernel.name == "linear" and self.fit_intercept:
            kept = self.cost > 0  # a common shift of all rows is one of b
            X = X - X[kept].mean(axis=0)
        self.features = X if kernel.name == "linear" else None
        size = Real(1)
        largest = np.abs(X).max(initial=0) ** 2 * d
        if kernel.name == "linear":
            size = largest
        elif kernel.name in ("poly", "sigmoid", "product and constant"):
            inner = Real(kernel.gamma) * largest + abs(Real(kernel.coef0))
            size = kernel.degree * inner**kernel.degree if kernel.name == "poly" else inner
        # Of a callable the entries are those it returns, which it rounds as it likes.
        rounded = kernel.name == "product and constant"
        return kernel.matrix(X, X), 4 * (d + 8) * (2.0**-52 if rounded else EPS) * size

    def with_kernel(
        self, problem: Problem, rows: np.ndarray, coef: np.ndarray, b: Any
    ) -> tuple[Value, np.ndarray]:
        if self.features is None:
            return problem.at(coef, b), problem.image(coef)[1] + b
        return self.with_weights(problem, rows, *weights_of(coef, self.X[rows]), b)

    def with_weights(
        self, problem: Problem, rows: np.ndarray, w: np.ndarray, off: np.ndarray, b: Any
    ) -> tuple[Value, np.ndarray]:
        X, terms = self.X[rows], 2 * (len(w) + 16) * EPS
        values = dot(X, w) + b
        error = terms * (dot(np.abs(X), np.abs(w)) + abs(b) + 1) + dot(np.abs(X), off)
        norm = dot(w, w)
        norm = Value(norm, terms * norm + dot(2 * np.abs(w) + off, off))
        return problem.primal(norm, values, error), values


class Referee(Rows):
    """The rows of a fit of classes, shared by its binary problems."""

    def __init__(self, case: FitCase, model: Any, C: float | None = None, p: float | None = None):
        self.p = float(case.parameters["p"] if p is None else p)
        self.classes = np.asarray(model.classes_)
        self.codes = np.searchsorted(self.classes, case.data.y)
        self.codes = np.minimum(self.codes, len(self.classes) - 1)
        default = "ovr" if case.estimator == "LinearPSVC" else "ovo"
        way = case.parameters.get("multi_class", default)
        self.pairwise = way == "ovo" and len(self.classes) > 2
        super().__init__(
            case, model, costs(case, self.classes, case.parameters["C"] if C is None else C)
        )

    def problems(self) -> Iterator[Stored]:
        """Every binary problem as stored."""
        model = self.model
        for t, classes in enumerate(signs_of(len(self.classes), self.pairwise)):
            sign = np.array([classes.get(c, 0) for c in range(len(self.classes))])[self.codes]
            rows = np.flatnonzero((sign != 0) & (self.cost > 0))
            problem = Problem(
                self.K[np.ix_(rows, rows)], exactly(sign[rows]), self.cost[rows], self.p,
                self.fit_intercept, self.entry_error,
                None if self.features is None else self.features[rows],
            )  # fmt: skip
            intercept = Real(by_its_name(model, "intercept_")[t])
            coef = w = None
            if hasattr(model, "dual_coef_"):
                coef = np.zeros(len(self.codes), dtype=Real)
                own = self.codes[model.support_]
                coef[model.support_] = coefficients(
                    exactly(model.dual_coef_), own, t, classes, self.pairwise
                )
                coef = coef[rows]
            if coef is None:
                w = exactly(by_its_name(model, "coef_")[t])
                primal, values = self.with_weights(problem, rows, w, 0 * w, intercept)
            else:
                primal, values = self.with_kernel(problem, rows, coef, intercept)
            status = model.status_[t].name if model.status_ else ""
            yield Stored(
                problem, primal, values, coef, intercept, float(model.dual_gap_[t]), status, w
            )


def judge(stored: Stored, outcome: Outcome, name: str) -> None:
    """The verdict on one binary problem, as a count or a finding of the outcome."""
    problem, primal, claim = stored.problem, stored.primal, stored.gap
    if stored.status == "CONVERGED" and not claim <= 1:
        outcome.found("no gap", f"{name} is CONVERGED with dual_gap_ {claim}")
    if not claim < 1:  # nothing is claimed: D = 0 is a bound
        outcome.counts["no claim"] += 1
        return
    if primal.value == 0:  # w = 0 without any slack: no model is better, and no kernel in it
        outcome.counts["proved"] += 1
        return
    least = _least_eigenvalue(problem.K)
    if least < -1e-9:
        _judge_stationary(stored, outcome, name, least)
        return
    if least < 0 and problem.entry_error == 0:
        # A given matrix, not definite by the rounding of its entries: what is gained along such a
        # direction is none. The model itself is judged with the entries as they are.
        error = -least * np.abs(problem.K).max()
        problem = replace(problem, entry_error=Real(error))
    short = float(problem.short(stored.values).max(initial=0))
    if problem.hard and short > INSIDE:
        outcome.found("false certificate", f"{name}: hard margin with slack {short:.1e}")
        return
    if not np.isfinite(primal.value):
        outcome.found("false certificate", f"{name}: gap {claim:.1e}, and P = {primal.value}")
        return
    bracket = Bracket(primal, _own_bound(stored))
    share = 1 - Real(claim) - SLACK
    promised = share * primal.low

    def proved(bracket: Bracket) -> bool:
        """The middle of what rounding leaves of the bound is above, and it leaves little."""
        little = (bracket.lower.error + primal.error) <= _OWN_ERROR * primal.value
        return bool(little and bracket.lower.value >= share * primal.value)

    def decided(bracket: Bracket) -> bool:
        return proved(bracket) or bool(bracket.upper.high < promised)

    if not decided(bracket) and len(problem.y) <= _MANY:
        improve(problem, bracket, decided)
    if bracket.upper.high < promised:
        gap = float((primal.value - bracket.upper.value) / primal.value)
        outcome.found(
            "false certificate",
            f"{name} ({stored.status.lower()}): claimed gap {claim:.2e}, true at least {gap:.2e} "
            f"(P {float(primal.value):.9g}, better {float(bracket.upper.value):.9g})",
        )
    elif proved(bracket):
        outcome.counts["proved"] += 1
    else:
        outcome.counts["undecided"] += 1


def _own_bound(stored: Stored) -> Value:
    """The best lower bound of P* from what is stored."""
    problem = stored.problem
    best = Value(Real(0), Real(0))
    candidates = [] if stored.coef is None else [stored.coef * problem.y]
    if problem.p > 1 and not problem.hard:
        candidates.append(stationary(problem, stored.values))
        if stored.w is not None:
            with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                candidates.append(matched(problem, stored.values, stored.w))
    for alpha in candidates:
        if np.isfinite(alpha).all():
            found = problem.dual(problem.feasible(alpha))
            best = found if found.low > best.low else best
    return best


def _least_eigenvalue(K: np.ndarray) -> float:
    """The least eigenvalue relative to the largest entry, in float64."""
    largest = np.abs(K).max(initial=0)
    if not largest > 0 or not np.isfinite(largest):
        return 0.0
    if len(K) > _MANY:
        return 0.0
    return float(np.linalg.eigvalsh((K / largest).astype(float))[0])


def _judge_stationary(stored: Stored, outcome: Outcome, name: str, least: float) -> None:
    """Of an indefinite kernel the gap is the violation of the conditions, and not CONVERGED."""
    outcome.counts["indefinite"] += 1
    if stored.status == "CONVERGED" and least < -1e-6:
        outcome.found("indefinite", f"{name} is CONVERGED, least eigenvalue {least:.1e}")
    if stored.coef is not None and not stored.problem.hard:
        seen = float(stored.problem.violation(stored.coef, stored.intercept))
        if seen > stored.gap + 1e-9:
            outcome.found(
                "false certificate",
                f"{name} ({stored.status.lower()}), indefinite: claimed {stored.gap:.2e}, "
                f"violation {seen:.2e}",
            )
