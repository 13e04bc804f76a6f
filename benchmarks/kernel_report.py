"""The page of the kernel suite: targets, psvm against each rival, and everything measured."""

from __future__ import annotations

from benchmarks.kernel_duels import Duel, duels, problem_of
from benchmarks.kernel_targets import over_floor, target_lines, targets
from benchmarks.kernel_threads import thread_lines
from benchmarks.tables import OURS, Record, geometric_mean, name_of, ratio, table, times


def grouped(all_duels: list[Duel]) -> dict[str, list[Duel]]:
    """The duels of each rival; two classes and more classes, and each p > 1, are apart."""
    groups: dict[str, list[Duel]] = {}
    for duel in sorted(all_duels, key=lambda duel: (duel.ours["n_classes"] > 2, duel.ours["p"])):
        classes = "several classes" if duel.ours["n_classes"] > 2 else "two classes"
        p = f", p = {duel.ours['p']:g}" if duel.ours["p"] > 1.0 else ""
        groups.setdefault(f"{duel.theirs['rival']}{p}, {classes}", []).append(duel)
    return groups


def summary_lines(all_duels: list[Duel]) -> list[str]:
    """Geometric means of the ratios per rival; bounds of rivals that were ended stand apart."""
    rows = []
    for name, group in grouped(all_duels).items():
        good = [duel for duel in group if duel.counts and not duel.over_limit]
        ended = [duel for duel in group if duel.counts and duel.over_limit]
        fit = [duel.fit for duel in good]
        rows.append(
            [
                name,
                f"{geometric_mean(fit):.1f}x" if good else "",
                f"{min(fit):.1f}x" if good else "",
                f"{geometric_mean(duel.cpu for duel in good):.1f}x" if good else "",
                f"{geometric_mean(duel.predict for duel in good):.1f}x" if good else "",
                f"{len(good)} of {len(group)}",
                f"> {geometric_mean(duel.bound for duel in ended):.0f}x ({len(ended)})"
                if ended
                else "",
            ]
        )
    header = ["psvm is faster than", "fit (geometric mean)", "fit (worst)", "fit, CPU time"]
    return table([*header, "predict", "counted", "ended by the limit (problems)"], rows)


def not_faster_lines(all_duels: list[Duel], records: list[Record]) -> list[str]:
    """Where a rival is as fast as psvm or faster, or psvm has no solution that is good enough."""
    rows = [
        [name_of(row), row["rival"], "", "", row["status"]]
        for row in records
        if row["rival"].startswith(OURS) and "primal" not in row
    ]
    for duel in all_duels:
        slow = not duel.over_limit and min(duel.fit, duel.predict) <= 1.0
        if slow or not duel.counts:
            fit, predict = ("", "") if duel.over_limit else (times(duel.fit), times(duel.predict))
            remark = "" if duel.counts else f"objective {duel.excess:.0e} above"
            rows.append([name_of(duel.ours), duel.theirs["rival"], fit, predict, remark])
    if not rows:
        return ["Nowhere in these measurements: every ratio is above 1, and counts.", ""]
    return table(["problem", "rival", "fit ratio", "predict ratio", "psvm's solution"], rows)


def duel_lines(all_duels: list[Duel]) -> list[str]:
    """Each ratio beside the difference of the objectives that it was reached at."""
    rows = []
    for duel in all_duels:
        start = [name_of(duel.ours), duel.theirs["rival"], f"{duel.ours['fit_seconds']:.3g}"]
        mark = "" if duel.counts else " (not counted)"
        if duel.over_limit:
            middle = [duel.theirs["status"], f"> {duel.bound:.1f}x{mark}", "", ""]
        else:
            middle = [f"{duel.theirs['fit_seconds']:.3g}", f"{duel.fit:.1f}x{mark}"]
            middle += [f"{duel.cpu:.1f}x", f"{duel.predict:.1f}x"]
        rows.append([*start, *middle, "" if duel.over_limit else f"{duel.excess:+.1e}"])
    header = ["problem", "rival", "psvm fit s", "rival fit s", "fit ratio", "CPU ratio"]
    return table([*header, "predict ratio", "psvm objective above rival's"], rows)


