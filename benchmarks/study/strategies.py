"""Strategies of a search, played on a table of cells that is known already.

A strategy asks for the scores of cells on folds, and ends with a cell; what it asked for is what it
costs. The best of some cells is what PSVCCV takes: the highest mean score, of equals the fewest
support vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.study.cells import BEYOND, FOLDS, N_COSTS, N_WIDTHS, SHAPE, Cells
from benchmarks.study.machines import EXPONENTS
from psvm.search.table import choose

Mask = npt.NDArray[np.bool_]
Place = tuple[int, int, int]


class Span(NamedTuple):
    """Neighbouring places of a grid, the last one included."""

    first: int
    last: int

    def around(self, place: int) -> Span:
        """A place and its neighbours, within this span."""
        return Span(max(self.first, place - 1), min(self.last, place + 1))


class Box(NamedTuple):
    """The cells of some p and neighbouring C and gamma; every ``step``-th of the latter."""

    ps: tuple[float, ...]
    C: Span
    gamma: Span
    step: int = 1

    @property
    def mask(self) -> Mask:
        """Which cells these are."""
        found = np.zeros(SHAPE, dtype=np.bool_)
        C = range(self.C.first, self.C.last + 1, self.step)
        gamma = range(self.gamma.first, self.gamma.last + 1, self.step)
        found[np.ix_([EXPONENTS.index(p) for p in self.ps], C, gamma)] = True
        return found


DEFAULT = Box(EXPONENTS, Span(BEYOND, BEYOND + N_COSTS - 1), Span(BEYOND, BEYOND + N_WIDTHS - 1))
WIDE = Box(EXPONENTS, Span(0, SHAPE[1] - 1), Span(0, SHAPE[2] - 1))
SMALL = Box(EXPONENTS, Span(BEYOND + 2, BEYOND + 4), Span(BEYOND + 1, BEYOND + 3))
"""The middle of the default grid: C = 1.6, 6.3 and 25, and three gamma around the scale."""
COARSE = DEFAULT._replace(step=2)
"""Every second C and gamma of the default grid."""


class Asked:
    """A table of cells that remembers what was asked for."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self.seen = np.zeros((*SHAPE, FOLDS), dtype=np.bool_)

    def best(self, cells: Mask, folds: int = FOLDS) -> Place:
        """The best of some cells by the first folds."""
        return self.order(cells, folds)[0] if folds < FOLDS else self._chosen(cells)

    def order(self, cells: Mask, folds: int) -> list[Place]:
        """Some cells by their mean score over the first folds, the best first."""
        self.seen[cells, :folds] = True
        mean = self._cells.score[cells, :folds].mean(axis=1)
        order = np.lexsort((self._cells.support[cells], -mean.round(12)))
        places = np.argwhere(cells)[order]
        return [(int(p), int(C), int(gamma)) for p, C, gamma in places]

    def _chosen(self, cells: Mask) -> Place:
        self.seen[cells] = True
        number = choose("best", self._cells.score[cells], self._cells.support[cells])
        p, C, gamma = np.argwhere(cells)[number]
        return int(p), int(C), int(gamma)

    def gain(self, place: Place, cells: Mask) -> tuple[float, float]:
        """By how much a cell is better than the best of others, and the standard error of that."""
        rival = self._chosen(cells)
        better = self._cells.score[place] - self._cells.score[rival]
        return float(better.mean()), float(better.std(ddof=1) / np.sqrt(FOLDS))

    @property
    def fits(self) -> int:
        """How many fits that takes."""
        return int(self.seen.sum())

    @property
    def seconds(self) -> float:
        """What it takes: the fits, the matrices of the widths on the folds, the preprocessing."""
        known = self._cells
        matrices = self.seen.any(axis=(0, 1)).sum() / FOLDS
        fits = float((self.seen.sum(axis=-1) * known.seconds).sum())
        return fits + float(matrices) * known.width_seconds + known.start_seconds


Strategy = Callable[[Asked], Place]


def grid(box: Box) -> Strategy:
    """All cells of a box."""
    return lambda asked: asked.best(box.mask)


def moving(box: Box, *, sure: bool = False) -> Strategy:
    """A box that grows by a value of C or gamma on the side where the best lies.

    With ``sure`` only if the best is better by a standard error than the best one value inside,
    which is when PSVCCV warns of the edge.
    """

    def play(asked: Asked) -> Place:
        now = box
        while True:
            place = asked.best(now.mask)
            spans = {"C": (1, now.C), "gamma": (2, now.gamma)}
            grown = {
                name: span
                for name, (axis, old) in spans.items()
                if (span := _grown(asked, now, place, axis, old, sure)) != old
            }
            if not grown:
                return place
            now = now._replace(**grown)

    return play


