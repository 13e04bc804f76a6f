"""Support vector machines with the p-norm hinge loss, for any p >= 1."""

from importlib.metadata import version

from psvm.linear import LinearPSVC
from psvm.svc import PSVC

__all__ = ["PSVC", "LinearPSVC", "__version__"]
__version__ = version("psvm")
