"""Sentences about a rerun, every number in them computed from its rows.

Nothing here knows how the rerun ought to come out: with other rows the same functions say the
opposite. A function returns None (or leaves a sentence out) where the rows it needs are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from psvm.paper.cells import (
    ACCURACY_TOLERANCE,
    BASELINE_TOLERANCE,
    NSV_TOLERANCE,
    PRINTED,
    SAME,
    cell_name,
    compared,
    is_met,
    rivals_of,
    select,
)
from psvm.paper.store import Row


@dataclass(frozen=True)
class Group:
    """Cells that came out differently, for one reason.

    Attributes
    ----------
    title : str
        What they have in common.
    why : str
        What is known of the reason.
    cells : list of str
        One line each.
    """

    title: str
    why: str
    cells: list[str] = field(default_factory=list)


def summary(table1: Sequence[Row], table2: Sequence[Row]) -> list[str]:
    """The rerun in a few sentences.

    Parameters
    ----------
    table1, table2 : sequence of dict
        Rows of the tables, possibly none.

    Returns
    -------
    list of str
        Sentences.
    """
    published1, published2 = (select(table, variant="published") for table in (table1, table2))
    sentences = [
        (_published_accuracies, compared(published1, "accuracy_difference")),
        (_published_support, compared(published1, "nsv_difference")),
        (_chosen_C, compared(published1, "C_cv")),
        (_baselines, compared(rivals_of(table1), "accuracy_difference")),
        (_published_multiclass, compared(published2, "accuracy_difference")),
        (_gaps, compared(published2, "gap")),
        (_rivals, compared(rivals_of(table2), "accuracy_difference")),
    ]
    return [sentence(rows) for sentence, rows in sentences if rows]


def _to_the_digit(rows: Iterable[Row]) -> int:
    """How many accuracies are the printed ones once they are rounded to two digits."""
    return sum(abs(row["accuracy_difference"]) <= SAME for row in rows)


def _largest_difference(rows: Iterable[Row], column: str) -> str:
    worst = max(rows, key=lambda row: abs(row[column]))
    return f"The largest difference is {abs(worst[column]):.2f} points ({cell_name(worst)})."


def _published_accuracies(rows: Sequence[Row]) -> str:
    return (
        f"Table 1, run as the paper ran it: {sum(map(is_met, rows))} of {len(rows)} pSVM "
        f"accuracies come within {ACCURACY_TOLERANCE} points of the printed ones, "
        f"{_to_the_digit(rows)} of them to the last digit. "
        f"{_largest_difference(rows, 'accuracy_difference')}"
    )


def _published_support(rows: Sequence[Row]) -> str:
    met = sum(abs(row["nsv_difference"]) <= NSV_TOLERANCE for row in rows)
    return (
        f"Support vectors: {met} of {len(rows)} percentages within {NSV_TOLERANCE} points. "
        f"{_largest_difference(rows, 'nsv_difference')}"
    )


def _chosen_C(rows: Sequence[Row]) -> str:
    same = sum(row["C_cv"] == row["C_best"] for row in rows)
    return f"The paper's cross-validation picks the paper's C in {same} of {len(rows)} cells."


def _baselines(rows: Sequence[Row]) -> str:
    return (
        f"Baselines of Table 1 with today's scikit-learn: {sum(map(is_met, rows))} of {len(rows)} "
        f"within {BASELINE_TOLERANCE:g} point, {_to_the_digit(rows)} of them to the last digit."
    )


def _published_multiclass(rows: Sequence[Row]) -> str:
    return (
        f"Table 2, budgeted pSMO as published: {sum(map(is_met, rows))} of {len(rows)} accuracies "
        f"within one test row of the printed ones. "
        f"{_largest_difference(rows, 'accuracy_difference')}"
    )


def _gaps(rows: Sequence[Row]) -> str:
    gaps = [float(row["gap"]) for row in rows]
    return (
        f"Where pSMO stops, the relative duality gap of its worst pair of classes is between "
        f"{min(gaps):.2g} and {max(gaps):.2g}; at the optimum it is 0."
    )


def _rivals(rows: Sequence[Row]) -> str:
    higher = sum(row["accuracy_difference"] > PRINTED for row in rows)
    middle = median(row["accuracy_difference"] for row in rows)
    return (
        f"The rivals of Table 2, trained here on the same split with C by cross-validation: "
        f"{higher} of {len(rows)} come out higher than the numbers the paper quotes for them; the "
        f"median difference is {_signed(middle, 1)} points."
    )


def not_reproduced(
    table1: Sequence[Row],
    table2: Sequence[Row],
    failures: Sequence[tuple[str, str]],
) -> list[Group]:
    """Cells that differ from the paper, by what they have in common.

    Parameters
    ----------
    table1, table2 : sequence of dict
        Rows of the tables.
    failures : sequence of (str, str)
        Cells that could not be computed, and why.

    Returns
    -------
    list of Group
        Only those with cells.
    """
    groups = [
        *_differences_of_table1(table1),
        *_differences_of_table2(table2),
        Group(
            "Could not be computed",
            "The same command tries them again and keeps the rest.",
            [f"{label}: {reason}" for label, reason in failures],
        ),
    ]
    return [group for group in groups if group.cells]


def _differences_of_table1(table1: Sequence[Row]) -> list[Group]:
    published = select(table1, variant="published")
    return [
        Group(
            f"pSVM accuracies of Table 1 more than {ACCURACY_TOLERANCE} points away",
            "The model is the same up to the solver's accuracy; a test row near the boundary can "
            "fall on either side.",
            _missed_accuracies(published),
        ),
        Group(
            f"nSV percentages more than {NSV_TOLERANCE} points away",
            "A support vector was counted where alpha > 1e-5, so a solver that stops earlier or "
            "later counts others. Here every dual is solved to a certified gap.",
            [
                f"{cell_name(r)}: paper {r['published_nsv_percent']:.1f}, "
                f"here {r['nsv_percent']:.1f}"
                for r in compared(published, "nsv_difference")
                if abs(r["nsv_difference"]) > NSV_TOLERANCE
            ],
        ),
        Group(
            "Cross-validation picks another C than the paper",
            "The cell is computed at the paper's C all the same: that is the published model.",
            [
                f"{cell_name(r)}: paper {r['C_best']:g}, here {r['C_cv']:g}"
                for r in compared(published, "C_cv")
                if r["C_cv"] != r["C_best"]
            ],
        ),
        Group(
            f"Baselines of Table 1 more than {BASELINE_TOLERANCE:g} point away",
            "The paper ran them without seeds and with an older scikit-learn, and says nothing of "
            "their settings: today's defaults are used, but 3 neighbours in KNN.",
            _missed_accuracies(rivals_of(table1)),
        ),
    ]


def _differences_of_table2(table2: Sequence[Row]) -> list[Group]:
    return [
        Group(
            "1.5L and 2L of Table 2 more than one test row away",
            "pSMO as published stops before the optimum, so the result depends on every random "
            "draw and on the order of the rows, which is not known for all of the paper's files.",
            _missed_accuracies(select(table2, variant="published")),
        ),
        Group(
            "Rivals of Table 2 more than one test row away",
            "The paper did not run them: it quotes Nie et al. (2024). Their split, scaling and C "
            "are not stated, so the two columns do not come from one experiment; and what is run "
            "here follows the definition of each method, not its authors' code.",
            _missed_accuracies(rivals_of(table2)),
        ),
    ]


def _missed_accuracies(rows: Iterable[Row]) -> list[str]:
    """The cells whose accuracy is not the published one, with both."""
    return [
        f"{cell_name(row)}: paper {row['published_accuracy_percent']:.2f}, "
        f"here {row['accuracy_percent']:.2f} ({_signed(row['accuracy_difference'])})"
        for row in compared(rows, "accuracy_difference")
        if not is_met(row)
    ]


def _signed(difference: float, digits: int = 2) -> str:
    return f"{difference:+.{digits}f}".replace("-", "−")


def kernel_evidence(table1: Sequence[Row]) -> str | None:
    """What the support vectors say of the kernel behind Table 1.

    Parameters
    ----------
    table1 : sequence of dict
        Rows of Table 1.

    Returns
    -------
    str or None
        A sentence over the cells in which both kernels were run with the published C.
    """
    gaussian = {
        (row["dataset"], row["p"]): row for row in select(table1, variant="exact", kernel="rbf")
    }
    pairs = [
        (row, gaussian[row["dataset"], row["p"]])
        for row in compared(select(table1, variant="published"), "C_best")
        if (row["dataset"], row["p"]) in gaussian
        and gaussian[row["dataset"], row["p"]]["C_best"] == row["C_best"]
    ]
    if not pairs:
        return None
    exponential, rbf = (
        median(abs(pair[k]["nsv_percent"] - pair[0]["published_nsv_percent"]) for pair in pairs)
        for k in (0, 1)
    )
    return (
        f"In this rerun, over the {len(pairs)} cells that have the published C with either kernel, "
        f"nSV % is {exponential:.1f} points from the printed one in the median with the "
        f"exponential kernel, and {rbf:.1f} points with the Gaussian."
    )


def bound_finding(lines: Sequence[Row]) -> str:
    """What the bounds of one data set come to.

    Parameters
    ----------
    lines : sequence of dict
        The lines of :func:`psvm.paper.bound_table.compute`, at least one.

    Returns
    -------
    str
        A sentence.
    """
    totals = [float(line["total"]) for line in lines]
    errors = [float(line["test_error"]) for line in lines]
    lowest = min(lines, key=lambda line: float(line["total"]))
    vacuous = sum(total >= 1.0 for total in totals)
    return (
        f"The bound lies between {min(totals):.2f} and {max(totals):.2f}, and is vacuous for "
        f"{vacuous} of {len(totals)} p; the test error lies between {min(errors):.3f} and "
        f"{max(errors):.3f}. The bound is smallest at p = {lowest['p']:.2f}, where the test error "
        f"is {lowest['test_error']:.3f}."
    )
