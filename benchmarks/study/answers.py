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
    """A question and what the results say."""

    question: str
    sentences: list[str]


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
            found.append(Answer(question, sentences))
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
        for line in (f"- **{answer.question}**", *(f"  - {one}" for one in answer.sentences))
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
    for methods in (
        findings.fixed(family),
        [f"{family}-untuned-{name.partition('-')[2]}" for name in findings.fixed(family)],
    ):
        try:
            found.append(findings.ranked(statistics.ranks(statistics.means(rows, methods))))
        except statistics.Lacking:
            continue
    return found


def _choosing(rows: pd.DataFrame, family: str) -> list[str]:
    p = f"{DEFAULT[family]:g}"
    return _attempt(
        rows, [(f"{family}-best", f"{family}-{p}"), (f"{family}-average", f"{family}-{p}")]
    )


def _boosting(rows: pd.DataFrame) -> list[str]:
    return _attempt(rows, [("kernel-best", "lightgbm"), ("kernel-best", "lightgbm-tuned")])
