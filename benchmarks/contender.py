"""One rival at one p on one problem: its turns in fresh processes, and the referee's verdict."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import Data
from benchmarks.linear_objective import LinearModel, judge_linear
from benchmarks.nursery import Nursery
from benchmarks.objective import DualModel, judge
from benchmarks.worker import Task

CLOCKS = ("fit_seconds", "fit_cpu_seconds", "predict_seconds", "floor_seconds")


class Contender:
    """A task and its turns so far."""

    def __init__(self, task: Task, repeat_below: float, nursery: Nursery) -> None:
        self.task = task
        self.nursery = nursery
        self.repeat_below = repeat_below
        self.turns: list[dict[str, float]] = []
        self.status = "ok"
        self.best_file = Path(task.model_file).with_suffix(".best.npz")
        self.judged_turn: dict[str, float] | None = None
        self.verdict: dict[str, float] = {}

    @property
    def best(self) -> dict[str, float]:
        """The turn with the fastest fit."""
        return min(self.turns, key=lambda turn: turn["fit_seconds"])

    @property
    def over_limit(self) -> bool:
        """Whether a turn was ended because its fit took too long."""
        return self.status.startswith("over")

    @property
    def wants_turn(self) -> bool:
        """Slow fits are not repeated: a minute is steady enough, and the machine has other work."""
        done = bool(self.turns) and self.best["fit_seconds"] > self.repeat_below
        return self.status == "ok" and not done

    def limit(self, seconds: float) -> None:
        """End later turns whose fit takes longer."""
        self.task = replace(self.task, time_limit=seconds)

    def take_turn(self) -> None:
        """Measure once in a fresh process; keep the model if this was the fastest fit."""
        ended = self.nursery.measure(self.task)
        if ended.over_limit:
            self.status = f"over {self.task.time_limit:.3g} s"
        elif ended.answer is None:
            self.status = f"failed: {ended.error}"
        else:
            self.turns.append(ended.answer)
            if self.turns[-1] is self.best:
                shutil.move(self.task.model_file, self.best_file)

    def judge(self, data: Data) -> dict[str, float]:
        """The referee's numbers for the model of the fastest turn; empty if there is no model.

        Kernel models are judged by :func:`judge_together`, before.
        """
        if self.turns and self.judged_turn is not self.best:
            self.judged_turn = self.best
            arrays = self.model()
            if "coef" in arrays:
                linear = LinearModel(arrays["coef"], float(arrays["intercept"]))
                train, test = (data.X_train, data.y_train), (data.X_test, data.y_test)
                verdict = judge_linear(linear, train, test, C=self.task.C, p=self.task.p)
                self.verdict = asdict(verdict)
        return self.verdict

    def model(self) -> dict[str, Any]:
        """The stored fields of the model of the fastest turn."""
        with np.load(self.best_file) as stored:
            return dict(stored)

    def record(self, data: Data) -> dict[str, Any]:
        """Times of the turns and the verdict of the referee."""
        task = self.task
        row: dict[str, Any] = {
            "case": task.case,
            "n_train": data.X_train.shape[0],
            "n_test": data.X_test.shape[0],
            "n_features": data.X_train.shape[1],
            "n_classes": int(data.y_train.max()) + 1,
            "storage": "sparse" if sp.issparse(data.X_train) else "dense",
            "C": task.C,
            "rival": task.rival,
            "p": task.p,
            "threads": task.threads,
            "status": self.status,
        }
        if task.gamma is not None:
            row["gamma"] = task.gamma
            row["gamma_factor"] = round(task.gamma / data.gamma_scale, 6)
        if self.over_limit:
            row["time_limit"] = task.time_limit
        if not self.turns:
            return row
        row |= {key: value for key, value in self.best.items() if value is not None}
        for clock in ("predict_seconds", "floor_seconds"):
            if clock in row:
                row[clock] = min(turn[clock] for turn in self.turns)
        row["turns"] = [{key: turn[key] for key in CLOCKS if turn[key]} for turn in self.turns]
        return row | self.judge(data)


def judge_together(contenders: Iterable[Contender], data: Data) -> None:
    """The referee's numbers for all kernel models of one problem, which differ in rival and p."""
    models = {c: c.model() for c in contenders if c.turns}
    judged = {c: DualModel(**fields) for c, fields in models.items() if "support" in fields}
    if not judged:
        return
    task = next(iter(judged)).task
    assert task.gamma is not None
    verdicts = judge(
        list(judged.values()),
        [contender.task.p for contender in judged],
        (data.X_train, data.y_train),
        (data.X_test, data.y_test),
        C=task.C,
        gamma=task.gamma,
        threads=task.threads,
    )
    for contender, verdict in zip(judged, verdicts, strict=True):
        contender.judged_turn, contender.verdict = contender.best, asdict(verdict)
