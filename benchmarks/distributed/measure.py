"""The same file fitted by one process, by one worker and by two; each in processes of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

BLOCK_ROWS = 250_000
Record = dict[str, Any]


def blocks(folder: Path) -> list[Any]:
    """The file as delayed blocks, read by the workers."""
    import dask

    rows = np.load(folder / "X.npy", mmap_mode="r").shape[0]
    return [
        dask.delayed(read)(str(folder), begin, min(begin + BLOCK_ROWS, rows))
        for begin in range(0, rows, BLOCK_ROWS)
    ]


def read(folder: str, begin: int, end: int) -> tuple[Any, Any]:
    """One block, mapped as the one process maps it: a copy of 4.8 GB takes this machine 4 s."""
    X = np.load(Path(folder) / "X.npy", mmap_mode="r")
    y = np.load(Path(folder) / "y.npy", mmap_mode="r")
    return X[begin:end], np.array(y[begin:end])


def on_memmap(folder: Path, p: float, threads: int) -> Record:
    """LinearPSVC on the file."""
    from psvm import LinearPSVC

    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
    began = time.perf_counter()
    model = LinearPSVC(p=p, n_jobs=threads).fit(X, y)
    return {"who": "memmap", "threads": threads, **_told(model, began)}


def on_cluster(folder: Path, p: float, workers: int) -> Record:
    """DaskLinearPSVC with so many workers of one thread; starting them is not timed."""
    from distributed import Client, LocalCluster

    from psvm.dask import DaskLinearPSVC

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
        client.run(_import)
        began = time.perf_counter()
        model = DaskLinearPSVC(p=p, n_jobs=workers).fit(blocks(folder))
        told = _told(model, began)
    return {"who": "dask", "workers": workers, **told, "traffic": model.traffic_}


def _import() -> None:
    """What a worker loads once in its life."""
    import psvm.dask  # noqa: F401


def _told(model: Any, began: float) -> Record:
    return {
        "seconds": time.perf_counter() - began,
        "p": model.p,
        "gap": float(model.dual_gap_[0]),
        "primal": float(model.primal_objective_[0]),
        "iterations": int(model.n_iter_[0]),
    }
