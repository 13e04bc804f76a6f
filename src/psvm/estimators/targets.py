"""Targets as the solvers want them: centred, in a unit of their own, two dual rows for each row.

A problem in the user's units, with residuals ``r_i = y_i - f(x_i) - b``,

    min 1/2 |w|^2 + sum_i C_i(r_i) max(0, |r_i| - epsilon)^p

is solved for ``y' = (y - m) / s``, ``epsilon' = epsilon / s`` and ``C' = C s^(p - 2)``, where m is
the mean of y (0 without an intercept) and s the power of two next above the mean of order p of
``|y - m|``: for p = 1 the mean distance, for a large p the largest, whose power must be a number.
Its solution is ``w = s w'``, ``alpha = s alpha'``, ``b = s b' + m``, and ``P = s^2 P'``. So a fit
does not depend on the unit of y when epsilon and C follow it, and products with s are exact.

Each row is two rows of the dual on one row of features (see ``docs/math.md``), one after the other:
sign +1, target ``y' - epsilon'``, cost ``2 quantile C'``, and sign -1, target ``y' + epsilon'``,
cost ``2 (1 - quantile) C'``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, column_or_1d

from psvm.estimators.labels import LARGEST_SUM, SMALLEST_COST
from psvm.estimators.unit_errors import UnitErrors
from psvm.mathematics.certificate import Certificate, DualRows
from psvm.mathematics.rounding import UNIT
from psvm.solvers.ledger import Record, Solution, Status, proved_status

Array = npt.NDArray[np.float64]

# Sizes of y, and of its spread, whose squares are safely within float64.
_LARGEST, _SMALLEST = 1e100, 1e-100
# An objective below is too near to the smallest numbers for sums that make it up to have digits.
_FEWEST_DIGITS = 1e-290
# What a record of a round has in the units of P.
_OBJECTIVES = ("primal", "dual")


@dataclass(frozen=True)
class DualPairs:
    """The two dual rows of every row, one after the other: 2 i and 2 i + 1 are of row i."""

    sign: Array
    target: Array
    cost: Array


@dataclass(frozen=True)
class EncodedTargets:
    """The targets of a training set in the units of the solvers.

    Attributes
    ----------
    given : ndarray of shape (n,)
        The targets as they came.
    y : ndarray of shape (n,)
        ``(given - centre) / scale``.
    cost : ndarray of shape (n,)
        ``C scale^(p - 2)`` times the weight: infinite for all rows if C is, else for none. 0 for a
        row that is absent, because its weight is 0 or its cost too small to divide by.
    epsilon : float
        Half the width of the tube, in units of ``scale``.
    quantile : float
        In (0, 1): residuals above cost ``2 quantile``, those below ``2 (1 - quantile)`` times
        ``cost``.
    centre, scale : float
        What y is centred by, and the power of two that is its unit.
    given_epsilon : float
        The tube as it came.
    fit_intercept : bool
        Whether b is free.
    cost_error : float
        How far ``cost`` may be off by rounding, relative to itself.
    narrowed : float
        By how much ``epsilon`` is smaller than the tube as it came, so that rows that must be
        inside are inside of that, too, whatever the change of units rounds off.
    """

    given: Array
    y: Array
    cost: Array
    epsilon: float
    quantile: float
    centre: float
    scale: float
    given_epsilon: float
    fit_intercept: bool
    cost_error: float
    narrowed: float = 0.0

    def dual_rows(self, y: Array | None = None, cost: Array | None = None) -> DualPairs:
        """Signs, targets and costs of the dual rows of all rows, or of others of this y and cost.

        (Others are rows merged from equal ones.)
        """
        y, cost = self.y if y is None else y, self.cost if cost is None else cost
        sign, target, costs = np.ones(2 * y.size), np.empty(2 * y.size), np.empty(2 * y.size)
        sign[1::2] = -1.0
        np.subtract(y, self.epsilon, out=target[::2])
        np.add(y, self.epsilon, out=target[1::2])
        np.multiply(cost, 2.0 * self.quantile, out=costs[::2])
        np.multiply(cost, 2.0 * (1.0 - self.quantile), out=costs[1::2])
        return DualPairs(sign, target, costs)

    def flat_intercept(self) -> float | None:
        """The b at which w = 0 has all rows inside the tube, in the user's units; None without.

        The comparison is exact.
        """
        present = self.given if self.cost.min() > 0.0 else self.given[self.cost > 0.0]
        low, high = float(present.min()), float(present.max())
        b = 0.5 * low + 0.5 * high if self.fit_intercept else 0.0
        beyond = ((high, -b, -self.given_epsilon), (b, -low, -self.given_epsilon))
        return b if all(math.fsum(terms) <= 0.0 for terms in beyond) else None

    # --- back to the user's units ----------------------------------------------------------------

    def intercept(self, b: float) -> float:
        """The intercept, in the user's units."""
        return self.scale * b + self.centre

    def record(self, record: Record) -> Record:
        """The record of a round, in the user's units."""
        unit = self.scale**2
        return {k: v * unit if k in _OBJECTIVES else v for k, v in record.items()}

    def in_users_units(self, found: Solution, rows: DualRows, tol: float) -> Solution:
        """The solution of a problem of these rows in the user's units, and with a gap for them.

        The gap counts what is rounded off where targets, costs and the intercept change units.
        """
        own = found.alpha
        with np.errstate(over="ignore"):  # then nothing is proved
            alpha = self.scale * own
        given = own, self.epsilon, self.cost_error > 0.0
        solution = self.converted(found, UnitErrors.of(rows, *given), tol, lambda: alpha)
        if solution.certificate.gap > tol:
            errors = UnitErrors.of(rows, *given, told_apart=True)
            solution = self.converted(found, errors, tol, lambda: alpha)
        return solution

    def converted(
        self,
        found: Solution,
        errors: UnitErrors,
        tol: float,
        gather_alpha: Callable[[], Array] | None = None,
    ) -> Solution:
        """The same but for the dual variables, where sums over the rows are all that is known."""
        proof, unit, s = found.certificate, self.scale**2, self.scale
        certificate = replace(
            proof,
            primal=proof.primal * unit,
            dual=proof.dual * unit,
            magnitude=proof.magnitude * unit,
            squared_norm=proof.squared_norm * unit,
            intercept=self.intercept(proof.intercept),
            gap=self._true_gap(proof, errors),
        )
        return replace(
            found,
            gather_alpha=gather_alpha or found.gather_alpha,
            certificate=certificate,
            status=proved_status(
                found.status,
                certificate,
                tol,
                indefinite=found.status is Status.STATIONARY,
            ),
            history=[self.record(record) for record in found.history],
            decision=s * found.decision,
            w=s * found.w,
        )

    def _true_gap(self, proof: Certificate, errors: UnitErrors) -> float:
        """The gap of the problem in the user's units, from that in the solvers' units.

        With errors ``e_i`` of targets and intercept, ``L`` lost becomes at most
        ``(L^(1/p) + (sum_i cost_i e_i^p)^(1/p))^p`` (Minkowski), and D at least
        ``D - sum_i alpha_i e_i``.
        """
        gap, p = proof.gap, errors.p
        if not math.isfinite(gap) or proof.primal == 0.0:
            return gap
        if min(1.0, self.scale**2) * proof.magnitude < _FEWEST_DIGITS:
            return 1.0 if proof.primal == proof.magnitude else math.inf
        stored = self.intercept(proof.intercept)
        moved = abs(math.fsum((stored, -self.centre, -self.scale * proof.intercept))) / self.scale
        least = (1.0 - min(gap, 0.5)) * proof.magnitude  # of P, which errors may lower, too
        if errors.hard_margin and errors.largest + moved > self.narrowed:
            return math.inf
        more = conjugate = 0.0
        if not errors.hard_margin:
            norm = 0.0 if math.isnan(proof.squared_norm) else proof.squared_norm
            lost = max(proof.primal - 0.5 * norm, 0.0) * (1.0 + gap)
            lost += 64.0 * UNIT * proof.magnitude
            added = errors.of_targets + moved * errors.of_intercept
            with np.errstate(over="ignore", invalid="ignore"):  # then nothing is proved
                most = np.float64(lost ** (1.0 / p) + added) ** p
                more = float(most * (1.0 + 8.0 * p * UNIT) - lost)
            more += self.cost_error * (lost + more)
            conjugate = errors.conjugate * self.cost_error / max(p - 1.0, UNIT)
        pulled = errors.pulled + self.narrowed * errors.alpha
        share = 1.01 * (more + pulled + conjugate) / least
        true = (gap + share) / (1.0 - share) * (1.0 + 8.0 * UNIT) if share < 0.5 else math.inf
        return min(true, 1.0) if proof.primal == proof.magnitude else true


