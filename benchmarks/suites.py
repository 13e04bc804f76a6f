"""What can be run: the rivals, data sets and defaults of each ``--suite``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.cases import KERNEL_GROUPS, LINEAR_GROUPS


@dataclass(frozen=True)
class Suite:
    """Defaults of the command line, all of which its options can change.

    Attributes
    ----------
    cases : list of str
        Names of cases or groups.
    groups : dict of list of str
        Names that stand for several cases.
    kernel : bool
        Whether the problems have an rbf kernel; else they are linear.
    left_out : tuple of str
        Rivals that run only when they are asked for.
    give_up_after : float or None
        End a rival's fit after so many times psvm's.
    quick : dict
        What ``--quick`` changes.
    """

    cases: list[str]
    groups: dict[str, list[str]]
    kernel: bool
    ps: list[float]
    Cs: list[float]
    time_limit: float
    name: str
    left_out: tuple[str, ...] = ()
    give_up_after: float | None = None
    quick: dict[str, Any] = field(default_factory=dict)


SUITES: dict[str, Suite] = {
    "kernel": Suite(
        cases=["magic04", "a9a"],
        groups=KERNEL_GROUPS,
        kernel=True,
        ps=[1.0],
        Cs=[1.0],
        time_limit=600.0,
        name="latest",
        left_out=(
            *("psvm-1-thread", "torchkm", "clarabel", "psmo", "lightgbm"),
            *("psvm-100MB", "psvm-400MB", "psvm-1600MB"),
        ),
        give_up_after=40.0,
        quick={
            "cases": ["magic04", "satimage"],
            "max_rows": 4000,
            "repeats": 2,
            "ps": [1.0, 1.5, 2.0],
            "rivals": [
                *("psvm", "psvm-f32", "psvm-1-thread"),
                *("intelex", "intelex-f32", "sklearn", "control"),
            ],
            "name": "quick",
        },
    ),
    "linear": Suite(
        cases=["all"],
        groups=LINEAR_GROUPS,
        kernel=False,
        ps=[1.0, 1.5, 2.0, 3.0],
        Cs=[0.01, 1.0, 100.0],
        time_limit=60.0,
        name="linear",
        left_out=("psvm-newton", "psvm-descent"),
        quick={
            "cases": ["magic04", "news20_basehock"],
            "max_rows": 4000,
            "repeats": 1,
            "Cs": [1.0],
            "ps": [1.0, 1.5, 2.0],
            "time_limit": 5.0,
            "rivals": [
                *("psvm-1e-8", "psvm", "sklearn-dual", "sklearn-primal", "liblinear-primal"),
                *("liblinear-dual", "liblinear-dual-1e-2", "rehline", "lbfgs"),
            ],
            "name": "quick",
        },
    ),
    "nystroem": Suite(
        cases=["ijcnn1", "cod_rna", "skin_50k"],
        groups=KERNEL_GROUPS,
        kernel=True,
        ps=[1.5],
        Cs=[1.0],
        time_limit=600.0,
        name="nystroem",
        quick={
            "max_rows": 4000,
            "repeats": 1,
            "rivals": ["psvm", "nystroem-100", "nystroem-300"],
            "name": "quick",
        },
    ),
}
