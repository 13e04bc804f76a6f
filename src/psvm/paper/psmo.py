r"""pSMO as the paper publishes it: Algorithm 1 (the update of a pair) and Listing 1 (the loop).

For the library's own solver see :class:`psvm.PSVC`: it minimises the same objective, chooses its
pairs by their violation, and certifies what it returns. This module is for readers of the paper. It
maximises Eq. (dual), the dual of the pSVM,

.. math::

    \sum_i \alpha_i - \theta \sum_i \alpha_i^\gamma
    - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j K_{ij}
    \quad\text{subject to}\quad \alpha_i \ge 0,\ \sum_i \alpha_i y_i = 0,

two variables at a time. Where to find the formulas:

==========================  ======================================================================
here                        in the paper
==========================  ======================================================================
:class:`Penalty`            :math:`\theta \alpha^\gamma` of Eq. (dual); its gamma is the conjugate
                            exponent ``q = p / (p - 1)`` of the rest of this library
:func:`objective`           Eq. (dual)
:func:`eta`                 :math:`\eta_{ij}` of Lemma 2
:class:`Pair`               the input of Algorithm 1
:func:`Q`                   Algorithm 1, line 2
:func:`g`                   Algorithm 1, line 3; :math:`W'` in the appendix
:func:`second_derivative`   :math:`W''` in the appendix
:func:`solve_g`             Eq. (eqsolve): the unique solution of g(x) = 0
:func:`update_pair`         Algorithm 1; Cases 1 and 2 of the appendix
:func:`average_intercept`   Eq. (updb3)
:func:`train`, :func:`fit`  Listing 1
==========================  ======================================================================

Slips of the paper that are put right here: :math:`\eta_{12}` is defined with :math:`K_{12}` where
Lemma 2 and the derivation have :math:`K_{22}`; the bracket of Eq. (eqsolve) has the wrong sign; the
bound :math:`\alpha_i \le C`, without which p = 1 is the hard margin, is missing from Eq. (dual).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import daxpy

from psvm.mathematics.cached import cached_property
from psvm.mathematics.loss import PNormHinge

Array = npt.NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
# Powers that leave the range of float64 end here: sums of a few of them are still finite.
_LARGEST = 1e300


def _power(base: float, exponent: float) -> float:
    """``base ** exponent``, at most ``_LARGEST``; a base below 0 can only be rounding.

    Near p = 1 the exponent q - 1 is huge, and for p > 2 the exponent q - 2 is negative.
    """
    try:
        return min(math.pow(max(base, 0.0), exponent), _LARGEST)
    except (OverflowError, ValueError):  # ValueError: a negative power of 0
        return _LARGEST


@dataclass(frozen=True)
class Penalty:
    r"""The term :math:`\theta \alpha^\gamma` of Eq. (dual) for one p and C.

    The paper's :math:`\theta = C^{1-\gamma} p^{-\gamma} (p - 1)` overflows near p = 1 and is never
    formed: its derivatives are powers of ``alpha / (p C)``. At p = 1 :math:`\theta = 0`, and Eq.
    (eq2) bounds alpha by C; with ``C = inf`` this is the paper's p = 1, a hard margin.

    Parameters
    ----------
    p : float
        Exponent of the hinge loss, >= 1.
    C : float
        Cost of slack, > 0 and possibly infinite.
    """

    p: float
    C: float

    @cached_property
    def upper(self) -> float:
        """Upper bound of alpha: C at p = 1 (Eq. (eq2)), none for p > 1 (Eq. (dual))."""
        return self.C if self.p == 1.0 else math.inf

    @cached_property
    def unit(self) -> float:
        """``p C``, in whose units alpha is taken to a power."""
        return self.p * self.C

    def slope(self, alpha: float) -> float:
        r"""First derivative :math:`\gamma \theta \alpha^{\gamma-1}`, the slack that alpha means."""
        if self.p == 1.0:
            return 0.0
        if self.p == 2.0:
            return alpha / self.unit
        return _power(alpha / self.unit, 1.0 / (self.p - 1.0))

    def curvature(self, alpha: float) -> float:
        r"""Second derivative :math:`\gamma (\gamma - 1) \theta \alpha^{\gamma-2}`."""
        if self.p == 1.0 or math.isinf(self.C):
            return 0.0
        power = 1.0 / (self.p - 1.0)  # gamma - 1
        return power * _power(alpha / self.unit, power - 1.0) / self.unit


class Pair(NamedTuple):
    r"""Two rows before their update: the input of Algorithm 1.

    ``E_i`` is :math:`\varphi(x_i) - y_i`. Only differences of E enter, so the intercept in
    :math:`\varphi` may be left out of both.
    """

    alpha_i: float
    alpha_j: float
    y_i: float
    y_j: float
    E_i: float
    E_j: float
    eta: float


def eta(K_ii: float, K_jj: float, K_ij: float) -> float:
    r"""Curvature along a pair, :math:`\eta_{ij} = K_{ii} + K_{jj} - 2 K_{ij} \ge 0` (Lemma 2).

    Where the paper first defines it, in "pSMO Method" and again in the appendix, the second term
    is misprinted as :math:`K_{12}`.
    """
    return K_ii + K_jj - 2.0 * K_ij


def Q(pair: Pair, penalty: Penalty) -> float:
    r"""Algorithm 1, line 2: the number whose size tells the cases of the update apart.

    :math:`Q_{ij} = \eta_{ij} \alpha_j + y_j (E_i - E_j) - |c|^{\gamma-1} \gamma \theta` with
    :math:`c = \alpha_i y_i + \alpha_j y_j` (line 1).
    """
    alpha_i, alpha_j, y_i, y_j, E_i, E_j, eta_ij = pair
    c = alpha_i * y_i + alpha_j * y_j
    return eta_ij * alpha_j + y_j * (E_i - E_j) - penalty.slope(abs(c))


def g(x: float, pair: Pair, penalty: Penalty) -> float:
    r"""Algorithm 1, line 3: slope :math:`W'(x)` of the dual where :math:`\alpha_j` becomes x.

    :math:`g(x) = \eta_{ij} (\alpha_j - x) + y_j (E_i - E_j) - x^{\gamma-1} \gamma \theta
    + y_i y_j (c y_i - y_i y_j x)^{\gamma-1} \gamma \theta`, where :math:`c y_i - y_i y_j x` is what
    becomes of :math:`\alpha_i`. It decreases in x (see :func:`second_derivative`).
    """
    alpha_i, alpha_j, y_i, y_j, E_i, E_j, eta_ij = pair
    s = y_i * y_j
    other = alpha_i + s * (alpha_j - x)  # c y_i - y_i y_j x
    return eta_ij * (alpha_j - x) + y_j * (E_i - E_j) - penalty.slope(x) + s * penalty.slope(other)


def second_derivative(x: float, pair: Pair, penalty: Penalty) -> float:
    r"""Slope of :func:`g`, the appendix's :math:`W''(x) \le 0`, which makes its root unique.

    :math:`W''(x) = -\eta_{ij} - \gamma (\gamma-1) \theta (c y_i - y_i y_j x)^{\gamma-2}
    - \gamma (\gamma-1) \theta x^{\gamma-2}`.
    """
    other = pair.alpha_i + pair.y_i * pair.y_j * (pair.alpha_j - x)
    return -pair.eta - penalty.curvature(other) - penalty.curvature(x)


def solve_g(pair: Pair, penalty: Penalty, low: float, high: float) -> float:
    r"""The unique solution of g(x) = 0 between ``low`` and ``high`` (Eq. (eqsolve)).

    Closed forms as in "Discussions on Special Cases": linear at p = 1 and p = 2, quadratic at
    p = 1.5 (linear for equal labels, where the squares cancel). For other p the root is bracketed.

    Eq. (eqsolve) is g(x) = 0 divided by :math:`\eta_{ij}`, but prints its bracket with the sign
    turned: the right side is :math:`x + (\gamma\theta / \eta_{ij}) (x^{\gamma-1} - \dots)`.
    """
    alpha_i, alpha_j, y_i, y_j, E_i, E_j, eta_ij = pair
    s = y_i * y_j
    total = alpha_i + s * alpha_j  # c y_i, what alpha_i becomes at x = 0
    start = eta_ij * alpha_j + y_j * (E_i - E_j)  # g(0) without the two penalties
    if penalty.p == 1.0:
        return start / eta_ij
    if penalty.p == 2.0:
        return (start + s * total / penalty.unit) / (eta_ij + 2.0 / penalty.unit)
    if penalty.p == 1.5:
        square = (1.0 / penalty.unit) / penalty.unit  # gamma theta: here gamma - 1 = 2
        if s > 0.0:
            return (start + square * total * total) / (eta_ij + 2.0 * square * total)
        # 2 square x^2 + linear x - constant = 0: the larger root, without cancellation.
        linear = eta_ij + 2.0 * square * total
        constant = start - square * total * total
        root = math.sqrt(max(linear * linear + 8.0 * square * constant, 0.0))
        if linear >= 0.0:
            return 2.0 * constant / (linear + root)
        return (root - linear) / (4.0 * square)
    # For unequal labels D is unbounded, but both penalties lower g: g(x) <= start - eta x.
    return _bracketed_root(pair, penalty, low, high if s > 0.0 else start / eta_ij)


def _bracketed_root(pair: Pair, penalty: Penalty, low: float, high: float) -> float:
    """Newton's method on g with W'', halving the bracket wherever Newton does not help.

    ``g(low) >= 0 >= g(high)``. Near p = 1 g is almost a step, and for p > 2 W'' is infinite at 0:
    Newton's step is taken only if it stays inside and is half as long as the one before.
    """
    negligible = 1e-18 * high  # too little to change the objective
    x = pair.alpha_j if low < pair.alpha_j < high else 0.5 * (low + high)
    length = high - low
    while high - low > 4.0 * _EPS * high + negligible:
        value = g(x, pair, penalty)
        low, high = (x, high) if value > 0.0 else (low, x)
        step = -value / second_derivative(x, pair, penalty)
        # Slightly past the root, so that the bracket closes from both sides.
        newton = x + step + math.copysign(2.0 * _EPS * x, value)
        if low < newton < high and abs(step) < 0.5 * length:
            x, length = newton, abs(step)
        else:
            x, length = 0.5 * (low + high), high - low
    return 0.5 * (low + high)


def update_pair(pair: Pair, penalty: Penalty) -> tuple[float, float]:
    r"""Algorithm 1: the values of :math:`\alpha_i, \alpha_j` that maximise the dual, others fixed.

    Parameters
    ----------
    pair : Pair
        Two rows.
    penalty : Penalty
        p and C.

    Returns
    -------
    alpha_i, alpha_j : float
        Between 0 and ``penalty.upper``, with the same :math:`\alpha_i y_i + \alpha_j y_j` as
        before.

    Notes
    -----
    The last line of Algorithm 1 is evaluated as the appendix has it,
    :math:`\alpha_i = c y_i - y_i y_j \alpha_j`, which is exactly 0 at an end of D. Evaluated as
    printed, :math:`\alpha_i + y_i y_j (\alpha_j^{old} - \alpha_j^{new})`, it may leave 1e-17, and
    Eq. (updb3) then counts that row as a support vector: b moves, and a test row of Table 2 or two
    change their class with nothing but the order of rounding.
    """
    alpha_i, alpha_j, y_i, y_j, _, _, eta_ij = pair
    # Eq. (eqsolve) divides by eta; the published code leaves a pair with eta = 0 as it is. (Lemma 2
    # has eta >= 0, rounding may not.)
    if eta_ij <= 0.0:
        return alpha_i, alpha_j
    upper = penalty.upper
    q = Q(pair, penalty)
    if y_i == y_j:  # Case 1, D = [0, |c|]
        c = alpha_i + alpha_j  # |c|
        if q <= -2.0 * penalty.slope(c):
            x = 0.0
        elif q >= eta_ij * c:
            x = c
        else:
            x = solve_g(pair, penalty, 0.0, c)
        # At p = 1 D is narrower, as both must stay below C (Platt's L and H). Else this only undoes
        # rounding.
        x = min(max(x, 0.0, c - upper), c, upper)
        return min(c - x, upper), x
    # Case 2, D = [u, inf)
    c_y_i = alpha_i - alpha_j
    u = max(0.0, -c_y_i)
    x = u if q <= eta_ij * u else solve_g(pair, penalty, u, math.inf)
    x = min(max(x, u), upper, upper - c_y_i)
    return min(max(c_y_i + x, 0.0), upper), x


def objective(alpha: Array, decision: Array, y: Array, *, p: float, C: float) -> float:
    r"""The dual objective, Eq. (dual).

    Parameters
    ----------
    alpha : ndarray of shape (n,)
        Dual variables.
    decision : ndarray of shape (n,)
        :math:`\sum_j \alpha_j y_j K_{ij}` for every row.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    p, C : float
        Exponent and cost.

    Returns
    -------
    float
    """
    conjugate = PNormHinge(p).conjugate(alpha, np.full(alpha.size, C))
    return float(alpha.sum() - 0.5 * (alpha * y) @ decision - conjugate.sum())


def average_intercept(alpha: Array, decision: Array, y: Array, *, upper: float = math.inf) -> float:
    r"""Eq. (updb3): the mean of :math:`y_k - \sum_j \alpha_j y_j K_{jk}` over the support vectors.

    Support vectors are the rows with :math:`\alpha_k > 0`. With a finite upper bound they are those
    inside the bounds, by more than rounding (text above Eq. (updb1)); if there are none, all.

    For p > 1 this is the intercept of the optimum only at p = 2: there every support vector has
    ``b = y_k (1 - slack_k) - decision_k``, and the slacks of the two classes balance.

    Parameters
    ----------
    alpha, decision, y : ndarray of shape (n,)
        Dual variables, :math:`\sum_j \alpha_j y_j K_{jk}` and labels.
    upper : float, default=inf
        Upper bound of alpha: C at p = 1.

    Returns
    -------
    float
        0 without support vectors.
    """
    support = alpha > 0.0
    inside = support
    if math.isfinite(upper):
        inside = (alpha > 1e-12 * upper) & (alpha < (1.0 - 1e-12) * upper)
    chosen = inside if inside.any() else support
    return float(np.mean((y - decision)[chosen])) if chosen.any() else 0.0


@dataclass(frozen=True)
class Snapshot:
    """The state of pSMO after some steps.

    Attributes
    ----------
    n_steps : int
        Updates of a pair so far, those that changed nothing included.
    alpha : ndarray of shape (n,)
        Dual variables.
    decision : ndarray of shape (n,)
        ``sum_j alpha_j y_j K_ij`` of the training rows, without the intercept.
    intercept : float
        Eq. (updb3).
    converged : bool
        Whether the last sweep changed alpha by less than eps.
    """

    n_steps: int
    alpha: Array
    decision: Array
    intercept: float
    converged: bool


def train(
    K: Array,
    y: Array,
    *,
    p: float,
    C: float,
    eps: float,
    max_steps: int,
    rng: random.Random,
    record_at: Iterable[int] = (),
) -> Iterator[Snapshot]:
    r"""Listing 1, as a generator that shows the states on the way.

    The index j goes through the rows in turn, its partner i is drawn at random, as in the paper's
    experiments. Training ends after a whole sweep that changed alpha by less than ``eps``
    (Euclidean norm), or as soon as ``max_steps`` updates are made.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    y : ndarray of shape (n,)
        Labels -1 and +1, both present.
    p, C : float
        Exponent and cost; at p = 1 alpha is bounded by C, and ``C = inf`` is the paper's p = 1.
    eps : float
        Change of alpha that ends the training; 0 for the step budget alone.
    max_steps : int
        Step budget.
    rng : random.Random
        Draws the partners, with ``randrange``.
    record_at : iterable of int
        Numbers of steps after which to yield a snapshot.

    Yields
    ------
    Snapshot
        After the steps of ``record_at`` that are reached, and at the end.
    """
    K = np.ascontiguousarray(K, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if set(np.unique(y).tolist()) != {-1.0, 1.0}:
        raise ValueError(f"`y` must hold the labels -1 and +1, both, got {np.unique(y).tolist()}.")
    if max_steps < 1:
        raise ValueError(f"`max_steps` must be at least 1, got {max_steps}.")
    marks = iter(sorted({mark for mark in record_at if 0 < mark < max_steps}))
    penalty = Penalty(p, C)
    n = y.size
    # A step reads single numbers, which is many times faster from lists of Python floats.
    alpha = [0.0] * n
    labels, diagonal, rows = y.tolist(), np.diagonal(K).tolist(), list(K)
    # The cache of E_i = phi(x_i) - y_i, without b: Algorithm 1 needs differences only, so that b
    # need not follow every step as in Listing 1.
    E = -y

    def snapshot(converged: bool) -> Snapshot:
        now, decision = np.array(alpha), E + y
        b = average_intercept(now, decision, y, upper=penalty.upper)
        return Snapshot(n_steps, now, decision, b, converged)

    n_steps, stop = 0, next(marks, max_steps)
    while True:
        before = np.array(alpha)
        for j in range(n):
            i = rng.randrange(n)
            while i == j:
                i = rng.randrange(n)
            K_i, K_j = rows[i], rows[j]
            eta_ij = eta(diagonal[i], diagonal[j], K_i.item(j))
            pair = Pair(alpha[i], alpha[j], labels[i], labels[j], E.item(i), E.item(j), eta_ij)
            alpha_i, alpha_j = update_pair(pair, penalty)
            # The changes of alpha_i y_i and alpha_j y_j cancel: one factor serves both columns.
            moved = (alpha_i - alpha[i]) * labels[i]
            alpha[i], alpha[j] = alpha_i, alpha_j
            if moved != 0.0:
                E = daxpy(K_j, daxpy(K_i, E, a=moved), a=-moved)  # E += moved (K_i - K_j), in place
            n_steps += 1
            if n_steps == stop:
                yield snapshot(converged=False)
                if stop == max_steps:
                    return
                stop = next(marks, max_steps)
        if float(np.linalg.norm(np.array(alpha) - before)) < eps:
            yield snapshot(converged=True)
            return


def fit(
    K: Array, y: Array, *, p: float, C: float, eps: float, max_steps: int, rng: random.Random
) -> Snapshot:
    """Listing 1: the state at which :func:`train` ends.

    Parameters
    ----------
    K, y, p, C, eps, max_steps, rng
        As for :func:`train`.

    Returns
    -------
    Snapshot
    """
    *_, last = train(K, y, p=p, C=C, eps=eps, max_steps=max_steps, rng=rng)
    return last
