"""What the linear Newton loop asks of the rows, and the rows in memory that answer it.

The loop (``newton``) knows no rows. It gives orders for a binary problem and gets sums:

=================  ============================================================================
order              answer
=================  ============================================================================
:class:`Pass`      :class:`Sums` at new margins: images of alpha per class, loss, slopes
:class:`Gram`      ``sum_i W_i z_i z_i'``, ``z = [x - shift, 1]``
:class:`Active`    the rows with W > 0, as a list of :class:`ActiveRows`
:class:`Squares`   ``sum_i W_i x_i^2``, feature by feature
:class:`Keep`      None; the present alpha becomes the best one
=================  ============================================================================

Every row's state (margin, alpha, centre) stays with the block that holds the row, and every answer
is a sum over blocks. So the same loop runs over one array, a memory map, or blocks elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.problem import LinearProblems, feasible
from psvm.solvers.linear.systems import ActiveRows

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pass:
    """Take the prox of every row at new margins, and sum up; kinds are those of linear_pass.hpp.

    ``direction`` and ``b`` are the coefficients of a product with the rows (kinds "begin", "move",
    "certify", "curve"), ``step`` goes along the last direction (kinds "settle", "probe").
    ``centre`` says how the centre is set first: "keep", "alpha", "half_cost", "slack", "zero"; with
    "band", at p = 1, alpha goes from 0 to its cost where the margin is within ``1 / sigma`` below
    the goal or above it, and W > 0 there.
    With ``delta``, images are those of the change of alpha.
    """

    kind: str
    sigma: float = np.inf
    direction: Array | None = None
    b: float = 0.0
    step: float = 0.0
    centre: str = "keep"
    linearise: bool = False
    delta: bool = False


@dataclass(frozen=True)
class Gram:
    """The matrix of the Newton system."""


@dataclass(frozen=True)
class Active:
    """The rows that enter it."""


@dataclass(frozen=True)
class Squares:
    """Its diagonal, over the features."""


@dataclass(frozen=True)
class Keep:
    """Keep the present alpha (or the linearised one), each class times its factor, as the best."""

    linearised: bool
    factors: tuple[float, float]


Order = Pass | Gram | Active | Squares | Keep


class RowsLost(Exception):
    """Some rows have lost their state (a machine is gone); the answer to an order that needs it.

    A pass of kind "begin" needs none but the centre, of which those rows then have a new one.
    """


@dataclass
class DualSums:
    """Per class (0: y = -1, 1: y = +1): sums of alpha x, of alpha and of conjugates.

    ``linear`` is the sum of ``alpha y t``, the linear term of D: in classification that of alpha.
    """

    image: Array
    alpha: Array
    linear: Array
    conjugate: Array

    def __iadd__(self, other: DualSums) -> DualSums:
        self.image = self.image + other.image
        self.alpha = self.alpha + other.alpha
        self.linear = self.linear + other.linear
        self.conjugate = self.conjugate + other.conjugate
        return self


_SUMMED = (
    *("loss", "moved", "slope_before", "slope", "weight", "active"),
    *("terms", "rounding", "reach", "pull"),
)


@dataclass
class Sums:
    """The answer to a :class:`Pass`; see PassSums in linear_pass.hpp.

    ``smallest_margin`` is that of ``m_i + 1 - y_i t_i``: 1 where no row has slack. Only in
    classification is it the margin that w and b may be divided by. A certificate also has
    ``rounding``, ``reach``, ``pull`` (:class:`psvm.mathematics.rounding.PairSums`) and
    ``margin_error``, the largest of a margin.
    """

    dual: DualSums
    linearised: DualSums
    loss: float
    moved: float
    slope_before: float
    slope: float
    weight: float
    terms: float
    rounding: float
    reach: float
    pull: float
    margin_error: float
    smallest_margin: float
    active: int

    def __iadd__(self, other: Sums) -> Sums:
        self.dual += other.dual
        self.linearised += other.linearised
        self.smallest_margin = min(self.smallest_margin, other.smallest_margin)
        self.margin_error = max(self.margin_error, other.margin_error)
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def core_rows(block: Any) -> Any:
    """A block as the C++ passes see it."""
    if sp.issparse(block):
        indptr = block.indptr.astype(block.indices.dtype, copy=False)
        return _core.BlockRows.csr(block.data, block.indices, indptr, block.shape[1])
    return _core.BlockRows.dense(block)


@dataclass
class BlockPasses:
    """The rows of some binary problems, in blocks, with their state.

    ``which`` are the numbers of the problems; orders come under these numbers.
    """

    rows: Sequence[Any]
    problems: LinearProblems
    which: Sequence[int]
    threads: int
    shift: Array | None = None
    cancel: Any = None
    inner_products: Array | None = None  # of the rows, where known: then in one block, not shifted
    inside: list[slice] = field(init=False)  # the rows of the problems in each block
    shares: list[dict[int, Any]] = field(init=False)
    last_seconds: float = field(default=0.0, init=False)  # of a pass

    def __post_init__(self) -> None:
        ends = np.cumsum([0, *block_sizes(self.rows)])
        place = self.problems.feature_row
        bounds = ends if place is None else np.searchsorted(place, ends)
        self.inside = [slice(*pair) for pair in pairwise(bounds.tolist())]
        self.shares = [
            self._shares(inside, begin)
            for inside, begin in zip(self.inside, ends.tolist(), strict=False)
        ]

    def _shares(self, inside: slice, begin: int) -> dict[int, Any]:
        problems = self.problems
        codes, cost = problems.codes[inside], problems.cost[inside]
        target = None if problems.target is None else problems.target[inside]
        place = problems.feature_row
        feature_row = None if place is None else (place[inside] - begin).astype(np.int32)
        shares = {}
        for t in self.which:
            signs = np.ascontiguousarray(problems.signs[t])
            present = (signs != 0)[codes] & (cost > 0.0)
            chosen = None if present.all() else np.flatnonzero(present).astype(np.int32)
            if chosen is None or chosen.size:
                shares[t] = _core.BlockShare(chosen, codes, cost, signs, target, feature_row)
        return shares

    def answer(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        """Answer one order for each of some problems, reading every block once."""
        began = time.perf_counter()
        answers: dict[int, Any] = {}
        load = any(not isinstance(order, Keep) for order in orders.values())
        for k, shares in enumerate(self.shares):
            block = self.rows[k] if load else None
            for t, part in self._answer_block(block, shares, orders).items():
                if t not in answers:
                    answers[t] = part
                else:
                    answers[t] += part
        if any(isinstance(order, Pass) for order in orders.values()):
            self.last_seconds = time.perf_counter() - began
        return {t: answers.get(t) for t in orders}

    def reserve(self) -> float:
        """Seconds that the rest of a fit is likely to take: a pass, and as long to gather alpha."""
        return 2.0 * self.last_seconds

    def _answer_block(
        self, block: Any, shares: dict[int, Any], orders: Mapping[int, Order]
    ) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        passes: dict[int, Any] = {}
        core: Any = None if block is None else core_rows(block)
        for t, order in orders.items():
            share = shares.get(t)
            if share is None:
                continue
            if isinstance(order, Keep):
                if any(order.factors):
                    share.keep_best(order.linearised, *order.factors)
                else:  # whatever alpha is, perhaps not even a number
                    share.set_best(np.zeros(share.count))
            elif isinstance(order, Gram):
                # The lower triangle, then padding.
                gram = core.gram(share, self.shift, self.threads, self.cancel)
                answers[t] = gram[:, : gram.shape[0]]
            elif isinstance(order, Active):
                answers[t] = self._active_rows(block, share)
            elif isinstance(order, Squares):
                answers[t] = core.squares(share)
            else:
                passes[t] = self._core_order(share, order)
        if passes:
            found = core.run(list(passes.values()), self.threads, self.cancel)
            for t, sums in zip(passes, found, strict=True):
                sums["dual"] = DualSums(**sums["dual"])
                sums["linearised"] = DualSums(**sums["linearised"])
                answers[t] = Sums(**sums)
        return answers

    def _active_rows(self, block: Any, share: Any) -> list[ActiveRows]:
        """The rows with W > 0; those on the same features are one."""
        active = np.flatnonzero(share.weight)
        if not active.size:
            return []
        weight = share.weight[active]
        chosen = active if share.rows is None else share.rows[active]
        if share.feature_row is not None:
            chosen = share.feature_row[chosen]
            first = np.flatnonzero(np.diff(chosen, prepend=-1))
            chosen, weight = chosen[first], np.add.reduceat(weight, first)
        known = self.inner_products
        known = None if known is None else known[np.ix_(chosen, chosen)]
        return [ActiveRows(block[chosen], weight, known)]

    def _core_order(self, share: Any, order: Pass) -> Any:
        hard = self.problems.hard_margin
        return _core.PassOrder(
            share,
            order.kind,
            _core.Envelope(1.0 if hard else self.problems.loss.p, order.sigma, hard),
            direction=order.direction,
            b=order.b,
            step=order.step,
            centre=order.centre,
            linearise=order.linearise,
            delta=order.delta,
        )

    def best_alpha(self, t: int) -> Array:
        """The best dual variables of a problem, over all rows of the training set."""
        return self._gathered(t, "best")

    def present_alpha(self, t: int) -> Array:
        """The dual variables of a problem at its present margins."""
        return self._gathered(t, "alpha")

    def active_rows(self, t: int) -> npt.NDArray[np.intp]:
        """The rows of a problem with W > 0."""
        return np.flatnonzero(self._gathered(t, "weight"))

    def set_centre(self, t: int, alpha: Array) -> None:
        """Make ``alpha``, over all rows of the training set, the centre of a problem."""
        for inside, share in self._of_problem(t):
            share.centre[:] = alpha[inside][share_rows(share)]

    def set_weight(self, t: int, weight: Array) -> None:
        """Make ``weight``, over all rows of the training set, the W of a problem."""
        for inside, share in self._of_problem(t):
            share.weight[:] = weight[inside][share_rows(share)]

    def set_best(self, t: int, alpha: Array) -> None:
        """Make ``alpha``, over all rows of the training set, the best one of a problem."""
        for inside, share in self._of_problem(t):
            share.set_best(np.ascontiguousarray(alpha[inside][share_rows(share)]))

    def take_alpha(self, t: int, alpha: Array) -> tuple[Array, float]:
        """Make a start out of any alpha: feasible, scaled to its best D, which comes with it.

        It becomes the centre and the best alpha of the problem.
        """
        problems = self.problems
        alpha = feasible(problems.rows_of(t), np.where(self.taking_part(t), alpha, 0.0))
        self.set_best(t, alpha)
        nothing = np.zeros(self.rows[0].shape[1])
        dual = self.answer({t: Pass("certify", direction=nothing)})[t].dual
        image = dual.image[1] - dual.image[0]
        total, squared = float(dual.linear.sum()), float(image @ image)
        conjugate = float(dual.conjugate.sum())
        q = 1.0 if problems.hard_margin else problems.loss.q

        def value(factor: float) -> float:
            spent = 0.0 if np.isinf(q) or conjugate == 0.0 else factor**q * conjugate
            return factor * total - 0.5 * factor**2 * squared - spent

        # Concave in the factor, which a bound at p = 1 keeps below 1.
        factors = np.append(
            np.linspace(0.0, 1.0, 101), np.clip(total / max(squared, 1e-300), 0.0, 1.0)
        )
        factor = float(max(factors, key=value))
        self.set_best(t, factor * alpha)
        self.set_centre(t, factor * alpha)
        return factor * alpha, value(factor)

    def taking_part(self, t: int) -> npt.NDArray[np.bool_]:
        """Whether each row of the training set takes part in a problem."""
        present: npt.NDArray[np.bool_] = (self.problems.signs[t] != 0)[self.problems.codes]
        return present & (self.problems.cost > 0.0)

    def count(self, t: int) -> int:
        """How many rows take part in a problem."""
        return sum(share.count for _, share in self._of_problem(t))

    def _of_problem(self, t: int) -> Iterator[tuple[slice, Any]]:
        for inside, shares in zip(self.inside, self.shares, strict=True):
            if t in shares:
                yield inside, shares[t]

    def _gathered(self, t: int, column: str) -> Array:
        values = np.zeros(self.problems.codes.size)
        for inside, share in self._of_problem(t):
            values[inside][share_rows(share)] = getattr(share, column)
        return values


def share_rows(share: Any) -> Any:
    """The rows of a share within its block, as an index."""
    return slice(None) if share.rows is None else share.rows


def block_sizes(rows: Sequence[Any]) -> list[int]:
    """Rows of each block, without loading it where the sequence knows."""
    sizes = getattr(rows, "sizes", None)
    return list(sizes) if sizes is not None else [block.shape[0] for block in rows]
