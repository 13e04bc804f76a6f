"""Exports by the ending of the file's name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from psvm.persistence.json_export import write_json
from psvm.persistence.libsvm_export import write_libsvm
from psvm.persistence.onnx_export import write_onnx

WRITERS: dict[str, Callable[..., None]] = {
    ".onnx": write_onnx,
    ".libsvm": write_libsvm,
    ".model": write_libsvm,
    ".json": write_json,
}


def export(model: Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a model for other programs, in the form that the ending of the name says.

    Parameters
    ----------
    model : estimator
        A fitted model.
    path : path-like
        A name that ends in ``.onnx``, ``.libsvm`` or ``.model`` (LIBSVM's text), or ``.json``.
    **options : dict
        Options of :func:`write_onnx`, :func:`write_libsvm` or :func:`write_json`.
    """
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ValueError(
            f"The name of an export must end in {', '.join(WRITERS)}, got {str(path)!r}; files for "
            "psvm itself are written by psvm.save."
        )
    WRITERS[ending](model, path, **options)
