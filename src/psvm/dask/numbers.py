"""What y is: numbers to predict. Their centre and unit are from reductions over the blocks.

As :mod:`psvm.estimators.targets` has it for the rows of one machine: y less its centre, divided by
a power of two, and two dual rows for every row. The first look at a block tells the weighted mean
and the range of its targets; a second one, at the centre of all, their distance from it and what is
lost at w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.dask.targets import PricedRows
from psvm.estimators.targets import (
    EncodedTargets,
    TargetUnit,
    check_costs_in_unit,
    check_targets,
    costs_in_unit,
    costs_too_small,
    scale_of,
)
from psvm.estimators.unit_errors import UnitErrors

Array = npt.NDArray[np.float64]

# One problem over two kinds of dual rows: those above and those below the target.
SIGNS = np.array([[1, -1]], dtype=np.int8)


@dataclass(frozen=True)
class NumberTotals:
    """The targets of a block that have a positive weight.

    ``weight`` is the sum of the weights, ``mean`` weighted by them.
    """

    rows: int
    weight: float
    largest_weight: float
    mean: float
    low: float
    high: float


_NOTHING = NumberTotals(0, 0.0, 0.0, 0.0, np.inf, -np.inf)


class Numbers:
    """Y holds numbers."""

    def check(self, y: Any) -> Array:
        """Targets as an array of one dimension, all finite."""
        shape = np.shape(y)
        if shape and shape[0] == 0:
            return np.empty(0)
        return check_targets(y)

    def describe(self, y: Array, weight: Array) -> NumberTotals:
        """The mean and the range of the targets with a positive weight."""
        present = weight > 0.0
        if not present.any():
            return _NOTHING
        y, weight = y[present], weight[present]
        # From the smallest on, so that equal targets have themselves for their mean.
        low, largest = float(y.min()), float(weight.max())
        share = weight / largest
        total = float(share.sum())
        mean = low + float(share @ (y - low)) / total
        return NumberTotals(y.size, total * largest, largest, mean, low, float(y.max()))


@dataclass(frozen=True)
class Look:
    """What a second look at the blocks is to tell, at the centre of all targets."""

    centre: float
    furthest: float  # of all targets from the centre
    largest_weight: float
    epsilon: float
    quantile: float
    p: float

    def __call__(self, block: Any) -> Array:
        """Sums over a block: of distances from the centre to the power of p, and of the loss there.

        In units of the furthest target and the largest weight, so that they are numbers at any p.
        """
        off = (block.y - self.centre) / self.furthest
        share = block.weight / self.largest_weight
        distance = np.abs(off)
        side = np.where(off > 0.0, 2.0 * self.quantile, 2.0 * (1.0 - self.quantile))
        beyond = np.maximum(distance - self.epsilon / self.furthest, 0.0)
        with np.errstate(under="ignore"):
            return np.array([share @ distance**self.p, (share * side) @ beyond**self.p])


@dataclass(frozen=True)
class Tube:
    """The unit of all targets, and the price of leaving the tube around them."""

    unit: TargetUnit
    C: float

    @property
    def goals_are_1(self) -> bool:
        """Goals are those of the targets."""
        return False

    def rows(self, y: Array, weight: Array) -> PricedRows:
        """Two dual rows for every row."""
        unit = self.unit
        cost = costs_in_unit(self.C, weight, unit.scale, unit.p)
        cost[costs_too_small(cost, unit.quantile) | (weight == 0.0)] = 0.0
        pairs = unit.encoded(y, cost).dual_rows()
        codes = np.tile(np.array([0, 1], dtype=np.int32), y.size)
        return PricedRows(codes, pairs.cost, pairs.target, np.repeat(np.arange(y.size), 2))


@dataclass(frozen=True)
class AllNumbers:
    """The targets of all blocks: their range, their weights and what they are centred by."""

    rows: int
    weight: float
    largest_weight: float
    centre: float
    low: float
    high: float

    @classmethod
    def of(cls, described: Sequence[Any], fit_intercept: bool) -> AllNumbers:
        """From what the blocks say."""
        totals: list[NumberTotals] = [one.target for one in described if one.target.rows]
        if not totals:
            raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
        weight = np.array([one.weight for one in totals])
        low = min(one.low for one in totals)
        above = np.array([one.mean - low for one in totals])
        share = weight / weight.max()
        return cls(
            rows=sum(one.rows for one in totals),
            weight=float(weight.sum()),
            largest_weight=max(one.largest_weight for one in totals),
            centre=low + float(share @ above) / float(share.sum()) if fit_intercept else 0.0,
            low=low,
            high=max(one.high for one in totals),
        )

    @property
    def furthest(self) -> float:
        """The largest distance of a target from the centre; 1 if there is none."""
        return max(self.high - self.centre, self.centre - self.low) or 1.0

    def look(self, settings: Any) -> Look:
        """What to ask the blocks next."""
        return Look(
            self.centre,
            self.furthest,
            self.largest_weight,
            settings.epsilon,
            settings.quantile,
            settings.loss.p,
        )

    def tube(self, settings: Any, distance: float) -> Tube:
        """The unit of the targets, given the sum of distances that a look has found.

        Refuses what :func:`psvm.estimators.targets.encode_targets` refuses.
        """
        p, C, quantile = settings.loss.p, settings.C, settings.quantile
        mean = distance / (self.weight / self.largest_weight)
        furthest = max(self.high - self.centre, self.centre - self.low)
        scale = scale_of(furthest, mean, p, settings.fit_intercept)
        total = costs_in_unit(C, np.array([self.weight]), scale, p)
        largest = costs_in_unit(C, np.array([self.largest_weight]), scale, p)
        check_costs_in_unit(
            C,
            self.rows,
            self.largest_weight,
            total,
            all_too_small=bool(costs_too_small(largest, quantile)[0]),
        )
        unit = TargetUnit.of(
            (self.low, self.high),
            (self.centre, scale),
            C=C,
            epsilon=settings.epsilon,
            quantile=quantile,
            p=p,
            fit_intercept=settings.fit_intercept,
        )
        return Tube(unit, C)

    def in_unit(self, tube: Tube) -> EncodedTargets:
        """The two targets that are furthest apart, in their unit: what is to know on the client."""
        return tube.unit.encoded(np.array([self.low, self.high]), np.ones(2))

    def costs(self, tube: Tube) -> Array:
        """The sum of the costs of the rows above and of those below."""
        unit = tube.unit
        total = costs_in_unit(tube.C, np.array([self.weight]), unit.scale, unit.p)[0]
        return np.asarray(total * np.array([2.0 * unit.quantile, 2.0 * (1.0 - unit.quantile)]))

    def lost_at_zero(self, tube: Tube, lost: float) -> float:
        """P at w = 0 and b = 0, in the unit of the targets, given what a look has found."""
        unit = tube.unit
        largest = costs_in_unit(tube.C, np.array([self.largest_weight]), unit.scale, unit.p)[0]
        with np.errstate(over="ignore"):
            return float(largest * lost * np.float64(self.furthest / unit.scale) ** unit.p)


def errors_of(
    targets: EncodedTargets, costs: Array, alpha: float, conjugate: float, p: float
) -> UnitErrors:
    """What the unit may do to P and D, from sums over all rows and the largest target."""
    largest = float(np.abs(targets.y).max()) + targets.epsilon
    error = float(UnitErrors.bound(largest, targets.epsilon))
    return UnitErrors.at_most(error, (alpha, float(costs.sum()), conjugate), p)
