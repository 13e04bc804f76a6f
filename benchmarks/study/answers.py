"""The four questions of a reader, answered from the results; README and the guide show them, too.

``fill`` puts a text between two marks of a file that people write: everything between
``<!-- study: NAME -->`` and ``<!-- end -->`` is computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks.study import findings, statistics
from benchmarks.study.findings import points, short
from benchmarks.study.statistics import Comparison
from psvm import PSVC, LinearPSVC

DEFAULT = {"kernel": PSVC().p, "linear": LinearPSVC().p}
"""The p that nobody chose."""


class Answer(NamedTuple):
    """A question, what the results say, and what we make of it."""

    question: str
    sentences: list[str]
    opinion: str


OPINIONS = {
    "Should I use p?": (
        "Leave it at 1.5, above all where nothing else is tuned. With C and gamma tuned it matters "
        "little, and a linear machine hardly knows the difference."
    ),
    "Which one?": (
        "1.5 for the kernel. A larger p keeps more support vectors and is no better; of p = 3 "
        "regression says to beware."
    ),
    "What do I gain by choosing it?": (
        "Little: five folds cannot see differences this small. Spend the time on C and gamma. For "
        "the last tenth of a point average over p, or choose it by the log loss."
    ),
    "When boosting instead?": (
        "With many rows, and time to tune it. With few rows, noise, or where probabilities count, "
        "the kernel machine; there is no harm in trying both."
    ),
}
"""Written by people who had seen the results; the page says that they are opinions."""


def answers(rows: pd.DataFrame) -> list[Answer]:
    """The questions that the results can answer."""
    found = []
    for question, parts in (
        ("Should I use p?", [_gains(rows, "kernel"), _gains(rows, "linear")]),
        ("Which one?", [_which(rows, "kernel"), _which(rows, "linear")]),
        ("What do I gain by choosing it?", [_choosing(rows, "kernel"), _choosing(rows, "linear")]),
        ("When boosting instead?", [_boosting(rows)]),
    ):
        sentences = [sentence for part in parts for sentence in part]
        if sentences:
            found.append(Answer(question, sentences, OPINIONS[question]))
    return found


def in_three_sentences(rows: pd.DataFrame) -> str:
    """For those who read no further."""
    p = f"{DEFAULT['kernel']:g}"
    (plain,) = _compared(rows, [(f"kernel-untuned-{p}", "kernel-untuned-1")])
    (tuned,) = _compared(rows, [(f"kernel-{p}", "kernel-1")])
    (chosen,) = _compared(rows, [("kernel-best", f"kernel-{p}")])
    same, boosted = _compared(
        rows, [("kernel-best", "lightgbm"), ("kernel-best", "lightgbm-tuned")]
    )
    return (
        f"On {plain.n_sets} real tables p = {p} has a higher test accuracy than p = 1 on "
        f"{plain.wins} and a lower one on {plain.losses} if nothing is tuned ({points(plain.mean)} "
        f"points on average), and on {tuned.wins} and {tuned.losses} with C and gamma tuned "
        f"({points(tuned.mean)}). "
        f"Choosing p by cross-validation as well changes that by {points(chosen.mean)} points. "
        f"`PSVCCV` is ahead of LightGBM on {same.wins} tables and behind on {same.losses} "
        f"({points(same.mean)} points), and if LightGBM is tuned for as long on {boosted.wins} and "
        f"{boosted.losses} ({points(boosted.mean)})."
    )


def fill(path: Path, name: str, text: str) -> str:
    """The file's text with ``text`` between the marks of ``name``."""
    marks = re.compile(rf"(<!-- study: {name} -->\n).*?(<!-- end -->)", re.S)
    page = path.read_text(encoding="utf-8")
    if len(marks.findall(page)) != 1:
        raise ValueError(f"{path.name} must have one place <!-- study: {name} --> ... <!-- end -->")
    return marks.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def bullets(found: Sequence[Answer]) -> str:
    """Questions and answers as a list."""
    return "\n".join(
        line
        for answer in found
        for line in (
            f"- **{answer.question}** *Opinion:* {answer.opinion}",
            *(f"  - {one}" for one in answer.sentences),
        )
    )


def _compared(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    methods = list(dict.fromkeys(name for pair in pairs for name in pair))
    return statistics.compare(statistics.means(rows, methods), pairs)


def _attempt(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[str]:
    try:
        return [short(one) for one in _compared(rows, pairs)]
    except statistics.Lacking:
        return []


def _gains(rows: pd.DataFrame, family: str) -> list[str]:
    p = f"{DEFAULT[family]:g}"
    return [
        *_attempt(rows, [(f"{family}-untuned-{p}", f"{family}-untuned-1")]),
        *_attempt(rows, [(f"{family}-{p}", f"{family}-1")]),
    ]


def _which(rows: pd.DataFrame, family: str) -> list[str]:
    found = []
    untuned = [f"{family}-untuned-{name.partition('-')[2]}" for name in findings.fixed(family)]
    for what, methods in (("tuned", findings.fixed(family)), ("untuned", untuned)):
        try:
            ranks = statistics.ranks(statistics.means(rows, methods))
        except statistics.Lacking:
            continue
        found.append(f"{family.capitalize()}, {what}: {findings.ranked_shortly(ranks)}")
    return found


def _choosing(rows: pd.DataFrame, family: str) -> list[str]:
    p = f"{DEFAULT[family]:g}"
    return _attempt(
        rows, [(f"{family}-best", f"{family}-{p}"), (f"{family}-average", f"{family}-{p}")]
    )


def _boosting(rows: pd.DataFrame) -> list[str]:
    return _attempt(rows, [("kernel-best", "lightgbm"), ("kernel-best", "lightgbm-tuned")])
