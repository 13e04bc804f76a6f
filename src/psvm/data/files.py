"""Where the data sets are kept on this machine."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from psvm.data.sources import ALIASES, SOURCES, Array, DataUnavailableError, Labels, difference


def cache_folder() -> Path:
    """Folder of fetched sets: ``psvm`` in the user's cache folder of the operating system.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "psvm"


def places(name: str) -> list[Path]:
    """Files in which a set is looked for.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.

    Returns
    -------
    list of pathlib.Path
        In this order.
    """
    names = [name, *(alias for alias, known in ALIASES.items() if known == name)]
    own = os.environ.get("PSVM_DATA")
    folders = [Path(own).expanduser(), cache_folder()] if own else [cache_folder()]
    return [folder / f"{file}.npz" for folder in folders for file in names]


def find(name: str) -> tuple[Array, Labels] | None:
    """Read a set from the first of its places that has it.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.

    Returns
    -------
    (X, y) or None
        Values and labels of the source, checked; None if no place has the set.
    """
    path = next((place for place in places(name) if place.exists()), None)
    if path is None:
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            X, y = np.asarray(file["X"]), np.asarray(file["y"])
        single = X.dtype == np.float32
        X = X.astype(np.float64)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise DataUnavailableError(
            f"{path} cannot be read as the data set {name!r}: {error}. It must be a NumPy .npz "
            f"file with the arrays X and y; replace it, or delete it to have the set fetched."
        ) from error
    if name == "usps" and single:
        # Its values have three decimals; in single precision they are off in the eighth.
        X = np.round(X, 3)
    if y.dtype.kind == "f" and np.array_equal(y, np.round(y)):
        y = y.astype(np.int64)
    wrong = difference(SOURCES[name], X, y)
    if wrong is not None:
        raise DataUnavailableError(
            f"{path} is not the data set {name!r} of the paper: {wrong}. The file must hold "
            f"the values and labels of the source, without rows with missing values; replace it, "
            f"or delete it to have the set fetched."
        )
    return X, y


def store(path: Path, X: Array, y: Labels) -> None:
    """Write a set to a file, so that a reader sees the whole file or none.

    Parameters
    ----------
    path : pathlib.Path
        The file; its folder is made.
    X : ndarray of shape (n_samples, n_features)
        Features, unscaled.
    y : ndarray of shape (n_samples,)
        Labels of the source.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            np.savez_compressed(file, X=X, y=y)
            file.close()
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
