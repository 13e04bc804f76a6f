"""What rounding may have done to a certificate, so that its gap is true in exact arithmetic.

P, D and their difference are sums of numbers that were rounded, of decision values that were
rounded before. With ``e_i`` a bound of the error of ``f_i + b``, the true slack of row i is at most
``xi_i + e_i`` and its true Fenchel-Young term at most

    cost_i (xi_i + e_i)^p + conjugate_i - alpha_i (y_i (t_i - f_i - b) - e_i),

and every operation adds at most the unit roundoff times what it yields. Dual variables that miss
their balance by r are as good as balanced ones for ``r mean |slack| + 1/2 (r |x|)^2``: the heavier
sign can be scaled down by that much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.certificate import Certificate, DualRows, dot

Array = npt.NDArray[np.float64]

UNIT = 2.0**-53
# Logarithm of the largest double: a power is off by its logarithm times the error of its exponent.
_LARGEST_LOGARITHM = 710.0
# numpy adds 128 numbers in eight sums, and these sums in pairs.
_PAIRWISE = 24.0


@dataclass(frozen=True)
class Rounding:
    """What rounding may add to P - D at most, and take off P.

    ``stretch`` is what w and b of a hard margin have to be multiplied by, so that no row has slack.
    """

    difference: float
    primal: float
    stretch: float = 1.0


def with_rounding(certificate: Certificate, rounding: Rounding) -> Certificate:
    """The same certificate with a gap that is true whatever was rounded.

    It says nothing (1, or infinite) where rounding may be all there is of P.
    """
    measured, magnitude = certificate.gap, certificate.magnitude
    if not math.isfinite(measured):
        return certificate
    gap, least = math.inf, magnitude - rounding.primal
    if least > 0.0 and math.isfinite(rounding.difference):
        gap = (measured * magnitude + rounding.difference) / least * (1.0 + 8.0 * UNIT)
    if certificate.primal == magnitude:
        gap = min(gap, 1.0)  # the optimum is not negative
    stretch = rounding.stretch
    return Certificate(
        certificate.primal * stretch**2,
        certificate.dual,
        gap,
        certificate.intercept * stretch,
        certificate.scale * stretch,
        certificate.measured,
        magnitude,
        certificate.squared_norm,
    )


def power_error(p: float) -> tuple[float, float]:
    """Relative errors of ``cost xi^p`` and of ``conjugate(alpha)``, given xi and alpha."""
    if p == 1.0:
        return 2.0 * UNIT, 0.0
    of_logarithm = 12.0 * _LARGEST_LOGARITHM * (p not in (1.5, 2.0, 3.0))
    return (
        (p + 4.0 + of_logarithm) * UNIT,
        (16.0 + 4.0 / (p - 1.0) + of_logarithm) * UNIT,
    )


def rounding_of(
    rows: DualRows,
    alpha: Array,
    values: Array,
    certificate: Certificate,
    error: Array,
    largest: float,
) -> Rounding:
    """Of a certificate of alpha at given values ``f_i + b``.

    Parameters
    ----------
    error : ndarray
        How far each of the values may be off.
    largest : float
        The largest squared norm of a row, ``K(x, x)``.
    """
    short = rows.shortfall(values)
    error = error + 2.0 * UNIT * (np.abs(values) + np.abs(rows.target))
    lossless = _PAIRWISE + np.log2(alpha.size + 1.0)
    repair = _repair(rows, alpha, short, lossless * UNIT, largest)
    if rows.hard_margin:
        if rows.hard_tube:
            return _of_hard_tube(rows, alpha, short, certificate, error, repair)
        return _of_hard_margin(rows, alpha, certificate, error, repair)
    near = (alpha > 0.0) | (short + error > 0.0)
    short, error, alpha, cost = short[near], error[near], alpha[near], rows.cost[near]
    of_loss, of_conjugate = power_error(rows.loss.p)
    with np.errstate(over="ignore", invalid="ignore"):
        lost = rows.loss.value(short, cost)
        more_lost = rows.loss.value(short + error, cost)
        conjugate = rows.loss.conjugate(alpha, cost)
        pulled = float(np.sum(alpha * error))
        lost_sum, more_sum = float(lost.sum()), float(more_lost.sum())
        conjugate_sum, pull = float(conjugate.sum()), float(np.sum(alpha * np.abs(short)))
        added = more_sum - lost_sum + 2.0 * (of_loss + lossless * UNIT) * more_sum
        difference = (
            added
            + pulled
            + of_conjugate * conjugate_sum
            + (lossless + 4.0) * UNIT * (lost_sum + conjugate_sum + pull)
            + repair
        )
        return Rounding(difference, added + pulled + lossless * UNIT * abs(certificate.primal))


def coarse_rounding(
    rows: DualRows, alpha: Array, certificate: Certificate, error: float, largest: float
) -> Rounding:
    """As ``rounding_of`` from sums alone, in a fraction of the time, for one error of all values.

    Never for a hard margin. ``error`` is the largest of the errors, ``largest`` as there.
    """
    difference, primal = _core.rounding_of_sums(
        count=alpha.size,
        cost=rows.total_cost,
        alpha=float(alpha.sum()),
        excess=float(dot(rows.y, alpha)),
        largest_target=rows.largest_target,
        certificate=(
            certificate.primal,
            certificate.dual,
            certificate.gap,
            certificate.magnitude,
            certificate.squared_norm,
            certificate.intercept,
        ),
        p=rows.loss.p,
        fit_intercept=rows.fit_intercept,
        balance=rows.balance,
        power_error=power_error(rows.loss.p),
        error=error,
        largest=largest,
    )
    return Rounding(difference, primal)


def _repair(rows: DualRows, alpha: Array, short: Array, share_lost: float, largest: float) -> float:
    """What it costs in D to bring alpha to its balance."""
    if not rows.fit_intercept:
        return 0.0
    total = float(alpha.sum())
    if total == 0.0:
        return 0.0
    missed = abs(float(np.sum(rows.y * alpha)) - rows.balance) + share_lost * total
    own = rows.y > 0.0
    lighter = min(float(alpha[own].sum()), float(alpha[~own].sum()))
    if not lighter > missed:
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(np.sum(alpha * np.abs(short))) / lighter
        return float(2.0 * (missed * mean + np.square(missed) * largest))


def _of_hard_margin(
    rows: DualRows, alpha: Array, certificate: Certificate, error: Array, repair: float
) -> Rounding:
    """P is that of w divided by its smallest margin, which may be off by the largest error."""
    scale, primal = certificate.scale, abs(certificate.primal)
    # Stored as they are, coefficients are rounded once more.
    relative = scale * float(error.max(initial=0.0)) + 8.0 * UNIT
    if relative >= 0.5:
        return Rounding(np.inf, np.inf)
    pulled = scale * float(np.sum(alpha * error))
    gained = float(np.sum(alpha * np.abs(rows.target)))
    sums = (_PAIRWISE + np.log2(alpha.size + 1.0)) * UNIT * (gained + primal)
    stretch = 1.0 / (1.0 - relative)
    added = primal * (stretch**2 - 1.0)
    difference = added + 2.0 * pulled + repair * scale + 4.0 * sums
    return Rounding(difference, added + pulled + sums, stretch)


def _of_hard_tube(
    rows: DualRows,
    alpha: Array,
    short: Array,
    certificate: Certificate,
    error: Array,
    repair: float,
) -> Rounding:
    """With targets w cannot be stretched: rows must have no slack by more than their errors."""
    if not float(np.max(short + error, initial=-np.inf)) <= 0.0:
        return Rounding(np.inf, np.inf)
    pulled = float(np.sum(alpha * error))
    gained = float(np.sum(alpha * np.abs(rows.target)))
    sums = (_PAIRWISE + np.log2(alpha.size + 1.0)) * UNIT * (gained + abs(certificate.primal))
    return Rounding(2.0 * pulled + repair + 4.0 * sums, pulled + sums)
