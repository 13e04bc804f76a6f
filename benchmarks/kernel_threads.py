"""What more threads gain, and how many kernel entries a fit computes: columns of the kernel suite.

By Amdahl's law a fit whose share s is serial takes ``s + (1 - s) / t`` of its time on t threads.
The times of one thread and of t give s, and s the speed-up on more. The law knows nothing of memory
that cores share, of clocks that fall, or of work split more coarsely: it is the best to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.kernel_duels import problem_of
from benchmarks.tables import OURS, Record, geometric_mean, name_of, ratio, table

ONE_THREAD = "psvm-1-thread"
PREDICTED = (8, 16, 32)  # threads


def serial_share(speed_up: float, threads: int) -> float | None:
    """The share s of one thread's time for which Amdahl's law gives this speed-up.

    None if more threads took longer, which is not in the law: other work was on the machine, or the
    threads were in each other's way.
    """
    if speed_up < 1.0:
        return None
    return max((threads / speed_up - 1.0) / (threads - 1.0), 0.0)


def amdahl(share: float, threads: int) -> float:
    """The speed-up over one thread if a share of its time is serial."""
    return 1.0 / (share + (1.0 - share) / threads)


def entries_per_product(row: Record) -> float | None:
    """Kernel entries over training rows times support vectors, where they were counted."""
    if not row.get("kernel_entries") or not row.get("n_support"):
        return None
    return float(row["kernel_entries"] / (row["n_train"] * row["n_support"]))


def gains_of_threads(records: Iterable[Record]) -> Iterator[tuple[Record, Record, float]]:
    """Fits on several threads, the same on one, and the speed-up between them."""
    rows = list(records)
    alone = {problem_of(row): row for row in rows if row["rival"] == ONE_THREAD and "turns" in row}
    for row in rows:
        one = alone.get(problem_of(row))
        if (
            row["rival"] == OURS
            and "turns" in row
            and one is not None
            and row.get("threads", 1) > 1
        ):
            yield row, one, ratio(one, row, "fit_seconds")


def thread_lines(records: Iterable[Record]) -> list[str]:
    """The table, over the problems on which psvm ran with one thread too or counted its entries."""
    rows, ours = list(records), []
    known = {problem_of(row): (one, gain) for row, one, gain in gains_of_threads(rows)}
    gains, counts = [], []
    for row in rows:
        if row["rival"] != OURS or "turns" not in row:
            continue
        count = entries_per_product(row)
        gained = [""] * (3 + len(PREDICTED))
        if problem_of(row) in known:
            one, gain = known[problem_of(row)]
            gains.append(gain)
            gained = [f"{one['fit_seconds']:.3g}", *gain_cells(gain, row["threads"])]
        elif count is None:
            continue
        counts += [] if count is None else [count]
        counted = "" if count is None else f"{count:.2f}"
        ours.append([name_of(row), f"{row['fit_seconds']:.3g}", *gained, counted])
    if not ours:
        return []
    threads = max(row.get("threads", 1) for row in rows)
    mean = ["geometric mean", "", ""]
    mean += gain_cells(geometric_mean(gains), threads) if gains else [""] * (2 + len(PREDICTED))
    mean.append(f"{geometric_mean(counts):.2f}" if counts else "")
    header = ["psvm", "fit s", "on one thread", f"gain of {threads}", "serial share"]
    header += [f"predicted on {t}" for t in PREDICTED]
    return table([*header, "kernel entries per n x n_SV"], [mean, *ours])


def gain_cells(gain: float, threads: int) -> list[str]:
    """A speed-up, the serial share it tells of, and what that predicts."""
    share = serial_share(gain, threads)
    if share is None:
        return [f"{gain:.2f}x", "none", *([""] * len(PREDICTED))]
    return [f"{gain:.2f}x", f"{share:.0%}", *(f"{amdahl(share, t):.1f}x" for t in PREDICTED)]
