"""Which problems with targets: drawn, tables, predictions and searches, as those with classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.everyday.problems import (
    KERNEL_PS,
    KERNEL_ROWS,
    KERNELS,
    LINEAR_PS,
    LINEAR_ROWS,
    SEARCH_ROWS,
    STORED,
    Problem,
    drawn,
)

TUBES = (0.0, 0.01, 0.1, 0.5)  # epsilon, in standard deviations of y
LATENCY_DATA = "diabetes"
KERNEL_DRAWS, LINEAR_DRAWS, SEARCH_DRAWS = 4, 3, 1  # of each kind and size


def random_kernel(kernel: str, rows: int, index: int) -> Problem:
    """A random problem for PSVR."""
    fields = drawn("PSVR", kernel, rows, index)
    fields |= {"classes": 0, "sparse": fields["sparse"] and kernel in STORED}
    fields["function"] = fields["function"] if kernel == "callable" else ""
    tube = drawn_tube(fields["seed"])
    return Problem("random", "PSVR", kernel=kernel, ps=KERNEL_PS, epsilon=tube, **fields)


def random_linear(rows: int, p: float, index: int) -> Problem:
    """A random problem for LinearPSVR."""
    fields = drawn("LinearPSVR", f"p={p:g}", rows, index)
    fields |= {"kernel": "linear", "gamma_factor": 1.0, "function": "", "classes": 0}
    tube = drawn_tube(fields["seed"])
    return Problem("random", "LinearPSVR", ps=(p,), epsilon=tube, **fields)


def drawn_tube(seed: int) -> float:
    """The epsilon of a problem."""
    return float(np.random.default_rng([seed, 1]).choice(TUBES))


def kernel_problems(all_rows: tuple[int, ...], draws: int) -> Iterator[Problem]:
    """Every kernel and size."""
    for rows in all_rows:
        for index in range(draws):
            for kernel in KERNELS:
                yield random_kernel(kernel, rows, index)


def linear_problems(all_rows: tuple[int, ...], draws: int) -> Iterator[Problem]:
    """Every size and exponent."""
    for rows in all_rows:
        for index in range(draws):
            for p in LINEAR_PS:
                yield random_linear(rows, p, index)


def tables(names: list[str]) -> Iterator[Problem]:
    """The tables at usual parameters."""
    for name in names:
        source = f"targets {name}"
        yield Problem("table", "PSVR", source, ps=KERNEL_PS, epsilon=0.1)
        for p in LINEAR_PS:
            yield Problem("table", "LinearPSVR", source, ps=(p,), kernel="linear", epsilon=0.1)


def latencies() -> Iterator[Problem]:
    """Predictions of a few rows."""
    yield Problem("latency", "PSVR", LATENCY_DATA, epsilon=0.1)
    yield Problem("latency", "LinearPSVR", LATENCY_DATA, ps=(2.0,), kernel="linear", epsilon=0.1)


def searches(all_rows: tuple[int, ...], draws: int) -> Iterator[Problem]:
    """Grid searches."""
    for rows in all_rows:
        for index in range(draws):
            fields = drawn("PSVRCV", "rbf", rows, index)
            kept = {key: fields[key] for key in ("rows", "features", "seed")}
            yield Problem("search", "PSVRCV", **kept)


def plan(quick: bool, table_names: list[str]) -> list[Problem]:
    """All problems in their order."""
    if quick:
        return [
            *latencies(),
            *kernel_problems(KERNEL_ROWS[:2], 1),
            *linear_problems(LINEAR_ROWS[:3], 1),
            *tables(table_names[:2]),
            *searches(SEARCH_ROWS[:1], 1),
        ]
    return [
        *latencies(),
        *kernel_problems(KERNEL_ROWS, KERNEL_DRAWS),
        *linear_problems(LINEAR_ROWS, LINEAR_DRAWS),
        *tables(table_names),
        *searches(SEARCH_ROWS, SEARCH_DRAWS),
    ]
