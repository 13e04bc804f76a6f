"""Which problems: random ones drawn by seed, odd ones by name, tables, predictions and searches.

A problem is determined by its fields alone, and the quick draw is a part of the full one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed", "callable")
CALLABLES = ("rbf", "linear", "polynomial", "laplacian")  # scikit-learn's functions
STORED = ("linear", "poly", "rbf", "sigmoid")  # kernels that are also drawn with sparse rows
SPARSE_SHARE = 0.25  # of their problems
KERNEL_ROWS = (300, 1000, 3000)
LINEAR_ROWS = (300, 1000, 5000, 20_000)
FEATURES = (2, 300)  # fewest and most, evenly in the logarithm
CLASSES, CLASS_SHARES = (2, 3, 5, 8), (0.4, 0.2, 0.2, 0.2)
COSTS = tuple(10.0**k for k in range(-3, 4))
GAMMA_FACTORS = tuple(10.0**k for k in range(-2, 3))
KERNEL_PS, LINEAR_PS = (1.0, 1.5), (1.0, 2.0)
TABLE_ROWS = 3000  # larger tables are not everyday problems here
LATENCY_DATA = ("digits", "breast_cancer")
SEARCH_ROWS = (150, 300, 600)
KERNEL_DRAWS, LINEAR_DRAWS, CLOSE_DRAWS, SEARCH_DRAWS = 8, 6, 3, 2  # of each kind and size
REGRESSORS = ("PSVR", "LinearPSVR", "PSVRCV")
DEFAULTS, CLOSE = "defaults", "within 1e-4"


@dataclass(frozen=True)
class Problem:
    """One line of the plan; what does not apply keeps its default.

    Attributes
    ----------
    part : {"random", "named", "table", "latency", "search"}
        Where it is reported.
    estimator : {"PSVC", "LinearPSVC", "PSVCCV", "PSVR", "LinearPSVR", "PSVRCV"}
        Which of ours; problems of the last three are in :mod:`.regression_problems`.
    source : str
        Where the rows come from: see :mod:`benchmarks.everyday.rows`.
    ps : tuple of float
        Exponents; all of them take turns with the same rivals.
    against : {"defaults", "within 1e-4"}
        Rivals as their users call them, or at the cheapest setting that comes so close.
    function : str
        The kernel behind a callable.
    classes : int
        0 for targets that are numbers, or that come with the source.
    epsilon : float
        Half the width of the tube of such targets, which are standardised.
    """

    part: str
    estimator: str
    source: str = "random"
    ps: tuple[float, ...] = (1.0,)
    rows: int = 0
    features: int = 0
    classes: int = 0
    kernel: str = "rbf"
    function: str = ""
    sparse: bool = False
    C: float = 1.0
    gamma_factor: float = 1.0
    multi_class: str = "ovr"
    epsilon: float = 0.0
    against: str = DEFAULTS
    seed: int = 0

    @property
    def has_targets(self) -> bool:
        """Whether it is a regression."""
        return self.estimator in REGRESSORS

    @property
    def name(self) -> str:
        """What tells it from all others of its part and estimator."""
        words = [self.source] if self.source != "random" else []
        if self.rows:
            words.append(f"{self.rows} x {self.features}{' sparse' if self.sparse else ''}")
        if self.classes > 2:
            words.append(f"{self.classes} classes")
        if self.estimator in ("PSVC", "PSVR"):
            words.append(f"{self.kernel} {self.function}".strip())
        elif self.estimator == "LinearPSVC" and self.multi_class != "ovr":
            words.append(self.multi_class)
        if self.part == "random":
            width = f", gamma x{self.gamma_factor:g}" if self.kernel != "linear" else ""
            tube = f", epsilon={self.epsilon:g}" if self.has_targets else ""
            words.append(f"C={self.C:g}{width}{tube}, #{self.seed}")
        return ", ".join(words)


def drawn(estimator: str, kernel: str, rows: int, index: int) -> dict[str, Any]:
    """The random fields of a problem, which depend on the arguments and nothing else."""
    key = zlib.crc32(f"{estimator} {kernel} {rows} {index}".encode())
    rng = np.random.default_rng(key)
    classes = int(rng.choice(CLASSES, p=CLASS_SHARES))
    low, high = np.log(FEATURES)
    # make_classification puts every class at a corner of a cube of the informative features.
    fewest = int(np.ceil(np.log2(classes)))
    return {
        "rows": rows,
        "classes": classes,
        "features": max(fewest, round(float(np.exp(rng.uniform(low, high))))),
        "C": float(rng.choice(COSTS)),
        "gamma_factor": float(rng.choice(GAMMA_FACTORS)),
        "sparse": bool(rng.random() < SPARSE_SHARE),
        "function": str(rng.choice(CALLABLES)),
        "seed": key % 100_000,
    }


def random_kernel(kernel: str, rows: int, index: int) -> Problem:
    """A random problem for PSVC."""
    fields = drawn("PSVC", kernel, rows, index)
    fields["sparse"] = fields["sparse"] and kernel in STORED
    fields["function"] = fields["function"] if kernel == "callable" else ""
    return Problem("random", "PSVC", kernel=kernel, ps=KERNEL_PS, **fields)


def random_linear(rows: int, p: float, index: int, against: str = DEFAULTS) -> Problem:
    """A random problem for LinearPSVC."""
    fields = drawn("LinearPSVC", f"p={p:g}", rows, index)
    fields |= {"kernel": "linear", "gamma_factor": 1.0, "function": ""}
    return Problem("random", "LinearPSVC", ps=(p,), against=against, **fields)


def kernel_problems(all_rows: tuple[int, ...], draws: int) -> Iterator[Problem]:
    """Every kernel and size."""
    for rows in all_rows:
        for index in range(draws):
            for kernel in KERNELS:
                yield random_kernel(kernel, rows, index)


def linear_problems(
    all_rows: tuple[int, ...], draws: int, against: str = DEFAULTS
) -> Iterator[Problem]:
    """Every size and exponent."""
    for rows in all_rows:
        for index in range(draws):
            for p in LINEAR_PS:
                yield random_linear(rows, p, index, against)


def named(quick: bool) -> Iterator[Problem]:
    """Problems with a name, each of them slow once."""
    for source in ("iris", "wine"):
        yield Problem("named", "PSVC", source, ps=(1.0, 1.5, 2.0))
    yield Problem("named", "LinearPSVC", "wide", ps=(2.0,), kernel="linear")
    if not quick:
        yield Problem("named", "LinearPSVC", "pixels", ps=(2.0,), kernel="linear")
        yield Problem("named", "PSVC", "many classes", ps=KERNEL_PS)
        yield Problem(
            "named", "LinearPSVC", "many classes", ps=(2.0,), kernel="linear", multi_class="ovo"
        )


def tables(names: list[str]) -> Iterator[Problem]:
    """The tables at usual parameters."""
    for name in names:
        yield Problem("table", "PSVC", f"table {name}", ps=KERNEL_PS)
        for p in LINEAR_PS:
            yield Problem("table", "LinearPSVC", f"table {name}", ps=(p,), kernel="linear")


def latencies() -> Iterator[Problem]:
    """Predictions of a few rows."""
    for source in LATENCY_DATA:
        yield Problem("latency", "PSVC", source)
        yield Problem("latency", "LinearPSVC", source, ps=(2.0,), kernel="linear")


def searches(all_rows: tuple[int, ...], draws: int) -> Iterator[Problem]:
    """Grid searches."""
    for rows in all_rows:
        for index in range(draws):
            fields = drawn("PSVCCV", "rbf", rows, index)
            kept = {key: fields[key] for key in ("rows", "classes", "features", "seed")}
            yield Problem("search", "PSVCCV", **kept)


def plan(quick: bool, table_names: list[str]) -> list[Problem]:
    """All problems in their order."""
    if quick:
        return [
            *latencies(),
            *named(quick),
            *kernel_problems(KERNEL_ROWS[:2], 2),
            *linear_problems(LINEAR_ROWS[:3], 2),
            *linear_problems(LINEAR_ROWS[:2], 1, CLOSE),
            *tables(table_names[:2]),
            *searches(SEARCH_ROWS[:1], 1),
        ]
    return [
        *latencies(),
        *named(quick),
        *kernel_problems(KERNEL_ROWS, KERNEL_DRAWS),
        *linear_problems(LINEAR_ROWS, LINEAR_DRAWS),
        *linear_problems(LINEAR_ROWS, CLOSE_DRAWS, CLOSE),
        *tables(table_names),
        *searches(SEARCH_ROWS, SEARCH_DRAWS),
    ]
