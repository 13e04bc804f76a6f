"""``docs/study.md`` and its pictures, from ``results/study.csv``.

    python -m benchmarks.study.report
    python -m benchmarks.study.report --results other.csv --output /tmp/page/study.md

Every sentence with a number is computed (``findings``); what is an opinion says so. The page says
how much of the plan the results hold.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.study import (
    answers,
    findings,
    machines,
    pictures,
    plan,
    regressions,
    search_evidence,
    sets,
    statistics,
    store,
)

TEMPLATES = Path(__file__).with_name("templates")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "study.md"
OF_THE_PAPER = ROOT / "src" / "psvm" / "paper" / "numbers" / "study.json"
"""What the report of the paper says of p: only a page in its place writes it."""

TABLE_METHODS = (
    "kernel-best",
    *findings.fixed("kernel"),
    "kernel-untuned-1.5",
    "linear-best",
    "linear-untuned-1.5",
    "lightgbm",
    "lightgbm-tuned",
    "forest",
    "logistic",
    "knn",
    "dummy",
)
"""Methods of the table and of the picture of time and accuracy."""

NOT_DRAWN = ("kernel-1.25", "kernel-3", "dummy")
"""Those that lie on others, or far from all."""


def complete(rows: pd.DataFrame, images: Path, folder: Path) -> dict[str, Any]:
    """All that the page shows: other parts, too, whose results are in the folder."""
    content = gather(rows, images)
    of_regression = folder / regressions.RESULTS.name
    if of_regression.exists():
        content["regression"] = _regression(store.read(of_regression, regressions.COLUMNS))
    content["searches"] = searches(folder / "study_searches.csv")
    return content


def gather(rows: pd.DataFrame, images: Path) -> dict[str, Any]:
    """What the main results say; pictures are drawn on the way."""
    present = set(rows["method"])
    content: dict[str, Any] = {
        "n_sets": rows["dataset"].nunique(),
        "n_splits": len(rows.drop_duplicates(["dataset", "repeat"])),
        "n_rows": len(rows),
        "incomplete": incomplete(rows),
        "unfinished": findings.unfinished(rows),
        "rope": 100 * statistics.ROPE,
        "kernel_rows": plan.KERNEL_ROWS[False],
        "kernel_rows_large": plan.KERNEL_ROWS[True],
        "linear_rows": plan.LINEAR_ROWS,
        "other_rows": plan.OTHER_ROWS,
        "large": sets.LARGE,
        "repeats": sets.REPEATS,
        "regression": None,
        "searches": None,
    }
    for family in machines.FAMILIES:
        content[family] = _family(rows, family, images) if _has(present, family) else None
    content["support"] = _try(findings.support_vectors, rows)
    content["edges"] = _try(findings.edges, rows)
    content["svc"] = _try(findings.svc_check, rows)
    boosting = _boosting(rows, present)
    content["boosting"] = [findings.line(one) for one in boosting]
    content["answers"] = answers.bullets(answers.answers(rows))
    content["default"] = answers.DEFAULT
    content["effects"] = _try(findings.effect_sentences, rows, "kernel-2", "kernel-1") or []
    content["boosting_effects"] = (
        _try(findings.effect_sentences, rows, "kernel-best", "lightgbm") or []
    )
    shown = [name for name in TABLE_METHODS if name in present]
    content["table"], content["frontier"] = _table(rows, shown, images)
    return content


def _has(present: set[str], family: str) -> bool:
    return set(machines.methods_of(family)) <= present


def _family(rows: pd.DataFrame, family: str, images: Path) -> dict[str, Any]:
    """Fixed p, rules and the paper's sentences for one family."""
    fixed = findings.fixed(family)
    table = statistics.means(rows, fixed)
    first = f"{family}-1"
    pairs = [(name, first) for name in fixed if name != first]
    known = f"{family}-1.5"
    choices = [f"{family}-{choice}" for choice in machines.CHOICES]
    with_rules = statistics.means(rows, [known, *choices])
    pictures.gains(table, first, images / f"study-{family}-p.png")
    ranks = _try(statistics.ranks, table)
    if ranks is not None:
        pictures.critical_differences(ranks, images / f"study-{family}-ranks.png")
    losses = statistics.means(rows, [known, *choices], "log_loss")
    untuned = [f"{family}-untuned-{p:g}" for p in machines.EXPONENTS]
    of_untuned = statistics.compare(
        statistics.means(rows, untuned), [(name, untuned[0]) for name in untuned[1:]]
    )
    against_one = statistics.compare(table, pairs)
    of_rules = statistics.compare(with_rules, [(name, known) for name in choices])
    return {
        "name": family,
        "fixed": [findings.line(one) for one in against_one],
        "ranks": None if ranks is None else findings.ranked(ranks),
        "rules": [findings.line(one) for one in of_rules],
        "untuned": [findings.line(one) for one in of_untuned],
        "losses": {
            findings.spelled(str(name)): float(value) for name, value in losses.mean().items()
        },
        "paper": findings.best_exponents(rows, family),
        "confirmed": _try(findings.confirmed, rows, family),
    }


