"""The search on shared Gram matrices: tasks (width, split, binary problem), one thread each.

Widths come one after the other. The first thread that needs a Gram matrix builds it, in a buffer
that the last task of an earlier width has left, unless it is still there; where no matrix is
stored, no task waits. A task follows its path over p and C in C++ without the interpreter's lock.
Solutions are remembered: a cell that is solved again starts from its own, and the final fit from
the mean of the splits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from threading import Condition, Thread
from typing import Any

import numpy as np

from psvm import _core
from psvm.estimators.starts import HeadStart
from psvm.rows.sizes import SMALL
from psvm.search.board import FoldAnswers, Listener
from psvm.search.folds import Array, Fold, FoldProblem, Rows, ranges_of
from psvm.search.gram import Gram, GramSource, empty_matrix
from psvm.search.problem import SearchProblem
from psvm.search.watch import SearchStopped
from psvm.solvers.new_threads import starting_threads

# Seconds between two looks of the main thread at signals and progress.
_LOOK = 0.05
# The width of memory without a matrix.
_NO_WIDTH = -1
# Tasks per width up to which the last is cut in two (5 splits: spambase a tenth faster).
_FEW_TASKS = 16
# Cells that are followed on one split before the next split, where time is limited: every stretch
# starts cold, and whole paths may leave no cell that all splits have.
_STRETCH = 3


@dataclass(frozen=True)
class _HeldOut:
    """The held-out rows of a split by places in the Gram matrix."""

    rows: Rows
    columns: Rows
    back: Rows  # from places to the order of the split

    @classmethod
    def of(cls, fold: Fold, place: Rows) -> _HeldOut:
        in_order = np.argsort(place[fold.test])
        rows = np.ascontiguousarray(place[fold.test][in_order])
        return cls(rows, ranges_of(rows), np.argsort(in_order))


@dataclass(frozen=True)
class _PlacedProblem:
    """A binary problem of a split by places in the Gram matrix, for all widths."""

    rows: Rows  # of X, by place
    train: Rows
    y: Array
    cost: Array
    train_columns: Rows
    held_out: _HeldOut

    @classmethod
    def of(cls, problem: FoldProblem, held_out: _HeldOut, place: Rows) -> _PlacedProblem:
        at = np.argsort(place[problem.rows])
        train = np.ascontiguousarray(place[problem.rows][at])
        return cls(
            problem.rows[at],
            train,
            problem.y[at],
            problem.cost[at],
            ranges_of(train),
            held_out,
        )


@dataclass(frozen=True)
class _Kernel:
    """The kernel of one width: a matrix, or points that entries are computed from."""

    matrix: Gram | None
    points: Any


@dataclass(frozen=True)
class _Task:
    gamma: int
    split: int
    number: int  # of the binary problem
    placed: _PlacedProblem
    answers: FoldAnswers
    part: slice  # of the path


@dataclass(frozen=True)
class Effort:
    """How far a search on Gram matrices goes, and what it may keep.

    Attributes
    ----------
    buffers : int
        Gram matrices at once, at most.
    more_rounds : int
        Rounds of the solver after it has reached the gap, towards the last digits.
    steps_per_row : int
        Steps of pairs, by training row, after which a cell is left unsolved; negative for no limit.
    remembers : bool
        Whether there is memory for the solutions of all cells, to start from later.
    threads : int
    """

    buffers: int
    more_rounds: int
    steps_per_row: int
    remembers: bool
    threads: int


class GramSearch:
    """The engine of shared Gram matrices.

    Parameters
    ----------
    problem : SearchProblem
    source : GramSource
        Over the rows of X in the order ``order``.
    order : ndarray of int
        The row of X at each place of the Gram matrix.
    effort : Effort
    """

    def __init__(
        self, problem: SearchProblem, source: GramSource, order: Rows, effort: Effort
    ) -> None:
        self._source, self._order, self._effort = source, order, effort
        self._grid, self._folds = problem.grid, problem.folds
        self._fit_intercept = problem.fit_intercept
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        self._placed = [
            [_PlacedProblem.of(problem, held_out, place) for problem in own]
            for held_out, own in zip(
                [_HeldOut.of(fold, place) for fold in self._folds], problem.problems, strict=True
            )
        ]
        self._free: list[tuple[Gram, int]] = []  # with the width whose matrix is in it
        self._made = 0
        self._solved: dict[tuple[int, int, int], Array] = {}  # alpha by cell, split and problem

    @property
    def exact(self) -> bool:
        """Not of a small set, whose whole fits are polished to the last digits."""
        return self._source.size > SMALL

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every width, in the order given, to the relative gap ``tol``.

        Cells whose solutions are remembered start from them. Any error stops the tasks under way.
        """
        self._source.cancel = _core.Cancel()
        answers = {
            gamma: [
                FoldAnswers.empty(cells, self._source.size, fold, len(own))
                for fold, own in zip(self._folds, self._placed, strict=True)
            ]
            for gamma, cells in paths.items()
        }
        last = len(self._placed) - 1
        limited = listener.end < np.inf
        # A problem on all splits, then the next: its part of the matrix is still in cache. If time
        # may be up before the end, some cells on all splits and then the next cells, or none would
        # be finished by then.
        tasks = deque(
            _Task(gamma, split, number, own[number], answers[gamma][split], part)
            for gamma, cells in paths.items()
            for stretch in (self._stretches(cells) if limited else [None])
            for number in range(max(len(own) for own in self._placed))
            for split, own in enumerate(self._placed)
            if number < len(own)
            for part in ([stretch] if stretch else self._parts(gamma, len(cells), split == last))
        )
        crew = _Crew(self, tasks, tol, listener.on_cells)
        told: set[int] = set()
        try:
            crew.start(min(self._effort.threads, len(tasks)))
            while crew.wait(_LOOK):
                listener.on_wait()
                for gamma in crew.finished() - told:
                    told.add(gamma)
                    listener.on_width(gamma, answers.pop(gamma))
        except BaseException as error:
            self._source.cancel.set()
            crew.join()
            if isinstance(error, KeyboardInterrupt | SearchStopped):
                for gamma in sorted(answers):
                    with suppress(SearchStopped):
                        listener.on_width(gamma, answers[gamma])
            raise
        crew.join()
        for gamma in sorted(crew.finished() - told):
            listener.on_width(gamma, answers.pop(gamma))

    def _stretches(self, cells: Sequence[int]) -> list[slice]:
        """A path in parts of a few cells of the same p: the small C of all p come first."""
        found = []
        for _, same in groupby(range(len(cells)), lambda place: self._grid.p[cells[place]]):
            places = list(same)
            for first in range(0, len(places), _STRETCH):
                few = places[first : first + _STRETCH]
                found.append((first, slice(few[0], few[-1] + 1)))
        # Those of large C take longest, sometimes more time than there is.
        return [part for _, part in sorted(found, key=lambda placed: placed[0])]

    def _parts(self, gamma: int, cells: int, of_last_split: bool) -> list[slice]:
        """The path of a problem in the parts that are solved on their own.

        Until the last task of a width is done its matrix is in use, and other threads wait: that
        task is cut in two where there are few. Not by the number of threads: a part starts cold,
        and scores are not to depend on ``n_jobs`` in the last digits.
        """
        tasks = sum(len(own) for own in self._placed)
        if of_last_split and tasks <= _FEW_TASKS and cells > 1 and self.stores(gamma):
            cut = min(-(-2 * cells // 3), cells - 1)  # later cells, with large C or p, take longer
            return [slice(cut, cells), slice(0, cut)]
        return [slice(0, cells)]

    def stores(self, gamma: int) -> bool:
        """Whether a width needs memory for its Gram matrix."""
        return self._source.stores(self._grid.gammas[gamma])

    def buffer(self, gamma: int) -> tuple[Gram, bool] | None:
        """Memory for the matrix of a width, and whether it is there already. Not thread-safe.

        None if all memory is in use.
        """
        for place, (gram, of) in enumerate(self._free):
            if of == gamma:
                del self._free[place]
                return gram, True
        if self._free:
            return self._free.pop()[0], False
        if self._made < self._effort.buffers:
            self._made += 1
            return empty_matrix(self._source.size, self._source.dtype), False
        return None

    def give_back(self, gram: Gram, gamma: int) -> None:
        """The matrix of a width is not needed now. Not thread-safe."""
        self._free.append((gram, gamma))

    def build(self, gamma: int, memory: tuple[Gram, bool] | None, threads: int) -> _Kernel:
        """The kernel of a width, with its matrix in ``memory`` if it is stored."""
        width = self._grid.gammas[gamma]
        if memory is None:
            return _Kernel(None, self._source.points(width))
        gram, filled = memory
        if not filled:
            self._source.fill(width, gram, threads)
        return _Kernel(gram, None)

    def head_start(self, cell: int, n_classes: int) -> HeadStart | None:
        """What is known of the fit of a cell to all rows; None if it is not remembered."""
        if any(fold.classes.size < n_classes for fold in self._folds):
            return None
        total = np.zeros((len(self._placed[0]), self._source.size))
        times = np.zeros_like(total)
        for split, own in enumerate(self._placed):
            for number, placed in enumerate(own):
                alpha = self._solved.get((cell, split, number))
                if alpha is None:
                    return None
                total[number, placed.rows] += alpha
                times[number, placed.rows] += 1.0
        gamma = self._grid.gamma_number[cell]
        own_entries = self._source.rounds(self._grid.gammas[gamma])
        gram = next((gram for gram, of in self._free if of == gamma and own_entries), None)
        return HeadStart(total / np.maximum(times, 1.0), self._order, gram)

    def solve(
        self, task: _Task, kernel: _Kernel, tol: float, on_cells: Callable[[int], None]
    ) -> None:
        """Follow the path of one binary problem, and note what is solved of it."""
        placed, cells = task.placed, task.answers.cells[task.part]
        known = [self._solved.get((cell, task.split, task.number)) for cell in cells]
        starts = np.array([alpha for alpha in known if alpha is not None])
        outcome = _core.solve_fold_path(
            kernel.points if kernel.matrix is None else kernel.matrix,
            _core.FoldProblem(
                train=placed.train,
                y=placed.y,
                cost=placed.cost,
                held_out=placed.held_out.rows,
                train_columns=placed.train_columns,
                held_out_columns=placed.held_out.columns,
                fit_intercept=self._fit_intercept,
            ),
            self._grid.p[cells],
            self._grid.C[cells],
            _core.Precision(
                tol=tol,
                more_rounds=self._effort.more_rounds,
                max_steps=self._effort.steps_per_row * placed.train.size,
                keep_alpha=self._effort.remembers,
            ),
            starts=starts if len(starts) == len(cells) else None,
            on_cells=on_cells,
            cancel=self._source.cancel,
        )
        if self._effort.remembers:
            for cell, alpha in zip(cells, outcome["alpha"], strict=False):
                self._solved[cell, task.split, task.number] = alpha
        task.answers.add(
            slice(task.part.start, task.part.start + len(outcome["gap"])),
            task.number,
            placed.rows,
            decision=outcome["decision"][:, placed.held_out.back],
            supports=outcome["supports"].view(np.bool_),
            gap=outcome["gap"],
            seconds=outcome["seconds"],
        )


class _Crew:
    """The threads of one run and what they share."""

    def __init__(
        self,
        search: GramSearch,
        tasks: deque[_Task],
        tol: float,
        on_cells: Callable[[int], None],
    ) -> None:
        self._search, self._tasks, self._tol, self._on_cells = search, tasks, tol, on_cells
        self._changed = Condition()
        self._left: dict[int, int] = {}
        for task in tasks:
            self._left[task.gamma] = self._left.get(task.gamma, 0) + 1
        self._kernels: dict[int, _Kernel] = {}
        self._building: int | None = None
        self._busy = 0
        self._failure: BaseException | None = None
        self._workers: list[Thread] = []

    def start(self, workers: int) -> None:
        self._size = workers
        with starting_threads():
            for _ in range(workers):
                worker = Thread(target=self._work, daemon=True)
                self._workers.append(worker)
                worker.start()

    def wait(self, seconds: float) -> bool:
        """Wait for news; whether there is work left. An error of a worker is raised here."""
        with self._changed:
            if self._failure is None and any(self._left.values()):
                self._changed.wait(seconds)
            if self._failure is not None:
                raise self._failure
            return any(self._left.values())

    def finished(self) -> set[int]:
        """The widths all of whose tasks are done."""
        with self._changed:
            return {gamma for gamma, left in self._left.items() if left == 0}

    def join(self) -> None:
        for worker in self._workers:
            if worker.ident is not None:  # an interrupt may come before it is started
                worker.join()
        for gamma in list(self._kernels):
            self._release(gamma)

    def _work(self) -> None:
        try:
            while (job := self._next()) is not None:
                job()
        except BaseException as error:
            with self._changed:
                self._failure = self._failure or error
                self._changed.notify_all()

    def _next(self) -> Callable[[], None] | None:
        """The next thing to do, once there is one; None when there will be nothing more."""
        with self._changed:
            while True:
                if not self._tasks or self._failure or self._search._source.cancel.is_set():
                    return None
                gamma = self._tasks[0].gamma
                if gamma in self._kernels:
                    task = self._tasks.popleft()
                    self._busy += 1
                    return lambda: self._solve(task)
                if self._building is None:
                    stored = self._search.stores(gamma)
                    memory = self._search.buffer(gamma) if stored else None
                    if memory is not None or not stored:
                        self._building = gamma
                        # Alone, it may use the threads of those who wait for it.
                        threads = self._size - self._busy
                        return lambda: self._build(gamma, memory, threads)
                self._changed.wait(0.1)

    def _build(self, gamma: int, memory: tuple[Gram, bool] | None, threads: int) -> None:
        built = None
        try:
            built = self._search.build(gamma, memory, threads)
        except InterruptedError:
            pass  # cancelled
        finally:
            with self._changed:
                self._building = None
                if built is not None:
                    self._kernels[gamma] = built
                elif memory is not None:
                    self._search.give_back(memory[0], _NO_WIDTH)
                self._changed.notify_all()

    def _release(self, gamma: int) -> None:
        matrix = self._kernels.pop(gamma).matrix
        if matrix is not None:
            self._search.give_back(matrix, gamma)

    def _solve(self, task: _Task) -> None:
        try:
            self._search.solve(task, self._kernels[task.gamma], self._tol, self._on_cells)
        finally:
            with self._changed:
                self._busy -= 1
                self._left[task.gamma] -= 1
                if self._left[task.gamma] == 0:
                    self._release(task.gamma)
                    self._changed.notify_all()