def exponent_lines(records: list[Record]) -> list[str]:
    """Time of psvm at each p against p = 1 on the same data."""
    ours = {problem_of(row): row for row in records if row["rival"] == OURS and "primal" in row}
    rows, of_p = [], dict[float, list[tuple[float, float]]]()
    for problem, row in ours.items():
        base = ours.get((*problem[:3], 1.0))
        if base is not None and problem[3] != 1.0:
            wall, cpu = (ratio(row, base, clock) for clock in ("fit_seconds", "fit_cpu_seconds"))
            of_p.setdefault(row["p"], []).append((wall, cpu))
            rows.append([name_of(row), f"{row['fit_seconds']:.3g}", f"{wall:.1f}x", f"{cpu:.1f}x"])
    means = [
        [f"p = {p:g}, geometric mean of {len(pairs)}", "", *(f"{mean:.1f}x" for mean in both)]
        for p, pairs in sorted(of_p.items())
        for both in [[geometric_mean(values) for values in zip(*pairs, strict=True)]]
    ]
    header = ["psvm at", "fit s", "time of p = 1", "CPU time of p = 1"]
    return table(header, means + rows) if rows else []


def other_model_lines(records: list[Record]) -> list[str]:
    """Seconds, memory and accuracy on held-out rows where models of another kind took part."""
    done = [row for row in records if "fit_seconds" in row and row["rival"] != "control"]
    with_others = {problem_of(row) for row in done if "primal" not in row}
    rows = [
        [
            f"{name_of(row)} ({row['n_train']} x {row['n_features']})",
            row["rival"],
            f"{row['fit_seconds']:.3g}",
            f"{row['predict_seconds']:.3g}",
            f"{row['memory_mb']:.0f}",
            f"{row['accuracy']:.4f}",
        ]
        for row in done
        if problem_of(row) in with_others
    ]
    header = ["problem (training rows)", "library", "fit s", "predict s", "fit MB", "test acc."]
    return table(header, rows) if rows else []


def record_lines(records: list[Record]) -> list[str]:
    """Everything that was measured."""
    rows = []
    for row in records:
        start = [name_of(row), row["rival"]]
        if "fit_seconds" not in row:
            rows.append([*start, row["status"], *[""] * 9])
            continue
        judged = "primal" in row
        remark = "" if row["status"] == "ok" else f" ({row['status']})"
        rows.append(
            [
                *start,
                f"{row['fit_seconds']:.3g}{remark}",
                f"{over_floor(row):.1f}" if "floor_seconds" in row else "",
                f"{row['predict_seconds']:.3g}",
                f"{row['memory_mb']:.0f}",
                f"{row['peak_mb']:.0f}",
                f"{row['primal']:.8g}" if judged else "",
                f"{row['gap']:.1e}" if judged else "",
                f"{row['n_support']}" if judged else "",
                f"{row['train_accuracy']:.4f}" if judged else "",
                f"{row['accuracy']:.4f}",
            ]
        )
    header = ["problem", "rival", "fit s", "x floor", "predict s", "fit MB", "peak MB"]
    return table([*header, "objective", "gap", "support vectors", "train acc.", "test acc."], rows)


def lines(records: list[Record]) -> list[str]:
    """The body of the page."""
    all_duels = list(duels(records))
    text = ["## Targets", "", *target_lines(targets(records, all_duels))]
    if all_duels:
        text += ["## Speed", "", *summary_lines(all_duels)]
        text += ["## Where psvm is not faster", "", *not_faster_lines(all_duels, records)]
        text += ["## Problem by problem", "", *duel_lines(all_duels)]
    if exponents := exponent_lines(records):
        text += ["## Other exponents", "", *exponents]
    if shares := thread_lines(records):
        text += ["## Threads and entries", "", *shares]
    if others := other_model_lines(records):
        text += ["## Beside other models", "", *others]
    text += ["## All measurements", "", *record_lines(records)]
    return [
        *text,
        "Objective and gap are the referee's, in float64; see `benchmarks/README.md`.",
        "",
    ]