def check_targets(y: Any) -> Array:
    """Targets as a 1-D array of finite numbers of a size that can be squared."""
    # What has been checked as y of scikit-learn is: its checks take a tenth of a small fit.
    known = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype == np.float64
    if not known or not math.isfinite(_largest(y)):
        refuse_several_targets(y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in "biufO":
            raise ValueError(f"y must be numbers to predict, got an array of type {y.dtype}.")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    largest = _largest(y)
    if largest > _LARGEST:
        raise ValueError(
            f"y has targets of size {largest:.1e}, whose squares leave the range of float64; "
            f"scale y, for instance with sklearn.compose.TransformedTargetRegressor."
        )
    return np.asarray(y)


def _largest(y: Array) -> float:
    """The largest magnitude, not a number if any of them is none."""
    return max(-float(y.min(initial=0.0)), float(y.max(initial=0.0)))


def refuse_several_targets(y: Any) -> None:
    """Refuse several targets for each row, with a word about what to do."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    if len(shape) > 1 and shape[1] != 1:
        raise ValueError(
            f"y should be a 1d array of one target per row, got an array of shape {shape} instead. "
            f"For several targets use sklearn.multioutput.MultiOutputRegressor."
        )


def encode_targets(
    y: Any,
    weight: Array,
    C: float,
    epsilon: float,
    quantile: float,
    p: float,
    fit_intercept: bool,
) -> EncodedTargets:
    """Centre and scale ``y`` and price the rows, whose weights are >= 0.

    ``C``, ``epsilon`` and so on are checked already.
    """
    y = check_targets(y)
    lightest, heaviest = float(weight.min()), float(weight.max())
    if not heaviest > 0.0:
        raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
    # Most often all weights are alike, and all rows present: then there is one price for all.
    alike = lightest == heaviest
    present: Any = slice(None) if lightest > 0.0 else weight > 0.0
    kept, weights = y[present], weight[present]
    centre, scale = _centre_and_scale(kept, None if alike else weights, p, fit_intercept)
    prices = costs_in_unit(C, weights[:1] if alike else weights, scale, p)
    too_small = costs_too_small(prices, quantile)
    with np.errstate(over="ignore"):
        check_costs_in_unit(
            C,
            kept.size,
            heaviest,
            prices * kept.size if alike else prices,
            all_too_small=bool(too_small.all()),
        )
    if too_small.any():
        left = weight.copy()
        left[present] = np.where(too_small, 0.0, weights)
        return encode_targets(y, left, C, epsilon, quantile, p, fit_intercept)
    unit = TargetUnit.of(
        (float(kept.min()), float(kept.max())),
        (centre, scale),
        C=C,
        epsilon=epsilon,
        quantile=quantile,
        p=p,
        fit_intercept=fit_intercept,
    )
    cost = np.zeros(y.size)
    cost[present] = prices
    return unit.encoded(y, cost)


@dataclass(frozen=True)
class TargetUnit:
    """What targets are centred by and divided by, and the tube around them in the user's units.

    ``narrowed`` is that of :class:`EncodedTargets`.
    """

    centre: float
    scale: float
    epsilon: float
    quantile: float
    p: float
    fit_intercept: bool
    narrowed: float

    @classmethod
    def of(
        cls,
        ends: tuple[float, float],
        unit: tuple[float, float],
        *,
        C: float,
        epsilon: float,
        quantile: float,
        p: float,
        fit_intercept: bool,
    ) -> TargetUnit:
        """The unit (centre, scale) of targets from the first end to the second."""
        centre, scale = unit
        narrowed = 0.0
        if np.isinf(C):
            largest = max(abs(end - centre) for end in ends) / scale
            narrowed = 16.0 * UNIT * (largest + (epsilon + abs(centre)) / scale)
            if narrowed >= 0.5 * epsilon / scale:
                raise ValueError(
                    f"`epsilon` must be larger for C=inf, which asks for all rows inside the tube: "
                    f"y has targets up to {max(abs(end) for end in ends):g}, whose last digits are "
                    f"about as large as epsilon = {epsilon:g}. Use a larger epsilon or a finite C."
                )
        return cls(centre, scale, epsilon, quantile, p, fit_intercept, narrowed)

    def encoded(self, y: Array, cost: Array) -> EncodedTargets:
        """Targets with costs that are in this unit already."""
        shift = _shift(self.scale, self.p)
        return EncodedTargets(
            given=y,
            y=(y - self.centre) / self.scale,
            cost=cost,
            epsilon=self.epsilon / self.scale - self.narrowed,
            quantile=self.quantile,
            centre=self.centre,
            scale=self.scale,
            given_epsilon=self.epsilon,
            fit_intercept=self.fit_intercept,
            cost_error=0.0 if shift == round(shift) else (abs(shift) + 4.0) * UNIT,
            narrowed=self.narrowed,
        )


def _shift(scale: float, p: float) -> float:
    """The logarithm of ``scale^(p - 2)``."""
    return math.log2(scale) * (p - 2.0)


def weights_for_all_targets(
    y: Any,
    weight: Array,
    costs: Iterable[tuple[float, float]],
    quantile: float,
    fit_intercept: bool,
) -> Array:
    """The weights for several pairs (p, C): 0 for the rows that are absent from some of them.

    Refuses costs that leave the range of numbers, before anything is solved.
    """
    for p, C in costs:
        targets = encode_targets(y, weight, C, 0.0, quantile, p, fit_intercept)
        weight = np.where(targets.cost > 0.0, weight, 0.0)
    return weight


def spread_of_targets(y: Array, weight: Array) -> float:
    """The standard deviation of the targets; 1 if they are all equal, or have no weight."""
    share = weight / max(float(weight.sum()), SMALLEST_COST)
    deviation = float(np.sqrt(share @ (y - share @ y) ** 2))
    return deviation if deviation > 0.0 else 1.0


def _centre_and_scale(
    y: Array, weight: Array | None, p: float, fit_intercept: bool
) -> tuple[float, float]:
    """The weighted mean, and the power of two above the weighted p-mean of distances from it.

    Without weights they are alike.
    """
    share = None if weight is None else weight / weight.max()

    def mean_of(values: Array) -> float:
        if share is None:
            return float(values.sum()) / values.size
        return float(np.sum(share * values)) / float(share.sum())

    # From the smallest on, so that equal targets have themselves for their mean.
    low = float(y.min())
    centre = low + mean_of(y - low) if fit_intercept else 0.0
    distance = np.abs(y - centre)
    largest = float(distance.max())
    with np.errstate(under="ignore"):
        mean = mean_of((distance / (largest or 1.0)) ** p)
    return centre, scale_of(largest, mean, p, fit_intercept)


def scale_of(largest: float, mean: float, p: float, fit_intercept: bool) -> float:
    """The power of two above the p-mean of distances from the centre.

    ``mean`` is that of the distances to the power of p, in units of the largest.
    """
    if largest == 0.0:
        return 1.0
    if largest < _SMALLEST:
        raise ValueError(
            f"y differs from {'its mean' if fit_intercept else '0'} by {largest:.1e} at most, "
            f"whose square leaves the range of float64; scale y, for instance with "
            f"sklearn.compose.TransformedTargetRegressor."
        )
    return float(2.0 ** math.ceil(math.log2(largest) + math.log2(mean) / p))


def costs_in_unit(C: float, weight: Array, scale: float, p: float) -> Array:
    """``C scale^(p - 2) weight``, where only the product needs to be a number."""
    if np.isinf(C):
        return np.full(weight.size, np.inf)
    shift = _shift(scale, p)
    whole = math.floor(shift)
    with np.errstate(over="ignore", under="ignore"):
        mantissa, exponent = math.frexp(C * 2.0 ** (shift - whole))
        exponents = min(max(exponent + whole, -10_000), 10_000)
        parts, powers = np.frexp(weight)
        return np.asarray(np.ldexp(mantissa * parts, powers + exponents))


def costs_too_small(cost: Array, quantile: float) -> npt.NDArray[np.bool_]:
    """Whether the side of each row that costs less costs too little to divide by."""
    return np.asarray(2.0 * min(quantile, 1.0 - quantile) * cost < SMALLEST_COST)


def check_costs_in_unit(
    C: float, rows: int, largest: float, cost: Array, *, all_too_small: bool
) -> None:
    """Refuse costs that leave the range of float64 in the units of the targets.

    ``largest`` is the largest of the weights of the rows.
    """
    if np.isinf(C):
        return
    with np.errstate(over="ignore"):
        total = float(cost.sum())
    told = (
        "C times sample weight, in the unit of y (C s^(p - 2), s about the distance of y from its "
        "mean), must"
    )
    came = f"got C = {C:g} and {rows} rows of weight up to {largest:g}"
    if not total <= LARGEST_SUM:
        raise ValueError(
            f"{told} not sum to more than {LARGEST_SUM:g} over the rows, {came}. Lower C, the "
            f"weights or p, or scale y, for instance with sklearn.compose."
            f"TransformedTargetRegressor."
        )
    if all_too_small:
        raise ValueError(
            f"{told} be at least {SMALLEST_COST:.2g} for some row, {came}. Raise C or the weights, "
            f"lower p, or scale y, for instance with sklearn.compose.TransformedTargetRegressor."
        )
