"""What everyday problems are to reach, and what was measured: the first table of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.everyday.duels import counted, groups, is_bound, mean_ratio, ratio_of
from benchmarks.everyday.problems import DEFAULTS, KERNEL_PS, LINEAR_PS
from benchmarks.kernel_targets import Target, Value
from benchmarks.tables import Record

# Of each of ours: the rival, and by what no group of problems may be slow.
KERNEL_MACHINES = {
    "PSVC": ("SVC", ("kernel", "rows", "classes")),
    "PSVR": ("SVR", ("kernel", "rows")),
}
LINEAR_MACHINES = {"LinearPSVC": "LinearSVC", "LinearPSVR": "LinearSVR"}
SHORT = 5e-3  # seconds: a fit that takes no longer may be slower than the rival's
LATENCY = 1.2  # times the rival's, for one row


def targets(records: Sequence[Record]) -> list[Target]:
    """The targets in their order; ratios are the rival's seconds over ours."""
    good = counted(records)
    by_default = [row for row in good if row["against"] == DEFAULTS and row["rival"] != "LIBLINEAR"]
    random = [row for row in by_default if row["part"] == "random"]
    named = [row for row in by_default if row["part"] == "named"]
    fits = [*random, *named, *(row for row in by_default if row["part"] == "table")]
    result = []
    for estimator in KERNEL_MACHINES:
        result += kernel_targets(estimator, of(random, estimator), of(fits, estimator))
    for estimator, rival in LINEAR_MACHINES.items():
        linear = of(random, estimator)
        text = f"{estimator} p = 1, 2 >= 1.5x {rival}"
        result.append(Target(text, 1.5, True, values(linear)))
        by_size = [value for p in LINEAR_PS for value in group_values(of_p(linear, p), ["rows"])]
        text = f"{estimator}: no size under 1x"
        result.append(Target(text, 1.0, True, by_size, of_worst=True))
    for text, sources, ps in (
        ("150 classes >= 1x", ("many classes",), None),
        ("iris and wine, p = 1 >= 1x SVC", ("iris", "wine"), (1.0,)),
    ):
        rows = [row for row in named if row["problem"].split(",")[0] in sources]
        rows = [row for row in rows if ps is None or row["p"] in ps]
        result.append(Target(text, 1.0, True, values(rows), of_worst=True))
    one = [row for row in by_default if row["part"] == "latency" and row["asked"] == 1]
    slowness = [Value(1.0 / ratio_of(row), name_of(row)) for row in one]
    text = f"one row <= {LATENCY:g}x the rival's seconds"
    result.append(Target(text, LATENCY, False, slowness, of_worst=True))
    return result


def kernel_targets(
    estimator: str, random: Sequence[Record], fits: Sequence[Record]
) -> list[Target]:
    """Those of PSVC and of PSVR, on random problems and on all fits."""
    rival, fields = KERNEL_MACHINES[estimator]
    result = [
        Target(f"{estimator} p = {p:g} >= {limit:g}x {rival}", limit, True, values(of_p(random, p)))
        for p, limit in zip(KERNEL_PS, (3.0, 2.0), strict=True)
    ]
    result += [
        Target(
            f"{estimator} p = {p:g}: no {', '.join(fields).replace('rows', 'size')} under 1.2x",
            1.2,
            True,
            group_values(of_p(random, p), fields),
            of_worst=True,
        )
        for p in KERNEL_PS
    ]
    long = [row for row in fits if row["seconds"] > SHORT]
    text = f"{estimator}: no problem under 0.8x that takes over 5 ms"
    result.append(Target(text, 0.8, True, values(long), of_worst=True))
    callables = [row for row in random if row["kernel"] == "callable"]
    result.append(Target(f"callable kernels >= 1x {rival}", 1.0, True, values(callables)))
    return result


def of(records: Iterable[Record], estimator: str) -> list[Record]:
    """The records of one of ours."""
    return [row for row in records if row["estimator"] == estimator]


def of_p(records: Iterable[Record], p: float) -> list[Record]:
    """The records of an exponent."""
    return [row for row in records if row["p"] == p]


def name_of(record: Record) -> str:
    """The problem in one cell."""
    exponent = "five p" if record["part"] == "search" else f"p={record['p']:g}"
    words = [record["estimator"], f"{record['problem']}, {exponent}"]
    if record["part"] == "latency":
        words.append(f"{record['method']}, {record['asked']} rows")
    return " ".join(words)


def values(records: Iterable[Record]) -> list[Value]:
    """Ratios by name."""
    return [Value(ratio_of(row), name_of(row), is_bound(row)) for row in records]


def group_values(records: Sequence[Record], fields: Iterable[str]) -> list[Value]:
    """The mean of every group that has one."""
    means = {
        f"{field} {value}, p={members[0]['p']:g}": mean_ratio(members)
        for field in fields
        for value, members in groups(records, field).items()
    }
    return [Value(mean, name) for name, mean in means.items() if mean == mean]
