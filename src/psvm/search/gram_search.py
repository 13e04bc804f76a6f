"""The search on shared Gram matrices: tasks (width, split, binary problem), one thread each.

Widths come one after the other, the largest (slowest) first. The first thread that needs a Gram
matrix builds it, in a buffer that the last task of an earlier width has left. A task follows its
path over p and C in C++ without the interpreter's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Thread

import numpy as np

from psvm import _core
from psvm.search.board import FoldAnswers, Listener
from psvm.search.folds import Array, Fold, FoldProblem, Rows, covering_ranges
from psvm.search.gram import Gram, GramSource
from psvm.search.grid import Grid
from psvm.search.watch import SearchStopped

# Seconds between two looks of the main thread at signals and progress.
_LOOK = 0.05


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
class _Task:
    gamma: int
    number: int  # of the binary problem
    placed: _PlacedProblem
    answers: FoldAnswers


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
        tasks = deque(
            _Task(gamma, number, placed, answers[gamma][split])
            for gamma in sorted(paths, reverse=True)
            for split, own in enumerate(self._placed)
            for number, placed in enumerate(own)
        )
        crew = _Crew(self, tasks, tol, listener.on_cell)
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

    def build(self, gamma: int, out: Gram, threads: int) -> None:
        """Fill the matrix of a width."""
        self._source.fill(self._grid.gammas[gamma], out, threads)

    def solve(self, task: _Task, gram: Gram, tol: float, on_cell: Callable[[], None]) -> None:
        """Follow the path of one binary problem, and note what is solved of it."""
        placed, cells = task.placed, task.answers.cells
        outcome = _core.solve_fold_path(
            gram,
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
            on_cell,
            self._source.cancel,
        )
        supports = np.empty(outcome["supports"].shape, dtype=np.bool_)
        supports[:, placed.at] = outcome["supports"]
        task.answers.add(
            slice(0, len(outcome["gap"])),
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
        on_cell: Callable[[], None],
    ) -> None:
        self._search, self._tasks, self._tol, self._on_cell = search, tasks, tol, on_cell
        self._changed = Condition()
        self._left: dict[int, int] = {}
        for task in tasks:
            self._left[task.gamma] = self._left.get(task.gamma, 0) + 1
        self._grams: dict[int, Gram] = {}
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
        for gram in self._grams.values():
            self._search.give_back(gram)
        self._grams.clear()

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
                if gamma in self._grams:
                    task = self._tasks.popleft()
                    self._busy += 1
                    return lambda: self._solve(task)
                if self._building is None:
                    gram = self._search.buffer()
                    if gram is not None:
                        self._building = gamma
                        # Alone, it may use the threads of those who wait for it.
                        threads = self._size - self._busy
                        return lambda: self._build(gamma, gram, threads)
                self._changed.wait(0.1)

    def _build(self, gamma: int, gram: Gram, threads: int) -> None:
        try:
            self._search.build(gamma, gram, threads)
        except InterruptedError:
            return  # cancelled
        finally:
            with self._changed:
                self._building = None
                self._grams[gamma] = gram
                self._changed.notify_all()

    def _solve(self, task: _Task) -> None:
        try:
            self._search.solve(task, self._grams[task.gamma], self._tol, self._on_cell)
        finally:
            with self._changed:
                self._busy -= 1
                self._left[task.gamma] -= 1
                if self._left[task.gamma] == 0:
                    self._search.give_back(self._grams.pop(task.gamma))
                self._changed.notify_all()
