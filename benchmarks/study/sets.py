"""The tables of the study: the Parquet files of ``study`` in the data folder, and what is left out.

What every column goes through is in ``preparation``; here is only what is particular to one table.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.cases import data_folder

LARGE = 10_000
"""Rows above which a table is large: its kernel machines get a larger training part."""

REPEATS = {2_000: 10, math.inf: 3}
"""Splits of a table of at most so many rows: where test rows are few, one split says little."""

QUICK = ("wisconsin", "pima", "sonar", "penguins")
"""The tables of a quick run: small, with two and three classes, texts and missing values."""

DROPPED = {
    "adult": ("fnlwgt", "educational-num"),  # a sampling weight; education once more
    "blood_transfusion": ("Monetary",),  # 250 times Frequency
}
"""Columns that are left out, of the tables that have such."""

ZERO_IS_MISSING = {"pima": ("Plas", "Pres", "Skin", "Insu", "Mass")}
"""Columns in which 0 means that nothing was measured."""


@dataclass(frozen=True)
class Table:
    """A table, ready to be split.

    Attributes
    ----------
    name : str
        Its name.
    X : DataFrame
        Numbers as floats (yes/no as 1 and 0, missing as NaN) and texts as ``object``.
    y : ndarray of shape (n_rows,)
        Classes 0, 1, ...
    traits : dict
        Rows, features, classes, share of the smallest class, share of missing values.
    """

    name: str
    X: pd.DataFrame
    y: npt.NDArray[np.intp]
    traits: dict[str, Any] = field(default_factory=dict)


@cache
def loader() -> ModuleType | None:
    """The module ``study`` of the data folder, or None where there is none."""
    path = data_folder() / "study.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("study_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names() -> list[str]:
    """All tables, sorted by name; none where the data folder is absent."""
    study = loader()
    return [] if study is None else list(study.names())


def n_rows() -> dict[str, int]:
    """Rows of each table, without reading it."""
    study = loader()
    return {} if study is None else {name: int(n) for name, n in study.index()["rows"].items()}


def repeats_of(rows: int) -> int:
    """How many splits a table of so many rows gets."""
    return next(repeats for most, repeats in REPEATS.items() if rows <= most)


def load(name: str) -> Table:
    """One table, with its exceptions."""
    study = loader()
    if study is None:
        raise FileNotFoundError(f"no tables in {data_folder()}: set PSVM_BENCH_DATA")
    X, target = study.load(name)
    return clean(name, X, target)


def clean(name: str, X: pd.DataFrame, target: pd.Series) -> Table:
    """Numbers as floats, texts as objects, classes as codes; what is declared above is left out."""
    X = X.drop(columns=list(DROPPED.get(name, ())))
    columns = {}
    for column in X:
        values = X[column]
        if isinstance(values.dtype, pd.CategoricalDtype):
            texts = values.astype(object)
            columns[column] = texts.where(texts.notna(), np.nan)
        else:  # numbers and yes/no, both perhaps with missing values
            columns[column] = values.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    frame = pd.DataFrame(columns, index=X.index).reset_index(drop=True)
    for column in ZERO_IS_MISSING.get(name, ()):
        frame[column] = frame[column].replace(0.0, np.nan)
    codes = np.unique(target.to_numpy().astype(str), return_inverse=True)[1].astype(np.intp)
    counts = np.bincount(codes)
    traits = {
        "rows": len(frame),
        "features": frame.shape[1],
        "texts": int(frame.dtypes.eq(object).sum()),
        "classes": len(counts),
        "smallest_share": float(counts.min() / counts.sum()),
        "missing_share": float(frame.isna().to_numpy().mean()),
    }
    return Table(name, frame, codes, traits)
