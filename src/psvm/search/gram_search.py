"""The search on shared Gram matrices: tasks (width, split, problem), one thread each.

A Gram matrix is that of a width and of prepared rows, which all splits share or, behind a
preprocessor, each has its own of. Widths come one after the other. The first thread that needs a
matrix builds it, in a buffer that the last task of an earlier one has left, unless it is still
there; where none is stored, no task waits. A task follows its path over p, C and epsilon in C++
without the interpreter's lock.
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
from psvm.search.folds import Array, FoldProblem, Rows, ranges_of
from psvm.search.gram import Gram, GramSource, empty_matrix
from psvm.search.problem import PreparedRows, SearchProblem
from psvm.search.watch import SearchStopped
from psvm.solvers.new_threads import starting_threads

# Seconds between two looks of the main thread at signals and progress.
_LOOK = 0.05
# Which matrix: the number of its width, and that of its rows.
_Which = tuple[int, int]
# One of the times that it is in use, until all tasks of this turn are done.
_Turn = tuple[_Which, int]
# That of memory without a matrix.
_NONE: _Which = (-1, -1)
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
    def of(cls, places: Rows) -> _HeldOut:
        in_order = np.argsort(places)
        rows = np.ascontiguousarray(places[in_order])
        return cls(rows, ranges_of(rows), np.argsort(in_order))


@dataclass(frozen=True)
class _PlacedProblem:
    """A problem of a split by places in the Gram matrix, for all widths."""

    own: FoldProblem  # rows by place
    train: Rows
    train_columns: Rows
    held_out: _HeldOut

    @classmethod
    def of(cls, problem: FoldProblem, held_out: _HeldOut, places: Rows) -> _PlacedProblem:
        """``places`` are those of the training rows of the split."""
        at = np.argsort(places[problem.of_train])
        train = np.ascontiguousarray(places[problem.of_train][at])
        return cls(problem.in_order(at), train, ranges_of(train), held_out)


@dataclass(frozen=True)
class _Kernel:
    """A kernel: a matrix and the memory it is part of, or points to compute entries from."""

    matrix: Gram | None
    memory: Gram | None
    points: Any


@dataclass(frozen=True)
class _Task:
    turn: _Turn  # of the kernels
    split: int
    number: int  # of the problem
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
    sources : sequence of GramSource
        One for each of the prepared rows of the problem, over these in the order of ``orders``.
    orders : sequence of ndarray of int
        Which of the prepared rows is at each place of the Gram matrix.
    effort : Effort
    """

    def __init__(
        self,
        problem: SearchProblem,
        sources: Sequence[GramSource],
        orders: Sequence[Rows],
        effort: Effort,
    ) -> None:
        self._problem, self._sources, self._orders = problem, sources, orders
        self._effort = effort
        self._size, self._grid, self._folds = problem.size, problem.grid, problem.folds
        self._fit_intercept = problem.fit_intercept
        self._splits = [own.splits for own in problem.prepared]
        placed: dict[int, list[_PlacedProblem]] = {}
        for own, order in zip(problem.prepared, orders, strict=True):
            placed |= _placed(problem, own, order)
        self._placed = [placed[split] for split in range(len(self._folds))]
        self.cancel = _core.Cancel()
        self._free: list[tuple[Gram, _Which]] = []  # with the matrix that is in it
        self._made = 0
        self._solved: dict[tuple[int, int, int], Array] = {}  # alpha by cell, split and problem

    @property
    def exact(self) -> bool:
        """Not of a small set, whose whole fits are polished to the last digits."""
        return self._size > SMALL

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every width, in the order given, to the relative gap ``tol``.

        Cells whose solutions are remembered start from them. Any error stops the tasks under way.
        """
        self.cancel = _core.Cancel()
        for source in self._sources:
            source.cancel = self.cancel
        answers = {
            gamma: [
                FoldAnswers.empty(cells, self._size, fold, len(own))
                for fold, own in zip(self._folds, self._placed, strict=True)
            ]
            for gamma, cells in paths.items()
        }
        limited = listener.end < np.inf
        # A problem on all splits, then the next: its part of the matrix is still in cache. If time
        # may be up before the end, some cells on all splits and then the next cells, or none would
        # be finished by then: in turns, where the splits have rows of their own.
        tasks = deque(
            _Task(
                ((gamma, rows), turn if len(self._splits) > 1 else 0),
                split,
                number,
                placed,
                answers[gamma][split],
                part,
            )
            for gamma, cells in paths.items()
            for turn, stretch in enumerate(self._stretches(cells) if limited else [None])
            for rows, splits in enumerate(self._splits)
            for number in range(max(len(self._placed[split]) for split in splits))
            for split in splits
            for placed in self._placed[split][number : number + 1]
            for part in (
                [stretch]
                if stretch
                else self._parts((gamma, rows), len(cells), split == splits[-1])
            )
        )
        crew = _Crew(self, tasks, tol, listener.on_cells)
        told: set[int] = set()
        try:
            crew.start(min(self._effort.threads, len(tasks)))
            while crew.wait(_LOOK):
                for own in answers.values():
                    listener.look_for_first(own)
                listener.on_wait()
                for gamma in crew.finished() - told:
                    told.add(gamma)
                    listener.on_width(gamma, answers.pop(gamma))
        except BaseException as error:
            self.cancel.set()
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
                # The first cell of all by itself: one that all splits have is a model, whatever
                # happens next.
                alone = 1 if few[0] == 0 else len(few)
                found += [
                    (first, slice(part[0], part[-1] + 1))
                    for part in (few[:alone], few[alone:])
                    if part
                ]
        # Those of large C take longest, sometimes more time than there is.
        return [part for _, part in sorted(found, key=lambda placed: placed[0])]

    def _parts(self, which: _Which, cells: int, of_last_split: bool) -> list[slice]:
        """The path of a problem in the parts that are solved on their own.

        Until the last task of a width is done its matrix is in use, and other threads wait: that
        task is cut in two where there are few. Not by the number of threads: a part starts cold,
        and scores are not to depend on ``n_jobs`` in the last digits. Nobody waits where splits
        have matrices of their own.
        """
        tasks = sum(len(own) for own in self._placed) if len(self._sources) == 1 else _FEW_TASKS + 1
        if of_last_split and tasks <= _FEW_TASKS and cells > 1 and self.stores(which):
            cut = min(-(-2 * cells // 3), cells - 1)  # later cells, with large C or p, take longer
            return [slice(cut, cells), slice(0, cut)]
        return [slice(0, cells)]

    def stores(self, which: _Which) -> bool:
        """Whether a kernel needs memory for its Gram matrix."""
        gamma, rows = which
        return self._sources[rows].stores(self._grid.gammas[gamma])

    def buffer(self, which: _Which) -> tuple[Gram, bool] | None:
        """Memory for a matrix, and whether it is there already. Not thread-safe.

        None if all memory is in use.
        """
        for place, (memory, held) in enumerate(self._free):
            if held == which:
                del self._free[place]
                return memory, True
        if self._free:
            return self._free.pop()[0], False
        if self._made < self._effort.buffers:
            self._made += 1
            largest = max(source.size for source in self._sources)
            return empty_matrix(largest, self._sources[0].dtype), False
        return None

    def give_back(self, memory: Gram, which: _Which) -> None:
        """The matrix in this memory is not needed now. Not thread-safe."""
        self._free.append((memory, which))

    def build(self, which: _Which, room: tuple[Gram, bool] | None, threads: int) -> _Kernel:
        """A kernel, with its matrix in the memory of ``room`` if it is stored."""
        gamma, rows = which
        width, source = self._grid.gammas[gamma], self._sources[rows]
        if room is None:
            return _Kernel(None, None, source.points(width))
        memory, filled = room
        matrix = memory[: source.size, : source.size]
        if not filled:
            source.fill(width, matrix, threads)
        return _Kernel(matrix, memory, None)

    def head_start(self, cell: int) -> HeadStart | None:
        """What is known of the fit of a cell to all rows; None if it is not remembered."""
        if not self._problem.complete:
            return None
        total = np.zeros((len(self._placed[0]), self._size))
        times = np.zeros_like(total)
        for split, own in enumerate(self._placed):
            for number, placed in enumerate(own):
                alpha = self._solved.get((cell, split, number))
                if alpha is None:
                    return None
                total[number, placed.own.rows] += placed.own.coef(alpha)
                times[number, placed.own.rows] += 1.0
        coef, gram = total / np.maximum(times, 1.0), None
        gamma = int(self._grid.gamma_number[cell])
        # Rows of a split are prepared for that split: their matrix is not that of the final fit.
        if len(self._sources) == 1 and self._sources[0].rounds(self._grid.gammas[gamma]):
            gram = next((memory for memory, held in self._free if held == (gamma, 0)), None)
        return HeadStart(coef, self._orders[0], gram)

    def solve(
        self, task: _Task, kernel: _Kernel, tol: float, on_cells: Callable[[int], None]
    ) -> None:
        """Follow the path of one problem, and note what is solved of it."""
        placed, cells = task.placed, task.answers.cells[task.part]
        problem, asked = placed.own, self._problem.cells(cells)
        known = [self._solved.get((cell, task.split, task.number)) for cell in cells]
        starts = np.array([alpha for alpha in known if alpha is not None])
        outcome = _core.solve_fold_path(
            kernel.points if kernel.matrix is None else kernel.matrix,
            _core.FoldProblem(
                train=placed.train,
                y=problem.y,
                target=problem.target,
                cost=problem.cost,
                place=None if problem.sides == 1 else problem.place,
                held_out=placed.held_out.rows,
                train_columns=placed.train_columns,
                held_out_columns=placed.held_out.columns,
                fit_intercept=self._fit_intercept,
            ),
            asked.p,
            asked.C,
            _core.Precision(
                tol=tol,
                more_rounds=self._effort.more_rounds,
                max_steps=self._effort.steps_per_row * placed.train.size,
                keep_alpha=self._effort.remembers,
            ),
            epsilons=asked.epsilon,
            starts=starts if len(starts) == len(cells) else None,
            on_cells=on_cells,
            cancel=self.cancel,
        )
        if self._effort.remembers:
            for cell, alpha in zip(cells, outcome["alpha"], strict=False):
                self._solved[cell, task.split, task.number] = alpha
        task.answers.add(
            slice(task.part.start, task.part.start + len(outcome["gap"])),
            task.number,
            problem.rows,
            decision=self._problem.in_units(outcome["decision"][:, placed.held_out.back]),
            supports=outcome["supports"].view(np.bool_),
            gap=outcome["gap"],
            seconds=outcome["seconds"],
        )


def _placed(
    problem: SearchProblem, own: PreparedRows, order: Rows
) -> dict[int, list[_PlacedProblem]]:
    """The problems of the splits of some rows, by places in the Gram matrix."""
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    found = {}
    for split, train, test in zip(own.splits, own.train, own.test, strict=True):
        held_out = _HeldOut.of(place[test])
        found[split] = [
            _PlacedProblem.of(one, held_out, place[train]) for one in problem.problems[split]
        ]
    return found


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
        self._left: dict[_Turn, int] = {}
        for task in tasks:
            self._left[task.turn] = self._left.get(task.turn, 0) + 1
        self._kernels: dict[_Turn, _Kernel] = {}
        self._building: _Turn | None = None
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
            return {gamma for (gamma, _), _ in self._left} - {
                gamma for ((gamma, _), _), left in self._left.items() if left
            }

    def join(self) -> None:
        for worker in self._workers:
            if worker.ident is not None:  # an interrupt may come before it is started
                worker.join()
        for turn in list(self._kernels):
            self._release(turn)

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
                if not self._tasks or self._failure or self._search.cancel.is_set():
                    return None
                turn = self._tasks[0].turn
                which, _ = turn
                if turn in self._kernels:
                    task = self._tasks.popleft()
                    self._busy += 1
                    return lambda: self._solve(task)
                if self._building is None:
                    stored = self._search.stores(which)
                    room = self._search.buffer(which) if stored else None
                    if room is not None or not stored:
                        self._building = turn
                        # Alone, it may use the threads of those who wait for it.
                        threads = self._size - self._busy
                        return lambda: self._build(turn, room, threads)
                self._changed.wait(0.1)

    def _build(self, turn: _Turn, room: tuple[Gram, bool] | None, threads: int) -> None:
        built = None
        try:
            built = self._search.build(turn[0], room, threads)
        except InterruptedError:
            pass  # cancelled
        finally:
            with self._changed:
                self._building = None
                if built is not None:
                    self._kernels[turn] = built
                elif room is not None:
                    self._search.give_back(room[0], _NONE)
                self._changed.notify_all()

    def _release(self, turn: _Turn) -> None:
        memory = self._kernels.pop(turn).memory
        if memory is not None:
            self._search.give_back(memory, turn[0])

    def _solve(self, task: _Task) -> None:
        try:
            self._search.solve(task, self._kernels[task.turn], self._tol, self._on_cells)
        finally:
            with self._changed:
                self._busy -= 1
                self._left[task.turn] -= 1
                if self._left[task.turn] == 0:
                    self._release(task.turn)
                    self._changed.notify_all()
