"""A search from the first cell to the choice.

1. Every cell is solved on every split, to a coarse relative gap.
2. The cells near the best are solved again, finely: what is chosen among is exact.
3. A cell is chosen. It has been solved finely, or is now; its held-out decision values are kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.search.board import Engine, FoldAnswers, Listener
from psvm.search.engines import Engines
from psvm.search.problem import SearchProblem
from psvm.search.scoring import HeldOutScorer
from psvm.search.table import ScoreTable
from psvm.search.watch import NothingFinished, SearchStopped, SearchWatch

Array = npt.NDArray[np.float64]

# Relative gaps. At 1e-2 scores for p > 1 moved by up to 0.046, at 1e-3 by up to 0.002.
COARSE, FINE = 1e-3, 1e-4
# Few rows are solved finely at once: that costs little, and a score counts single rows.
_FEW_ROWS, _FINEST = 1000, 1e-5
# Of a limit of seconds, the share that the search leaves for the final fit: twice what a cell of
# the chosen width took on its slowest split, within these bounds. (The first cell of a width starts
# from zero and computes what the final fit will: the kernel rows of all support vectors.)
_LEAST_RESERVE, _MOST_RESERVE = 0.2, 0.5
# While no cell is finished: a final fit that is cut short is better than nothing.
_RESERVE_OF_NOTHING = 0.1


def nothing_found(why: str) -> NothingFinished:
    """The error of a search that ends too early."""
    return NothingFinished(
        f"The search was {why} before any cell was solved on all splits; raise max_time, or "
        f"search fewer cells."
    )


@dataclass
class Explorer:
    """Solves cells with an engine, scores them in a table and keeps the answers of fine ones.

    It ``began``, by ``time.monotonic``, and all of it may take ``max_time`` seconds.
    """

    problem: SearchProblem
    engines: Engines
    scorer: HeldOutScorer
    watch: SearchWatch
    rule: str
    max_time: float | None
    began: float
    keep_when_interrupted: bool
    kept: dict[int, list[Array]] = field(default_factory=dict)
    # The answers of the best cell so far, to the gap that it was solved to.
    rough: dict[int, list[Array]] = field(default_factory=dict)
    some_finished: bool = False
    searched: bool = False
    in_haste: bool = False

    def __post_init__(self) -> None:
        self.table = ScoreTable(self.problem.grid, len(self.problem.folds))
        few = self.problem.size <= _FEW_ROWS
        self.coarse, self.fine = (_FINEST, _FINEST) if few else (COARSE, FINE)

    def search(self) -> None:
        """Solve and score the cells, until they are done or something ends it: some are scored."""
        try:
            search = self.engines.search
            self._solve(search, range(self.table.grid.size), self.coarse, self._end)
            if not self.table.finished.any():
                raise ValueError(
                    f"`scoring` gave NaN or infinity on some split for every one of "
                    f"{self.table.grid.size} cells, so none can be chosen; take another `scoring`, "
                    f"or a `cv` whose held-out rows it is defined for."
                )
            if self.fine < self.coarse:
                self._solve(
                    search,
                    self.table.near_best(self.scorer.near(self.table.score[self.chosen])),
                    self.fine,
                    self._end,
                )
        except SearchStopped as stopped:
            self.in_haste = True
            if not self.table.finished.any():
                raise nothing_found(str(stopped)) from None
        except KeyboardInterrupt:
            if not (self.keep_when_interrupted and self.table.finished.any()):
                raise
            self.in_haste = True
            self.watch.say(
                f"Stopping: the best of {int(self.table.finished.sum())} finished cells becomes "
                f"the model. Ctrl-C once more drops it."
            )
        self.watch.finish()
        self.searched = True

    @property
    def chosen(self) -> int:
        """The number of the cell that the rule chooses from what is scored."""
        return self.table.best(self.rule)

    def settle(self) -> list[Array]:
        """Solve the chosen cell finely unless it is; its held-out decision values on all splits.

        Where the search was stopped, or time is short now, those of the search must do.
        """
        while (chosen := self.chosen) not in self.kept:
            if self.in_haste and chosen in self.rough:
                return self.rough[chosen]
            try:
                end = np.inf if self.in_haste else self._end
                self._solve(self.engines.final, [chosen], self.fine, end)
            except SearchStopped:
                self.in_haste = True
        return self.kept[chosen]

    @property
    def _end(self) -> float:
        """When the search must end, by ``time.monotonic``, to leave time for the final fit."""
        if self.max_time is None:
            return float(np.inf)
        if not (self.some_finished or self.table.finished.any()):
            return self.began + (1.0 - _RESERVE_OF_NOTHING) * self.max_time
        slowest = 0.0
        if self.table.finished.any():
            grid = self.table.grid
            same = grid.gamma_number == grid.gamma_number[self.chosen]
            seconds = self.table.fit_seconds[same & self.table.finished]
            slowest = float(seconds.max()) / self.max_time
        reserve = min(max(2.0 * slowest, _LEAST_RESERVE), _MOST_RESERVE)
        return self.began + (1.0 - reserve) * self.max_time

    @property
    def seconds_left(self) -> float | None:
        """What the final fit may take; None without a limit."""
        if self.max_time is None:
            return None
        left = self.began + self.max_time - time.monotonic()
        return max(left, 0.5 * _LEAST_RESERVE * self.max_time)

    def fit_chosen(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """The model of the chosen cell and all rows, from what the search knows of it."""
        model.set_params(**self.table.grid.params[self.chosen], max_time=self.seconds_left)
        head = self.engines.search.head_start(self.chosen)
        if head is None:
            model.fit(X, y, sample_weight=sample_weight)
        else:
            start = self.problem.start(head)
            model._fit_from(head, X, y, sample_weight, start=start)
        return model.set_params(max_time=None)

    def _solve(self, engine: Engine, cells: Iterable[int], tol: float, end: float) -> None:
        """Solve and score cells until the clock shows ``end``; keep the answers of exact ones."""
        exact = engine.exact and tol == self.fine
        cells, grid = list(cells), self.problem.grid
        # The largest width, which takes longest, comes first; where seconds are limited the middle
        # one, where the best cell is most often. That of the best cell so far comes last: the final
        # fit will find its Gram matrix in memory.
        best = grid.gamma_number[self.chosen] if self.table.finished.any() else -1
        first = len(grid.gammas) if self.max_time is None else len(grid.gammas) // 2
        widths = sorted(range(len(grid.gammas)), key=lambda one: (one == best, abs(one - first)))
        paths = {gamma: path for gamma in widths if (path := grid.path(gamma, cells))}
        self.watch.expect(len(cells) * self.problem.fits_per_cell)

        def on_width(gamma: int, answers: list[FoldAnswers]) -> None:
            self._note(answers, keep=exact)

        def on_wait() -> None:
            self.watch.look()
            # What the final fit will take is known better with every cell.
            if end < np.inf and time.monotonic() > min(end, self._end):
                raise SearchStopped("stopped by max_time")

        def on_first() -> None:
            self.some_finished = True

        engine.run(paths, tol, Listener(self.watch.fits_done, on_width, on_wait, end, on_first))

    def _note(self, answers: list[FoldAnswers], *, keep: bool) -> None:
        """Score the answers of all splits at one width."""
        table, cells = self.table, answers[0].cells
        for split, own in enumerate(answers):
            scores, seconds = self.scorer.scores(split, answers)
            done = own.complete
            rows = np.asarray(cells)[done]
            table.score[rows, split] = scores[done]
            table.n_support[rows, split] = own.support[done] @ self.problem.weight
            table.gap[rows, split] = own.gap[done]
            table.fit_seconds[rows, split] = own.seconds[done]
            table.score_seconds[rows, split] = seconds
        whole = np.all([own.complete for own in answers], axis=0)
        if keep:
            for place in np.flatnonzero(whole):
                self.kept[cells[place]] = [own.decision(int(place)).copy() for own in answers]
        if not table.finished.any():
            return
        best = self.chosen
        self.watch.best(
            float(table.mean[best]),
            table.grid.params[best],
            finished=int(table.finished.sum()),
            cells=table.grid.size,
        )
        if best in np.asarray(cells)[whole]:
            where = cells.index(best)
            self.rough = {best: [own.decision(where).copy() for own in answers]}
        for place in np.flatnonzero(whole):
            cell = cells[place]
            record = {"mean_test_score": float(table.mean[cell]), **table.grid.params[cell]}
            self.watch.cell_done(cell, record)
