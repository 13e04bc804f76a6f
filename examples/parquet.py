"""From Parquet files larger than memory to a model, on a Dask cluster.

Writes files of a synthetic set (or takes those of ``--files``), reads them with
``dask.dataframe.read_parquet``, scales the columns, fits, and saves the model for one machine. The
workers hold the blocks; what does not fit into their memory goes to their disks.

    python examples/parquet.py --rows 2000000 --workers 2 --memory 1GB
    python examples/parquet.py --files 'data/*.parquet' --label y --scheduler tcp://10.0.0.1:8786
"""

import argparse
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from psvm.dask import DaskLinearPSVC

FEATURES = 20


def write_files(folder: Path, rows: int, files: int) -> str:
    """A noisy rule, some rows to a file."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=FEATURES)
    for k in range(files):
        X = rng.normal(size=(rows // files, FEATURES)) * 3.0 + 1.0
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(FEATURES)])
        frame["label"] = np.where(X @ w + 9.0 * rng.normal(size=len(X)) > w.sum(), "yes", "no")
        frame.to_parquet(folder / f"part{k:04d}.parquet")
    return str(folder / "*.parquet")


def fit(files: str, label: str, p: float, C: float) -> DaskLinearPSVC:
    """Read, scale and fit; nothing but sums comes to this machine."""
    frame = dd.read_parquet(files)
    X, y = frame.drop(columns=[label]), frame[label]
    mean, std = dask.compute(X.mean(), X.std())
    return DaskLinearPSVC(p=p, C=C).fit(X.map_partitions(scaled, mean, std, meta=X._meta), y)


def scaled(part: pd.DataFrame, mean: pd.Series, std: pd.Series) -> pd.DataFrame:
    """Columns of mean 0 and deviation 1; of a partition, as Dask would align (X - mean) by rows."""
    return (part - mean) / std


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", help="files to read; default: some are written")
    parser.add_argument("--label", default="label", help="the column of labels")
    parser.add_argument("--rows", type=int, default=200_000, help="rows to write")
    parser.add_argument("--scheduler", help="address of a cluster; default: one of this machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="auto", help="of each worker of this machine")
    parser.add_argument("--p", type=float, default=1.5)
    parser.add_argument("--C", type=float, default=1.0)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        files = options.files or write_files(Path(folder), options.rows, files=8)
        if options.scheduler:
            client = Client(options.scheduler)
        else:
            client = Client(
                LocalCluster(
                    n_workers=options.workers,
                    threads_per_worker=1,
                    memory_limit=options.memory,
                    dashboard_address=":0",
                )
            )
        with client:
            model = fit(files, options.label, options.p, options.C)
            local = model.to_local()  # psvm.save(local, "model.psvm"), ONNX, the command line
        print(f"classes {local.classes_.tolist()}, gap {local.dual_gap_.max():.1e}")
        print(f"round trips {model.traffic_['round_trips']}, iterations {local.n_iter_}")


if __name__ == "__main__":
    main()
