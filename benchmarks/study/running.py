"""Splits of tables, run by several processes: the same for all parts of the study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from psvm.paper.parallel import Finished, Job, run_jobs


class Work(Protocol):
    """What is to be done on one split of one table; called in a process of its own."""

    @property
    def dataset(self) -> str:
        """Name of the table."""

    @property
    def repeat(self) -> int:
        """Number of the split."""

    @property
    def expected_seconds(self) -> float:
        """By a guess: the longest are begun first."""

    def __call__(self) -> Any:
        """Do it."""


def run(
    work: Sequence[Work], processes: int, remark: Callable[[Any], str] = lambda result: ""
) -> tuple[list[Any], list[str]]:
    """Run it all, with a line for each; what was returned, and in words what failed."""
    results: list[Any] = []
    failures: list[str] = []

    def ended(finished: Finished) -> None:
        label = finished.job.label
        if finished.error is None:
            results.append(finished.result)
            print(f"  {label}{remark(finished.result)}", flush=True)
        else:
            failures.append(f"{label}: {finished.error}")
            print(f"  {label}: failed", flush=True)

    jobs = [
        Job(
            key=f"{one.dataset}-{one.repeat}",
            label=f"{one.dataset}, repeat {one.repeat}",
            expected_seconds=one.expected_seconds,
            call=one,
        )
        for one in work
    ]
    run_jobs(jobs, processes=processes, on_finish=ended)
    return results, failures
