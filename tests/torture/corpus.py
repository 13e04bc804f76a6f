"""Sound files of every kind, made once by every worker: polars and ONNX start threads."""

from __future__ import annotations

import functools
import gzip
import io
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
from psvm.persistence import write_json, write_libsvm, write_onnx

FEATURES = ["a", "b", "c"]


@dataclass
class SoundModel:
    """A model, its file, and what it answers."""

    name: str
    model: Any
    content: bytes
    X: Any

    def answers(self, model: Any) -> np.ndarray:
        """What a model that may be this one says of its rows."""
        ask = "decision_function" if hasattr(self.model, "decision_function") else "predict"
        return np.asarray(getattr(model, ask)(self.X))

    @functools.cached_property
    def own_answers(self) -> np.ndarray:
        return self.answers(self.model)


@functools.cache
def folder() -> Path:
    """A folder of this worker."""
    home = os.environ.get("TORTURE_FOLDER")
    return Path(tempfile.mkdtemp(prefix=f"worker-{os.getpid()}-", dir=home))


def rows(classes: int = 2, n: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 3)) + 1.5 * y[:, None], y


@functools.cache
def models() -> list[SoundModel]:
    """Fitted models of every class, with features dense, sparse and as a kernel matrix."""
    X, y = rows()
    X3, y3 = rows(classes=3)
    thin = sp.csr_matrix(np.where(np.abs(X3) > 1, X3, 0.0))
    names = np.array(["ash", "oak", "yew"])
    made = [
        ("PSVC", psvm.PSVC().fit(X, y), X),
        ("PSVC warm", psvm.PSVC(p=1, warm_start=True, kernel="poly").fit(X3, y3), X3),
        ("PSVC sparse", psvm.PSVC(kernel="laplacian").fit(thin, names[y3]), thin),
        ("PSVC ovr", psvm.PSVC(kernel="linear", multi_class="ovr").fit(X3, y3), X3),
        ("PSVC precomputed", psvm.PSVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T),
        ("LinearPSVC", psvm.LinearPSVC(warm_start=True).fit(X3, names[y3]), X3),
        ("LinearPSVC ovo", psvm.LinearPSVC(multi_class="ovo").fit(X3, y3), X3),
        ("pipeline", make_pipeline(StandardScaler(), psvm.PSVC(p=2)).fit(X, y), X),
        ("PSVCCV", psvm.PSVCCV(ps=[1, 2], Cs=[1.0], gammas=[0.5], cv=2).fit(X, y), X),
        *regressors(X),
    ]
    return [SoundModel(name, model, saved(model), X) for name, model, X in made]


def regressors(X: np.ndarray) -> list[tuple[str, Any, Any]]:
    """Models of numbers."""
    y = 100 * X[:, 0] + np.sin(np.arange(len(X)))
    thin = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    grid = {"ps": [2], "Cs": [10.0], "gammas": [0.5], "epsilons": [1.0], "cv": 2}
    return [
        ("PSVR", psvm.PSVR(C=10.0).fit(X, y), X),
        ("PSVR warm", psvm.PSVR(p=1, quantile=0.8, warm_start=True).fit(thin, y), thin),
        ("PSVR precomputed", psvm.PSVR(kernel="precomputed").fit(X @ X.T, y), X @ X.T),
        ("LinearPSVR", psvm.LinearPSVR(warm_start=True).fit(X, y), X),
        ("PSVRCV", psvm.PSVRCV(**grid).fit(X, y), X),
        ("regressor", make_pipeline(StandardScaler(), psvm.PSVR(p=2)).fit(X, y), X),
    ]


def saved(model: Any) -> bytes:
    path = folder() / "sound.psvm"
    psvm.save(model, path)
    return path.read_bytes()


@functools.cache
def exported() -> list[SoundModel]:
    """Those that are exported."""
    names = ("PSVC", "PSVC warm", "PSVC sparse", "PSVC ovr", "PSVR", "LinearPSVR")
    return [one for one in models() if one.name in names]


@functools.cache
def exports() -> dict[str, bytes]:
    """LIBSVM, JSON and ONNX texts of models."""
    found = {}
    for one in exported():
        for ending, write in (("libsvm", write_libsvm), ("json", write_json), ("onnx", write_onnx)):
            path = folder() / f"sound.{ending}"
            if ending == "libsvm" and one.name in ("PSVC sparse", "PSVC ovr"):
                continue
            write(one.model, path)
            found[f"{one.name}.{ending}"] = path.read_bytes()
    return found


@functools.cache
def data_files() -> dict[str, bytes]:
    """One table in every format that the command line reads."""
    X, y = rows(classes=3, n=30)
    table = pl.DataFrame(X, schema=FEATURES).with_columns(
        kind=pl.Series([("north", "south")[i % 2] for i in range(30)]),
        species=pl.Series(np.array(["ash", "oak", "yew"])[y].tolist()),
        height=pl.Series((20 + 3 * X[:, 0]).round(2)),
    )
    csv = table.write_csv().encode()
    svm, npz, thin = io.BytesIO(), io.BytesIO(), io.BytesIO()
    dump_svmlight_file(X, y, svm, zero_based=False)
    np.savez(npz, X=X, y=y)
    sp.save_npz(thin, sp.csr_matrix(X))
    parquet, arrow = io.BytesIO(), io.BytesIO()
    table.write_parquet(parquet)
    table.write_ipc(arrow)
    return {
        "csv": csv,
        "tsv": table.write_csv(separator="\t").encode(),
        "csv.gz": gzip.compress(csv),
        "svm": svm.getvalue(),
        "npz": npz.getvalue(),
        "sparse.npz": thin.getvalue(),
        "parquet": parquet.getvalue(),
        "arrow": arrow.getvalue(),
    }
