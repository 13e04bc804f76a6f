"""The search on shared Gram matrices: tasks (width, split, binary problem), one thread each.

Widths come one after the other, the largest (slowest) first. The first thread that needs a Gram
matrix builds it, in a buffer that the last task of an earlier width has left; where no matrix is
stored, no task waits. A task follows its path over p and C in C++ without the interpreter's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any

import numpy as np

from psvm import _core
from psvm.search.board import FoldAnswers, Listener
from psvm.search.folds import Array, Fold, FoldProblem, Rows, covering_ranges
from psvm.search.gram import Gram, GramSource
from psvm.search.grid import Grid
from psvm.search.watch import SearchStopped

# Seconds between two looks of the main thread at signals and progress.
_LOOK = 0.05
# Tasks per width up to which the last is cut in two (5 splits: spambase a tenth faster).
_FEW_TASKS = 16


@dataclass(frozen=True)
class _PlacedProblem:
    """A binary problem of a split by places in the Gram matrix, for all widths."""

    problem: FoldProblem
    at: Rows  # the order of its rows by place
    train: Rows
    y: Array
    cost: Array
    train_columns: Rows
    held_out: Rows
    back: Rows  # from held-out places to the order of the split
    held_out_columns: Rows

    @classmethod
    def of(cls, problem: FoldProblem, fold: Fold, place: Rows) -> _PlacedProblem:
        at = np.argsort(place[problem.rows])
        train = np.ascontiguousarray(place[problem.rows][at])
        in_order = np.argsort(place[fold.test])
        held_out = np.ascontiguousarray(place[fold.test][in_order])
        return cls(
            problem,
            at,
            train,
            problem.y[at],
            problem.cost[at],
            covering_ranges(train),
            held_out,
            np.argsort(in_order),
            covering_ranges(held_out),
        )


@dataclass(frozen=True)
class _Kernel:
    """The kernel of one width: a matrix, or points that entries are computed from."""

    matrix: Gram | None
    points: Any


@dataclass(frozen=True)
class _Task:
    gamma: int
    number: int  # of the binary problem
    placed: _PlacedProblem
    answers: FoldAnswers
    part: slice  # of the path


class GramSearch:
    """Solves cells of a grid on all splits.

    Parameters
    ----------
    source : GramSource
        Over the rows of X in the order ``order``.
    order : ndarray of int
        The row of X at each place of the Gram matrix.
    grid : Grid
    folds : sequence of Fold
    problems : sequence of list of FoldProblem
        The binary problems of every split.
    fit_intercept : bool
    buffers : int
        Gram matrices at once, at most.
    more_rounds : int
        Rounds of the solver after it has reached the gap, towards the last digits.
    threads : int
    """

    def __init__(
        self,
        source: GramSource,
        order: Rows,
        grid: Grid,
        folds: Sequence[Fold],
        problems: Sequence[list[FoldProblem]],
        *,
        fit_intercept: bool,
        buffers: int,
        more_rounds: int,
        threads: int,
    ) -> None:
        self._source, self._grid = source, grid
        self._folds = folds
        self._fit_intercept, self._threads = fit_intercept, threads
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        self._placed = [
            [_PlacedProblem.of(problem, fold, place) for problem in own]
            for fold, own in zip(folds, problems, strict=True)
        ]
        self._most_buffers, self._more_rounds = buffers, more_rounds
        self._free: list[Gram] = []
        self._made = 0

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every given width to the relative gap ``tol``.

        Any error stops the tasks under way.
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
        tasks = deque(
            _Task(gamma, number, placed, answers[gamma][split], part)
            for gamma in sorted(paths, reverse=True)
            for split, own in enumerate(self._placed)
            for number, placed in enumerate(own)
            for part in self._parts(gamma, len(paths[gamma]), split == last)
        )
        crew = _Crew(self, tasks, tol, listener.on_cells)
        told: set[int] = set()
        try:
            crew.start(min(self._threads, len(tasks)))
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

    def _parts(self, gamma: int, cells: int, of_last_split: bool) -> list[slice]:
        """The path of a problem in the parts that are solved on their own.

        Until the last task of a width is done its matrix is in use, and other threads wait: that
        task is cut in two where there are few. Not by the number of threads: a part starts cold,
        and scores are not to depend on ``n_jobs`` in the last digits.
        """
        tasks = sum(len(own) for own in self._placed)
        if of_last_split and tasks <= _FEW_TASKS and cells > 1 and self.stores(gamma):
            cut = -(-2 * cells // 3)  # later cells, with large C or p, take longer
            return [slice(cut, cells), slice(0, cut)]
        return [slice(0, cells)]

    def stores(self, gamma: int) -> bool:
        """Whether a width needs memory for its Gram matrix."""
        return self._source.stores(self._grid.gammas[gamma])

    def buffer(self) -> Gram | None:
        """Memory for a Gram matrix, or None if all of it is in use. Not thread-safe."""
        if self._free:
            return self._free.pop()
        if self._made < self._most_buffers:
            self._made += 1
            return np.empty((self._source.size, self._source.size), dtype=self._source.dtype)
        return None

    def give_back(self, gram: Gram) -> None:
        """The Gram matrix is not needed any more. Not thread-safe."""
        self._free.append(gram)

    def build(self, gamma: int, out: Gram | None, threads: int) -> _Kernel:
        """The kernel of a width, with its matrix in ``out`` if it is stored."""
        width = self._grid.gammas[gamma]
        if out is None:
            return _Kernel(None, self._source.points(width))
        self._source.fill(width, out, threads)
        return _Kernel(out, None)

    def solve(
        self, task: _Task, kernel: _Kernel, tol: float, on_cells: Callable[[int], None]
    ) -> None:
        """Follow the path of one binary problem, and note what is solved of it."""
        placed, cells = task.placed, task.answers.cells[task.part]
        outcome = _core.solve_fold_path(
            kernel.matrix,
            kernel.points,
            placed.train,
            placed.y,
            placed.cost,
            placed.held_out,
            placed.train_columns,
            placed.held_out_columns,
            self._fit_intercept,
            self._grid.p[cells],
            self._grid.C[cells],
            tol,
            self._more_rounds,
            on_cells,
            self._source.cancel,
        )
        supports = np.empty(outcome["supports"].shape, dtype=np.bool_)
        supports[:, placed.at] = outcome["supports"]
        task.answers.add(
            slice(task.part.start, task.part.start + len(outcome["gap"])),
            task.number,
            placed.problem,
            decision=outcome["decision"][:, placed.back],
            supports=supports,
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
                    memory = self._search.buffer() if stored else None
                    if memory is not None or not stored:
                        self._building = gamma
                        # Alone, it may use the threads of those who wait for it.
                        threads = self._size - self._busy
                        return lambda: self._build(gamma, memory, threads)
                self._changed.wait(0.1)

    def _build(self, gamma: int, memory: Gram | None, threads: int) -> None:
        built = _Kernel(memory, None)
        try:
            built = self._search.build(gamma, memory, threads)
        except InterruptedError:
            return  # cancelled
        finally:
            with self._changed:
                self._building = None
                self._kernels[gamma] = built
                self._changed.notify_all()

    def _release(self, gamma: int) -> None:
        matrix = self._kernels.pop(gamma).matrix
        if matrix is not None:
            self._search.give_back(matrix)

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
