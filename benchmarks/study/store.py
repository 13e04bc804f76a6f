"""Finished rows, appended to a CSV file: a run that was stopped goes on where it was."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = (
    "dataset",
    "repeat",
    "method",
    "accuracy",
    "balanced_accuracy",
    "auc",
    "log_loss",
    "support_share",
    "fit_seconds",
    "predict_seconds",
    "chosen",
)
KEY = ("dataset", "repeat", "method")

RESULTS = Path(__file__).parents[1] / "results" / "study.csv"


def append(path: Path, row: Mapping[str, Any], columns: Sequence[str] = COLUMNS) -> None:
    """Add a row by one write: two processes mix lines, not letters."""
    cells = {**row, "chosen": json.dumps(row["chosen"], sort_keys=True)}
    line = io.StringIO(newline="")
    writer = csv.DictWriter(line, columns, lineterminator="\n")
    writer.writerow({name: _text(cells[name]) for name in columns})
    with open(path, "ab", buffering=0) as file:
        file.write(line.getvalue().encode("utf-8"))


def _text(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def prepare(path: Path, columns: Sequence[str] = COLUMNS) -> None:
    """The head of a new file; of one that was cut short the last whole line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    if whole == 0:
        path.write_text(",".join(columns) + "\n", encoding="utf-8")
    elif whole < len(data):
        with open(path, "r+b") as file:
            file.truncate(whole)


def read(path: Path, columns: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """All rows; of a row that is there twice the last. ``chosen`` is a dict."""
    table = pd.read_csv(
        path, keep_default_na=False, na_values=dict.fromkeys(columns[3:-1], ("", "nan"))
    )
    if list(table.columns) != list(columns):
        raise ValueError(f"{path} has the columns {list(table.columns)}, not those of the study.")
    table = table.drop_duplicates(list(KEY), keep="last").reset_index(drop=True)
    table["chosen"] = [json.loads(text) for text in table["chosen"]]
    return table


def differences(kept: Path, again: Path) -> list[str]:
    """Rows of a rerun that are not what was kept, in words; times may differ.

    ``lightgbm-tuned`` is not compared: how many trials it makes depends on the machine.
    """
    first, second = (read(path).set_index(list(KEY)) for path in (kept, again))
    found = []
    for key, row in second.iterrows():
        if key[-1] == "lightgbm-tuned":
            continue
        if key not in first.index:
            found.append(f"{key}: not kept")
            continue
        for name in COLUMNS[3:8]:
            old, new = float(first.loc[key, name]), float(row[name])
            if not np.isclose(old, new, rtol=1e-4, atol=1e-6, equal_nan=True):
                found.append(f"{key}: {name} was {old:g} and is {new:g}")
    return found


def finished(path: Path, columns: Sequence[str] = COLUMNS) -> set[tuple[str, int, str]]:
    """Keys of the rows that a file holds."""
    if not path.exists():
        return set()
    table = read(path, columns)
    keys = zip(table["dataset"], table["repeat"], table["method"], strict=True)
    return {(str(name), int(repeat), str(method)) for name, repeat, method in keys}
