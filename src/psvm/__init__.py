"""Support vector machines with the p-norm hinge loss, for any p >= 1."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psvm.estimators.linear_svc import LinearPSVC
    from psvm.estimators.linear_svr import LinearPSVR
    from psvm.estimators.path import psvm_path
    from psvm.estimators.quantiles import PSVRQuantiles, psvm_quantiles
    from psvm.estimators.svc import PSVC
    from psvm.estimators.svr import PSVR
    from psvm.persistence.model_file import load, save
    from psvm.search import PSVCCV, PSVRCV

    __version__: str

__all__ = [
    "PSVC",
    "PSVCCV",
    "PSVR",
    "PSVRCV",
    "LinearPSVC",
    "LinearPSVR",
    "PSVRQuantiles",
    "__version__",
    "load",
    "psvm_path",
    "psvm_quantiles",
    "save",
]

# Imported when they are first asked for: scikit-learn takes two seconds, and `psvm --help` does not
# need it.
_HOME = {
    "PSVC": "psvm.estimators.svc",
    "PSVCCV": "psvm.search",
    "PSVR": "psvm.estimators.svr",
    "PSVRCV": "psvm.search",
    "PSVRQuantiles": "psvm.estimators.quantiles",
    "LinearPSVC": "psvm.estimators.linear_svc",
    "LinearPSVR": "psvm.estimators.linear_svr",
    "load": "psvm.persistence.model_file",
    "psvm_path": "psvm.estimators.path",
    "psvm_quantiles": "psvm.estimators.quantiles",
    "save": "psvm.persistence.model_file",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":  # importlib.metadata takes 40 ms of `psvm --help`
        from importlib.metadata import version

        return version("psvm")
    if name not in _HOME:
        raise AttributeError(f"module 'psvm' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
