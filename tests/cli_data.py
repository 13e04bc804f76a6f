"""Iris in every format that the command line reads, and ``psvm`` as a process."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC
from psvm.persistence import save

FEATURES = ["sepal length", "sepal width", "petal length", "petal width"]
SPECIES = np.array(["setosa", "versicolor", "virginica"])
TOLD = "psvm: classification: the target 'species' holds texts\n"
"""What is said of iris before a fit."""
TABLES = ("csv", "tsv", "csv.gz", "parquet", "arrow", "arrows")
MATRICES = ("npz", "sparse.npz", "svm", "svm.gz")


def iris():
    """Iris as a table with labels in words."""
    X, y = load_iris(return_X_y=True)
    return pl.DataFrame(X, schema=FEATURES).with_columns(species=pl.Series(SPECIES[y].tolist()))


def write_iris(folder: Path, kind: str) -> Path:
    """Iris as a file of the given kind; in matrices the labels are 0, 1, 2."""
    path, table = folder / f"iris.{kind}", iris()
    X, y = load_iris(return_X_y=True)
    if kind == "csv":
        table.write_csv(path)
    elif kind == "tsv":
        table.write_csv(path, separator="\t")
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    elif kind == "parquet":
        table.write_parquet(path, row_group_size=40)
    elif kind == "arrow":
        table.write_ipc(path)
    elif kind == "arrows":
        table.write_ipc_stream(path)
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    elif kind == "sparse.npz":
        indptr = np.arange(0, X.size + 1, 4)
        indices = np.tile(np.arange(4), 150)
        parts = {"data": X.ravel(), "indices": indices, "indptr": indptr, "shape": X.shape}
        np.savez_compressed(path, y=y, format="csr", **parts)
    elif kind == "svm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif kind == "svm.gz":
        dump_svmlight_file(X, y, str(folder / "plain.svm"), zero_based=False)
        path.write_bytes(gzip.compress((folder / "plain.svm").read_bytes()))
    return path


def write_model(folder: Path) -> Path:
    """A model of iris, made in Python."""
    table = iris()
    model = make_pipeline(StandardScaler(), PSVC()).fit(table.select(FEATURES), table["species"])
    save(model, folder / "iris.psvm")
    return folder / "iris.psvm"


def command():
    """How to start the installed ``psvm``."""
    beside = shutil.which("psvm", path=str(Path(sys.executable).parent))
    return [beside] if beside else [sys.executable, "-m", "psvm.cli"]


def start(*words, unbuffered="", **streams):
    """``psvm`` as a process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": unbuffered}
    return subprocess.Popen(
        [*command(), *map(str, words)],
        env=environment,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def psvm(*words, given=None, **streams):
    """Run ``psvm`` to its end: its exit code, output and messages."""
    process = start(*words, stdin=subprocess.PIPE, **streams)
    try:
        out, err = process.communicate(given, timeout=300)
    finally:
        process.kill()
    return process.returncode, (out or b"").decode(), (err or b"").decode()
