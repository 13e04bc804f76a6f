"""What a record says: ratios, who was slower, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.kernel_duels import ALLOWED_EXCESS
from benchmarks.tables import Record, geometric_mean, table, times

Choice = Callable[[Record], bool]


def ratio_of(record: Record) -> float:
    """The rival's seconds over ours."""
    return float(record["rival_seconds"] / record["seconds"])


def why_not(record: Record) -> str:
    """Why a record does not count; empty if it does."""
    for prefix, who in (("", "psvm"), ("rival_", record["rival"])):
        if f"{prefix}failed" in record:
            return f"{who}: {record[f'{prefix}failed']}"
    if "over" in record and "rival_over" in record:
        return "both over the limit"
    if record.get("excess", 0.0) > ALLOWED_EXCESS:
        return f"our objective is {record['excess']:.1e} above"
    return ""


def counted(records: Iterable[Record]) -> list[Record]:
    """Records that count, lower bounds included."""
    return [record for record in records if not why_not(record)]


def is_bound(record: Record) -> bool:
    """Whether the rival never ended, so that its ratio is only known to be larger."""
    return "rival_over" in record


def words(record: Record) -> str:
    """A ratio in a cell; marked, if it is a bound: above the ratio if ours never ended."""
    mark = "> " if is_bound(record) else "< " if "over" in record else ""
    return mark + times(ratio_of(record))


def mean_ratio(records: Iterable[Record]) -> float:
    """Geometric mean of the ratios, without lower bounds.

    Ours over the limit counts with the limit for its seconds, which flatters it; left out, it
    would be flattered more.
    """
    return geometric_mean(ratio_of(record) for record in records if not is_bound(record))


def summary(records: Sequence[Record]) -> str:
    """The mean, and how often we are slower."""
    if not records:
        return ""
    slower = sum(ratio_of(record) < 1.0 for record in records)
    mean = mean_ratio(records)
    shown = times(mean) if mean == mean else "bounds only"
    return f"{shown} ({slower} of {len(records)})"


FEATURE_BANDS = ((0, 10), (11, 60), (61, 10**9))


def feature_band(record: Record) -> str:
    """Few, some or many."""
    low, high = next(band for band in FEATURE_BANDS if record["features"] <= band[1])
    return f"{low} to {high}" if high < FEATURE_BANDS[-1][1] else f"from {low}"


FIELDS: dict[str, Callable[[Record], object]] = {
    "kernel": lambda record: record["kernel"],
    "rows": lambda record: record["rows"],
    "features": feature_band,
    "classes": lambda record: record["classes"],
    "C": lambda record: record["C"],
    "gamma x": lambda record: record["gamma_factor"],
    "storage": lambda record: record["storage"],
    "epsilon": lambda record: record["epsilon"],
}


def groups(records: Sequence[Record], field: str) -> dict[object, list[Record]]:
    """The records by the value of a field, in its order."""
    value_of = FIELDS[field]
    found: dict[object, list[Record]] = {}
    for record in sorted(records, key=lambda r: (isinstance(value_of(r), str), value_of(r))):
        found.setdefault(value_of(record), []).append(record)
    return found


def group_table(
    records: Sequence[Record], fields: Iterable[str], columns: dict[str, Choice]
) -> list[str]:
    """Summaries of all records and of every group, one column per choice of them."""

    def cells(chosen: Sequence[Record]) -> list[str]:
        return [summary([row for row in chosen if choice(row)]) for choice in columns.values()]

    rows = [["all", *cells(records)]]
    for field in fields:
        for value, members in groups(records, field).items():
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            rows.append([f"{field} {shown}", *cells(members)])
    return table(["", *columns], rows)
