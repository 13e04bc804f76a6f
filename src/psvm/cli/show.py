"""Results on standard output: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any


def show_json(result: Any) -> None:
    """Write a result as JSON; numbers that JSON has not become null."""
    sys.stdout.write(json.dumps(_plain(result), indent=2, ensure_ascii=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def show_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """Write on standard error what is good to know about the data, a line each."""
    for note in () if quiet else filter(None, notes):
        sys.stderr.write(f"psvm: {note}\n")


def show_facts(facts: dict[str, str]) -> None:
    """Write names and values below each other."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    for name, value in facts.items():
        grid.add_row(_text(name), _text(value))
    _print(grid)


def show_note(sentence: str) -> None:
    """Write a sentence."""
    _print(_text(sentence))


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None
) -> None:
    """Write a table whose first column is at the left, numbers at the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(head):
        table.add_column(_text(name), justify="right" if number else "left")
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    _print(table)


def show_scores(scores: dict[str, Any], title: str) -> None:
    """Write what :func:`psvm.cli.scores.scores_of` found."""
    area = scores["roc_auc"]
    show_facts(
        {
            title: f"{scores['rows']} rows",
            "accuracy": f"{scores['accuracy']:.4f}",
            "balanced accuracy": f"{scores['balanced_accuracy']:.4f}",
            "F1, mean": f"{scores['f1']:.4f}",
            "ROC AUC": "not defined" if area is None else f"{area:.4f}",
        }
    )
    classes = scores["classes"]
    show_table(
        ("class", "precision", "recall", "F1", "rows"),
        [
            [
                str(one["class"]),
                *(f"{one[key]:.4f}" for key in ("precision", "recall", "f1")),
                str(one["rows"]),
            ]
            for one in classes
        ],
    )
    names = [str(one["class"]) for one in classes]
    if len(names) <= 12:  # wider ones are for --json
        rows = zip(names, scores["confusion"], strict=True)
        show_table(
            ("true \\ predicted", *names), [[name, *map(str, counts)] for name, counts in rows]
        )


def _text(value: str) -> Any:
    """Text as it is: brackets in the names of columns and classes are no markup."""
    from rich.text import Text

    return Text(value)


def _print(renderable: Any) -> None:
    from rich.console import Console

    # A file or a pipe has no width; cutting cells to 80 columns would lose what they say.
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False).print(renderable)