def _grown(asked: Asked, box: Box, place: Place, axis: int, span: Span, sure: bool) -> Span:
    at = place[axis]
    wide = WIDE[axis]
    if at == span.first and at > wide.first:
        inside, longer = at + 1, Span(at - 1, span.last)
    elif at == span.last and at < wide.last:
        inside, longer = at - 1, Span(span.first, at + 1)
    else:
        return span
    if sure:
        gain, error = asked.gain(
            place, box._replace(**{Box._fields[axis]: Span(inside, inside)}).mask
        )
        if gain <= error + 1e-12:
            return span
    return longer


def halving(box: Box, rounds: Sequence[tuple[int, float]]) -> Strategy:
    """Cells that are bad on the first folds are not fitted to the others.

    ``rounds`` are pairs of folds and the share of the cells that goes on.
    """

    def play(asked: Asked) -> Place:
        cells = box.mask
        for folds, share in rounds:
            order = asked.order(cells, folds)
            cells = _mask(order[: max(1, int(np.ceil(share * len(order))))])
        return asked.best(cells)

    return play


def refined(box: Box) -> Strategy:
    """Every second value first, then the neighbours of the best."""

    def play(asked: Asked) -> Place:
        coarse = box._replace(step=2).mask
        p, C, gamma = asked.best(coarse)
        near = Box((EXPONENTS[p],), box.C.around(C), box.gamma.around(gamma))
        return asked.best(coarse | near.mask)

    return play


def p_last(first: Strategy, box: Box, *, neighbours: bool) -> Strategy:
    """C and gamma by a search at one p, then all p of a box at these, or near them too."""

    def play(asked: Asked) -> Place:
        _, C, gamma = first(asked)
        known = asked.seen.all(axis=-1)
        near = Box(
            box.ps,
            box.C.around(C) if neighbours else Span(C, C),
            box.gamma.around(gamma) if neighbours else Span(gamma, gamma),
        )
        return asked.best(known | near.mask)

    return play


def _mask(places: Sequence[Place]) -> Mask:
    found = np.zeros(SHAPE, dtype=np.bool_)
    found[tuple(np.transpose(places))] = True
    return found


def _of(box: Box, *ps: float) -> Box:
    return box._replace(ps=ps)


_THIRDS = ((1, 1 / 3), (2, 1 / 3), (3, 1 / 3))

STRATEGIES: Mapping[str, Strategy] = {
    "default": grid(DEFAULT),
    **{f"p = {p:g}": grid(_of(DEFAULT, p)) for p in EXPONENTS},
    "p = 1, 2": grid(_of(DEFAULT, 1.0, 2.0)),
    "p = 1, 1.5, 2": grid(_of(DEFAULT, 1.0, 1.5, 2.0)),
    "wide": grid(WIDE),
    "wide, p = 1.5": grid(_of(WIDE, 1.5)),
    "wide, p = 2": grid(_of(WIDE, 2.0)),
    "coarse": grid(COARSE),
    "coarse, p = 2": grid(_of(COARSE, 2.0)),
    "moving": moving(DEFAULT),
    "moving if sure": moving(DEFAULT, sure=True),
    "moving, p = 1.5": moving(_of(DEFAULT, 1.5)),
    "moving, p = 2": moving(_of(DEFAULT, 2.0)),
    "moving from the middle": moving(SMALL),
    "moving from the middle, p = 1.5": moving(_of(SMALL, 1.5)),
    "moving from the middle, p = 2": moving(_of(SMALL, 2.0)),
    "halving from one fold": halving(DEFAULT, _THIRDS),
    "halving from two folds": halving(DEFAULT, ((2, 1 / 3),)),
    "halving from one fold, wide": halving(WIDE, _THIRDS),
    "halving from two folds, p = 2": halving(_of(DEFAULT, 2.0), ((2, 1 / 3),)),
    "refined": refined(DEFAULT),
    "refined, p = 2": refined(_of(DEFAULT, 2.0)),
    **{
        f"p last, from {p:g}": p_last(grid(_of(DEFAULT, p)), DEFAULT, neighbours=False)
        for p in (1.5, 2.0)
    },
    **{
        f"p last with neighbours, from {p:g}": p_last(
            grid(_of(DEFAULT, p)), DEFAULT, neighbours=True
        )
        for p in (1.5, 2.0)
    },
    "moving from the middle, p last": p_last(moving(_of(SMALL, 2.0)), WIDE, neighbours=False),
    "moving from the middle, p last with neighbours": p_last(
        moving(_of(SMALL, 2.0)), WIDE, neighbours=True
    ),
    "refined, p last": p_last(refined(_of(DEFAULT, 2.0)), DEFAULT, neighbours=False),
}
"""By name; "p last" starts from p = 2 where nothing else is said."""
