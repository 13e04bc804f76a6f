"""Save a model to a file, and load it again."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from psvm.persistence.allowed import allow_list
from psvm.persistence.container import DAMAGED, read_container, write_container
from psvm.persistence.errors import ModelFileError, UnsupportedModelError
from psvm.persistence.payload import read_payload
from psvm.persistence.state import packed, unpacked, upgrades_from
from psvm.persistence.summary import plain, summary_of

_INSTALL = (
    "Model files are written and read with the package skops: pip install '.[files]' in a clone of "
    "the repository. JSON and LIBSVM exports need no further package."
)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trusted: Sequence[type] = (),
    target: str | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a model to a file from which :func:`load` makes an equal one.

    The file holds data and no code, carries a checksum and the version of its format, and appears
    whole or not at all: an interrupted ``save`` leaves the old file as it was.

    Parameters
    ----------
    model : estimator
        PSVC, LinearPSVC, PSVCCV, PSVR, LinearPSVR, PSVRCV, PSVRQuantiles, or a Pipeline,
        ColumnTransformer, GridSearchCV, CalibratedClassifierCV and the like around them, fitted or
        not. Callbacks are not saved.
    path : path-like
        The file; by custom its name ends in ``.psvm``.
    trusted : sequence of type, default=()
        Further classes that the model may contain, for instance a transformer of your own. The same
        must be given to :func:`load`.
    target : str or None, default=None
        Name of the column that is predicted, for whoever reads the file: :func:`info` tells it, and
        ``psvm evaluate`` looks for it.
    notes : mapping, optional
        What to keep beside the model, as where its data came from: JSON values, which
        :func:`psvm.persistence.info` gives back as ``notes``. ``psvm fit`` keeps in them how the
        columns of its file are read.

    Raises
    ------
    UnsupportedModelError
        If a part of the model cannot be written as data: a kernel or transformer that is a
        function, or an object of a class that is not on the list. Nothing is written then.

    See Also
    --------
    psvm.persistence.export : Files for other programs: ONNX, LIBSVM, JSON.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import psvm
    >>> from psvm.persistence import load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = psvm.PSVC(p=1.5).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "iris.psvm")
    ...     again = load(Path(folder) / "iris.psvm")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    skops_io = _skops_io()
    content = packed(model)
    try:
        payload = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnsupportedModelError(
            f"{type(model).__name__} holds something that cannot be written as data: {error}"
        ) from error
    refused = allow_list(trusted).refused(read_payload(payload).schema)
    if refused:
        raise UnsupportedModelError(
            f"{type(model).__name__} holds what a psvm model file may not contain: "
            f"{', '.join(refused)}. Replace it with an estimator of psvm or scikit-learn's "
            "preprocessing, or give a class of your own to save and load with trusted=[...]."
        )
    summary = {"saved": datetime.now(UTC).isoformat(timespec="seconds"), **summary_of(model)}
    if target is not None:
        summary["target"] = str(target)
    write_container(path, payload, summary, plain(dict(notes or {})))


def load(path: str | os.PathLike[str], *, trusted: Sequence[type] = ()) -> Any:
    """Load a model written by :func:`save`.

    Safe on files from strangers: the types in the file are compared with an explicit list before
    anything is made, no code of the file runs, and arrays are checked before they are used. Memory
    for the model is needed, and what the model predicts is its author's affair.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : sequence of type, default=()
        Further classes that the model may contain; objects of these are made as their code says.

    Returns
    -------
    estimator
        With the same predictions and decision values, bit for bit.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If the file is not a model file, damaged, altered, or of a format this version cannot read.
    """
    skops_io = _skops_io()
    path = Path(path)
    file = read_container(path)
    upgrades_from(file.format_version)  # an unreadable format is refused before its content is
    allowed = allow_list(trusted)
    try:
        payload = read_payload(file.payload)
        refused = allowed.refused(payload.schema)
    except (*DAMAGED, KeyError, ValueError) as error:
        raise _altered(path, error) from error
    if refused:
        hint = " If you trust such a class, import it and give it in trusted=[...]."
        raise ModelFileError(
            f"{path} was not loaded, and nothing in it was run: it holds {', '.join(refused)}, "
            f"which a psvm model file may not contain.{hint}"
        )
    try:
        model = skops_io.loads(payload.content, trusted=allowed.names)
        return unpacked(model, file.format_version)
    except (MemoryError, ModelFileError):
        raise
    except Exception as error:  # whatever skops, NumPy and scikit-learn say to nonsense
        raise _altered(path, error, file.header.get("versions")) from error


def _skops_io() -> Any:
    """The package skops, or an error that says how to get it.

    It imports every module of scikit-learn, among them adapters that import torch, CuPy and Dask
    where these are installed. They are kept out meanwhile: torch alone takes two seconds of three,
    and a broken installation of it would fail here.
    """
    adapters = [f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask")]
    kept_out = {name for name in adapters if name not in sys.modules}
    # An entry None makes an import fail, which the walk over scikit-learn's modules passes over.
    sys.modules.update(dict.fromkeys(kept_out))  # type: ignore[arg-type]
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name=error.name) from error
    finally:
        for name in kept_out:
            sys.modules.pop(name, None)
    return skops.io


def _altered(path: Path, error: Exception, versions: Any = None) -> ModelFileError:
    written = f" It was written with {versions}." if versions else ""
    return ModelFileError(
        f"{path} cannot be loaded: its content was altered, or written by versions of the packages "
        f"that differ too much ({type(error).__name__}: {error}).{written}"
    )