def _boosting(rows: pd.DataFrame, present: set[str]) -> list[statistics.Comparison]:
    """The kernel machine with p chosen beside the methods that are no SVM, and a linear one."""
    others = ("lightgbm", "lightgbm-tuned", "forest", "linear-best")
    pairs = [("kernel-best", other) for other in others if {"kernel-best", other} <= present]
    if not pairs:
        return []
    methods = list(dict.fromkeys(name for pair in pairs for name in pair))
    found = statistics.compare(statistics.means(rows, methods), pairs)
    if "lightgbm-same" in present:  # only on sets whose rows were capped, so a family of its own
        pair = ("kernel-best", "lightgbm-same")
        found += statistics.compare(statistics.means(rows, pair), [pair])
    return found


def _regression(rows: pd.DataFrame) -> dict[str, Any]:
    """PSVR: fixed p, p chosen and untuned, by both measures."""
    exponents = [f"{p:g}" for p in machines.EXPONENTS[1:]]
    lists = {
        "fixed": [(f"kernel-{p}", "kernel-1") for p in exponents],
        "chosen": [("kernel-best", "kernel-1.5"), ("kernel-one_se", "kernel-1.5")],
        "untuned": [(f"kernel-untuned-{p}", "kernel-untuned-1") for p in exponents],
        "others": [("kernel-best", other) for other in ("lightgbm", "forest", "ridge")],
    }
    found: dict[str, Any] = {
        "n_sets": rows["dataset"].nunique(),
        "n_splits": len(rows.drop_duplicates(["dataset", "repeat"])),
        "train_rows": regressions.TRAIN_ROWS,
    }
    for name, pairs in lists.items():
        methods = list(dict.fromkeys(one for pair in pairs for one in pair))
        for measure in ("r2", "mae"):
            table = statistics.means(rows, methods, measure)
            found[f"{name}_{measure}"] = [
                findings.line(one) for one in statistics.compare(table, pairs, measure)
            ]
    return found


def _table(
    rows: pd.DataFrame, shown: list[str], images: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    if not shown:
        return [], []
    points, frontier = findings.time_and_accuracy(rows, shown)
    drawn = {name: point for name, point in points.items() if name not in NOT_DRAWN}
    pictures.time_and_accuracy(drawn, frontier, images / "study-time.png")
    measures = {
        measure: statistics.means(rows, shown, measure).mean()
        for measure in ("accuracy", "balanced_accuracy", "auc", "log_loss")
    }
    predict = statistics.means(rows, shown, "predict_seconds").median()
    lines = [
        {
            "method": findings.spelled(name),
            **{measure: float(values[name]) for measure, values in measures.items()},
            "fit_seconds": points[name][0],
            "predict_seconds": float(predict[name]),
            "frontier": name in frontier,
        }
        for name in shown
    ]
    return lines, [findings.spelled(name) for name in frontier]


def searches(path: Path) -> dict[str, Any] | None:
    """What the comparison of searches says, if it was made."""
    found = _try(search_evidence.evidence, pd.read_csv(path)) if path.exists() else None
    if found is None:
        return None
    return {
        "tables": found.n_tables,
        "splits": found.n_splits,
        "train": found.n_train,
        "strategies": len(found.chosen_by),
        "lines": search_evidence.told(found),
        "sentences": search_evidence.sentences(found),
    }


def _try(compute: Callable[..., Any], *arguments: Any) -> Any:
    """What can be computed from the results, or None where they lack what it takes."""
    try:
        return compute(*arguments)
    except statistics.Lacking:
        return None


def incomplete(rows: pd.DataFrame) -> str | None:
    """A sentence if the results are a part of the study only."""
    all_sets = 71
    have = rows["dataset"].nunique()
    splits = len(rows.drop_duplicates(["dataset", "repeat"]))
    planned = sum(sets.repeats_of(n) for n in sets.n_rows().values())
    if have >= all_sets and (not planned or splits >= planned):
        return None
    of = f" of {planned}" if planned else ""
    return f"This is a part of the study: {have} of {all_sets} sets, {splits}{of} splits."


def elsewhere(rows: pd.DataFrame) -> dict[Path, str]:
    """The other files that show what was found, as they should be."""
    sentences = json.dumps(findings.of_the_paper(rows), ensure_ascii=False, indent=2)
    readme, guide = ROOT / "README.md", ROOT / "docs" / "choosing.md"
    return {
        OF_THE_PAPER: sentences + "\n",
        readme: answers.fill(readme, "in short", answers.in_three_sentences(rows)),
        guide: answers.fill(guide, "answers", answers.bullets(answers.answers(rows))),
    }


def render(content: dict[str, Any]) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("study.md.j2").render(content)
    return re.sub(r"\n{3,}", "\n\n", page)


def main(arguments: list[str] | None = None) -> int:
    """Write the page and its pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study.report")
    parser.add_argument("--results", type=Path, default=store.RESULTS)
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    if not given.results.exists():
        print(f"no {given.results}: run python -m benchmarks.study first", file=sys.stderr)
        return 2
    rows = store.read(given.results)
    if rows.empty:
        print(f"{given.results} has no rows yet", file=sys.stderr)
        return 2
    page = render(complete(rows, given.output.parent / "images", given.results.parent))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(page, encoding="utf-8")
    if given.output == PAGE:
        for path, text in elsewhere(rows).items():
            path.write_text(text, encoding="utf-8")
    print(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
