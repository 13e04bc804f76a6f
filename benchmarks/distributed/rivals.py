"""The nearest things on the same data: Spark MLlib's LinearSVC and dask-ml's LogisticRegression.

Both minimise a mean loss plus a penalty. For p = 1 the hinge of Spark is that of psvm with
``regParam = 1 / (n C)`` (without standardisation). Each is run with a growing number of iterations
until its primal objective is within one percent of the best, or the limit is reached; of dask-ml,
whose loss is another, only the time at its own default tolerance is told.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distributed.measure import BLOCK_ROWS, blocks

Record = dict[str, Any]
CLOSE = 0.01  # relative excess of the objective
ITERATIONS = (10, 30, 100, 300)


def hinge_objective(folder: Path, w: Any, b: float, C: float = 1.0) -> float:
    """P of p = 1 at (w, b), over the file."""
    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
    total = 0.5 * float(w @ w)
    for begin in range(0, y.size, BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        margin = np.where(y[rows] > 0, 1.0, -1.0) * (X[rows] @ w + b)
        total += C * float(np.maximum(1.0 - margin, 0.0).sum())
    return total


def spark(folder: Path, best: float, cores: int = 2) -> Record:
    """``pyspark.ml.classification.LinearSVC`` in local mode; rows cached first, not timed."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
    file = folder / "rows.parquet"
    schema = pa.schema([("x", pa.list_(pa.float64())), ("label", pa.float64())])
    with pq.ParquetWriter(file, schema) as writer:
        for begin in range(0, y.size, BLOCK_ROWS):
            part = np.ascontiguousarray(X[begin : begin + BLOCK_ROWS])
            ends = pa.array(np.arange(0, part.size + 1, part.shape[1]), pa.int32())
            x = pa.ListArray.from_arrays(ends, pa.array(part.ravel()))
            label = pa.array(y[begin : begin + BLOCK_ROWS].astype(np.float64))
            writer.write_table(pa.table({"x": x, "label": label}, schema=schema))
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.memory", "10g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        rows = session.read.parquet(str(file))
        rows = rows.select(array_to_vector(f.col("x")).alias("features"), "label").cache()
        rows.count()
        for iterations in ITERATIONS:
            began = time.perf_counter()
            model = LinearSVC(
                regParam=1.0 / y.size, maxIter=iterations, tol=1e-9, standardization=False
            ).fit(rows)
            seconds = time.perf_counter() - began
            w = np.asarray(model.coefficients.toArray())
            found = hinge_objective(folder, w, float(model.intercept))
            if found <= best * (1.0 + CLOSE):
                break
    finally:
        session.stop()
    return {"who": "spark", "seconds": seconds, "iterations": iterations, "primal": found}


def dask_ml(folder: Path, workers: int = 2) -> Record:
    """``dask_ml.linear_model.LogisticRegression`` with its default solver."""
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression
    from distributed import Client, LocalCluster

    rows, features = np.load(folder / "X.npy", mmap_mode="r").shape
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        parts = blocks(folder)
        sizes = [min(BLOCK_ROWS, rows - begin) for begin in range(0, rows, BLOCK_ROWS)]
        pairs = list(zip(parts, sizes, strict=True))
        X = da.concatenate(
            [da.from_delayed(a[0], (n, features), float) for a, n in pairs]
        ).persist()
        y = da.concatenate([da.from_delayed(a[1], (n,), np.int8) for a, n in pairs]).persist()
        float(X[0, 0].compute())
        began = time.perf_counter()
        LogisticRegression(C=1.0).fit(X, y)
        return {"who": "dask-ml", "seconds": time.perf_counter() - began}
