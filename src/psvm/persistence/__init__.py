"""Models as files: to load again, and for other programs.

``save`` and ``load`` are psvm's own format, safe to load from strangers. ``export`` writes ONNX,
LIBSVM's text models and JSON; ``read_libsvm`` reads models that LIBSVM made. docs/model-files.md
describes all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psvm.persistence.allowed import skops_types
    from psvm.persistence.atomic import replacing
    from psvm.persistence.container import info
    from psvm.persistence.errors import ModelFileError, UnsupportedModelError
    from psvm.persistence.export_formats import export
    from psvm.persistence.json_export import to_json, write_json
    from psvm.persistence.libsvm_export import write_libsvm
    from psvm.persistence.libsvm_import import read_libsvm
    from psvm.persistence.model_file import load, save
    from psvm.persistence.onnx_export import to_onnx, write_onnx
    from psvm.persistence.skl2onnx_converter import register_skl2onnx

__all__ = [
    "ModelFileError",
    "UnsupportedModelError",
    "export",
    "info",
    "load",
    "read_libsvm",
    "register_skl2onnx",
    "replacing",
    "save",
    "skops_types",
    "to_json",
    "to_onnx",
    "write_json",
    "write_libsvm",
    "write_onnx",
]

# Imported when they are first asked for: `psvm info` needs no scikit-learn, and takes 0.1 s so.
_HOME = {
    "ModelFileError": "errors",
    "UnsupportedModelError": "errors",
    "export": "export_formats",
    "info": "container",
    "load": "model_file",
    "read_libsvm": "libsvm_import",
    "register_skl2onnx": "skl2onnx_converter",
    "replacing": "atomic",
    "save": "model_file",
    "skops_types": "allowed",
    "to_json": "json_export",
    "to_onnx": "onnx_export",
    "write_json": "json_export",
    "write_libsvm": "libsvm_export",
    "write_onnx": "onnx_export",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'psvm.persistence' has no attribute {name!r}")
    return getattr(import_module(f"psvm.persistence.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
