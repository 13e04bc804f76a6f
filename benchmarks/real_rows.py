"""Rows of the large real tables of ``study``, for all rivals alike: as numbers, split, scaled.

What a table goes through is that of ``benchmarks.study``: categories one-hot (the rarest of more
than 30 are one), numbers with their median where missing, zero mean and unit variance on the
training rows. Where less than ``SPARSE`` of the result is nonzero it becomes a CSR matrix, as
scikit-learn's ``ColumnTransformer`` would store it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

SPARSE = 0.3  # ColumnTransformer's `sparse_threshold`
PACKAGES = ("pandas", "pyarrow")


def table_path(folder: Path, name: str) -> Path:
    """Path of a table, or an error that says what is missing."""
    path = folder / "study" / f"{name}.parquet"
    if not path.exists():
        raise FileNotFoundError(
            f"table '{name}.parquet' not found in {folder / 'study'}. The tables are not shipped "
            "with psvm: set PSVM_BENCH_DATA to the folder that has them."
        )
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise FileNotFoundError(f"tables need {package}: pip install '.[study]'")
    return path


def read_table(folder: Path, name: str) -> tuple[Any, npt.NDArray[Any], None]:
    """The features as a frame, the labels, and that there is no official split."""
    import pandas as pd

    frame = pd.read_parquet(table_path(folder, name), engine="pyarrow")
    labels = frame.pop("target").astype(str).to_numpy()
    flags = [column for column in frame if frame[column].dtype == object]  # yes, no or missing
    return frame.astype(dict.fromkeys(flags, "boolean")), labels, None


def as_numbers(train: Any, test: Any) -> tuple[Any, Any]:
    """The rows of two frames, prepared by what the first one has."""
    from benchmarks.study.preparation import preparation

    columns = preparation(train)
    prepared = [np.asarray(columns.fit_transform(train)), np.asarray(columns.transform(test))]
    if np.count_nonzero(prepared[0]) < SPARSE * prepared[0].size:
        prepared = [sp.csr_matrix(rows) for rows in prepared]
    return prepared[0], prepared[1]
