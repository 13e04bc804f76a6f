"""What the paper concludes, set against the rows of a rerun."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from psvm.paper import study
from psvm.paper.cells import OURS, SAME, compared, datasets_of, rivals_of, select, spelled, title
from psvm.paper.store import Row

FIXED_P = (1.5, 2.0)
"""The two exponents for which the paper has closed forms, and which it recommends."""

RECOMMENDED = (1.25, 2.0)
"""The range of p in which the paper infers its model to be best."""

VARIANTS = (
    ("as published", {"variant": "published"}),
    ("exact, exponential kernel", {"variant": "exact", "kernel": "exponential"}),
    ("exact, Gaussian kernel", {"variant": "exact", "kernel": "rbf"}),
)
"""The three ways in which pSVM is run for Table 1."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and what the rerun says of it.

    Attributes
    ----------
    statement : str
        What the paper says.
    findings : list of str
        What the rows say.
    """

    statement: str
    findings: list[str]


def claims(
    table1: Sequence[Row], table2: Sequence[Row], proportions: Sequence[Row] = ()
) -> list[Claim]:
    """The paper's conclusions with what the rows say of each.

    Parameters
    ----------
    table1, table2 : sequence of dict
        Rows of the tables.
    proportions : sequence of dict
        What :func:`psvm.paper.proportion_table.compute` returned, for each method.

    Returns
    -------
    list of Claim
        Those on which the rows say something.
    """
    found = [
        Claim("pSVM has the best accuracy on every binary data set.", _best_of_table1(table1)),
        Claim(
            "The number of support vectors grows with p.",
            _beside_study(_support_grows(table1), "support_vectors"),
        ),
        Claim(
            "Accuracy rises and then falls with p; the best p lies in [1.25, 2].",
            _beside_study(_best_exponent(table1), "best_exponent"),
        ),
        Claim(
            "A larger p learns the training set better, at the risk of overfitting.",
            _beside_study(_falls_at_last(table1), "overfitting"),
        ),
        Claim(
            "At p = 1 the model is a hard margin, and so less accurate than a soft one.",
            _hard_margin(table1),
        ),
        Claim(
            "One-vs-one gets better when its base classifier is a pSVM.",
            _against(table2, "OvO"),
        ),
        Claim(
            "pSMO surpasses the state of the art, M³SVM, on several data sets.",
            _against(table2, "M3SVM"),
        ),
        proportion_claim(table1, proportions),
    ]
    return [claim for claim in found if claim.findings]


def _best_of_table1(rows: Sequence[Row]) -> list[str]:
    findings = []
    for name, conditions in VARIANTS:
        machines = select(rows, method="pSVM", **conditions)
        best: list[str] = []
        tied: list[str] = []
        behind: list[str] = []
        for dataset in datasets_of(machines):
            rivals = _best(select(rivals_of(rows), dataset=dataset))
            ours = _best(select(machines, dataset=dataset))
            if rivals is None or ours is None:
                continue
            side = best if ours > rivals + SAME else tied if ours > rivals - SAME else behind
            side.append(title(dataset))
        if best or tied or behind:
            sides = _sides(
                ("ahead of every baseline on", best),
                ("level with the best one on", tied),
                ("behind on", behind),
            )
            findings.append(f"{_capitalised(name)}, its best p taken on the test part: {sides}.")
    findings += _fixed_exponents(rows)
    return findings


def _fixed_exponents(rows: Sequence[Row]) -> list[str]:
    """The same comparison without a choice of p by the test part."""
    machines = select(rows, variant="published", p=FIXED_P)
    wins = total = 0
    for machine in machines:
        rivals = _best(select(rivals_of(rows), dataset=machine["dataset"]))
        if rivals is not None:
            total += 1
            wins += machine["accuracy_percent"] > rivals - SAME
    if not total:
        return []
    return [
        f"With p fixed to 1.5 or 2 beforehand, {wins} of {total} published models are at least "
        f"level with the best baseline."
    ]


def _support_grows(rows: Sequence[Row]) -> list[str]:
    findings = []
    for name, conditions in VARIANTS:
        steps = up = same_C = up_same_C = 0
        for dataset in datasets_of(rows):
            machines = _by_exponent(select(rows, method="pSVM", dataset=dataset, **conditions))
            for before, after in pairwise(machines):
                rises = after["nsv_percent"] >= before["nsv_percent"]
                steps, up = steps + 1, up + rises
                if before["C_best"] == after["C_best"]:
                    same_C, up_same_C = same_C + 1, up_same_C + rises
        if steps:
            same = f" ({up_same_C} of {same_C} where C stays the same)" if same_C else ""
            findings.append(
                f"{_capitalised(name)}: from one p to the next, nSV % rises or stays in {up} of "
                f"{steps} steps{same}."
            )
    return findings


def _best_exponent(rows: Sequence[Row]) -> list[str]:
    findings = []
    for name, conditions in VARIANTS:
        inside: list[str] = []
        outside: list[str] = []
        spreads = []
        for dataset in datasets_of(rows):
            machines = _by_exponent(select(rows, method="pSVM", dataset=dataset, **conditions))
            if len(machines) < 2:
                continue
            accuracy = [float(row["accuracy_percent"]) for row in machines]
            spreads.append(f"{title(dataset)} {max(accuracy) - min(accuracy):.2f}")
            best = [
                row["p"]
                for row, value in zip(machines, accuracy, strict=True)
                if value > max(accuracy) - SAME
            ]
            all_inside = all(RECOMMENDED[0] <= p <= RECOMMENDED[1] for p in best)
            (inside if all_inside else outside).append(f"{title(dataset)} ({_few(best)})")
        if spreads:
            sides = _sides(("every best p lies in [1.25, 2] on", inside), ("not so on", outside))
            findings.append(
                f"{_capitalised(name)}: {sides}. Points between the best and the worst p: "
                f"{', '.join(spreads)}."
            )
    return findings


def _falls_at_last(rows: Sequence[Row]) -> list[str]:
    """Whether accuracy is lower at the largest p than at the one before."""
    findings = []
    for name, conditions in VARIANTS:
        pairs = []
        for dataset in datasets_of(rows):
            machines = _by_exponent(select(rows, method="pSVM", dataset=dataset, **conditions))
            if len(machines) >= 2:
                before, last = machines[-2:]
                pairs.append((float(before["accuracy_percent"]), float(last["accuracy_percent"])))
        if pairs:
            lower = _count(pairs, lambda before, last: last < before - SAME)
            higher = _count(pairs, lambda before, last: last > before + SAME)
            findings.append(
                f"{_capitalised(name)}: test accuracy falls from the last p but one to the last "
                f"on {lower} of {len(pairs)} data sets, and rises on {higher}."
            )
    return findings


def _beside_study(findings: list[str], sentence: str) -> list[str]:
    """What the rows say, and after it what the study of many tables says."""
    return [*findings, study.sentences()[sentence]] if findings else []


def _few(exponents: Sequence[float]) -> str:
    """Up to three exponents one by one, more of them by their range."""
    if len(exponents) <= 3:
        return ", ".join(f"{p:.2f}" for p in exponents)
    return f"{len(exponents)} values tie, from {min(exponents):.2f} to {max(exponents):.2f}"


def _hard_margin(rows: Sequence[Row]) -> list[str]:
    soft = {
        row["dataset"]: float(row["accuracy_percent"])
        for row in select(rows, variant="exact", kernel="exponential", p=1.0)
    }
    pairs = {
        row["dataset"]: (float(row["accuracy_percent"]), soft[row["dataset"]])
        for row in select(rows, variant="published", p=1.0)
        if row["dataset"] in soft
    }
    if not pairs:
        return []
    lower = _count(list(pairs.values()), lambda hard, soft: hard < soft - SAME)
    listed = (f"{title(name)} {hard:.2f} and {soft:.2f}" for name, (hard, soft) in pairs.items())
    return [
        f"With the same kernel the hard margin is less accurate than the soft one on {lower} of "
        f"{len(pairs)} data sets (hard and soft: {'; '.join(listed)})."
    ]


def _against(rows: Sequence[Row], rival: str) -> list[str]:
    """How 1.5L and 2L compare with one rival, as printed and as run here."""
    reruns = select(rows, method=rival, variant="rerun")
    here = f"{spelled(rival)} run here"
    comparisons = (
        ("The paper's own numbers", "published", "published_accuracy_percent"),
        (
            f"1.5L and 2L as published, their C chosen on the test part, {here}",
            "published",
            "accuracy_percent",
        ),
        (
            f"1.5L and 2L at the optimum, C from the training part, {here}",
            "exact",
            "accuracy_percent",
        ),
    )
    findings = []
    for name, variant, column in comparisons:
        rivals = {row["dataset"]: row[column] for row in compared(reruns, column)}
        pairs = [
            (float(row[column]), rivals[row["dataset"]])
            for row in compared(select(rows, method=OURS, variant=variant), column)
            if row["dataset"] in rivals
        ]
        if pairs:
            ahead = _count(pairs, lambda ours, theirs: ours > theirs + SAME)
            behind = _count(pairs, lambda ours, theirs: ours < theirs - SAME)
            findings.append(
                f"{name}: ahead in {ahead}, level in {len(pairs) - ahead - behind}, behind in "
                f"{behind} of {len(pairs)} cells."
            )
    return findings


def proportion_claim(table1: Sequence[Row], proportions: Sequence[Row]) -> Claim:
    """The sentence about methods that learn from label proportions, and what was found of it.

    Parameters
    ----------
    table1 : sequence of dict
        Rows of Table 1, of which those of Heart are used.
    proportions : sequence of dict
        What :func:`psvm.paper.proportion_table.compute` returned, for each method.

    Returns
    -------
    Claim
        Without findings where rows are missing.
    """
    statement = (
        "The best accuracy of pSVM on Heart beats MeanMap, InvCal, conv-∝SVM and alter-∝SVM."
    )
    cells = [
        (float(line["accuracy_percent"]), f"{result['method']} with bags of {line['bag_size']}")
        for result in proportions
        for line in result["lines"]
    ]
    heart = select(table1, dataset="heart")
    machines = [
        (f"pSVM {name}, its best p taken on the test part", _best(select(heart, **conditions)))
        for name, conditions in VARIANTS
    ]
    svm = select(heart, method="SVM")
    machines.append(("scikit-learn's SVM, which sees the same labels", _best(svm)))
    findings = []
    for name, accuracy in machines:
        if accuracy is None or not cells:
            continue
        above = sum(accuracy > other + SAME for other, _ in cells)
        highest, where = max(cells)
        findings.append(
            f"{_capitalised(name)}, {accuracy:.2f} %: above {above} of {len(cells)} cells (method "
            f"and size of the bags, a mean over draws); the highest of them is {highest:.2f} %, "
            f"{where}."
        )
    if findings:
        findings.append(
            "The four never see the label of a row, and pSVM sees all: the sentence compares what "
            "is known of the labels, not the machines. With bags of one row two of the four are "
            "an SVM, and one is logistic regression."
        )
    return Claim(statement, findings)


def _count(pairs: Sequence[tuple[float, float]], condition: Callable[[float, float], bool]) -> int:
    return sum(condition(ours, theirs) for ours, theirs in pairs)


def _best(rows: Sequence[Row]) -> float | None:
    return max((float(row["accuracy_percent"]) for row in rows), default=None)


def _by_exponent(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: float(row["p"]))


def _sides(*sides: tuple[str, Sequence[str]]) -> str:
    """Names under their headings; a heading without names is left out."""
    return "; ".join(f"{heading} {', '.join(names)}" for heading, names in sides if names)


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]
